"""The common part of SecretFlow's logistic regressions, whichever file describes them, and its secure devices.

`SSRegression`, `ss_sgd_train` and `SSGLM` calculate on shares inside an SPU, `HESSLogisticRegression` on shares and
ciphertexts. `FlLogisticRegressionVertical` hands the label party every score in the clear while it trains. What each
protocol of the SPU promises is said in its own `docs/reference/runtime_config.md` and spu.proto.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plumbob.errors import PlanError
from plumbob.jobs.defaults import SystemVersion, defaults_for
from plumbob.jobs.reading import (
    Job,
    JobDraft,
    Read,
    Tree,
    ValueSource,
    flag,
    mapping,
    number,
    shown,
    unjudged,
    whole,
)
from plumbob.plan import PROFILE_BITS

# In the order of SPU's numbers, from 1.
PROTOCOLS = ("REF2K", "SEMI2K", "ABY3", "CHEETAH", "SECURENN", "SWIFT")
DEALERS = ("TrustedFirstParty", "TrustedThirdParty", "MultiParty")
TRUST = {
    "ABY3": "The SPU runs ABY3 on three nodes: you must trust that no two of them pool what they hold.",
    "CHEETAH": "The SPU runs CHEETAH between two nodes, without a dealer: you must trust that both run it as it is.",
    "SECURENN": "The SPU runs SECURENN: you must trust that the third node, the helper, sides with nobody.",
    "SWIFT": "The SPU runs SWIFT on three nodes, which SPU calls experimental: you must trust that two keep to it.",
    "TrustedThirdParty": "The SPU runs SEMI2K with a dealer of its own: you must trust that it sides with nobody.",
    "MultiParty": "The SPU runs SEMI2K, and its nodes draw the random numbers together: you must trust nobody else.",
}
FIRST_PARTY = (
    "The SPU runs SEMI2K with its default dealer, the first party, which knows every random number that hides the "
    "others' values: you must trust it with all data. SPU calls this not safe for production."
)
UNPROTECTED = "The SPU runs REF2K, which protects nothing: SPU's documentation keeps it for debugging only."


@dataclass(frozen=True)
class SecureDevice:
    """What hides the values while SecretFlow calculates."""

    protocol: str = ""
    """The SPU's protocol; empty where the file does not say."""
    dealer: str = DEALERS[0]
    is_mock: bool = False
    """Whether the HEU's schema encrypts nothing."""
    key_bits: Any = None

    @property
    def unprotected(self) -> str:
        if self.is_mock:
            return "The HEU's schema is mock, which encrypts nothing."
        return UNPROTECTED if self.protocol == "REF2K" else ""

    @property
    def trust(self) -> str:
        """A sentence on whom this makes you trust; empty where that is the first party, or not stated."""
        return TRUST.get(self.dealer if self.protocol == "SEMI2K" else self.protocol, "")

    @property
    def no_all_clear(self) -> str:
        if self.trust or self.unprotected:
            return ""
        missing = "The file does not say which protocol the SPU runs; provide the cluster's description with it. "
        return FIRST_PARTY if self.protocol else f"{missing}By default: {FIRST_PARTY}"

    def read(self) -> Read:
        """The printed line about the SPU."""
        source: ValueSource = "file" if self.protocol else "assumed"
        where = (
            "runtime_config.protocol" if self.protocol else "the file does not say; SecretFlow's own examples have it"
        )
        return Read("spu_protocol", self.protocol or "SEMI2K", source, where)


UNKNOWN = SecureDevice()


def device_of(tables: Iterable[Mapping[str, Any]]) -> SecureDevice:
    """The device from all tables of a file; of several SPUs or keys the weakest."""
    spus: list[tuple[int, int]] = []
    bits: list[int] = []
    is_mock = False
    for table in tables:
        if (protocol := _place(PROTOCOLS, table.get("protocol"), 1, "field" in table)) is not None:
            dealer = _place(DEALERS, table.get("beaver_type"), 0, True) or 0
            spus.append((protocol, dealer))
        keys = mapping(table, "he_parameters")
        size = mapping(mapping(keys, "key_pair"), "generate").get("bit_size", table.get("key_size"))
        if (known := _number(size)) is not None:
            bits.append(known)
        is_mock = is_mock or "mock" in (keys.get("schema"), table.get("schema"))
    protocol, dealer = min(spus, default=(None, 0))
    name = "" if protocol is None else PROTOCOLS[protocol]
    return SecureDevice(name, DEALERS[dealer], is_mock, min(bits, default=None))


