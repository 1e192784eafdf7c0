"""`label-chosen-rows`: a feature party that chooses its inputs chooses whose label it reads. Beyond the paper.

View: own sums (`exchange`, `arbiter`) or own opened weights (`shares`). Only the integers that the peer's ciphertexts
are multiplied with change, so no check of a ciphertext sees it, at any batch size and with every kind of reply. Cost:
that of an honest step.

Two ways to choose (`Tactic`):

- `OneTargetPerColumn`: one person per column. A column with one row other than zero returns that row's residual itself.
  Here the residual stands in the low bits of the column's sum and the honest column above it, so that one sum carries
  both and training continues. With `replies = "paper"` there is room for both and the final model is the honest one bit
  for bit. In replies cut to their width the honest column gives up its lowest bits, in that step only (about 5 of 16 at
  the default widths), and the final model is the honest one but for that rounding.
- `Superincreasing`: rows weighted 1, 2, 4, ... While every residual is known to be +-2 (first step from zero weights,
  or a label party without columns), one sum is a binary number whose digits are labels: (sum's bits - residual's bits)
  of them, about 43 at the default widths, and all columns together usually more than the batch has rows. Then the
  attacker calculates its honest sums itself, and the final model is the honest one bit for bit. If the batch is larger,
  it reads as many labels as fit and that step's gradient is lost to it.

In `shares` nothing is returned before the weights are opened, so there are d_B equations per run: one dummy column per
target and the sign of its weight, or, from zero weights, the superincreasing columns in the first step and zeros after
it. Lattices change nothing about that: whoever multiplies with a matrix chooses it, product by product. The attacker's
own columns learn nothing then, and the label party's are trained as if it were alone: the message count, the sizes and
the peer's code are the honest ones, the attacker's part of the model is not. `open = "never"`, noise and randomised
response are the defences; a random start leaves one label per column.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.checking.study import feature_encoding
from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.data import sampled_rows
from plumbob.lab.attacks.hooks import (
    Bare,
    Hook,
    Reading,
    Summing,
    SumsHook,
    attack_with_hook,
    exact_product,
    is_noisy,
    label_size,
    label_unit,
    narrow_residual,
)
from plumbob.lab.attacks.interface import Condition, NotApplicable, View
from plumbob.lab.exchange.packing import Slots, centred
from plumbob.lab.exchange.profiles import profile_of
from plumbob.plan import Plan
from plumbob.protocol.openings import WEIGHTS, columns_of
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.training import SharesParty

WIDEST_ENTRY = 61  # Bits of a matrix entry, sign included, that an engine takes.


@dataclass(frozen=True, repr=False, eq=False)
class OneTargetPerColumn:
    """Reads one person per column: the honest features, lifted above the residual of the k-th chosen place."""

    matrix: Encoded
    """What the peer's ciphertexts are multiplied with."""
    places: NDArray[np.intp]
    """The places in the batch, in the order in which they are read."""
    low_bits: int
    coarser: tuple[int, ...]
    """How many of the features' lowest bits each used column gave up."""

    @classmethod
    def of(cls, honest: Encoded, places: NDArray[np.intp], residual: Encoding, sum_bits: int) -> "OneTargetPerColumn":
        """Choose at most one place per column; a sum has `sum_bits` bits, sign included."""
        values, coarser = honest.values.copy(), []
        for column, place in enumerate(places):
            spare = _spare_bits(honest.values[:, column], residual, sum_bits)
            shift = max(0, -spare, honest.bits + residual.bits - WIDEST_ENTRY)
            values[:, column] = _rounded_shift(honest.values[:, column], shift) << residual.bits
            values[place, column] += 1
            coarser.append(shift)
        entries = Encoding(0, min(WIDEST_ENTRY, honest.bits + residual.bits) - 1)
        return cls(Encoded(values, entries), places, residual.bits, tuple(coarser))

    def read(self, sums: Sequence[int]) -> tuple[list[int], list[int] | None]:
        """The residuals of the chosen rows, and the honest sums as far as they can be had."""
        residuals, honest = [], list(sums)
        for column, shift in enumerate(self.coarser):
            residuals.append(centred(sums[column], 1 << self.low_bits))
            honest[column] = ((sums[column] - residuals[-1]) >> self.low_bits) << shift
        return residuals, honest


