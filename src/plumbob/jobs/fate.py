"""The common part of FATE's logistic regressions, whichever file describes them.

`hetero_lr` and `coordinated_lr` have an arbiter that holds the key and decrypts every gradient. `hetero_sshe_lr` and
`sshe_lr` keep everything in shares between guest and host, unless a setting opens it on the way.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plumbob.jobs.defaults import SystemVersion, defaults_for
from plumbob.jobs.reading import (
    Job,
    JobDraft,
    Parties,
    Read,
    Tree,
    flag,
    listed,
    number,
    shown,
    unjudged,
    whole,
)
from plumbob.plan import PROFILE_BITS

SYSTEM = "FATE"
# By the component's name or module in lower case, without signs: HeteroLR, hetero_lr, hetero-lr-0 are one.
COMPONENTS = {
    "heterosshelr": "hetero_sshe_lr",
    "sshelr": "sshe_lr",
    "heterolr": "hetero_lr",
    "heterologisticregression": "hetero_lr",
    "coordinatedlr": "coordinated_lr",
}
STARTS = {"zeros": "zero", "zero": "zero", "random_normal": "normal", "random": "normal", "random_uniform": "xavier"}
MEANINGS = {
    "tol": "when to stop early; a plan runs all its epochs",
    "eps": "when to stop early, under the name of FATE 1.1; a plan runs all its epochs",
    "converge_func": "when to stop early, under the name of FATE 1.1; a plan runs all its epochs",
    "decay": "slows the learning rate down; the equations stay the same",
    "decay_sqrt": "slows the learning rate down; the equations stay the same",
    "learning_rate_scheduler": "changes the learning rate; the equations stay the same",
    "validation_freqs": "measures quality on the way; each figure is one more equation about the labels",
    "early_stopping_rounds": "stops by quality on other rows",
    "callback_param": "measures quality, or stops by it; each figure is one more equation about the labels",
    "metrics": "which quality is measured",
    "floating_point_precision": "rounding",
    "encrypted_mode_calculator_param": "how often ciphertexts are made from scratch",
    "predict_param": "prediction only",
    "threshold": "prediction only",
    "output_cv_data": "output only",
    "multi_class": "how several classes are trained",
    "early_stop": "when to stop early; a plan runs all its epochs",
    "use_first_metric_only": "which quality is measured",
    "cv_param": "cross-validation is off",
    "sqn_param": "for the quasi-Newton optimizer only",
    "stepwise_param": "stepwise selection is off",
    "one_vs_rest_param": "one-vs-rest is off",
    "reveal_loss_freq": "how often the guest sees the loss",
    "use_mix_rand": "how masks are drawn",
}


@dataclass(frozen=True)
class Component:
    """One logistic regression as a file describes it."""

    name: str
    kind: str
    """The component's key in the table of defaults."""
    parameters: Tree
    others: tuple[str, ...] = ()
    """Other components that train on the same rows."""
    has_classes: bool = False
    """Whether the job evaluates more than two classes, for which FATE trains one model each."""


def kind_of(name: str) -> str | None:
    """Which logistic regression a component's name or module stands for."""
    words = re.sub(r"[\d\W_]+", "", re.sub(r"[_-]?\d+$", "", name.strip().lower()))
    if words.startswith("homo") or "linr" in words:
        return None
    return next((kind for ending, kind in COMPONENTS.items() if words.endswith(ending)), None)


def job_of(
    component: Component,
    version: SystemVersion,
    parties: Parties,
    told: Iterable[Read],
    ignored: Iterable[str] = (),
    unseen: Iterable[str] = (),
) -> Job:
    """The job that a component's parameters describe."""
    defaults = defaults_for(SYSTEM, component.kind, version)
    draft = JobDraft(component.parameters, defaults, component.name, defaults.since >= (2, 0))
    draft.read.extend(told)
    is_sshe = "sshe" in component.kind
    _read_common(draft)
    _read_optimizer(draft)
    _read_key(draft)
    if is_sshe:
        _read_sshe(draft, component.kind)
    else:
        _read_arbiter(draft, component.kind)
    _read_variants(draft, component)
    return draft.job(
        MEANINGS,
        ignored,
        parties=parties,
        has_arbiter=not is_sshe,
        no_all_clear=(*unseen, *unjudged(component.others)),
    )


