"""`false-residual`: a party that falsifies its part of residuals reads a row that was never scored, or chosen scores.

Nobody sees which numbers a party multiplies with. What it gets back is what is opened, so there are two ways.

Under `open = "never"`, by the label party. View: scores of rows whose columns it knows. In the last pass it adds
a number to its share of one person's residual. Nobody can see that. The gradient then contains that person's row so
many times, and so do the weights. It knows the factor, so it gets the row itself and not only its direction.

Row erasing (Jagielski, Rachuri, Escudero and Scholl, eprint 2025/906) makes it exact: with zeros for its sines, cosines
and labels, nobody else's residual moves anything, in any pass. Noise for rows does not stop it: the noise is made for
residuals of at most 1, and the added number can have any size. docs/attacks.md has the argument. Cost: that of an
honest run for each person.

Under `open = "own"`, by either party. View: own opened weights. The attacker takes zeros for its columns, so that its
own weights move nothing, and in the last pass, for a few people, sines and cosines of no angle but a chosen multiple of
it, larger than they may be. Each person's residual is then a steep function of the joint score, and stands alone in one
opened weight. Cost: that of an honest run. The attacker's part of the model is spoilt. Beyond the paper.
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto.lattice import Pairs, Small, angles, pairs
from plumbob.crypto.lattice.interface import Angles
from plumbob.lab.attacks.chosen_labels import claimed_rows, known_rows, no_longer, solved
from plumbob.lab.attacks.hooks import Bare, Hook, Reading, attack_with_hook
from plumbob.lab.attacks.interface import (
    Attack,
    AttackStage,
    Changed,
    Claim,
    Condition,
    NotApplicable,
    View,
)
from plumbob.plan import Plan
from plumbob.plan.sigmoids import AMPLITUDES, HARMONICS, PERIOD
from plumbob.protocol.openings import OPENED_SCORES, WEIGHTS
from plumbob.protocol.shares.shape import ANGLE_BITS, LAST_BITS, SLOT_BITS
from plumbob.protocol.shares.training import SharesParty

PEOPLE = 5
"""How many people are read, in one run each."""
MOVED, MOVED_IN_NOISE = 1.0, 10.0
"""How many times the row is in the weights: more of it makes more scores wrap around, and noise hides less of it.

In noise the square of how much shorter rows are comes on top.
"""
AGREES = 0.002
"""How far a score differs from its row's product, as rows and scores are rounded."""
ROWS_PER_UNKNOWN = 2.0
MARK = 64
PERIOD_OF_SCORES = 2.0 ** (OPENED_SCORES.integer_bits + 1)
ENTRY = 64
"""A chosen person's entry in the attacker's column: large, so that the last place of a weight shows little."""
LARGEST_FACTOR = 7.9
"""The largest falsified sine that slots take, in units of an honest one."""
HARMONIC = 0
"""The multiple of a score's angle that is read, by its place in the series: the angle, whose sine rises up to 16."""


@dataclass
class FalseResidual(Hook):
    """The label party, honest except for its shares of residuals."""

    person: int = 0
    erases: bool = True
    """Whether everybody's own residuals are made zero, in all passes."""

    def factors(self, me: SharesParty, step: int, factors: Small) -> Small:
        return np.zeros_like(factors) if self.erases else factors

    def labels(self, me: SharesParty, step: int, labels: Pairs | None) -> Pairs | None:
        return None if self.erases else labels

    def residuals(self, me: SharesParty, step: int, shared: Pairs) -> Pairs:
        if step < me.plan.passes(len(me.shard)):
            return shared
        added = np.zeros(len(shared), dtype=np.int64)
        # The step divides by the rows and multiplies by the rate; a descent subtracts.
        added[self.person] = round(math.ldexp(moved(me.plan, len(me.shard)) * len(me.shard) / me.plan.rate, SLOT_BITS))
        return pairs.subtract(shared, pairs.from_integers(added))


def moved(plan: Plan, rows: int) -> float:
    """How many times the row is put into the weights under this plan, with this many training rows."""
    return MOVED if plan.noise == "none" else MOVED_IN_NOISE * plan.columns / plan.norm_over(rows) ** 2


