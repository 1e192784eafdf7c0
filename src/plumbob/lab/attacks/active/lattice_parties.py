"""What a party of `shares` by lattices can do that runs other code than ours. Beyond the paper.

Nobody sees which numbers a party multiplies with, so it may take other ones in every pass. `DeviatingParty` takes zeros
for its scores, so that its own weights move nothing, and for its gradients whatever an attack lays into one pass:

- `off-the-circle`: in the last pass the attacker's sines and cosines of a few people are those of no angle but a chosen
  multiple of it, larger than they may be. Each person's residual is then a steep function of the joint score, and
  stands alone in one opened weight.
- `garbage-replies`: in the last pass the attacker does not multiply at all. It answers with monomials, so that what its
  peer takes for a share of a gradient is a few coefficients of its own secret key, as the digits of a number to base
  three, and what is opened carries them out.

Both read from weights that are opened; with `open = "never"` nothing comes back. Cost: that of an honest run. The
attacker's part of the model is spoilt, and nobody sees it.
"""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import lattice
from plumbob.crypto.lattice import Layout, Pairs, PrivateMatrix, Small, angles, local, pairs
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.interface import Angles
from plumbob.lab.attacks.active.interface import ActiveAttack, AttackingParty, Reading
from plumbob.lab.attacks.interface import CarriedOut, Condition, NotApplicable, ValueClaim, View
from plumbob.model.sigmoid import AMPLITUDES, HARMONICS, PERIOD
from plumbob.plan import Plan
from plumbob.protocol.lattice_products import GRADIENTS, Products, matrix_kind
from plumbob.protocol.lattice_sets import ANGLE_BITS, LAST_BITS, WEIGHT_BITS, most_opened_bits
from plumbob.protocol.lattice_shares import LatticeParty, LatticeStepSize
from plumbob.protocol.lattice_sigmoid import RowWeights, Stages
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import WEIGHTS, Share
from plumbob.protocol.releases import opened_bits

ENTRY = 64.0
"""What stands for a chosen person in the attacker's column: large, so that the last place of a weight shows little."""
LARGEST_FACTOR = 7.9
"""Of a sine that is none: what slots take, in units of an honest one."""
HARMONIC = 0
"""Which multiple of a score's angle is read, by its place in the series: the angle, whose sine rises up to 16."""
DIGITS = 15
"""Coefficients of a key in one opened weight: numbers to base three with this many digits fit, six places apart."""
PLACES = 6


class DeviatingParty(AttackingParty, LatticeParty):
    """Its columns count for nothing, but for what it lays into the gradients of a pass."""

    def prepare(self) -> None:
        self._start = self.weights
        self.shard = replace(self.shard, X=np.zeros_like(self.shard.X))
        super().prepare()

    def gradient_rows(self, number: int) -> Matrix:
        """What stands in the place of own columns in this pass; nothing, if not for an attack."""
        return self.shard.X

    def _used_rows(self, kind: str, number: int, honest: PrivateMatrix, block: int = 0) -> tuple[Small, PrivateMatrix]:
        """Its own rows in the place of its columns; below them, the penalty is as it was."""
        if kind != GRADIENTS:
            return super()._used_rows(kind, number, honest, block)
        rows = self.gradient_rows(number)[self.level.rows][self.products.shape.sum_blocks[block]]
        entries = honest.entries.copy()
        entries[: len(rows)] = np.rint(np.ldexp(rows, self.plan.feature_bits))
        return entries, PrivateMatrix(self.engine, honest.layout, entries)

    @cached_property
    def _penalty(self) -> Small:
        """Its weights are not pulled back either."""
        return np.zeros((self.columns, self.columns), np.int32)

    def refuse_result(self) -> None:
        """Weights that no honest run ends with are what it wanted."""

    def is_last(self, number: int) -> bool:
        return number == self.plan.passes(len(self.shard))

    def moved(self) -> Vector:
        """By how much the opened weights differ from the start: nothing but the last pass moved them."""
        return self._start - self.weights


