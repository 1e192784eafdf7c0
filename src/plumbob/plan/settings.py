"""Every key of a plan, with its section, its limits and its comment beside it, and what follows from their values.

Reading, checking, printing and the command line's flags all follow from this list.
"""

import math
from dataclasses import dataclass, field, fields

from plumbob.plan.keys import PlanSection, SettingKey
from plumbob.plan.levels import Level, RowLevels, levels_by_rule, passes_without_sample, total_passes
from plumbob.plan.protocols import OTHER_SYSTEMS, PROTOCOLS, Protocol
from plumbob.plan.sigmoids import SIGMOIDS

VERSION = 3
BIN_SCALE = 0.6
"""The factor on bins beside their plain column, so that their weights are penalised more.

The plain column says what rises or falls evenly; what is left to the bins is less.
"""
STEP_BITS = 22
ROLES = ("label", "features", "arbiter")
SECTIONS = ("parties", "data", "model", "opening", "privacy", "accountability", "tolerance", "study")
DATA, MODEL, OPENING, PRIVACY, ACCOUNTABILITY, TOLERANCE, STUDY = map(PlanSection, SECTIONS[1:])
# Far beyond what anybody trains with; above them formulas overflow, and keys take days to make.
LARGEST_KEY_BITS = 8192
LARGEST_WIDTH = 10**6
LARGEST_EPOCHS = 10**9
LARGEST_FIGURE = 1e6
LARGEST_PENALTY = 1e30
LARGEST_FLIP_EPSILON = 100
LARGEST_BINS = 1000
LARGEST_DAYS = 36_500
LARGEST_MOMENTUM = 0.5
SMALLEST_EPSILON = 1e-9
USUAL_EPOCHS = 10
FEWEST_ROW_PASSES, MOST_ROW_PASSES = 6, 20
PASSES_AT_FULL_BURDEN = 0.13
NORM_AT_FULL_BURDEN, LEAST_NORM = 0.12, 0.25
MOST_ROW_BINS = 64
"""Under noise for whole rows, a column's cuts are ends of this many cells."""


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


@dataclass(frozen=True)
class PlanSettings:
    """The values of a plan, as they stand in its file; `Plan` is their validated form."""

    parties: tuple[Party, ...]
    title: str = PlanSection("").key("", "title of the plan", is_usual=True)

    rows: int = DATA.key(0, "aligned rows if known", low=0, is_usual=True)
    scale: str = DATA.one_of(
        "whitened standard none",
        "how each party scales its own columns, by its own rows",
        is_fitted=True,
        is_study=True,
    )
    bins: int = DATA.key(
        0,
        "bins per numeric column, beside the column itself; texts and gaps are encoded with any number",
        low=0,
        most=LARGEST_BINS,
        is_usual=True,
    )
    rare: int = DATA.key(30, "levels with fewer rows are grouped", low=0)
    test_share: float = DATA.key(
        0.0,
        "share of the rows held out for quality, by a keyed hash of the id",
        low=0,
        below=1,
        is_usual=True,
    )

    sigmoid: str = MODEL.one_of(
        " ".join(SIGMOIDS),
        "approximation of the sigmoid; fourier in shares and clear, taylor in all but shares, others in clear",
        is_fitted=True,
        is_study=True,
    )
    start: str = MODEL.one_of("zero xavier kaiming small normal", "starting weights", is_study=True)
    epochs: int = MODEL.key(
        0,
        "passes; 0 = a public rule on the rows that are trained on",
        low=0,
        most=LARGEST_EPOCHS,
        is_usual=True,
    )
    batch_size: int = MODEL.key(
        256,
        "rows per batch, where batches are not full; with clear, it asks for reshuffled batches",
        low=1,
        is_fitted=True,
        is_usual=True,
        is_study=True,
    )
    batches: str = MODEL.one_of(
        "full reshuffled fixed",
        "all rows at once, reshuffled for each epoch, which leaks most outside shares, or fixed",
        is_fitted=True,
        is_study=True,
    )
    momentum: float = MODEL.key(
        0.5,
        "momentum, 0 to 0.5; in shares, more than 30 epochs need l2 = 0.01 or more",
        low=0,
        high=LARGEST_MOMENTUM,
        is_fitted=True,
        is_study=True,
    )
    learning_rate: float = MODEL.key(
        0.0,
        "learning rate; 0 = the public rate, for whitened columns and full batches: weights then grow at most linearly",
        low=0,
        most=LARGEST_FIGURE,
        is_fitted=True,
        is_study=True,
    )
    intercept: bool = MODEL.key(True, "whether an intercept is trained", is_study=True)
    l2: float = MODEL.key(0.0, "L2 penalty on the mean loss", low=0, most=LARGEST_PENALTY, is_usual=True)
    class_weight: str = MODEL.one_of("none balanced", "weight of the classes")
    row_weights: bool = MODEL.key(False, "whether the label party brings weights from 0 to 1")
    seed: int = MODEL.key(
        0,
        "seed of batches and starting weights, for experiments; 0 = drawn by all parties together",
        low=0,
        high=2**63 - 1,
        is_usual=True,
        is_study=True,
    )

    open: str = OPENING.one_of(
        "never own",
        "never: weights stay shared, scores are computed together; own: each party gets its own weights",
        is_fitted=True,
        is_usual=True,
    )
    most_rows: int = OPENING.key(
        0,
        "rows ever scored for the label party, held-out ones included; 0 = all aligned rows, or any number if weights "
        "are opened",
        low=0,
        is_usual=True,
    )
    release: str = OPENING.one_of(
        "always replayed",
        "replayed: scores only after the label party's auditor replayed its training",
        is_usual=True,
    )

    noise: str = PRIVACY.one_of(
        "none rows std heuristic sound",
        "rows: a promise about each row",
        is_usual=True,
        of_study=("std", "heuristic", "sound"),
    )
    noise_std: float = PRIVACY.key(
        0.0, 'standard deviation of the noise, with noise = "std"', low=0, most=LARGEST_FIGURE, is_study=True
    )
    epsilon: float = PRIVACY.key(
        1.0,
        "privacy budget of the noise",
        above=0,
        least=SMALLEST_EPSILON,
        most=LARGEST_FIGURE,
        is_usual=True,
    )
    delta: float = PRIVACY.key(
        1e-6,
        "probability with which the noise's promise, differential privacy, may fail",
        above=0,
        below=1,
    )
    heuristic: Heuristic = field(default=Heuristic())
    row_norm: float = PRIVACY.key(
        0.0,
        'joint norm that rows are clipped to; 0 = not (with noise = "rows": by a public rule); other noise needs it',
        low=0,
        most=LARGEST_FIGURE,
        is_study=True,
    )
    label_flip_epsilon: float = PRIVACY.key(
        0.0,
        "epsilon of labels flipped at random before training; 0 = off",
        low=0,
        most=LARGEST_FLIP_EPSILON,
        is_study=True,
    )

    evidence: str = ACCOUNTABILITY.one_of(
        "none keep",
        "whether each party named in auditors keeps, sealed for its auditor, what a replay of its side needs",
        is_usual=True,
    )
    days: int = ACCOUNTABILITY.key(
        0, 'how many days evidence is kept, with evidence = "keep"', low=0, most=LARGEST_DAYS
    )
    auditors: tuple[tuple[str, str], ...] = ()
    """The auditors of the parties that keep evidence: the party's name, and the fingerprint of its auditor's keys."""

    tolerance_labels: float = TOLERANCE.key(
        0.05, "advantage over the best baseline above which a finding about labels leaks", low=0, high=1
    )
    tolerance_features: float = TOLERANCE.key(0.05, "the same for findings about features and scores", low=0, high=1)

    protocol: str = STUDY.one_of(
        "shares clear exchange arbiter", "protocol to train with", also=OTHER_SYSTEMS, is_usual=True
    )
    key_bits: int = STUDY.key(
        2048,
        "length of Paillier keys; shorter ones only with test_only_keys = true, noted in the record",
        low=256,
        most=LARGEST_KEY_BITS,
    )
    test_only_keys: bool = STUDY.key(False, "allow keys too short to protect anything, for experiments and tests only")
    replies: str = STUDY.one_of(
        "packed paper",
        "what exchange and arbiter hand back: packed sums, which limit packing and do not stop it, or whole plaintexts "
        "as in the paper",
    )
    feature_bits: int = STUDY.key(13, "fraction bits of features", low=1, high=40, is_fitted=True)
    residual_bits: int = STUDY.key(20, "fraction bits of residuals", low=1, high=40)
    unmasked_gradients_for_the_arbiter: bool = STUDY.key(False, "whether gradients go to the arbiter without masks")

    version: int = VERSION

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