# What all of them have.


def _read_common(draft: JobDraft) -> None:
    keys = draft.keys
    keys["epochs"] = whole("epochs", draft.take("epochs", "max_iter", "epochs"))
    keys["learning_rate"] = number("learning_rate", _rate(draft))
    size = draft.take("batch_size", "batch_size")
    if is_full(size):
        keys["batches"] = draft.follows("batches", "full")
    else:
        keys["batch_size"] = whole("batch_size", size)
    _read_start(draft)


def is_full(size: Any) -> bool:
    """Whether a batch has all rows: FATE writes -1, null, 0 or nothing."""
    return size is None or str(size).strip().lower() in ("-1", "0", "none", "null", "-1.0")


def _rate(draft: JobDraft) -> Any:
    names: tuple[str, ...] = (
        "learning_rate",
        "optimizer.optimizer_params.lr",
        "optimizer.optimizer_params.learning_rate",
    )
    if draft.table("learning_rate"):
        names = names[1:]
    return draft.take("learning_rate", *names)


def _fix_batches(draft: JobDraft, source: str = "") -> None:
    """Note that the system cuts batches once, for all epochs."""
    if draft.keys.get("batches") != "full":
        draft.keys["batches"] = draft.by_default("batches", "fixed", source)


def _read_start(draft: JobDraft) -> None:
    names = ("init_param.init_method", "init_param.method")
    if draft.table("init_param") and not draft.states(*names) and "epochs" in draft.defaults.values:
        # In 2.x a table without a method is the table's own default, not the component's.
        source = "FATE 2.x python/fate/components/core/params/_init_param.py"
        method: Any = draft.by_default("start", "zeros", source)
    else:
        method = draft.take("start", *names)
    start = STARTS.get(str(method).lower())
    if start is None:
        draft.remarks.append(f'The start "{shown(method)}" has no counterpart; small random weights are taken instead.')
    draft.keys["start"] = start or "xavier"
    draft.describe("start", draft.keys["start"])
    intercept = draft.take("intercept", "init_param.fit_intercept")
    draft.keys["intercept"] = True if intercept is None else flag(intercept)


def _read_optimizer(draft: JobDraft) -> None:
    names = ("optimizer.method",) if draft.table("optimizer") else ("optimizer", "optimizer.method")
    method = str(draft.take("optimizer", *names)).lower()
    if method in ("sqn", "stochastic_quansi_newton", "stochastic_quasi_newton"):
        draft.remarks.append(
            "Stochastic quasi-Newton: the arbiter multiplies all parties' gradients by one matrix, so each party gets "
            "a mixture that also holds the others' gradients. The verdicts are those of plain gradient descent, which "
            "is the less that can be said: every equation counted here is in the mixture too."
        )
    elif method not in ("sgd", "none"):
        draft.remarks.append(f'The optimizer "{shown(method)}" is taken as plain gradient descent: same equations.')
    _read_penalty(draft)


def _read_penalty(draft: JobDraft) -> None:
    penalty = str(draft.take("penalty", "penalty", "optimizer.penalty")).lower()
    if penalty == "l1":
        strength = draft.take("l1", "alpha", "optimizer.alpha")
        draft.remarks.append(f"The L1 penalty ({shown(strength)}) has no counterpart in a plan and is left out.")
    if penalty == "l2":
        draft.keys["l2"] = number("l2", draft.take("l2", "alpha", "optimizer.alpha"))
    else:
        draft.keys["l2"] = draft.follows("l2", 0.0, "follows from penalty")
        # Without a penalty its strength means nothing.
        draft.peek("alpha")
        draft.peek("optimizer.alpha")