# Sines that are off the circle.


class OffTheCircle(Stages):
    """The sigmoid with other factors for a few rows."""

    def __init__(
        self, products: Products, number: int, row_weights: RowWeights | None, chosen: NDArray[np.intp]
    ) -> None:
        super().__init__(products, number, row_weights)
        self.chosen, self._first_row = chosen, 0

    def series(self, scores: Angles) -> Pairs:
        """This party's share of all rows' residuals, as `shared_series` gives it."""
        make = self.of_pair if self.company.is_pair else self.of_many
        shares = []
        for place, piece in enumerate(self.shape.pieces):
            self._first_row = piece.start or 0
            shares.append(make(place, piece, scores[piece]))
        return np.concatenate(shares)

    def _first_factors(self, scores: Angles, piece: slice) -> Small:
        return self._falsify(super()._first_factors(scores, piece), scores, angles.FACTOR_BITS)

    def _turning_factors(self, scores: Angles) -> Small:
        return self._falsify(super()._turning_factors(scores), scores, angles.FACTOR_BITS)

    def _last_factors(self, scores: Angles, fraction_bits: int = angles.FACTOR_BITS) -> Small:
        # Sines come first there, cosines second.
        return self._falsify(super()._last_factors(scores, fraction_bits), scores, fraction_bits, sines_first=True)

    def _falsify(self, factors: Small, scores: Angles, fraction_bits: int, sines_first: bool = False) -> Small:
        here = self.chosen - self._first_row
        here = here[(here >= 0) & (here < len(scores))]
        turned = HARMONICS[HARMONIC] * scores[here].astype(np.float64) * (2.0 * math.pi / 2**ANGLE_BITS)
        size = factor_size(fraction_bits) * 2.0**fraction_bits
        halves = [np.sin(turned), np.cos(turned)] if sines_first else [np.cos(turned), np.sin(turned)]
        factors[:, here] = 0
        for half, values in enumerate(halves):
            factors[half * len(factors) // 2 + HARMONIC, here] = np.rint(size * values)
        return factors


def factor_size(fraction_bits: int) -> float:
    """Of a falsified sine; the fewer spare bits slots have, the smaller."""
    return LARGEST_FACTOR * 2.0 ** (angles.FACTOR_BITS - fraction_bits)


class OffTheCircleParty(DeviatingParty):
    """Reads the joint scores of as many people as it has columns, from its opened weights."""

    @property
    def chosen(self) -> NDArray[np.intp]:
        return np.arange(min(self.columns, len(self.shard)))

    def gradient_rows(self, number: int) -> Matrix:
        rows = np.zeros_like(self.shard.X)
        if self.is_last(number):
            rows[self.chosen, np.arange(len(self.chosen))] = ENTRY
        return rows

    def _shared_residuals(self, number: int, scores: Angles) -> Pairs:
        if not self.is_last(number):
            return super()._shared_residuals(number, scores)
        shared = OffTheCircle(self.products, number, self._row_weights, self.chosen).series(scores)
        return shared if self._shifts is None else pairs.subtract(shared, self._shifts)

    def finish(self) -> None:
        super().finish()
        if len(self.weights):
            residuals = self.moved()[: len(self.chosen)] * len(self.shard) / (self.plan.rate * ENTRY)
            self.readings.append(Reading(self.plan.passes(len(self.shard)), self.chosen, residuals))

    def believed(self, view: View) -> ValueClaim:
        [reading] = self.readings
        scores = np.full((view.rows, 1), np.nan)
        if view.signs is not None:
            labels = self.sigmoid.label_weight * view.signs[reading.rows]
            scores[reading.rows, 0] = self._scores_at(reading.residuals + labels)
        else:
            # It does not know the label, but what a score says about it, and the label is small beside the sine.
            roughly = self._scores_at(reading.residuals)
            scores[reading.rows, 0] = self._scores_at(reading.residuals + self.sigmoid.curve(roughly))
        return ValueClaim(
            target="scores",
            against=" + ".join(peer.name for peer in view.peers),
            values=scores,
            is_determined=np.zeros(view.rows, dtype=bool),
            conditions=self.conditions(),
            targets=reading.rows,
        )

    def _scores_at(self, sines: Vector) -> Vector:
        angle = np.arcsin(np.clip(sines / self._size, -1.0, 1.0))
        scores: Vector = angle * PERIOD / (2.0 * math.pi * HARMONICS[HARMONIC])
        return scores

    @property
    def _size(self) -> float:
        """Of the sine that is read: the last party chooses it, for the others the last one's amplitude is in it."""
        if self.company.place < len(self.company.names) - 1:
            return factor_size(angles.FACTOR_BITS) * float(AMPLITUDES[HARMONIC])
        return factor_size(angles.FACTOR_BITS if self.company.is_pair else LAST_BITS)

    def conditions(self) -> tuple[Condition, ...]:
        bits, reference = len(self.weights) * WEIGHTS.bits, OFF_THE_CIRCLE_BY_FEATURE_PARTY.reference
        return (Condition("bits opened to it", float(bits), "more than 0", bits > 0, reference),)


# Replies that are none.


class GarbageRepliesParty(DeviatingParty):
    """Reads coefficients of its peer's key, from its opened weights; between two parties."""

    def _shared_sums(self, number: int, residuals: Pairs) -> dict[str, Share]:
        if not self.is_last(number):
            return super()._shared_sums(number, residuals)
        [(peer, channel)] = self.company.channels.items()
        layout = self.products.layout(GRADIENTS, self.company.name)
        theirs = self.products.layout(GRADIENTS, peer)
        key = self.products.keys.own[self.products.key_for(matrix_kind(GRADIENTS, 0), number, self.company.name, peer)]
        owner = lattice.Owner(key, number, theirs)
        channel.send(Kind.LATTICE_REQUEST, number, owner.request(self._multiplied(slice(0, None), residuals, peer)))
        channel.receive(Kind.LATTICE_REQUEST, number, SEED_BYTES + layout.request_bytes)
        channel.send(Kind.LATTICE_REPLY, number, garbage(layout, self._unit))
        opened = local.integers_of(owner.open(channel.receive(Kind.LATTICE_REPLY, number, theirs.reply_bytes)))
        shares = {peer: opened, self.company.name: [0] * self.columns}
        return self._lifted_sums(number, {name: shares[name] for name in self.company.names})

    @cached_property
    def _unit(self) -> int:
        """What a digit is in the peer's share, so that it moves the opened weight by a few of its last places."""
        size = LatticeStepSize.of(self.shape)
        return (PLACES << (size.shift + WEIGHT_BITS - WEIGHTS.fraction_bits)) // size.factor + 1

    @cached_property
    def read(self) -> NDArray[np.int64]:
        """Coefficients of the peer's secret, in the order in which `places_of` lists them."""
        size = LatticeStepSize.of(self.shape)
        step = self._unit * size.factor / 2.0 ** (size.shift + WEIGHT_BITS - WEIGHTS.fraction_bits)
        numbers = np.rint(np.ldexp(self.moved(), WEIGHTS.fraction_bits) / step).astype(np.int64)
        return np.concatenate([digits_of(int(number)) for number in numbers])

    def finish(self) -> None:
        super().finish()
        if len(self.weights):
            self.readings.append(Reading(self.plan.passes(len(self.shard)), np.zeros(0, dtype=np.intp), np.zeros(0)))

    def believed(self, view: View) -> CarriedOut:
        layout = self.products.layout(GRADIENTS, self.company.name)
        degree, known = layout.parameters.degree, len(set(places_of(layout)))
        bits = math.ceil(known * math.log2(3))
        most = opened_bits(self.plan, self.company.name)
        return CarriedOut(
            bits=bits,
            most=most,
            why=(
                f"It carried out {known} of the {degree} coefficients of its peer's key: {bits} of the "
                f"{most} bits opened to it. The key withstands {layout.parameters.most_opened_bits}, so it read no "
                "residual and no label. Its own part of the model is spoilt."
            ),
            conditions=self.conditions(),
        )

    def conditions(self) -> tuple[Condition, ...]:
        withstood = self.products.layout(GRADIENTS, self.company.name).parameters.most_opened_bits
        most, reference = most_opened_bits(self.plan, len(self.shard)), GARBAGE_REPLIES_BY_FEATURE_PARTY.reference
        needed = f"more than the {withstood} that the key withstands"
        return (Condition("bits opened to one party", float(most), needed, most > withstood, reference),)


def garbage(layout: Layout, unit: int) -> bytes:
    """Replies whose products with the secret hold, where an answer is taken, its coefficients as digits to base three.

    A power of x moves the secret by so many places; those below zero come back negated at the other end.
    """
    degree, width = layout.parameters.degree, layout.reply_bits // 8
    packed = np.zeros((layout.replies, degree, width), dtype=np.uint8)
    scale = unit << (layout.reply_bits - layout.output_bits)
    for reply in range(layout.replies):
        for digit in range(DIGITS):
            place = _first_place(layout, reply, digit)
            number = (-scale if place else scale) * 3**digit % (1 << layout.reply_bits)
            packed[reply, -place % degree] = np.frombuffer(number.to_bytes(width, "little"), dtype=np.uint8)
    return packed.tobytes()


def places_of(layout: Layout) -> list[int]:
    """Which coefficients of the secret each opened weight holds: of the first weight first, its lowest digit first."""
    columns = range(layout.columns)
    return [
        (_first_place(layout, column // layout.group, digit) + layout.group - 1 - column % layout.group)
        % layout.parameters.degree
        for column in columns
        for digit in range(DIGITS)
    ]


def _first_place(layout: Layout, reply: int, digit: int) -> int:
    """Of the coefficient that comes to stand first in a reply; the answers of one reply are neighbours of it."""
    return (reply * DIGITS + digit) * layout.group % layout.parameters.degree


def digits_of(number: int) -> NDArray[np.int64]:
    """Of a number to base three, each -1, 0 or 1, the lowest first."""
    digits = np.zeros(DIGITS, dtype=np.int64)
    for place in range(DIGITS):
        digits[place] = (number + 1) % 3 - 1
        number = (number - int(digits[place])) // 3
    return digits


# Under which plans.


def arm_off_the_circle(plan: Plan, name: str) -> type[OffTheCircleParty] | NotApplicable | CarriedOut:
    """Wherever lattices share scores and weights are opened."""
    return _without_openings(plan) or OffTheCircleParty


def arm_garbage_replies(plan: Plan, name: str) -> type[GarbageRepliesParty] | NotApplicable | CarriedOut:
    """The same, between two parties and without noise that would cover the digits."""
    if plan.noise == "rows":
        return NotApplicable("acted out without noise only; what it can carry out is counted in the plan's bits")
    if plan.kind.has_lattices and not plan.is_between_two:
        return NotApplicable("acted out between two parties: the findings about all but one together are that")
    return _without_openings(plan) or GarbageRepliesParty


def _without_openings(plan: Plan) -> NotApplicable | CarriedOut | None:
    if not plan.kind.has_lattices:
        return NotApplicable("there are no lattice products in this plan")
    if plan.is_closed:
        return CarriedOut(0, 0, "No weight is opened to it: this way it can spoil the model, but learns nothing.")
    return None


OFF_THE_CIRCLE_BY_FEATURE_PARTY = ActiveAttack("off-the-circle", "features", arm_off_the_circle, target="scores")
OFF_THE_CIRCLE_BY_LABEL_PARTY = ActiveAttack("off-the-circle", "label", arm_off_the_circle, target="scores")
GARBAGE_REPLIES_BY_FEATURE_PARTY = ActiveAttack("garbage-replies", "features", arm_garbage_replies, target="labels")
GARBAGE_REPLIES_BY_LABEL_PARTY = ActiveAttack("garbage-replies", "label", arm_garbage_replies, target="scores")