def _place(names: tuple[str, ...], given: Any, first: int, takes_numbers: bool) -> int | None:
    """The place of a name, which may be given as a number or with a prefix: `ProtocolKind.REF2K`."""
    number = _number(given)
    if takes_numbers and number is not None and first <= number < first + len(names):
        return number - first
    word = given.rsplit(".", 1)[-1].lower() if isinstance(given, str) else ""
    lowered = [name.lower() for name in names]
    return lowered.index(word) if word in lowered else None


def _number(given: Any) -> int | None:
    """A number of at most six digits, also in quotes."""
    if isinstance(given, str) and len(given) <= 6 and given.isdecimal():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 10**6 else None


SYSTEM = "SecretFlow"
NAMES = {
    "ssregression": "SSRegression",
    "ss_sgd": "ss_sgd_train",
    "ss_sgd_train": "ss_sgd_train",
    "ss_glm": "ss_glm_train",
    "ss_glm_train": "ss_glm_train",
    "ssglm": "SSGLM",
    "hesslogisticregression": "HESSLogisticRegression",
    "hess_sgd": "HESSLogisticRegression",
    "hess_sgd_train": "HESSLogisticRegression",
    "fllogisticregressionvertical": "FlLogisticRegressionVertical",
    "fl_lr_v": "FlLogisticRegressionVertical",
}
MEANINGS = {
    "sig_type": "how the sigmoid is approximated; what is opened stays the same",
    "eps": "when to stop early: each epoch opens one bit",
    "tol": "when to stop early; a plan runs all its epochs",
    "decay_epoch": "slows the learning rate down",
    "decay_rate": "slows the learning rate down",
    "strategy": "how the learning rate is scaled",
    "stopping_metric": "when to stop early",
    "stopping_rounds": "when to stop early",
    "stopping_tolerance": "when to stop early",
    "feature_selects": "which columns are used; give --features with each party's number",
    "label": "which column is the label",
    "input": "which columns are used; give --features with each party's number",
    "x": "the table",
    "y": "the table",
}


@dataclass(frozen=True)
class Model:
    """One logistic regression as a file describes it."""

    name: str
    """The name of the model in the file."""
    parameters: Tree
    device: SecureDevice = UNKNOWN
    others: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return NAMES[self.name.lower()]


def job_of(model: Model, version: SystemVersion, told: Iterable[Read], unseen: Iterable[str] = ()) -> Job:
    """The job that a model's parameters describe."""
    draft = JobDraft(model.parameters, defaults_for(SYSTEM, model.kind, version), model.name)
    draft.read.extend(told)
    _read_regression(draft, model)
    _read_common(draft)
    is_vertical = model.kind == "FlLogisticRegressionVertical"
    if is_vertical:
        draft.peek("tol")
        draft.keys["protocol"] = "exchange"
    else:
        draft.read.append(model.device.read())
        unseen = [*unseen, model.device.no_all_clear]
        draft.remarks += [model.device.trust] if model.device.trust else []
        _read_shares(draft, model)
    if is_vertical or model.kind == "HESSLogisticRegression":
        _read_key(draft, model)
    _remark_on_optimizer(draft)
    if model.others:
        draft.remarks.append(
            f"{', '.join(model.others)} trains too; {model.name} is read, and what all of them show is counted "
            "together."
        )
    draft.fits, draft.unprotected = 1 + len(model.others), model.device.unprotected
    return draft.job(
        MEANINGS,
        scores_in_the_clear=is_vertical,
        no_all_clear=tuple(reason for reason in (*unseen, *unjudged(model.others)) if reason),
    )


