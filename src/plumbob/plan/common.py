"""The keys that every plan has, each with its limits and its comment, and what follows from their values.

These are the keys that organisations sign. What else fixes a run is a constant in a plan of parties, and a key in a
study.
"""

import math
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Self, TypeVar

import msgspec
from msgspec import Struct

from plumbob.plan.keys import SECTIONS, key
from plumbob.plan.levels import Level, RowLevels, levels_by_rule, passes_without_sample, total_passes
from plumbob.plan.protocols import PROTOCOLS, Protocol
from plumbob.plan.row_noise import MOST_ROW_PASSES, counted_columns, row_passes, usual_row_norm

VERSION = 3
STEP_BITS = 22
USUAL_EPOCHS = 10
# Far beyond what anybody trains with; above them formulas overflow.
LARGEST_EPOCHS = 10**9
LARGEST_FIGURE = 1e6
LARGEST_PENALTY = 1e30
LARGEST_BINS = 1000
LARGEST_DAYS = 36_500
SMALLEST_EPSILON = 1e-9
DATA, MODEL, OPENING, PRIVACY, ACCOUNTABILITY, TOLERANCE, STUDY = (partial(key, name) for name in SECTIONS[1:])
ROW_NOISE_MEANS = "rows: differential privacy for each person's whole row"
TEST_SHARE_MEANS = "share of the rows that judge the model instead of training it, chosen by a keyed hash of the id"
BINS_MEAN = "bins per numeric column, beside the column itself; text and gaps get columns of their own in any case"
OPEN = OPENING(
    "never: weights stay shared, scores are computed together; own: each party gets its own weights", "never own"
)


@dataclass(frozen=True)
class Party:
    """One party as everybody knows it; `features` counts its columns after encoding, without the intercept."""

    name: str
    role: str
    features: int = 0


@dataclass(frozen=True)
class Heuristic:
    """What the paper's noise formula (Theorem D.5) needs besides the plan; the letters are the paper's."""

    G: float = 1.0  # bound on one row's gradient, above 1/2
    T: int = 30  # steps
    e: int = 0  # epochs; 0 = those really run

    def __post_init__(self) -> None:
        if type(self.G) is int:
            object.__setattr__(self, "G", float(self.G))


Value = TypeVar("Value")


def fixed(value: Value) -> Value:
    """A constant of plans of parties, which a study may override with a field."""
    return property(lambda plan: value)  # type: ignore[return-value]  # A field, where a struct has one, has this type.


class CommonKeys(Struct, frozen=True):
    """The parties, which a plan names first; kept apart because every other key is given by its name."""

    parties: tuple[Party, ...]


