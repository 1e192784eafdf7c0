"""The plan of a study, all parties of which are one process: the keys of parties, and what their plans fix.

A study gets defaults for keys that it leaves out: `shares` and `clear` train alike, the others as in the paper. With
`shares` it may set a party's keys and a seed.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from plumbob.plan.common import DATA, LARGEST_FIGURE, MODEL, OPEN, PRIVACY, ROW_NOISE_MEANS, STUDY, Common, Heuristic
from plumbob.plan.file import named_parties, read_heuristic
from plumbob.plan.keys import BY_PROTOCOL, SettingKey, keys_of
from plumbob.plan.mistakes import Mistakes
from plumbob.plan.plan import Plan
from plumbob.plan.protocols import OTHER_SYSTEMS, PROTOCOLS
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.plan.study_mistakes import heuristic_mistakes, study_mistakes

LARGEST_KEY_BITS = 8192  # Longer ones take days to make.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "standard",
        "sigmoid": "taylor",
        "batches": "reshuffled",
        "momentum": 0.0,
        "learning_rate": 0.1,
        "feature_bits": 16,
        "open": "own",
    }
)
"""How the paper trains, by the plan's keys: for `VerticalLogisticRegression(protocol="clear", **plumbob.PAPER)`."""
PAPERS_PROTOCOL = "exchange"


class StudyKeys(Common, frozen=True, kw_only=True):
    """The values of a study's plan, as they stand in its file."""

    scale: Annotated[
        str,
        DATA("how each party scales its own columns, by its own rows", "whitened standard none"),
    ] = BY_PROTOCOL

    sigmoid: Annotated[
        str,
        MODEL(
            "approximation of the sigmoid; fourier in shares and clear, taylor in all but shares, others in clear",
            " ".join(SIGMOIDS),
        ),
    ] = BY_PROTOCOL
    start: Annotated[str, MODEL("starting weights", "zero xavier kaiming small normal")] = "zero"
    batch_size: Annotated[
        int,
        MODEL("rows per batch, where batches are not full; with clear, it asks for reshuffled batches", ge=1),
    ] = BY_PROTOCOL
    batches: Annotated[
        str,
        MODEL(
            "all rows at once, reshuffled for each epoch, which leaks most outside shares, or fixed",
            "full reshuffled fixed",
        ),
    ] = BY_PROTOCOL
    momentum: Annotated[
        float,
        MODEL("momentum, 0 to 0.5; in shares, more than 30 epochs need l2 = 0.01 or more", ge=0, le=0.5),
    ] = BY_PROTOCOL
    learning_rate: Annotated[
        float,
        MODEL(
            "learning rate; 0 = the public rate, for whitened columns and full batches: weights then grow at most "
            "linearly",
            ge=0,
            le=LARGEST_FIGURE,
        ),
    ] = BY_PROTOCOL
    intercept: Annotated[bool, MODEL("whether an intercept is trained")] = True
    seed: Annotated[
        int, MODEL("seed of batches and starting weights, for experiments; 0 = drawn by all parties together", ge=0)
    ] = 0

    open: Annotated[str, OPEN] = BY_PROTOCOL

    noise: Annotated[str, PRIVACY(ROW_NOISE_MEANS, "none rows std heuristic sound")] = "none"
    noise_std: Annotated[
        float, PRIVACY('standard deviation of the noise, with noise = "std"', ge=0, le=LARGEST_FIGURE)
    ] = 0.0
    heuristic: Heuristic = Heuristic()
    row_norm: Annotated[
        float,
        PRIVACY(
            'joint norm that rows are clipped to; 0 = not (with noise = "rows": by a public rule); other noise needs '
            "it",
            ge=0,
            le=LARGEST_FIGURE,
        ),
    ] = 0.0
    label_flip_epsilon: Annotated[
        float, PRIVACY("epsilon of labels flipped at random before training; 0 = off", ge=0, le=100)
    ] = 0.0

    protocol: Annotated[str, STUDY("protocol to train with", "shares clear exchange arbiter", also=OTHER_SYSTEMS)] = (
        "shares"
    )
    key_bits: Annotated[
        int,
        STUDY(
            "length of Paillier keys; shorter ones only with test_only_keys = true, noted in the record",
            ge=256,
            le=LARGEST_KEY_BITS,
        ),
    ] = 2048
    test_only_keys: Annotated[
        bool, STUDY("allow keys too short to protect anything, for experiments and tests only")
    ] = False
    replies: Annotated[
        str,
        STUDY(
            "what exchange and arbiter hand back: packed sums, which limit packing and do not stop it, or whole "
            "plaintexts as in the paper",
            "packed paper",
        ),
    ] = "packed"
    feature_bits: Annotated[int, STUDY("fraction bits of features", ge=1, le=40)] = BY_PROTOCOL
    residual_bits: Annotated[int, STUDY("fraction bits of residuals", ge=1, le=40)] = 20
    unmasked_gradients_for_the_arbiter: Annotated[bool, STUDY("whether gradients go to the arbiter without masks")] = (
        False
    )