def _read_regression(draft: JobDraft, model: Model) -> None:
    """Refuse other models; one that a file leaves out is assumed to be logistic."""
    name = model.name
    if "reg_type" in draft.defaults.values and "linear" in str(draft.take("regression", "reg_type")).lower():
        raise PlanError(f"{name} with reg_type linear is a linear regression; expected a logistic one")
    if model.kind not in ("SSGLM", "ss_glm_train"):
        return
    link = _stated(draft, "link", "Logit", "link_type", "link")
    family = _stated(draft, "distribution", "Bernoulli", "label_dist_type", "dist")
    other = [str(one) for one, usual in ((link, "logit"), (family, "bernoulli")) if one and str(one).lower() != usual]
    if other:
        raise PlanError(
            f"{name} with {' and '.join(map(shown, other))} is another generalised linear model; a logistic regression "
            "has link Logit and distribution Bernoulli"
        )


def _stated(draft: JobDraft, key: str, usual: str, *names: str) -> Any:
    value = draft.peek(*names)
    if value is None:
        return draft.assume(key, usual, "the file does not say it")
    draft.read.append(Read(key, value, "file", f"{draft.path}.{names[0]}"))
    return value


def _read_common(draft: JobDraft) -> None:
    epochs = draft.take("epochs", "epochs", "epoch")
    if epochs is None:
        draft.read.pop()
        epochs = draft.assume("epochs", 10, "the file does not say, and the call has no default")
    keys = draft.keys
    keys["epochs"] = whole("epochs", epochs)
    keys["learning_rate"] = number("learning_rate", draft.take("learning_rate", "learning_rate"))
    size = draft.take("batch_size", "batch_size")
    if size is None:
        keys["batches"] = "full"
    else:
        keys |= {"batch_size": whole("batch_size", size), "batches": draft.by_default("batches", "fixed")}
    draft.by_default("start", "zeros", taken_as="zero")
    keys |= {"start": "zero", "sigmoid": "taylor", "l2": _penalty(draft)}


def _penalty(draft: JobDraft) -> float:
    if "l2_lambda" in draft.defaults.values:
        strength = draft.take("l2", "l2_lambda")
        return 0.0 if strength is None else number("l2", strength)
    if "penalty" not in draft.defaults.values:
        return 0.0
    penalty = str(draft.take("penalty", "penalty")).lower()
    if penalty.endswith("l2"):
        return number("l2", draft.take("l2", "l2_norm"))
    draft.peek("l2_norm")
    return float(draft.follows("l2", 0.0, "follows from penalty"))


def _read_shares(draft: JobDraft, model: Model) -> None:
    """Read the keys for shares; weights are opened only where the job says so."""
    has_report = "report_weights" in draft.defaults.values
    is_reported = has_report and flag(draft.take("report_weights", "report_weights"))
    if is_reported:
        draft.remarks.append("The weights are opened to all parties at the end, not only each party's own.")
    opened = draft.by_default("open", "own" if is_reported else "never", "follows from report_weights")
    if model.kind != "HESSLogisticRegression":
        draft.remarks.append(
            "Shares are held by the SPU's computing nodes; they are judged as held by the parties themselves."
        )
    protocol = "hess" if model.kind == "HESSLogisticRegression" else "spu"
    draft.keys |= {"protocol": protocol, "open": opened}


def _read_key(draft: JobDraft, model: Model) -> None:
    if model.device.key_bits is not None:
        length = whole("key_bits", model.device.key_bits)
        draft.read.append(Read("key_bits", length, "file", "HEU"))
    else:
        length = whole("key_bits", draft.take("key_bits", "key_size"))
    if length < PROFILE_BITS[0]:
        draft.remarks.append(f"Keys of {length} bits are too short; use 2048 or more.")
    draft.keys["key_bits"] = length
    if length not in PROFILE_BITS:
        draft.keys["test_only_keys"] = True


def _remark_on_optimizer(draft: JobDraft) -> None:
    if str(draft.peek("optimizer") or "").upper() == "IRLS" or draft.peek("iter_start_irls"):
        draft.remarks.append(
            "IRLS solves for the weights in each round instead of following gradients; nothing is opened on the way, "
            "so the verdicts are those of shares."
        )
    if draft.peek("report_metric"):
        draft.remarks.append(
            "report_metric opens the stopping metric in each epoch: one more equation about all labels each time."
        )
