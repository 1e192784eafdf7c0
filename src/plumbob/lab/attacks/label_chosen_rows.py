"""`label-chosen-rows`: a feature party that chooses its inputs chooses whose label it reads. Beyond the paper.

View: own sums (`exchange`, `arbiter`) or own opened weights (`shares`). Only the integers that the peer's ciphertexts
are multiplied with change, so no check of a ciphertext sees it, at any batch size and with every kind of reply. Cost:
that of an honest step.

Two ways to choose (`row_tactics.Tactic`):

- `OneTargetAColumn`: one person a column. A column with one row other than zero returns that row's residual itself.
  Here the residual stands in the low bits of the column's sum and the honest column above it, so that one sum carries
  both and training continues. With `replies = "paper"` there is room for both and the final model is the honest one bit
  for bit. In replies cut to their width the honest column gives up its lowest bits, in that step only (about 5 of 16 at
  the default widths), and the final model is the honest one but for that rounding.
- `Superincreasing`: rows weighted 1, 2, 4, ... While every residual is known to be +-2 (first step from zero weights,
  or a label party without columns), one sum is a binary number whose digits are labels: (sum's bits - residual's bits)
  of them, about 43 at the default widths, and all columns together usually more than the batch has rows. Then the
  attacker calculates its honest sums itself, and the final model is the honest one bit for bit. If the batch is larger,
  it reads as many labels as fit and that step's gradient is lost to it.

In `shares` nothing is returned before the weights are opened, so there are d_B equations a run: one dummy column per
target and the sign of its weight, or, from zero weights, the superincreasing columns in the first step and zeros after
it. Lattices change nothing about that: whoever multiplies with a matrix chooses it, product by product. The attacker's
own columns learn nothing then, and the label party's are trained as if it were alone: the message count, the sizes and
the peer's code are the honest ones, the attacker's part of the model is not. `open = "never"`, noise and randomised
response are the defences; a random start leaves one label a column.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.crypto import Encoded, EncryptedVector, PublicKey, Slots
from plumbob.data import Batch, sampled_rows
from plumbob.lab.attacks.active import ActiveAttack, AttackingParty, Reading
from plumbob.lab.attacks.attacking_parties import AttackingArbitratedParty, AttackingExchangeParty
from plumbob.lab.attacks.hooks import Bare
from plumbob.lab.attacks.integers import is_noisy, label_unit, narrow_residual
from plumbob.lab.attacks.interface import Condition, NotApplicable
from plumbob.lab.attacks.row_tactics import (
    OneTargetAColumn,
    Superincreasing,
    Tactic,
    powers_of_two,
    signs_in,
    spread,
)
from plumbob.plan import Plan
from plumbob.privacy.noise_cost import label_scale
from plumbob.protocol.openings import WEIGHTS
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.shape import has_penalty_products
from plumbob.protocol.shares.training import LatticeParty
from plumbob.protocol.widths import columns_of


class ChoosingParty(AttackingParty, TrainingParty):
    """Decides, step by step, whom to read."""

    chosen: tuple[int, ...] = ()
    """The training rows that it is after; empty: as many as it can read, in the order of `preferred`."""
    preferred: tuple[int, ...] = ()
    """Training rows, those that it would most like to read first; all others come after them."""

    def tactic(self, batch: Batch, honest: Encoded, sum_bits: int) -> Tactic | None:
        """What to do with this step; None: play it honestly."""
        if residuals_are_labels(self.plan, batch.step):
            unit = label_unit(self.plan, self.sigmoid.label_weight)
            return Superincreasing.of(honest, self.wanted_first(batch), unit, sum_bits)
        places = np.flatnonzero(np.isin(batch.rows, self.unread))[: self.columns]
        if not len(places):
            return None
        # Where there is room, for any residual at all: one that is too wide would be misread.
        residual = self.widths.residuals if self.plan.replies == "paper" else narrow_residual(self.plan)
        return OneTargetAColumn.of(honest, places, residual, sum_bits)

    def sums_of(self, honest: Sequence[int] | None) -> Vector:
        """Go on with the honest sums, or with nothing where there are none."""
        return np.zeros(self.columns) if honest is None else self.widths.decode_sums(honest)

    @property
    def wanted(self) -> NDArray[np.intp]:
        return np.array(self.chosen or self.by_preference[: self.columns], dtype=np.intp)

    @cached_property
    def by_preference(self) -> NDArray[np.intp]:
        """All training rows, the preferred ones first."""
        first = np.array(self.preferred, dtype=np.intp)
        return np.concatenate([first, np.setdiff1d(np.arange(len(self.shard)), first)])

    @property
    def unread(self) -> NDArray[np.intp]:
        """Whom to read when they come by; against noise again and again."""
        return self.wanted if is_noisy(self.plan) else np.setdiff1d(self.wanted, self.read_rows)

    @property
    def read_rows(self) -> NDArray[np.intp]:
        return np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *(reading.rows for reading in self.readings)]))

    def wanted_first(self, batch: Batch) -> NDArray[np.intp]:
        """All places of a batch, those of wanted people before the others, each in the order of preference."""
        rank = np.argsort(self.by_preference)[batch.rows]
        return np.lexsort((rank, ~np.isin(batch.rows, self.wanted)))

    def targets(self) -> NDArray[np.intp]:
        return np.union1d(self.wanted, self.read_rows)

    def conditions(self) -> tuple[Condition, ...]:
        is_bare = residuals_are_labels(self.plan, 1)
        most = max((len(reading.rows) for reading in self.readings), default=0)
        name, needed = "steps whose residuals are labels and nothing else", "1, for more than one person per column"
        more = f"more than the {self.columns} that gradients of own columns could tell apart"
        return (
            Condition(name, float(is_bare), needed, is_bare, "Theorem 4.1, and the first step of Theorem 4.6"),
            Condition("people read at once", float(most), more, most > self.columns, CHOSEN_ROWS.reference),
        )


def residuals_are_labels(plan: Plan, step: int) -> bool:
    """Whether all other parties' scores are known to be zero, so that their residuals are plus or minus a constant."""
    if is_noisy(plan):
        return False
    is_first = step == 1 and plan.start == "zero"
    is_lone = plan.kind.lends_keys and plan.is_between_two and not columns_of(plan, plan.label_party.name)
    return is_first or is_lone