def _read_key(draft: JobDraft) -> None:
    names = ("encrypt_param.key_length", "he_param.key_length", "key_length")
    bits = draft.take("key_bits", *names)
    length = whole("key_bits", 1024 if bits is None else bits)
    draft.keys["key_bits"] = length
    if length not in PROFILE_BITS:
        draft.keys["test_only_keys"] = True
    if length < PROFILE_BITS[0]:
        draft.remarks.append(
            f"Keys of {length} bits are too short to protect anything for long. Use 2048 bits or more."
        )
    _read_encryption(draft)


def _read_encryption(draft: JobDraft) -> None:
    names = ("encrypt_param.method", "he_param.kind")
    if draft.defaults.of(names) is None:
        return
    method = str(draft.take("encryption", *names))
    if method.lower() in ("none", "null", "mock", ""):
        draft.unprotected = f'The job asks for no encryption ({names[0]} or {names[1]} is "{shown(method)}").'
    elif method.lower() != "paillier":
        draft.remarks.append(f'The encryption "{shown(method)}" is judged as Paillier: what a step shows is the same.')


# With an arbiter.


def _read_arbiter(draft: JobDraft, kind: str) -> None:
    draft.keys |= {"protocol": "arbiter", "unmasked_gradients_for_the_arbiter": True}
    draft.remarks.append("FATE's arbiter decrypts every party's gradient in each batch, without masks.")
    if kind == "hetero_lr" and draft.keys.get("batches") != "full":
        _read_batches(draft)
    else:
        _fix_batches(draft, "FATE 2.x python/fate/arch/dataframe/utils/_dataloader.py")


def _read_batches(draft: JobDraft) -> None:
    """Read the batches: from 1.7.2 on drawn for each epoch and hidden among decoys, before that cut once."""
    is_told = draft.states("masked_rate", "batch_strategy", "shuffle")
    draft.may_be_fixed = not is_told and any(one.key == "version" and one.source == "assumed" for one in draft.read)
    rate = number("masked_rate", draft.take("masked_rate", "masked_rate"))
    strategy = str(draft.take("batch_strategy", "batch_strategy")).lower()
    is_shuffled = flag(draft.take("shuffle", "shuffle")) or rate > 0 or strategy == "random"
    batches = "reshuffled" if is_shuffled else "fixed"
    draft.keys["batches"] = draft.follows("batches", batches, "follows from shuffle")
    draft.decoys = max(rate, 0.0)
    if strategy == "random":
        draft.remarks.append(
            "batch_strategy random: each epoch draws one batch of all rows, so few rows are visited often."
        )


# In shares.


def _read_sshe(draft: JobDraft, kind: str) -> None:
    """Read an SSHE job: shares, unless a setting opens gradients in every batch or weights in every epoch."""
    stop = str(draft.take("early_stop", "early_stop", "converge_func")).lower()
    is_opened = kind == "hetero_sshe_lr" and flag(draft.take("reveal_every_iter", "reveal_every_iter"))
    if kind == "sshe_lr" and flag(draft.peek("reveal_every_epoch")):
        is_opened = True
    if is_opened:
        _open_gradients(draft)
    elif kind == "sshe_lr" and stop == "weight_diff":
        _open_weights(draft)
    else:
        draft.keys |= {"protocol": "sshe", "open": "own", "sigmoid": "taylor"}
        _fix_batches(draft)
    strategy = draft.peek("reveal_strategy")
    if strategy is not None and "host" in str(strategy):
        draft.remarks.append(
            "encrypted_reveal_in_host: the host never holds its weights in the clear; judged as if it did."
        )
    draft.remarks.append("The guest sees the loss while it trains: one equation about the host's scores each time.")


def _open_gradients(draft: JobDraft) -> None:
    draft.keys |= {"protocol": "exchange", "sigmoid": "taylor"}
    _fix_batches(draft)
    draft.remarks.append(
        "reveal_every_iter opens each party's gradient in every batch: it is judged like a protocol that hands each "
        "party its gradient, on batches that stay the same."
    )


