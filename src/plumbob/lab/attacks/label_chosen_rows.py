"""`label-chosen-rows`: a feature party that chooses its inputs chooses whose label it reads. Beyond the paper.

View: own sums (`exchange`, `arbiter`) or own opened weights (`shares`). Only the integers that the peer's ciphertexts
are multiplied with change, so no check of a ciphertext sees it, at any batch size and with every kind of reply: message
count, sizes and the peer's code are the honest ones. Cost: that of an honest step, whose gradient the attacker gives
up: its own columns learn nothing there.

Two ways to choose:

- One person per column: the column's sum is that person's residual.
- Rows weighted 1, 2, 4, ... While every residual is known to be +-2 (first step from zero weights, or a label party
  without columns), one sum is a binary number whose digits are labels: (sum's bits - residual's bits) of them, about 43
  at the default widths, and all columns together usually more than the batch has rows.

In `shares` nothing is returned before the weights are opened, so there are d_B equations per run: one dummy column per
target and the sign of its weight, or, from zero weights, the superincreasing columns in the first step and zeros after
it. Lattices change nothing about that: whoever multiplies with a matrix chooses it, product by product. `open =
"never"`, noise and randomised response are the defences; a random start leaves one label per column.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plumbob.checking.study import feature_encoding
from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.data.batching import sampled_rows
from plumbob.lab.attacks.hooks import (
    Bare,
    Hook,
    Reading,
    Summing,
    SumsHook,
    attack_with_hook,
    is_noisy,
    label_size,
    label_unit,
)
from plumbob.lab.attacks.interface import Condition, NotApplicable, View
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.profiles import profile_of
from plumbob.plan import Plan
from plumbob.protocol.openings import WEIGHTS, columns_of
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.training import SharesParty

WIDEST_ENTRY = 61  # Bits of a matrix entry, sign included, that an engine takes.


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
    """The attack on `exchange` and `arbiter`, with any kind of reply."""

    _places: NDArray[np.intp]
    """The places in this step's batch, in the order in which they are read."""
    _counts: tuple[int, ...]
    """How many of them each column has."""

    def rows_for_gradients(self, me: Summing, step: int, matrix: Encoded) -> Encoded:
        rows = self.batches_of(me)[step - 1].rows
        if residuals_are_labels(me.plan, step):
            self._places = np.argsort(np.argsort(self.ordered(me))[rows])
            digits = room_for_a_sum(me.plan, me.slots) - label_unit(me).bit_length()
        else:
            self._places, digits = np.flatnonzero(np.isin(rows, self.unread(me)))[: me.columns], 1
        self._counts = spread(len(self._places), me.columns, min(digits, WIDEST_ENTRY - 1))
        if not len(self._places):
            return matrix
        values = powers_of_two(matrix.values.shape, self._places, self._counts)
        return Encoded(values, Encoding(0, max(self._counts)))

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        """No sums where people were read, so that its own weights stay where they are."""
        if not len(self._places):
            return sums
        residuals = sums[: len(self._places)]
        if residuals_are_labels(me.plan, step):
            unit = label_unit(me)
            columns = zip(sums, self._counts, strict=True)
            residuals = [sign * unit for total, count in columns for sign in signs_in(total // unit, count)]
        self.keep(me, step, self._places[: len(residuals)], residuals)
        return [0] * me.columns

    def wanted(self, me: Summing) -> NDArray[np.intp]:
        return self.ordered(me)[: len(self.chosen) or me.columns]

    def unread(self, me: Summing) -> NDArray[np.intp]:
        """The people to read when they come by; against noise again and again."""
        return self.wanted(me) if is_noisy(me.plan) else np.setdiff1d(self.wanted(me), self.read_rows)

    @property
    def read_rows(self) -> NDArray[np.intp]:
        return np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *(reading.rows for reading in self.readings)]))

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
