"""`off-the-circle`: sines and cosines of no angle, so that a chosen person's score appears in an opened weight.

View: own opened weights (`shares` by lattices). Nobody sees which numbers a party multiplies with, so it may take other
ones in every pass: zeros for its scores, so that its own weights move nothing, and in the last pass, for a few people,
sines and cosines of no angle but a chosen multiple of it, larger than they may be. Each person's residual is then a
steep function of the joint score, and stands alone in one opened weight. Cost: that of an honest run. The attacker's
part of the model is spoilt, and nobody sees it. Beyond the paper.
"""

import math

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.crypto.lattice import Small, angles
from plumbob.crypto.lattice.interface import Angles
from plumbob.lab.attacks.hooks import ActiveAttack, Bare, Reading
from plumbob.lab.attacks.interface import Condition, NotApplicable, ValueClaim, View
from plumbob.plan import Plan
from plumbob.plan.sigmoids import AMPLITUDES, HARMONICS, PERIOD
from plumbob.protocol.openings import WEIGHTS
from plumbob.protocol.shares.shape import ANGLE_BITS, LAST_BITS
from plumbob.protocol.shares.training import LatticeParty

ENTRY = 64
"""A chosen person's entry in the attacker's column: large, so that the last place of a weight shows little."""
LARGEST_FACTOR = 7.9
"""The largest falsified sine that slots take, in units of an honest one."""
HARMONIC = 0
"""The multiple of a score's angle that is read, by its place in the series: the angle, whose sine rises up to 16."""


class OffTheCircle(Bare):
    """Reads the joint scores of as many people as it has columns, from its opened weights."""

    _angles: Angles
    _first_row = 0

    def chosen(self, me: LatticeParty) -> NDArray[np.intp]:
        return np.arange(min(me.columns, len(me.shard)))

    def laid(self, me: LatticeParty, step: int) -> NDArray[np.int64]:
        laid, chosen = super().laid(me, step), self.chosen(me)
        if self.is_last(me, step):
            laid[chosen, np.arange(len(chosen))] = ENTRY << me.plan.feature_bits
        return laid

    def scores(self, me: LatticeParty, step: int, scores: Angles) -> Angles:
        """Own shares of all rows' scores, whose factors follow piece by piece."""
        self._angles, self._first_row = scores, 0
        return scores

    def factors(self, me: LatticeParty, step: int, factors: Small) -> Small:
        """Cosines and sines of one piece of the rows; the second of two parties has sines first."""
        start, self._first_row = self._first_row, self._first_row + factors.shape[1]
        if not self.is_last(me, step):
            return factors
        here = self.chosen(me) - start
        here = here[(here >= 0) & (here < factors.shape[1])]
        turned = HARMONICS[HARMONIC] * self._angles[start + here].astype(np.float64) * (2.0 * math.pi / 2**ANGLE_BITS)
        bits = factor_bits(me)
        size = factor_size(bits) * 2.0**bits
        halves = [np.cos(turned), np.sin(turned)]
        if me.holders.is_pair and not me.holders.is_first:
            halves.reverse()
        falsified = factors.copy()
        falsified[:, here] = 0
        for half, values in enumerate(halves):
            falsified[half * len(factors) // 2 + HARMONIC, here] = np.rint(size * values)
        return falsified

    def after(self, me: LatticeParty) -> None:
        if len(me.weights):
            chosen = self.chosen(me)
            residuals = self.moved(me)[: len(chosen)] * len(me.shard) / (me.plan.rate * ENTRY)
            self.readings.append(Reading(me.plan.passes(len(me.shard)), chosen, residuals))

    def believed(self, me: LatticeParty, view: View) -> ValueClaim:
        [reading] = self.readings
        scores = np.full((view.rows, 1), np.nan)
        if view.signs is not None:
            labels = me.sigmoid.label_weight * view.signs[reading.rows]
            scores[reading.rows, 0] = _scores_at(me, reading.residuals + labels)
        else:
            # It does not know the label, but what a score says about it, and the label is small beside the sine.
            roughly = _scores_at(me, reading.residuals)
            scores[reading.rows, 0] = _scores_at(me, reading.residuals + me.sigmoid.curve(roughly))
        bits = len(me.weights) * WEIGHTS.bits
        return ValueClaim(
            target="scores",
            against=" + ".join(peer.name for peer in view.peers),
            values=scores,
            is_determined=np.zeros(view.rows, dtype=bool),
            conditions=(Condition("bits opened to it", float(bits), "more than 0", bits > 0, ATTACKS[0].reference),),
            targets=reading.rows,
        )


def _scores_at(me: LatticeParty, sines: Vector) -> Vector:
    angle = np.arcsin(np.clip(sines / _size(me), -1.0, 1.0))
    scores: Vector = angle * PERIOD / (2.0 * math.pi * HARMONICS[HARMONIC])
    return scores


def _size(me: LatticeParty) -> float:
    """The size of the sine that is read: the last party chooses it; for the others it has the last one's amplitude."""
    if me.holders.place < len(me.holders.names) - 1:
        return factor_size(angles.FACTOR_BITS) * float(AMPLITUDES[HARMONIC])
    return factor_size(factor_bits(me))


def factor_bits(me: LatticeParty) -> int:
    """Fraction bits of this party's factors: the last of three or more has fewer."""
    is_last = me.holders.place == len(me.holders.names) - 1
    return LAST_BITS if is_last and not me.holders.is_pair else angles.FACTOR_BITS


def factor_size(fraction_bits: int) -> float:
    """The size of a falsified sine; the fewer spare bits slots have, the smaller."""
    return LARGEST_FACTOR * 2.0 ** (angles.FACTOR_BITS - fraction_bits)


def arm(plan: Plan, name: str) -> OffTheCircle | NotApplicable | None:
    """A hook wherever lattices share scores and weights are opened; `false-residual` covers what scores show."""
    if not plan.kind.has_lattices:
        return NotApplicable("there are no lattice products in this plan")
    return None if plan.is_closed else OffTheCircle()


ATTACKS = (
    ActiveAttack("off-the-circle", "features", arm, target="scores"),
    ActiveAttack("off-the-circle", "label", arm, target="scores"),
)