def _spare_bits(column: NDArray[np.int64], residual: Encoding, sum_bits: int) -> int:
    """How many bits are left above a residual and the largest sum that this column can honestly have."""
    largest = int(np.abs(column).sum()) << (residual.bits - 1)
    return sum_bits - residual.bits - (largest.bit_length() + 1)


def _rounded_shift(column: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    return (column + (1 << shift >> 1)) >> shift


@dataclass(frozen=True, repr=False, eq=False)
class Superincreasing:
    """Reads many people per column: the chosen places are spread over the columns, each with its own power of two."""

    matrix: Encoded
    honest: Encoded
    places: NDArray[np.intp]
    counts: tuple[int, ...]
    """How many places each column has."""
    unit: int
    """The absolute value of every residual."""

    @classmethod
    def of(cls, honest: Encoded, places: NDArray[np.intp], unit: int, sum_bits: int) -> "Superincreasing":
        """Choose all places of a batch, or the first ones that fit."""
        per_column = min(sum_bits - unit.bit_length(), WIDEST_ENTRY - 1)
        counts = spread(len(places), honest.values.shape[1], per_column)
        values = powers_of_two(honest.values.shape, places, counts)
        return cls(Encoded(values, Encoding(0, max(counts))), honest, places, counts, unit)

    def read(self, sums: Sequence[int]) -> tuple[list[int], list[int] | None]:
        columns = zip(sums, self.counts, strict=True)
        residuals = [sign * self.unit for total, count in columns for sign in signs_in(total // self.unit, count)]
        if len(residuals) < len(self.places):
            return residuals, None
        return residuals, exact_product(residuals, self.honest.values[self.places])


def spread(places: int, columns: int, per_column: int) -> tuple[int, ...]:
    """Spread as many places as fit over the columns, as evenly as possible."""
    fitting = min(places, columns * per_column)
    return tuple(fitting // columns + (column < fitting % columns) for column in range(columns))


def powers_of_two(shape: tuple[int, ...], places: NDArray[np.intp], counts: Sequence[int]) -> IntegerMatrix:
    """The matrix in which each column takes one place after the other until it is full, with entries 1, 2, 4, ..."""
    values, used = np.zeros(shape, dtype=np.int64), 0
    for column, count in enumerate(counts):
        values[places[used : used + count], column] = 1 << np.arange(count, dtype=np.int64)
        used += count
    return values


def signs_in(total: int, count: int) -> list[int]:
    """The only signs with total = sum of sign_j 2**j."""
    binary = (total + (1 << count) - 1) >> 1
    return [1 if binary >> place & 1 else -1 for place in range(count)]


Tactic = OneTargetPerColumn | Superincreasing
"""How one step multiplies the peer's ciphertexts, and what its sums then say."""


class Choosing(Hook):
    """A hook that decides whom to read."""

    def __init__(self, chosen: tuple[int, ...] = (), preferred: tuple[int, ...] = ()) -> None:
        self.chosen = chosen
        """The training rows that it is after; empty = as many as it can read, in the order of `preferred`."""
        self.preferred = preferred
        """Training rows that it would most like to read, in order; all others come after them."""

    def prepare(self, view: View, positives: int) -> None:
        """Prefer people whom the party's part of an honest run leaves in doubt.

        They are those nearest to the threshold that gives as many positives as there are.
        """
        if len(view.weights) and view.X.shape[1]:
            scores = view.X @ view.weights
            threshold = np.sort(scores)[-max(1, positives)]
            self.preferred = tuple(np.argsort(np.abs(scores - threshold), kind="stable").tolist())

    def ordered(self, me: TrainingParty) -> NDArray[np.intp]:
        """All training rows: chosen ones, then preferred ones, then the others."""
        everybody = dict.fromkeys([*self.chosen, *self.preferred, *range(len(me.shard))])
        return np.array(list(everybody), dtype=np.intp)


class ChosenRows(Choosing, SumsHook):
    """The attack on `exchange` and `arbiter`, with any kind of reply: decides in each step whom to read."""

    _tactic: Tactic | None = None

    def rows_for_gradients(self, me: Summing, step: int, matrix: Encoded) -> Encoded:
        self._tactic = self.tactic(me, step, matrix)
        return matrix if self._tactic is None else self._tactic.matrix

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        if self._tactic is None:
            return sums
        residuals, honest = self._tactic.read(sums)
        self.keep(me, step, self._tactic.places[: len(residuals)], residuals)
        return [0] * me.columns if honest is None else honest

    def tactic(self, me: Summing, step: int, honest: Encoded) -> Tactic | None:
        """How to attack this step; None: play it honestly."""
        rows, room = self.batches_of(me)[step - 1].rows, room_for_a_sum(me.plan, me.slots)
        if residuals_are_labels(me.plan, step):
            unit = label_unit(me)
            return Superincreasing.of(honest, self.wanted_first(me, rows), unit, room)
        places = np.flatnonzero(np.isin(rows, self.unread(me)))[: me.columns]
        if not len(places):
            return None
        # Where there is room, for any residual at all: one that is too wide would be misread.
        residual = me.widths.residuals if me.plan.replies == "paper" else narrow_residual(me.plan)
        return OneTargetPerColumn.of(honest, places, residual, room)

    def wanted(self, me: Summing) -> NDArray[np.intp]:
        return self.ordered(me)[: len(self.chosen) or me.columns]

    def unread(self, me: Summing) -> NDArray[np.intp]:
        """The people to read when they come by; against noise again and again."""
        return self.wanted(me) if is_noisy(me.plan) else np.setdiff1d(self.wanted(me), self.read_rows)

    @property
    def read_rows(self) -> NDArray[np.intp]:
        return np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *(reading.rows for reading in self.readings)]))

    def wanted_first(self, me: Summing, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """All places of a batch, in the order in which their people would be read."""
        return np.argsort(np.argsort(self.ordered(me))[rows])

    def targets(self, me: Summing) -> NDArray[np.intp]:
        return np.union1d(self.wanted(me), self.read_rows)

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        is_bare = residuals_are_labels(me.plan, 1)
        most = max((len(reading.rows) for reading in self.readings), default=0)
        name, needed = "steps whose residuals are labels and nothing else", "1, for more than one person per column"
        more = f"more than the {me.columns} that gradients of own columns could tell apart"
        return (
            Condition(name, float(is_bare), needed, is_bare, "Theorem 4.1, and the first step of Theorem 4.6"),
            Condition("people read at once", float(most), more, most > me.columns, CHOSEN_ROWS.reference),
        )


def residuals_are_labels(plan: Plan, step: int) -> bool:
    """Whether all other parties' scores are known to be zero, so that their residuals are plus or minus a constant."""
    if is_noisy(plan):
        return False
    is_first = step == 1 and plan.start == "zero"
    is_lone = plan.kind.lends_keys and plan.is_between_two and not columns_of(plan, plan.label_party.name)
    return is_first or is_lone


def room_for_a_sum(plan: Plan, slots: Slots) -> int:
    """Bits, sign included, of one sum that comes back."""
    is_masked = not plan.unmasked_gradients_for_the_arbiter
    return profile_of(plan).reply_bits if plan.replies == "paper" and is_masked else slots.slot_bits


class OpenedWeights(Choosing, Bare):
    """The attack on `shares`: one person per column in every pass, read once from the sign of the opened weight.

    From zero weights, superincreasing columns in the first pass and zeros after it.
    """

    def laid(self, me: SharesParty, step: int) -> NDArray[np.int64]:
        everybody = super().laid(me, step)
        if not self.is_bare(me.plan):
            chosen = self.wanted(me)
            everybody[chosen, np.arange(len(chosen))] = _entry(me)
        elif step == 1:
            everybody = powers_of_two(everybody.shape, self.places(me), self.counts(me)) << _lowest_bit(me)
        return everybody

    def is_bare(self, plan: Plan) -> bool:
        """Whether the first residuals are labels and nothing else."""
        return residuals_are_labels(plan, 1) and not plan.weighs_rows

    def wanted(self, me: SharesParty) -> NDArray[np.intp]:
        return np.array(self.chosen or self.places(me), dtype=np.intp)[: me.columns]

    def places(self, me: SharesParty) -> NDArray[np.intp]:
        """The rows of the first pass, in the order in which they would be read."""
        ordered = self.ordered(me)
        return ordered[np.isin(ordered, sampled_rows(me.session.seed, len(me.shard), first_rows(me)))]

    def counts(self, me: SharesParty) -> tuple[int, ...]:
        """How many people each column carries."""
        bits = feature_encoding(me.plan, len(me.shard)).bits
        return spread(first_rows(me), me.columns, bits - 1 - _lowest_bit(me))

    def after(self, me: SharesParty) -> None:
        if len(me.weights):
            self.readings.append(self.first_labels(me) if self.is_bare(me.plan) else self.mean_residuals(me))

    def first_labels(self, me: SharesParty) -> Reading:
        """Every weight is the first step's sum of labels times powers of two, and what momentum makes of it later."""
        label = label_size(me)
        unit = label * first_rate(me) * 2.0 ** (_lowest_bit(me) - me.plan.feature_bits)
        # A sum of signed powers of two that begin with 1 is odd.
        odd = (
            2 * round((total - 1) / 2) + 1 for total in (self.moved(me) / echo(me.plan, len(me.shard)) / unit).tolist()
        )
        signs = [sign for total, count in zip(odd, self.counts(me), strict=True) for sign in signs_in(total, count)]
        return Reading(1, self.places(me)[: len(signs)], label * np.array(signs, dtype=np.float64))

    def mean_residuals(self, me: SharesParty) -> Reading:
        """The mean of each column's target's residuals."""
        chosen = self.wanted(me)
        return Reading(me.plan.passes(len(me.shard)), chosen, self.moved(me)[: len(chosen)])

    def targets(self, me: SharesParty) -> NDArray[np.intp]:
        return np.union1d(self.wanted(me), self.readings[0].rows) if self.readings else np.zeros(0, dtype=np.intp)

    def conditions(self, me: SharesParty) -> tuple[Condition, ...]:
        people = float(len(self.targets(me)))
        return (Condition("people read from opened weights", people, "at least 1", people >= 1, CHOSEN_ROWS.reference),)


def first_rate(me: SharesParty) -> float:
    """How far a residual of 1 moves a weight in the first step, for a feature of 1."""
    return me.plan.rate / first_rows(me)


def first_rows(me: SharesParty) -> int:
    """How many rows the first pass has."""
    return me.plan.levels(len(me.shard))[0].rows


def _lowest_bit(me: SharesParty) -> int:
    """The lowest bit of a feature that moves the opened weight by at least two of its last places."""
    moved = label_size(me) * first_rate(me)
    return max(0, math.ceil(me.plan.feature_bits - WEIGHTS.fraction_bits + 1 - math.log2(moved)))


def _entry(me: SharesParty) -> int:
    """The largest entry that a promise about rows allows: whoever breaks the bound is outside the promise."""
    if me.plan.noise != "rows":
        return 1 << me.plan.feature_bits
    norm = me.plan.joint_norm * math.sqrt(me.columns / me.plan.columns)
    return math.floor(math.ldexp(norm, me.plan.feature_bits))


def echo(plan: Plan, rows: int) -> float:
    """What is left of a first step of length 1 after all passes, if the later ones add nothing."""
    velocity = moved = 1.0
    pull = 0.0 if plan.is_whitened else plan.rate * plan.l2
    for _ in range(plan.passes(rows) - 1):
        velocity = plan.momentum * velocity - pull * moved
        moved += velocity
    return moved


def arm(plan: Plan, name: str) -> Choosing | NotApplicable:
    """A hook wherever a sum or a weight comes back."""
    if plan.is_closed:
        return NotApplicable('shares with open = "never": no sum and no weight ever comes back')
    if not plan.kind.is_encrypted:
        return NotApplicable("clear is calculated in one place: no party takes part")
    return OpenedWeights() if plan.kind.has_lattices else ChosenRows()


CHOSEN_ROWS = attack_with_hook("label-chosen-rows", "features", arm)
ATTACKS = (CHOSEN_ROWS,)