class ChosenRowsParty(ChoosingParty, AttackingExchangeParty):
    """`exchange`, with any kind of reply."""

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        self._tactic = self.tactic(batch, matrix, room_for_a_sum(self.plan, self.reply_key, self.slots))
        return super().ask(batch, matrix if self._tactic is None else self._tactic.matrix)

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        if self._tactic is None:
            return super().collect(batch, masks)
        sums = self.slots.unpack(self.joint_replies(batch, masks), [0] * self.slots.replies)
        residuals, honest = self._tactic.read(sums)
        self.keep(batch, self._tactic.places[: len(residuals)], residuals)
        return self.sums_of(honest)


class ChosenRowsArbitratedParty(ChoosingParty, AttackingArbitratedParty):
    """`arbiter`, with any kind of reply."""

    def opened_sums(self, batch: Batch, enc_residuals: EncryptedVector) -> Vector:
        X = self.encoded_features(batch)
        tactic = self.tactic(batch, X, room_for_a_sum(self.plan, self.reply_key, self.slots))
        if tactic is None:
            return super().opened_sums(batch, enc_residuals)
        replies = self.joint_replies(batch, self.slots.pack(enc_residuals @ tactic.matrix))
        residuals, honest = tactic.read(self.slots.unpack(replies, [0] * self.slots.replies))
        self.keep(batch, tactic.places[: len(residuals)], residuals)
        return self.sums_of(honest)


def room_for_a_sum(plan: Plan, key: PublicKey, slots: Slots) -> int:
    """Bits, sign included, that come back of one sum."""
    is_masked = not plan.unmasked_gradients_for_the_arbiter
    return key.reply_bits if plan.replies == "paper" and is_masked else slots.slot_bits


