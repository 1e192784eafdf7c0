"""The lattice parameters of a plan's run, from public numbers alone, and what they guarantee.

Each opened number has a fixed number of bits, and a dishonest party can use them to carry out coefficients of a key.
What the end of a run can carry toward one party is bounded by the bits opened to it and by what the weights' shares
hold, whichever is smaller. A key withstands what may be opened to everybody but its owner, and the parameters are the
smallest that do: where weights are never opened, nothing is opened to a feature party, so the label party's keys can be
the smallest ones.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from plumbob.crypto.lattice import (
    AnyLayout,
    KeyContext,
    Layout,
    MaskedOpening,
    ParameterSet,
    SlotLayout,
    angles,
    sets,
)
from plumbob.data.whitening import PENALTY_BITS
from plumbob.errors import PlanError
from plumbob.plan import Plan
from plumbob.plan.common import STEP_BITS
from plumbob.plan.sigmoids import AMPLITUDES, HARMONICS
from plumbob.protocol.limits import most_scored_rows
from plumbob.protocol.openings import OPENED_SCORES, WEIGHTS, columns_of

if TYPE_CHECKING:
    from plumbob.privacy.rows import RowCost

PERIOD_BITS = 6  # A period of the sigmoid's series is 64.
WEIGHT_BITS = 32  # Fraction bits of a weight.
ANGLE_BITS = 32  # A turn is the whole range of a shared score.
SCORE_FRACTION = ANGLE_BITS - PERIOD_BITS  # Fraction bits of a shared score.
SLOT_BITS = 40  # Fraction bits of a residual.
RESIDUAL_RING = 128
GRADIENT_RING = 104
DROPPED_BITS = RESIDUAL_RING - GRADIENT_RING
MOMENTUM_BITS = 20
FAILURE_BITS, FAILURE_BITS_OF_STAGES = 40, 38
"""A number is cut or lifted wrongly in one of 2**40 runs of two parties. With more, the first stage of the sigmoid has
sixteen numbers per row: one of 2**38, so that the default plan holds for as many rows as a run takes. Such a run has a
spoilt model, and shows nobody anything."""
TURN_BITS = 22  # Fraction bits of a product of sines and cosines that goes into the next stage.
LAST_BITS = 22
"""Fraction bits of the last party's factors: a residual is a sum of sixteen products with them, whose errors add up."""
HIDING_BITS = 30
STRAY_UNITS = 4
"""Units, per party and block of rows, by which neighbours' sums differ at most beyond exact ones.

A sum's own low bits are dropped (one unit down), and each peer's product is right to two units each way, by two
roundings and its noise.
"""
NOISE_BITS = 6
"""All parties' noise stays below 2**6 deviations of one party's, except with a chance of less than 2**-600."""
ROWS_SUMMED = 1_900_000
"""Most rows of one product: in a sum over more than 1,950,000 numbers, noise could reach its last bit."""
LARGEST_SERIES = 0.502  # What the sigmoid's series reaches.
LARGEST_RESIDUAL = LARGEST_SERIES + 0.5  # The label is half a unit from the middle.
PULLED = 4.0
"""Factor of residuals' sums with the penalty over those without, on average over all columns: below 3.64."""
MOST_ROWS = 1 << 32  # Where the largest accepted number of rows is looked for.
ELEMENT_BYTES = 16  # Of a share of a weight.
ROWS_AT_ONCE = 1 << 17  # Of one product in slots: this many rows make a request of 80 MB.
TERMS = 2 * len(HARMONICS)
SCORES, SIGMOID, GRADIENTS, PREDICTION = "scores", "sigmoid", "gradients", "prediction"

PROFILES = (
    (sets.SCORES, sets.GRADIENTS, sets.SLOTS),
    (sets.SCORES_OPENED, sets.GRADIENTS, sets.SLOTS),
    (sets.SCORES_OPENED_WIDE, sets.GRADIENTS_OPENED, sets.SLOTS),
    (sets.SCORES_WIDEST, sets.GRADIENTS_WIDEST, sets.SLOTS),
)
"""The parameter sets for scores, gradients and the sigmoid, by their number from 1."""