class Study(StudyKeys, Plan, frozen=True, kw_only=True):
    """The validated plan of a study; an invalid one cannot be built. Raises PlanError with one line per mistake."""

    def __post_init__(self) -> None:
        for name, value in with_defaults(self.values()).items():
            msgspec.structs.force_setattr(self, name, value)
        super().__post_init__()

    @classmethod
    def keys(cls) -> tuple[SettingKey, ...]:
        return KEYS

    @classmethod
    def _from_values(cls, values: Mapping[str, Any], mistakes: list[str]) -> Plan:
        """Build a study, or the plan of parties that it is where nothing of a study is set."""
        built = super()._from_values(values, mistakes)
        if not built.kind.has_lattices or built.seed:
            return built
        return Plan(**{name: getattr(built, name) for name in Plan.__struct_fields__})

    @classmethod
    def _completed(cls, values: Mapping[str, Any], mistakes: list[str]) -> dict[str, Any]:
        values = with_defaults(super()._completed(values, mistakes))
        if isinstance(values.get("heuristic"), Mapping):
            values["heuristic"] = read_heuristic(values["heuristic"], mistakes)
        return values

    @classmethod
    def _value_mistakes(cls, values: Mapping[str, Any]) -> dict[str, str]:
        lines = "\n".join(heuristic_mistakes(values.get("heuristic", Heuristic())))
        return {**super()._value_mistakes(values), **({"heuristic": lines} if lines else {})}

    @staticmethod
    def _rule_mistakes(plan: Common) -> Mistakes:
        return study_mistakes(plan, KEYS)

    @classmethod
    def _unchecked(cls, values: Mapping[str, Any]) -> Common:
        return StudyKeys(**{"parties": named_parties((1, 1)), **with_defaults(values)})

    def default(self, key: SettingKey) -> Any:
        return default_of(key, self.protocol, self.batches)

    @staticmethod
    def _unsaid(plan: Plan, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What was only the default of a protocol that the plan no longer has; `shares` keeps a study's seed alone."""
        protocol = changes.get("protocol", plan.protocol)
        if protocol == plan.protocol:
            return {}
        fitted = {key.name: None for key in KEYS if key.is_fitted and getattr(plan, key.name) == plan.default(key)}
        if protocol != "shares":
            return fitted
        return fitted | {key.name: key.default for key in KEYS if key.is_study and key.name != "seed"}

    def _written_keys(self) -> tuple[SettingKey, ...]:
        if not self.kind.has_lattices:
            return KEYS
        return (*Plan.keys(), *(key for key in KEYS if key.name == "seed" and self.seed))


KEYS = keys_of(StudyKeys, Common(parties=()))
"""The keys of every plan: those of parties, and a study's."""


def default_of(key: SettingKey, protocol: str, batches: str = "full") -> Any:
    """The key's default in a plan of this protocol.

    What `clear` has for itself is small batches, which the public rate does not suit: with them it trains as the paper.
    """
    kind = PROTOCOLS.get(protocol)
    if not key.is_fitted or kind is None or kind.has_lattices:
        return key.default
    if kind.is_encrypted or kind.is_foreign or batches != "full" or key.name == "open":
        return PAPER.get(key.name, key.default)
    return key.default


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the defaults of their protocol where nothing was said."""
    protocol = values.get("protocol", "shares")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    given = {name: value for name, value in values.items() if name not in unsaid}
    # Whoever names a size of batches wants batches, where the protocol has them.
    batches = given.get("batches", "reshuffled" if "batch_size" in given else "full")
    return {key.name: default_of(key, protocol, batches) for key in KEYS} | given


def flip_probability(epsilon: float) -> float:
    """The probability q of a flip; 0 where randomised response is off (epsilon 0)."""
    return 0.0 if epsilon == 0 else 1.0 / (1.0 + math.exp(epsilon))


def label_scale(epsilon: float) -> float:
    """The factor 1 / (1 - 2q) on a flipped label in training."""
    return 1.0 / (1.0 - 2.0 * flip_probability(epsilon))