def counted_columns(columns: float, bins: int) -> float:
    """Encoded columns, where each bin counts as its variance beside the column that it belongs to.

    A plan does not tell bins from levels, which are more seldom than a column of numbers and count as much.
    """
    return columns * (1 + (bins - 1) * BIN_SCALE**2) / bins if bins else float(columns)


def row_passes(rows: int, columns: float, epsilon: float, delta: float) -> int:
    """The public rule for passes under noise for whole rows: each divides the budget, so fewer if noise is costly."""
    wanted = PASSES_AT_FULL_BURDEN / row_burden(rows, columns, epsilon, delta)
    return round(min(MOST_ROW_PASSES, max(FEWEST_ROW_PASSES, wanted)))


def usual_row_norm(rows: int, columns: float, epsilon: float, delta: float) -> float:
    """The public rule for the clipping norm: noise grows with it, so rows are shortened where noise is costly.

    A row of whitened columns is about sqrt of their number long. Shorter ones keep their directions.
    """
    share = NORM_AT_FULL_BURDEN / math.sqrt(row_burden(rows, columns, epsilon, delta))
    return math.sqrt(columns) * min(1.0, max(LEAST_NORM, share))


def row_burden(rows: int, columns: float, epsilon: float, delta: float) -> float:
    """How much noise for whole rows weighs: columns / (rows * sqrt of the budget).

    The square root of the budget is about what the usual conversion gives, with a smaller logarithm because the proved
    one is better.
    """
    logarithm = max(1.0, math.log(1.0 / delta) - 3.5)
    budget = math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)
    return max(1, columns) / (max(1, rows) * budget)


KEYS: tuple[SettingKey, ...] = tuple(
    SettingKey(item.name, **item.metadata) for item in fields(PlanSettings) if item.metadata
)
PARTY_KEYS = tuple(key for key in KEYS if not key.is_study)
"""The keys of a plan that parties sign; the others are a study's, all parties of which are one process."""
FIELD_NAMES = tuple(item.name for item in fields(PlanSettings))


def flip_probability(epsilon: float) -> float:
    """The probability q of a flip; 0 where randomised response is off (epsilon 0)."""
    return 0.0 if epsilon == 0 else 1.0 / (1.0 + math.exp(epsilon))


def label_scale(epsilon: float) -> float:
    """The factor 1 / (1 - 2q) on a flipped label in training."""
    return 1.0 / (1.0 - 2.0 * flip_probability(epsilon))