@dataclass(frozen=True)
class Stage:
    """A stage of the sigmoid: parties by their places in the plan. Owners encrypt, each once for all evaluators."""

    number: int
    owners: range
    evaluators: range
    is_turn: bool
    """Whether every complex product is kept; in the last stage they are added up."""

    @property
    def holders(self) -> range:
        """The parties that end with a share."""
        places = (*self.owners, *self.evaluators)
        return range(min(places), max(places) + 1)

    @property
    def pairs(self) -> int:
        return len(self.owners) * len(self.evaluators)

    @property
    def is_masked(self) -> bool:
        """Whether shares are lifted behind masks: two holders lift theirs alone."""
        return len(self.holders) > 2

    @property
    def fraction_bits(self) -> int:
        """How many fraction bits a product of this stage has."""
        if self.number == 1:
            return 2 * angles.FACTOR_BITS
        return TURN_BITS + (angles.FACTOR_BITS if self.is_turn else LAST_BITS)


def stages_of(parties: int) -> list[Stage]:
    """One party after the other joins the label party, but the last two multiply by themselves; then both sides do.

    Of three parties, the last one is a side alone. Two have one stage, in which the label party encrypts.
    """
    if parties == 2:
        return [Stage(1, range(1), range(1, 2), is_turn=False)]
    side, last = max(2, parties - 2), parties - 1
    stages = [Stage(later, range(later, later + 1), range(later), is_turn=True) for later in range(1, side)]
    if parties > 3:
        stages.append(Stage(side, range(last, parties), range(side, last), is_turn=True))
    return [*stages, Stage(len(stages) + 1, range(side, parties), range(side), is_turn=False)]


@dataclass(frozen=True)
class Product:
    """One product of a run: who encrypts, who multiplies, under which key and in which layout.

    Products of several passes that use the same key are equal; each has the layout of its own pass.
    """

    kind: str
    """What is multiplied, and which of its products this is. Names the key, together with the parties."""
    owner: str
    """The party that encrypts: the key is its own."""
    evaluators: tuple[str, ...]
    """The parties that multiply. Each of them gets the same request, and tests the key."""
    last: int
    """The last pass that uses the key: it is erased with it."""
    layout: AnyLayout = field(compare=False)

    @property
    def parameters(self) -> ParameterSet:
        return self.layout.parameters

    @property
    def parties(self) -> tuple[str, ...]:
        return self.owner, *self.evaluators

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The owner with each evaluator."""
        return [(self.owner, evaluator) for evaluator in self.evaluators]

    def context(self, session: bytes) -> KeyContext:
        """The context of the key. The evaluators' names stand together, because they share the key."""
        return KeyContext(session, self.owner, " & ".join(self.evaluators), self.kind, self.last)