def _open_weights(draft: JobDraft) -> None:
    """Note that weights are opened: the difference between two openings is the sum of an epoch's gradients."""
    draft.keys |= {"protocol": "exchange", "sigmoid": "taylor", "batches": "full"}
    draft.keys.pop("batch_size", None)
    draft.assume("batches", "full", "one opening per epoch says as much as one gradient over all rows")
    draft.remarks.append(
        "early_stop weight_diff opens each party's weights after every epoch: two openings differ by the epoch's "
        "gradient, so it is judged like one opened gradient over all rows per epoch."
    )


# What trains more than once, or otherwise.


def _read_variants(draft: JobDraft, component: Component) -> None:
    _read_folds(draft)
    _read_classes(draft, component.has_classes)
    _read_steps(draft)
    if component.others:
        draft.fits *= 1 + len(component.others)
        names = ", ".join(component.others)
        draft.remarks.append(
            f"{names} also train{'s' if len(component.others) == 1 else ''} on these rows; {component.name} is read, "
            "and what all of them show is counted together."
        )
    if draft.peek("sample_weight") or draft.states("sample_weight_param"):
        draft.remarks.append("Sample weights multiply each residual; a plan has none.")


def _read_folds(draft: JobDraft) -> None:
    table = draft.table("cv_param")
    is_two = "n_splits" in table and "need_cv" not in table and "epochs" in draft.defaults.values
    if not table or not (flag(table.get("need_cv")) or is_two):
        return
    splits = draft.peek("cv_param.n_splits")
    folds = whole("cv_param.n_splits", 5 if splits is None else splits)
    draft.peek("cv_param")
    draft.fits *= max(1, min(folds, 1000) - 1)
    draft.read.append(Read("folds", folds, "file" if splits is not None else "default", "cv_param.n_splits"))
    draft.remarks.append(
        f"Cross-validation with {folds} folds trains on each row {folds - 1} times; what the trainings show adds up."
    )


def _read_classes(draft: JobDraft, has_classes: bool) -> None:
    table = draft.table("one_vs_rest_param")
    if has_classes or flag(table.get("need_one_vs_rest")):
        draft.peek("one_vs_rest_param")
        draft.remarks.append(
            "One-vs-rest trains one model per class on the same rows: what is said about labels holds for each class, "
            "and the models together say more."
        )


def _read_steps(draft: JobDraft) -> None:
    table = draft.table("stepwise_param")
    if flag(table.get("need_stepwise")):
        steps = draft.peek("stepwise_param.max_step")
        draft.peek("stepwise_param")
        count = whole("stepwise_param.max_step", 10 if steps is None else steps)
        draft.fits *= max(1, min(count, 1000))
        draft.remarks.append(
            f"Stepwise selection trains one model per candidate column in each of up to {count} steps on the same "
            f"rows; {max(1, count)} trainings are counted, which is the least there are. The arbiter also learns each "
            "model's score."
        )


def evaluates_classes(tree: Any) -> bool:
    """Whether an evaluation anywhere in a job is set to several classes."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            kinds = [one for name in ("eval_type", "default_eval_setting") for one in listed(value.get(name))]
            if "multi" in kinds:
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


# Who takes part.


def parties_from(roles: Any) -> Parties:
    """The parties from roles such as {guest: [9999], host: [10000], arbiter: [10000]}, as text."""
    table = roles if isinstance(roles, Mapping) else {}
    ids = {str(role).lower(): tuple(shown(one) for one in listed(given)) for role, given in table.items()}
    return Parties(ids.get("guest", ()), ids.get("host", ()), ids.get("arbiter", ()))


def party_entries(parties: Parties) -> list[Read]:
    """The entries that are printed about the parties."""
    named = {"guest": parties.label, "host": parties.features, "arbiter": parties.arbiter}
    return [Read(role, ", ".join(ids), "file", f"role.{role}") for role, ids in named.items() if ids]
