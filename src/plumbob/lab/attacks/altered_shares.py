"""`altered-shares`: a label party that shifts the share it supplies when training ends reads a column with every score.

View: the joint scores of rows that it asks for (`shares` by lattices, `open = "never"`). The feature party multiplies
its rows with the share of its weights that the label party supplied. It is the same for every row, but nobody can say
that it is the right one: with one weight raised, each score is the joint score plus so many times that person's value
in one column. Cost: that of an honest run. The scores are worth nothing as scores then, and their bits are all that it
gets.
"""

from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Vector
from plumbob.lab.attacks.hooks import Hook
from plumbob.lab.attacks.interface import Attack, AttackStage, Changed, Claim, View
from plumbob.lab.attacks.peer_scores import usual_size
from plumbob.model.logistic import fit_logistic
from plumbob.protocol.openings import Share, scored_bits
from plumbob.protocol.shares.shape import WEIGHT_BITS
from plumbob.protocol.shares.training import SharesParty

RAISED, RAISED_IN_NOISE = 5.0, 10.0
"""How far the weight is raised: values of five deviations still fit a score, and the honest score is small beside.

Under noise for rows scores are blurred, but rows are short, and none has a value of more than a few deviations.
"""
COLUMN = 0


@dataclass
class AlteredShares(Hook):
    """The label party, honest up to the last message of training."""

    raised: float = RAISED

    def supplied_share(self, me: SharesParty, step: int, held: dict[str, Share]) -> dict[str, Share]:
        altered = {name: list(share) for name, share in held.items()}
        victim = next(peer for peer in me.holders.peers if me.holders.columns(peer))
        altered[victim][COLUMN] += round(self.raised * 2**WEIGHT_BITS)
        return altered


def act(stage: AttackStage) -> list[Claim]:
    """Read one column of the first peer that has any, in the scores of all rows that may be scored."""
    view, rows = stage.view, np.arange(min(stage.scored, stage.view.rows))
    victims = [peer.name for peer in view.peers if peer.features]
    if not view.plan.is_closed or not victims or not len(rows):
        return []
    values = np.full((view.rows, 1), np.nan)
    raised = RAISED if view.plan.noise == "none" else RAISED_IN_NOISE / usual_size(view)
    values[rows, 0] = believed(stage.shown(rows, changed=Changed(hook=AlteredShares(raised))), view) / raised
    bits = scored_bits(view.plan, len(rows))
    remark = f" With one weight of its share raised, {bits} bits were opened for it, and none of them is a score."
    return [Claim("features", victims[0], values, targets=rows, column=COLUMN, remark=remark)]


def believed(scores: Vector, view: View) -> Vector:
    """The believed column of the victim, times the raise: the score without what own columns say of the honest one.

    What is left has its middle at zero, like the column: so the peers' other columns cannot shift it.
    """
    own = np.zeros(len(scores))
    if view.y is not None and view.X.shape[1]:
        penalty = np.eye(view.X.shape[1]) / view.rows
        own = view.X[: len(scores)] @ fit_logistic(view.X, np.asarray(view.y, dtype=np.float64), penalty)
    left = scores - own
    return np.asarray(left - left.mean(), dtype=np.float64)


ATTACKS = (Attack("altered-shares", "label", act=act),)