@dataclass(frozen=True)
class RunShape:
    """The public numbers of a run, and the list of its products; the list of a pass is that of its level."""

    plan: Plan
    trained: int
    """How many training rows there are."""
    sampled: int = 0
    """How many of them the passes of this level use; 0 = all."""

    def __post_init__(self) -> None:
        # Passes and norm follow from the rows that are trained on, whatever the plan could know of them.
        object.__setattr__(self, "plan", self.plan.on(self.trained))

    @property
    def rows(self) -> int:
        """How many rows a pass goes over."""
        return self.sampled or self.trained

    def at(self, rows: int) -> "RunShape":
        """The shape of passes over this many rows."""
        return replace(self, sampled=rows)

    @cached_property
    def levels(self) -> list[tuple["RunShape", int]]:
        """The shape of each level and how many passes it has."""
        return [(self.at(level.rows), level.passes) for level in self.plan.levels(self.trained)]

    @property
    def passes(self) -> Iterator["RunShape"]:
        """The shape of every pass, in order."""
        return (shape for shape, count in self.levels for _ in range(count))

    @property
    def number(self) -> int:
        """The profile's number: the smallest that withstands what is opened."""
        opened = most_opened_bits(self.plan, self.trained)
        allowed = [place for place, profile in enumerate(PROFILES, 1) if opened <= _withstood(self.plan, profile)]
        if not allowed:
            raise PlanError(_too_much(self.plan, opened))
        return allowed[0]

    @property
    def profile(self) -> tuple[ParameterSet, ParameterSet, ParameterSet]:
        return PROFILES[self.number - 1]

    def sets_for(self, evaluator: str) -> tuple[ParameterSet, ParameterSet, ParameterSet]:
        """The sets of keys under which this party multiplies; the label party's keys need not withstand openings."""
        owners = [party.name for party in self.plan.learners if party.name != evaluator]
        return PROFILES[0] if owners == [self.plan.label_party.name] and self.plan.is_closed else self.profile

    @property
    def input_bits(self) -> int:
        """Bits of a weight's share, as far as scores modulo one period depend on it."""
        return _share_bits(self.plan)

    @property
    def sum_blocks(self) -> list[slice]:
        """The rows of each product of the gradients; the penalty's rows, if any, follow those of the last one."""
        starts = range(0, self.rows, ROWS_SUMMED)
        return [*(slice(start, start + ROWS_SUMMED) for start in starts[:-1]), slice(starts[-1], None)]

    @property
    def pieces(self) -> list[slice]:
        """The rows of each product in slots."""
        return [slice(start, min(start + ROWS_AT_ONCE, self.rows)) for start in range(0, self.rows, ROWS_AT_ONCE)]

    # The products.

    @cached_property
    def products(self) -> list[Product]:
        """The products of the last pass, in the order in which their keys travel; the others differ in their keys."""
        names, last = self.names, self.plan.passes(self.trained)
        scores = {name: self.scores(name) for name in names}
        gradients = {name: self.gradients(name) for name in names}
        listed = []
        for owner, evaluator in permutations(names, 2):
            listed.append(Product(matrix_kind(SCORES), owner, (evaluator,), last, scores[evaluator]))
            for block, layout in enumerate(gradients[evaluator]):
                listed.append(Product(matrix_kind(GRADIENTS, block), owner, (evaluator,), last, layout))
        for stage in self.stages:
            evaluators = tuple(names[place] for place in stage.evaluators)
            for place, piece in enumerate(self.pieces):
                kind, slots = slot_kind(place, stage), self._slots(piece.stop - piece.start, stage.is_turn)
                listed += [Product(kind, names[owner], evaluators, last, slots) for owner in stage.owners]
        return listed

    def products_in(self, number: int) -> list[Product]:
        """The products of one pass of this level, under the keys of that pass."""
        last = self.last_pass_of_key(number)
        return [replace(product, last=last) for product in self.products]

    @property
    def keyed_products(self) -> Iterator[Product]:
        """Every product of the run with a key of its own; no earlier pass that a key serves has more of them."""
        return (product for number, shape in self.keyed_passes for product in shape.products_in(number))

    def prediction(self, owner: str, evaluator: str, rows: int = 1) -> Product:
        """The product by which rows are scored."""
        return Product(PREDICTION, owner, (evaluator,), 0, self.score_layout(evaluator, rows))

    def score_layout(self, evaluator: str, rows: int) -> Layout:
        """The layout of products with rows to score of this party.

        All columns are one group, so that what was encrypted when training ended fits any rows.
        """
        columns = columns_of(self.plan, evaluator)
        group = max(columns, 1)
        return Layout(self.profile[0], "scores", rows, columns, group, self.input_bits, ANGLE_BITS)

    @property
    def bound_products(self) -> list[Product]:
        """The products whose requests are sent when training ends and kept for prediction."""
        return [self.prediction(*ends) for ends in permutations(self.names, 2)] if self.plan.is_closed else []

    def scores(self, evaluator: str) -> Layout:
        """The layout of products with this party's rows, for scores."""
        columns, parameters = columns_of(self.plan, evaluator), self.sets_for(evaluator)[0]
        return Layout.choose(parameters, "scores", self.rows, columns, self.input_bits, ANGLE_BITS)

    def gradients(self, evaluator: str) -> list[Layout]:
        """The layout of each block of rows, the last one with the penalty's matrix below it."""
        columns, parameters = columns_of(self.plan, evaluator), self.sets_for(evaluator)[1]
        last = self.rows + (columns if self.plan.l2 else 0)
        return [
            Layout.choose(
                parameters, "gradients", (block.stop or last) - block.start, columns, RESIDUAL_RING, GRADIENT_RING
            )
            for block in self.sum_blocks
        ]

    def _slots(self, rows: int, is_turn: bool) -> SlotLayout:
        return SlotLayout(self.profile[2], rows, TERMS, is_turn)

    @property
    def names(self) -> list[str]:
        return [party.name for party in self.plan.learners]

    @property
    def parties(self) -> int:
        return len(self.plan.learners)

    @property
    def stages(self) -> list[Stage]:
        """How the sigmoid of shared scores is put together, party by party."""
        return stages_of(self.parties)

    def opening_of(self, stage: Stage) -> MaskedOpening:
        """How products of a stage of the sigmoid are lifted; all of them are below 2."""
        return MaskedOpening(self.profile[2].slot_modulus, stage.fraction_bits + 1, len(stage.holders))

    @property
    def lifted_sums(self) -> MaskedOpening:
        """How the gradients of three and more parties, and the penalties', are lifted."""
        return MaskedOpening(1 << GRADIENT_RING, math.ceil(math.log2(self.largest_sum)), self.parties)

    @property
    def pull_scale(self) -> int:
        """The factor for weights in the penalty, in the units of the gradients' sums, which are over all rows."""
        return self.rows << SLOT_BITS + self.plan.feature_bits - PENALTY_BITS - WEIGHT_BITS

    @property
    def gradient_fraction(self) -> int:
        """Fraction bits of a sum of residuals times features."""
        return SLOT_BITS + self.plan.feature_bits - DROPPED_BITS

    def last_pass_of_key(self, number: int) -> int:
        """The last pass that uses a key of this pass.

        Between two parties a key serves all passes. Among more, masked numbers could carry out a whole key in one.
        """
        return self.plan.passes(self.trained) if self.parties == 2 else number

    @property
    def keyed_passes(self) -> list[tuple[int, "RunShape"]]:
        """The last pass of each key with its shape; no earlier pass that the key serves has more pieces of rows."""
        return [
            (number, shape) for number, shape in enumerate(self.passes, 1) if self.last_pass_of_key(number) == number
        ]

    @property
    def keys_in_all(self) -> int:
        """How many keys a whole run has, with those that prediction is bound to."""
        return sum(1 for _ in self.keyed_products) + len(self.bound_products)

    def prove(self) -> None:
        """Refuse shares that are cut or lifted wrongly, or masks that show something, more often than is agreed."""
        if self.is_proved:
            return
        run = f"shares: {self.trained:,} rows, {self.plan.passes(self.trained)} passes and {self.parties} parties"
        if self.failure_bits > -self._needed_bits:
            what = f"shares that are cut wrongly in more than one of 2**{self._needed_bits} runs"
            excess = self.failure_bits + self._needed_bits
        else:
            what = f"masks that show something in more than one of 2**{HIDING_BITS} runs"
            excess = self.shown_bits + HIDING_BITS
        # Chances are proportional to the passes.
        fewer = math.floor(self.plan.passes(self.trained) * 2.0**-excess)
        remedy = f"set epochs = {fewer}, or " if fewer else ""
        raise PlanError(f"{run} leave {what}; {remedy}train on at most {self.most_rows_proved:,} rows")

    @property
    def is_proved(self) -> bool:
        return self.failure_bits <= -self._needed_bits and self.shown_bits <= -HIDING_BITS

    @property
    def most_rows_proved(self) -> int:
        """The most rows with which `prove` accepts this plan: every chance grows with the rows."""
        return bisect_left(range(1, MOST_ROWS), True, key=lambda rows: not RunShape(self.plan, rows).is_proved)

    @property
    def _needed_bits(self) -> int:
        return FAILURE_BITS if self.parties == 2 else FAILURE_BITS_OF_STAGES

    def refuse_scores(self, held_out: int) -> None:
        """Refuse more held-out rows than the plan allows to be scored: all of them are when training ends."""
        most = self.plan.most_rows
        if self.plan.is_closed and 0 < most < held_out:
            raise PlanError(
                f"opening.most_rows: {most} rows may be scored, and {held_out} are held out to be scored when training "
                "ends; hold out fewer rows (test_share), or raise most_rows"
            )

    @property
    def failure_bits(self) -> float:
        """The logarithm of the chance that a number of the run is cut or lifted wrongly."""
        return math.log2(sum(count * shape._failure_of_a_pass for shape, count in self.levels))

    @property
    def _failure_of_a_pass(self) -> float:
        """The chance of failure in one pass: products in slots, and between two parties also the gradients' sums."""
        slots = math.fsum(
            count * stage.pairs * self._slots(rows, stage.is_turn).failure_chance(_size_lifted_alone(stage))
            for rows, count in Counter(piece.stop - piece.start for piece in self.pieces).items()
            for stage in self.stages
        )
        if self.parties > 2:
            return slots
        # Lifted from the ring of the products, then cut once the public integer of the step is multiplied to them.
        wraps = 2.0**-GRADIENT_RING + 2.0 ** (STEP_BITS - RESIDUAL_RING)
        return slots + (self.plan.columns + 1) * self.largest_sum * wraps

    @property
    def shown_bits(self) -> float:
        """The logarithm of the chance that a mask of the run shows anything; minus infinity where there are none."""
        if self.parties == 2:
            return -math.inf
        return math.log2(
            sum(
                passes * count * 2.0**opening.shown_bits
                for shape, passes in self.levels
                for count, opening in shape._masked_numbers()
            )
        )

    @property
    def masked_numbers(self) -> int:
        """How many numbers the label party sees behind masks in a pass; none between two parties."""
        return sum(count for count, _ in self._masked_numbers())

    def _masked_numbers(self) -> Iterator[tuple[int, MaskedOpening]]:
        """The masked numbers: sums of gradients, and products of the sigmoid's stages for every row."""
        if self.parties > 2:
            yield self.plan.columns + 1, self.lifted_sums
        for stage in self.stages:
            if stage.is_masked:
                yield self.rows * (TERMS if stage.is_turn else 1), self.opening_of(stage)

    @property
    def most_bits_behind_a_mask(self) -> int:
        """The most bits that one masked number tells, however large what it hides is made; 0 between two parties."""
        return max((opening.most_bits for _, opening in self._masked_numbers()), default=0)

    @property
    def largest_sum(self) -> float:
        """The largest sum over a pass's rows, m of n, in the units of a gradient's share; on average over the columns.

        A column whose mean square over all n rows is at most 1 adds up to no more than sqrt(m n) times the largest
        residual, by Cauchy and Schwarz: not to m times it, which holds where m is n. Under noise for whole rows no
        entry of a row is larger than its party's norm.
        """
        features, noisiest = 1.0, None
        if self.plan.noise == "rows":
            # Late: a plan without such a promise needs nothing of it.
            from plumbob.privacy.rows import most_failure
            from plumbob.protocol.row_cost import norms

            features = max(1.0, *norms(self.plan))
            # How often a run fails depends on this, and the noise on how often it fails: the most noise settles it.
            noisiest = self._row_cost(most_failure(self.plan.epsilon, self.plan.delta))
        sums = math.ldexp(math.sqrt(self.rows * self.trained) * LARGEST_RESIDUAL * features, self.gradient_fraction)
        noisy = sums if noisiest is None else sums + math.ldexp(noisiest.std, NOISE_BITS)
        return noisy * PULLED if self.plan.l2 else noisy

    @property
    def failure(self) -> float:
        """The chance that a number of this run is cut or lifted wrongly, or that a mask of it shows anything."""
        return math.exp2(self.failure_bits) + math.exp2(self.shown_bits)

    @property
    def row_cost(self) -> "RowCost | None":
        """The cost of a run for one row, with noise in the units of the gradients' shares; None without a promise.

        PrivacyError where the run fails too often for delta to pay for it.
        """
        return self._row_cost(self.failure) if self.plan.noise == "rows" else None

    def _row_cost(self, failure: float) -> "RowCost | None":
        from plumbob.protocol.row_cost import SumUnits, row_cost  # As above.

        units = SumUnits(SLOT_BITS, DROPPED_BITS, STRAY_UNITS * self.parties * len(self.sum_blocks))
        return row_cost(self.plan, failure, units)