class Common(CommonKeys, frozen=True, kw_only=True):
    """The values of a plan, as they stand in its file."""

    version: int = VERSION
    title: Annotated[str, key("", "title of the plan")] = ""

    rows: Annotated[int, DATA("aligned rows if known", ge=0)] = 0
    bins: Annotated[int, DATA(BINS_MEAN, ge=0, le=LARGEST_BINS)] = 0
    rare: Annotated[int, DATA("levels with fewer rows are grouped", ge=0)] = 30
    test_share: Annotated[float, DATA(TEST_SHARE_MEANS, ge=0, lt=1)] = 0.0

    epochs: Annotated[
        int, MODEL("passes; 0 = a public rule on the rows that are trained on", ge=0, le=LARGEST_EPOCHS)
    ] = 0
    l2: Annotated[float, MODEL("L2 penalty on the mean loss", ge=0, le=LARGEST_PENALTY)] = 0.0
    class_weight: Annotated[str, MODEL("weight of the classes", "none balanced")] = "none"
    row_weights: Annotated[bool, MODEL("whether the label party brings weights from 0 to 1")] = False

    open: Annotated[str, OPEN] = "never"
    most_rows: Annotated[
        int,
        OPENING(
            "rows ever scored for the label party, held-out ones included; 0 = all aligned rows, or any number if "
            "weights are opened",
            ge=0,
        ),
    ] = 0
    release: Annotated[
        str,
        OPENING("replayed: scores only after the label party's auditor replayed its training", "always replayed"),
    ] = "always"

    noise: Annotated[str, PRIVACY(ROW_NOISE_MEANS, "none rows")] = "none"
    epsilon: Annotated[float, PRIVACY("privacy budget of the noise", ge=SMALLEST_EPSILON, le=LARGEST_FIGURE)] = 1.0
    delta: Annotated[
        float, PRIVACY("probability with which the noise's promise, differential privacy, may fail", gt=0, lt=1)
    ] = 1e-6

    evidence: Annotated[
        str,
        ACCOUNTABILITY(
            "whether each party named in auditors keeps, sealed for its auditor, what a replay of its side needs",
            "none keep",
        ),
    ] = "none"
    days: Annotated[
        int, ACCOUNTABILITY('how many days evidence is kept, with evidence = "keep"', ge=0, le=LARGEST_DAYS)
    ] = 0
    auditors: tuple[tuple[str, str], ...] = ()
    """The auditors of the parties that keep evidence: the party's name, and the fingerprint of its auditor's keys."""

    tolerance_labels: Annotated[
        float, TOLERANCE("advantage over the best baseline above which a finding about labels leaks", ge=0, le=1)
    ] = 0.05
    tolerance_features: Annotated[float, TOLERANCE("the same for findings about features and scores", ge=0, le=1)] = (
        0.05
    )

    # What a plan of parties fixes; docs/protocol.md says why. Each is a key of a study, which says what it means.
    protocol = fixed("shares")
    scale = fixed("whitened")
    sigmoid = fixed("fourier")
    start = fixed("zero")
    batches = fixed("full")
    batch_size = fixed(256)
    momentum = fixed(0.5)
    learning_rate = fixed(0.0)
    intercept = fixed(True)
    seed = fixed(0)
    noise_std = fixed(0.0)
    heuristic = fixed(Heuristic())
    row_norm = fixed(0.0)
    label_flip_epsilon = fixed(0.0)
    key_bits = fixed(2048)
    test_only_keys = fixed(False)
    replies = fixed("packed")
    feature_bits = fixed(13)
    residual_bits = fixed(20)
    unmasked_gradients_for_the_arbiter = fixed(False)

    # What follows.

    @property
    def kind(self) -> Protocol:
        """The protocol by its properties."""
        return PROTOCOLS[self.protocol]

    @property
    def is_closed(self) -> bool:
        """Whether weights stay shared for good, so that prediction works on shares."""
        return not self.kind.shows_gradients and self.open == "never"

    @property
    def opens_weights(self) -> bool:
        """Whether shares of weights are opened when training ends, to the party whose columns they are of."""
        return not self.kind.shows_gradients and self.open == "own"

    @property
    def keeps_evidence(self) -> bool:
        """Whether each party that has an auditor keeps what the auditor needs to compute the party's messages again."""
        return self.evidence == "keep"

    def has_evidence_of(self, party: str) -> bool:
        """Whether this party keeps evidence, for the auditor that the plan names for it."""
        return self.keeps_evidence and party in dict(self.auditors)

    @property
    def is_replayed(self) -> bool:
        """Whether no score is computed before the label party's auditor has replayed its training."""
        return self.release == "replayed"

    @property
    def is_between_two(self) -> bool:
        """Whether two parties have columns."""
        return len(self.learners) == 2

    @property
    def weighs_rows(self) -> bool:
        """Whether some rows count for more than others, by their class or by the label party's choice."""
        return self.class_weight != "none" or self.row_weights

    @property
    def step_nouns(self) -> tuple[str, str]:
        """One step and several, in words: one that uses all rows, or a sample of them, is a pass."""
        return ("pass", "passes") if self.batches == "full" else ("step", "steps")

    @property
    def is_whitened(self) -> bool:
        """Whether columns are whitened at home."""
        return self.scale == "whitened"

    @property
    def learners(self) -> tuple[Party, ...]:
        """The parties that hold columns, the label party first."""
        return tuple(party for party in self.parties if party.role != "arbiter")

    @property
    def label_party(self) -> Party:
        return self.parties[0]

    @property
    def feature_parties(self) -> tuple[Party, ...]:
        return self.learners[1:]

    @property
    def arbiter(self) -> Party | None:
        return next((party for party in self.parties if party.role == "arbiter"), None)

    @property
    def columns(self) -> int:
        """All parties' columns, without the intercept."""
        return sum(party.features for party in self.parties)

    @property
    def counted_columns(self) -> float:
        """All parties' columns as the public rules of noise for whole rows count them."""
        return counted_columns(self.columns, self.bins)

    @property
    def blocks(self) -> int:
        """How many parties hold columns; the intercept, which is orthogonal to centred columns, is none of them."""
        return max(1, sum(party.features > 0 for party in self.learners))

    def levels(self, rows: int) -> RowLevels:
        """How many passes use how many of this many training rows, by the plan or by the public rule."""
        if self.is_sampled_by_rule:
            return levels_by_rule(rows, self.columns, len(self.learners))
        return (Level(rows, self.passes_over(rows)),)

    @property
    def is_sampled_by_rule(self) -> bool:
        """Whether the first passes use a sample where rows suffice; never with noise, which that does not reduce."""
        return self.follows_rule and self.epochs == 0 and self.noise == "none"

    @property
    def follows_rule(self) -> bool:
        """Whether the public rule is made for this kind of descent."""
        return self.kind.carries_momentum and self.batches == "full"

    def passes(self, rows: int) -> int:
        """The number of passes over this many training rows, those over samples included."""
        return total_passes(self.levels(rows))

    @property
    def passes_without_sample(self) -> int:
        """The passes over the rows that the plan names, all of them in each pass."""
        return self.passes_over(self._trained)

    @property
    def _trained(self) -> int:
        """The training rows among those that the plan names; 0 = not known yet."""
        return self.rows - self.held_out(self.rows)

    def passes_over(self, trained: int) -> int:
        """`epochs`, or what the public rule says where every pass uses all of this many training rows; 0 = not known.

        Under noise for whole rows there are no other passes.
        """
        if self.epochs:
            return self.epochs
        if self.noise == "rows" and trained:
            return row_passes(trained, self.counted_columns, self.epsilon, self.delta)
        if not self.follows_rule:
            return USUAL_EPOCHS
        ruled = passes_without_sample(len(self.learners))
        return ruled if self.noise == "none" else min(ruled, MOST_ROW_PASSES)

    @property
    def rate(self) -> float:
        """The step size: `learning_rate`, or the public rate for whitened columns, whose joint Gram matrix is bounded.

        Clipping rows undoes the centring, so that the intercept's column counts as one more.
        """
        return self.learning_rate or 4.0 / (self.blocks + (self.joint_norm > 0))

    def rate_over(self, rows: int) -> float:
        """The rate of a step over this many rows: over lattices rate / rows is a whole number, and `clear` follows."""
        if not (self.follows_rule and self.sigmoid == "fourier"):
            return self.rate
        factor, exponent = self.whole_step(rows)
        return math.ldexp(factor * rows, -exponent)

    def whole_step(self, rows: int) -> tuple[int, int]:
        """(factor, exponent): rate / rows is about factor / 2**exponent, and the factor has 22 bits."""
        exponent = STEP_BITS - 1 - math.floor(math.log2(self.rate / rows))
        return round(math.ldexp(self.rate / rows, exponent)), exponent

    @property
    def joint_norm(self) -> float:
        """The norm that rows are clipped to where the plan names the rows; 0 = they are not clipped."""
        return self.norm_over(self._trained)

    def norm_over(self, trained: int) -> float:
        """`row_norm`, or under noise for whole rows the public rule's for this many training rows; 0 = not clipped.

        Where nobody knows the rows, the rule's largest norm.
        """
        if self.row_norm or self.noise != "rows":
            return self.row_norm
        if not trained:
            return math.sqrt(self.columns)
        return usual_row_norm(trained, self.counted_columns, self.epsilon, self.delta)

    def held_out(self, rows: int) -> int:
        """How many of this many aligned rows are kept for testing."""
        return round(rows * self.test_share)

    def aligned(self, trained: int) -> int:
        """How many rows are aligned where this many are trained on; the largest number where several fit."""
        rows = math.ceil((trained + 1) / (1.0 - self.test_share)) + 1
        while rows - self.held_out(rows) > trained:
            rows -= 1
        return rows

    def on(self, trained: int) -> Self:
        """This plan as a run with this many training rows follows it.

        Under noise for whole rows the public rule's passes and norm follow from these rows.
        """
        if self.noise != "rows" or self._trained == trained:
            return self
        followed = copy(self)
        # Not as a plan that somebody wrote: a bound is tried on rows for which its delta would be refused.
        msgspec.structs.force_setattr(followed, "rows", self.aligned(trained))
        return followed
