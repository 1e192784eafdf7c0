"""`false-residual`: a label party that falsifies its shares of residuals reads a row that was never scored.

View: scores of rows whose columns the attacker knows (`shares` by lattices, `open = "never"`). In the last pass it adds
a number to its share of one person's residual. Nobody can see that. The gradient then contains that person's row so
many times, and so do the weights. It knows the factor, so it gets the row itself and not only its direction.

Row erasing (Jagielski, Rachuri, Escudero and Scholl, eprint 2025/906) makes it exact: with zeros for its sines, cosines
and labels, nobody else's residual moves anything, in any pass. Noise for rows does not stop it: the noise is made for
residuals of at most 1, and the added number can have any size. docs/attacks.md has the argument. Cost: that of an
honest run for each person.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto.lattice import Pairs, Small, pairs
from plumbob.lab.attacks.chosen_labels import claimed_rows, known_rows, no_longer, solved
from plumbob.lab.attacks.hooks import Hook
from plumbob.lab.attacks.interface import AttackStage, Changed, NotApplicable, StagedAttack, ValueClaim
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.shares.shape import SLOT_BITS
from plumbob.protocol.shares.training import LatticeParty

PEOPLE = 5
"""How many people are read, in one run each."""
MOVED = 3.0
"""How many times the row is in the weights: more of it would make too many scores wrap around."""
AGREES = 0.02
"""How far a score may differ from its row's product, as rows and scores are rounded."""
TRIES = 2000


@dataclass
class FalseResidual(Hook):
    """The label party, honest except for its shares of residuals."""

    person: int = 0
    erases: bool = True
    """Whether everybody's own residuals are made zero, in all passes."""

    def factors(self, me: LatticeParty, step: int, factors: Small) -> Small:
        return np.zeros_like(factors) if self.erases else factors

    def labels(self, me: LatticeParty, step: int, labels: Pairs | None) -> Pairs | None:
        return None if self.erases else labels

    def residuals(self, me: LatticeParty, step: int, shared: Pairs) -> Pairs:
        if step < me.plan.passes(len(me.shard)):
            return shared
        added = np.zeros(len(shared), dtype=np.int64)
        # The step divides by the rows and multiplies by the rate; a descent subtracts.
        added[self.person] = round(math.ldexp(MOVED * len(me.shard) / me.plan.rate, SLOT_BITS))
        return pairs.subtract(shared, pairs.from_integers(added))


def solved_modulo(columns: Matrix, scores: Vector) -> Vector:
    """The weights behind scores that may have wrapped around, from more known rows than needed.

    Small sets of rows are solved as if none had wrapped; the set is right with which all other rows agree.
    """
    generator, needed = np.random.default_rng(1), min(len(columns), columns.shape[1] + 4)
    period = 2.0 ** (OPENED_SCORES.integer_bits + 1)
    design = np.column_stack([columns, np.ones(len(columns))])
    # Scores of short rows rarely wrap.
    order = np.argsort(np.linalg.norm(columns, axis=1))[: max(needed, 2 * len(columns) // 3)]
    best, agreed = solved(columns, scores), 0
    for number in range(TRIES):
        chosen = generator.choice(order, needed, replace=False) if number else np.arange(len(columns))
        weights = np.linalg.lstsq(design[chosen], scores[chosen], rcond=None)[0]
        missed = (design @ weights - scores + period / 2) % period - period / 2
        is_right = np.abs(missed) < AGREES
        if is_right[chosen].all() and is_right.sum() > agreed:
            unwrapped = design @ weights - missed
            best, agreed = solved(columns[is_right], unwrapped[is_right]), int(is_right.sum())
        if agreed == len(columns):
            break
    return best


def act(stage: AttackStage) -> ValueClaim | NotApplicable:
    """Read the rows of a few people, in one run each."""
    view = stage.view
    if not view.plan.is_closed:
        return NotApplicable("weights are opened; off-the-circle and label-chosen-rows read from those")
    if not stage.scored or not any(peer.features for peer in view.peers):
        return NotApplicable("no row is scored for the label party, or no peer has columns")
    people: NDArray[np.intp] = np.arange(min(PEOPLE, view.rows // 2))
    known = known_rows(stage, people.tolist())
    columns = stage.known(known)
    runs = (Changed(hook=FalseResidual(person)) for person in people.tolist())
    rows = [no_longer(solved_modulo(columns, stage.scores(known, run)) / MOVED) for run in runs]
    return claimed_rows(stage, people, rows, ATTACKS[0].reference)


ATTACKS = (StagedAttack("false-residual", "label", act),)