def most_opened_bits(plan: Plan, rows: int) -> int:
    """Bits of a key that can be carried out to a dishonest party: what is opened, or all that weights' shares hold.

    Between two, the weights of both count: scores show the label party what the peer's own weights hold, too. More
    parties are taken for honest. What is opened of rows is another number: `checking.rules.prediction_equations`.
    """
    held = (plan.columns + 1) * _share_bits(plan)
    if plan.opens_weights:
        columns = [columns_of(plan, party.name) for party in plan.learners]
        return min(held, (sum(columns) if len(columns) == 2 else max(columns)) * WEIGHTS.bits)
    return min(held, most_scored_rows(plan, rows) * OPENED_SCORES.bits)


def _size_lifted_alone(stage: Stage) -> float:
    """The mean size of the numbers that the two holders of a stage lift; 0 where masks do it."""
    if stage.is_masked:
        return 0.0
    # The label party's and the second one's are as large as 1, those of the last two as the last one's amplitudes.
    size = LARGEST_SERIES if not stage.is_turn else 1.0 if stage.number == 1 else float(np.abs(AMPLITUDES).mean())
    return math.ldexp(size, stage.fraction_bits)


def _share_bits(plan: Plan) -> int:
    """Bits of a weight's share, as far as scores modulo one period depend on it."""
    return PERIOD_BITS + plan.feature_bits + WEIGHT_BITS