def solved_modulo(columns: Matrix, scores: Vector) -> Vector:
    """The weights behind scores that have wrapped around, from about twice as many known rows as unknowns.

    How often each score has wrapped is a vector of whole numbers. Times the period and added to the scores, it leaves
    what the columns explain: what they do not is a short vector of a lattice.
    """
    design = np.column_stack([columns, np.ones(len(columns))])
    used = min(len(columns), math.ceil(ROWS_PER_UNKNOWN * design.shape[1]))
    columns, scores, design = columns[:used], scores[:used], design[:used]
    basis = np.linalg.qr(design)[0]
    unexplained = np.eye(used) - basis @ basis.T
    # The last column marks the scores themselves, which a solution holds once.
    rows = np.vstack([PERIOD_OF_SCORES * unexplained, scores @ unexplained]) / AGREES
    marked = np.hstack([rows, np.diag([*[1.0] * used, MARK])])
    reduced = np.array(fmpz_mat(np.rint(marked).astype(np.int64).tolist()).lll().tolist(), dtype=object)
    for found in reduced[np.abs(reduced[:, -1]) == MARK]:
        wraps = (found[used:-1] * (found[-1] // MARK)).astype(np.float64)
        return solved(columns, scores + PERIOD_OF_SCORES * wraps)
    return solved(columns, scores)


def act(stage: AttackStage) -> Claim | NotApplicable:
    """Read the rows of a few people, in one run each."""
    view = stage.view
    if not view.plan.is_closed:
        return NotApplicable("weights are opened, and show chosen people's scores instead")
    if not stage.scored or not any(peer.features for peer in view.peers):
        return NotApplicable("no row is scored for the label party, or no peer has columns")
    people: NDArray[np.intp] = np.arange(min(PEOPLE, view.rows // 2))
    known = known_rows(stage, people.tolist())
    columns = stage.known(known)
    runs = (Changed(hook=FalseResidual(person)) for person in people.tolist())
    rows = [no_longer(solved_modulo(columns, stage.scores(known, run)) / moved(view.plan, view.rows)) for run in runs]
    return claimed_rows(stage, people, rows, ATTACKS[0].reference)


class OffTheCircle(Bare):
    """Reads the joint scores of as many people as it has columns, from its opened weights."""

    _angles: Angles
    _first_row = 0

    def chosen(self, me: SharesParty) -> NDArray[np.intp]:
        return np.arange(min(me.columns, len(me.shard)))

    def laid(self, me: SharesParty, step: int) -> NDArray[np.int64]:
        laid, chosen = super().laid(me, step), self.chosen(me)
        if self.is_last(me, step):
            laid[chosen, np.arange(len(chosen))] = ENTRY << me.plan.feature_bits
        return laid

    def scores(self, me: SharesParty, step: int, scores: Angles) -> Angles:
        """Own shares of all rows' scores, whose factors follow piece by piece."""
        self._angles, self._first_row = scores, 0
        return scores

    def factors(self, me: SharesParty, step: int, factors: Small) -> Small:
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

    def after(self, me: SharesParty) -> None:
        if len(me.weights):
            chosen = self.chosen(me)
            residuals = self.moved(me)[: len(chosen)] * len(me.shard) / (me.plan.rate * ENTRY)
            self.readings.append(Reading(me.plan.passes(len(me.shard)), chosen, residuals))

    def believed(self, me: SharesParty, view: View) -> Claim:
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
        return Claim(
            target="scores",
            against="+".join(peer.name for peer in view.peers),
            values=scores,
            conditions=(Condition("bits opened to it", float(bits), "more than 0", bits > 0, ATTACKS[0].reference),),
            targets=reading.rows,
        )


def _scores_at(me: SharesParty, sines: Vector) -> Vector:
    angle = np.arcsin(np.clip(sines / _size(me), -1.0, 1.0))
    scores: Vector = angle * PERIOD / (2.0 * math.pi * HARMONICS[HARMONIC])
    return scores


def _size(me: SharesParty) -> float:
    """The size of the sine that is read: the last party chooses it; for the others it has the last one's amplitude."""
    if me.holders.place < len(me.holders.names) - 1:
        return factor_size(angles.FACTOR_BITS) * float(AMPLITUDES[HARMONIC])
    return factor_size(factor_bits(me))


def factor_bits(me: SharesParty) -> int:
    """Fraction bits of this party's factors: the last of three or more has fewer."""
    is_last = me.holders.place == len(me.holders.names) - 1
    return LAST_BITS if is_last and not me.holders.is_pair else angles.FACTOR_BITS


def factor_size(fraction_bits: int) -> float:
    """The size of a falsified sine; the fewer spare bits slots have, the smaller."""
    return LARGEST_FACTOR * 2.0 ** (angles.FACTOR_BITS - fraction_bits)


def arm(plan: Plan, name: str) -> OffTheCircle | NotApplicable:
    """A hook wherever lattices share scores and weights are opened."""
    if not plan.kind.has_lattices:
        return NotApplicable("there are no lattice products in this plan")
    if plan.is_closed:
        return NotApplicable("no weight is opened to this party")
    return OffTheCircle()


ATTACKS = (
    Attack("false-residual", "label", act=act),
    attack_with_hook("false-residual", "features", arm, "scores"),
    attack_with_hook("false-residual", "label", arm, "scores"),
)