class OpenedWeights(Bare):
    """`shares`: one person per column in every pass, and the sign of each column's opened weight, read once.

    From zero weights, superincreasing columns in the first pass and zeros after it.
    """

    def __init__(self, chosen: tuple[int, ...] = (), preferred: tuple[int, ...] = ()) -> None:
        self.chosen, self.preferred = chosen, preferred
        self._targets = np.zeros(0, dtype=np.intp)

    def laid(self, me: LatticeParty, step: int) -> NDArray[np.int64]:
        everybody = super().laid(me, step)
        if not self.is_bare(me.plan):
            chosen = self.wanted(me)
            everybody[chosen, np.arange(len(chosen))] = _entry(me)
        elif step == 1:
            everybody = powers_of_two(everybody.shape, self.places(me), self.counts(me)) << _lowest_bit(me)
        return everybody

    def is_bare(self, plan: Plan) -> bool:
        """Whether the first residuals are labels and nothing else."""
        return residuals_are_labels(plan, 1) and plan.class_weight == "none"

    def wanted(self, me: LatticeParty) -> NDArray[np.intp]:
        return np.array(self.chosen or self.places(me), dtype=np.intp)[: me.columns]

    def places(self, me: LatticeParty) -> NDArray[np.intp]:
        """The rows of the first pass, those that were chosen first, then the others in the order of preference."""
        ordered = np.array(list(dict.fromkeys([*self.chosen, *self.preferred, *range(len(me.shard))])), dtype=np.intp)
        return ordered[np.isin(ordered, sampled_rows(me.session.seed, len(me.shard), first_rows(me)))]

    def counts(self, me: LatticeParty) -> tuple[int, ...]:
        """How many people each column carries."""
        return spread(first_rows(me), me.columns, me.widths.features.bits - 1 - _lowest_bit(me))

    def after(self, me: LatticeParty) -> None:
        if len(me.weights):
            self.readings.append(self.first_labels(me) if self.is_bare(me.plan) else self.mean_residuals(me))
            self._targets = np.union1d(self.wanted(me), self.readings[0].rows)

    def first_labels(self, me: LatticeParty) -> Reading:
        """Every weight is the first step's sum of labels times powers of two, and what momentum makes of it later."""
        label = label_size(me)
        unit = label * first_rate(me) * 2.0 ** (_lowest_bit(me) - me.plan.feature_bits)
        # A sum of signed powers of two that begin with 1 is odd.
        odd = (
            2 * round((total - 1) / 2) + 1 for total in (self.moved(me) / echo(me.plan, len(me.shard)) / unit).tolist()
        )
        signs = [sign for total, count in zip(odd, self.counts(me), strict=True) for sign in signs_in(total, count)]
        return Reading(1, self.places(me)[: len(signs)], label * np.array(signs, dtype=np.float64))

    def mean_residuals(self, me: LatticeParty) -> Reading:
        """For one target per column: the mean of its residuals."""
        chosen = self.wanted(me)
        return Reading(me.plan.passes(len(me.shard)), chosen, self.moved(me)[: len(chosen)])

    def targets(self) -> NDArray[np.intp]:
        return self._targets

    def conditions(self) -> tuple[Condition, ...]:
        people = float(len(self._targets))
        return (Condition("people read from opened weights", people, "at least 1", people >= 1, CHOSEN_ROWS.reference),)


def first_rate(me: LatticeParty) -> float:
    """By how much a residual of 1 moves a weight in the first step, times a feature of 1."""
    return me.plan.rate / first_rows(me)


def first_rows(me: LatticeParty) -> int:
    """Rows of the first pass."""
    return me.plan.levels(len(me.shard))[0].rows


def label_size(me: LatticeParty) -> float:
    """What a label alone makes of a residual."""
    return me.sigmoid.label_weight * label_scale(me.plan.label_flip_epsilon)


def _lowest_bit(me: LatticeParty) -> int:
    """Of a feature, so that it moves the opened weight by at least two of its last places."""
    moved = label_size(me) * first_rate(me)
    return max(0, math.ceil(me.plan.feature_bits - WEIGHTS.fraction_bits + 1 - math.log2(moved)))


def _entry(me: LatticeParty) -> int:
    """The longest row that a promise about rows allows: whoever breaks the bound is outside the promise."""
    if me.plan.noise != "rows":
        return 1 << me.plan.feature_bits
    norm = me.plan.joint_norm * math.sqrt(me.columns / me.plan.columns)
    return math.floor(math.ldexp(norm, me.plan.feature_bits))


def echo(plan: Plan, rows: int) -> float:
    """What becomes of a first step of length 1 after all passes, of which the later ones add nothing of their own."""
    velocity = moved = 1.0
    pull = 0.0 if has_penalty_products(plan) else plan.rate * plan.l2
    for _ in range(plan.passes(rows) - 1):
        velocity = plan.momentum * velocity - pull * moved
        moved += velocity
    return moved


def arm(plan: Plan, name: str) -> type[ChoosingParty] | OpenedWeights | NotApplicable:
    """Wherever a sum or a weight comes back."""
    if plan.is_closed:
        return NotApplicable('shares with open = "never": no sum and no weight ever comes back')
    if not plan.kind.is_encrypted:
        return NotApplicable("clear is calculated in one place: no party takes part")
    if plan.kind.has_lattices:
        return OpenedWeights()
    return ChosenRowsArbitratedParty if plan.kind.has_arbiter else ChosenRowsParty


CHOSEN_ROWS = ActiveAttack("label-chosen-rows", "features", arm)
ATTACKS = (CHOSEN_ROWS,)