def _withstood(plan: Plan, profile: tuple[ParameterSet, ...]) -> int:
    """Opened bits that a profile withstands; the sigmoid's keys count if something is opened to an evaluator."""
    exposed = profile[:2] if plan.is_closed and plan.is_between_two else profile
    return min(each.most_opened_bits for each in exposed)


def _too_much(plan: Plan, opened: int) -> str:
    most = _withstood(plan, PROFILES[-1])
    if plan.is_closed:
        rows, columns = most // OPENED_SCORES.bits, most // _share_bits(plan) - 1
        accepted = f"most_rows = {rows} scored rows, or {columns} columns in all with any number of scored rows"
    else:
        whose = "in all" if len(plan.learners) == 2 else "of one party"
        accepted = f'{most // WEIGHTS.bits - 1} columns {whose}, or open = "never"'
    key = "most_rows" if plan.is_closed else "open"
    return (
        f"opening.{key}: {opened} bits may be opened to one party, and its keys withstand {most}; accepted would be "
        f"{accepted}"
    )


def matrix_kind(kind: str, block: int = 0) -> str:
    """The name of the products of one block of rows."""
    return f"{kind} {block}"


def slot_kind(piece: int, stage: Stage) -> str:
    """The name of the products of one piece of rows, in one stage of the sigmoid."""
    return f"{SIGMOID} {piece} in stage {stage.number}"
