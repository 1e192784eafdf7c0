"""When an attack that solves own sums for labels surely says more than the attacker's own columns do.

A solve with d independent columns and s rows returns a row's own label with weight h = d / s, and what the columns say
about labels in general with weight 1 - h. With rho2 the share of the labels' variance that the columns explain, in
units of a label's part of a residual,

    difference of the classes = h + (1 - h) rho2 - luck of the start
    variance within a class   = (1 - h)^2 rho2 (1 - rho2) + h (1 - h) (1 - rho2) / companions + h blur^2

where the blur is noise and the other parties' scores. Scores of a random start fade as training continues: a direction
of the columns with variance v keeps (1 - rate v / 4)^steps of them. The same fading says how much of its own random
start a party's part of the model has left, and so what that part predicts without any attack.

Nobody knows rho2 beforehand, so an attack surely leaks only if it does so for all that are usual. A party that holds
the label knows how well columns of this kind predict it, and has less to allow for. docs/check.md tells how often these
verdicts are right.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from plumbob.arrays import Vector
from plumbob.checking.figures import Figures

NORMAL_QUANTILE = 1.96
FORECAST_ERROR = 0.36
"""How far from what an attack reaches a forecast may lie, however many rows there are: .068 where the AUC is .75."""
LUCK = 1.0
"""Standard deviations by which a random start may happen to point to the labels, or away from them."""
USUAL_DRIFT = 0.4
"""How far scores drift in a run from zero, in a residual's units."""
TELLING = 2.0
"""How much more than its share of variance a direction says about labels: the power that this share is raised to."""
LOOKS = 6
"""Steps at which the fading is taken."""


@dataclass(frozen=True)
class Solve:
    """What an attack makes of its sums."""

    share: float
    """Of its own label in what is solved for a row."""
    noise: float
    """The deviation of the noise that is left on a residual."""
    last_step: int
    """Of those that it uses."""
    companions: float = 1.0
    """Batches with different rows over which a row is averaged."""
    unrest: float = 1.0
    """How much more than in one step the others' scores blur what is put together from many."""
    most_auc: float = 1.0
    """What it reaches at best."""


@dataclass(frozen=True)
class Reach:
    """What an attack reaches, and what the attacker's part of the model says without it."""

    auc: float
    baseline_auc: float
    rows: int

    @property
    def advantage(self) -> float:
        """The least that it surely has."""
        sure = min(lower_end(self.auc, self.rows), self.auc - FORECAST_ERROR * self.auc * (1.0 - self.auc))
        return (sure - self.baseline_auc) / (1.0 - self.baseline_auc)


def sure_reach(figures: Figures, party: str, solve: Solve) -> Reach | None:
    """Where it has least, of all usual qualities of own columns; None unless that is above the plan's tolerance."""
    least = min(
        (_reach(figures, party, solve, auc) for auc in figures.usual_aucs(party)), key=lambda one: one.advantage
    )
    return least if least.advantage > figures.plan.tolerance_labels else None


def _reach(figures: Figures, party: str, solve: Solve, general_auc: float) -> Reach:
    reached = figures.flipped + (1.0 - 2.0 * figures.flipped) * _reached_auc(figures, party, solve, general_auc)
    return Reach(reached, _baseline_auc(figures, party, general_auc), figures.rows)


def _reached_auc(figures: Figures, party: str, solve: Solve, general_auc: float) -> float:
    """The mean over the steps in which the others' scores fade."""
    steps = np.unique(np.linspace(0, max(0, solve.last_step - 1), LOOKS).astype(int))
    aucs = [_auc_at(figures, party, solve, _explained_share(general_auc), int(step)) for step in steps]
    return min(solve.most_auc, float(np.mean(aucs)))


def _auc_at(figures: Figures, party: str, solve: Solve, rho2: float, step: int) -> float:
    share, signal = solve.share, figures.label_signal
    scores, luck = _others_scores(figures, party, rho2, step)
    blur = (solve.noise**2 + solve.unrest**2 * (scores + _drift(figures) ** 2)) / signal**2
    difference = share + (1.0 - share) * rho2 - LUCK * luck / signal
    within = (1.0 - share) ** 2 * rho2 * (1.0 - rho2) + share * (1.0 - share) * (1.0 - rho2) / solve.companions
    return _auc(difference / math.sqrt(max(within + share * blur, 1e-12)))


def _others_scores(figures: Figures, party: str, rho2: float, step: int) -> tuple[float, float]:
    """What is left of the start in the others' scores: its variance, and the deviation of its label's direction."""
    share = 1.0 - figures.plan.party(party).features / max(figures.plan.columns, 1)
    left = figures.start_size**2 * share * _fading(figures, step) ** 2 * figures.variances
    return float(left.sum()), math.sqrt(rho2 * float((left * figures.spectrum).sum()))


def _baseline_auc(figures: Figures, party: str, general_auc: float) -> float:
    """What one's part of the model says at the end: at most what the columns say, less what the start left in it."""
    if not figures.start_size:
        return general_auc
    rho2, spectrum, faded = _explained_share(general_auc), figures.spectrum, _fading(figures, figures.steps)
    share = figures.plan.party(party).features / max(figures.plan.columns, 1)
    left = figures.start_size**2 * share * faded**2 * figures.variances
    # Labels mostly lie in the directions with most variance, which are learned first.
    telling = spectrum**TELLING / (spectrum**TELLING).sum()
    learned = float((telling * (1.0 - faded)).sum())
    luck = math.sqrt(rho2 * float((left * telling).sum()))
    within = 4.0 * rho2 * (1.0 - rho2) * float((telling * (1.0 - faded) ** 2).sum()) + float(left.sum())
    ratio = (2.0 * rho2 * learned + LUCK * luck) / math.sqrt(max(within, 1e-12))
    return min(general_auc, max(0.5, _auc(ratio)))


def _fading(figures: Figures, steps: int) -> Vector:
    """For each direction of the joint columns, what is left of a start after this many steps."""
    kept: Vector = (1.0 - np.minimum(figures.plan.rate / 4.0 * figures.variances, 1.0)) ** steps
    return kept


def _drift(figures: Figures) -> float:
    """Short rows hardly move their weights."""
    plan = figures.plan
    shorter = min(1.0, 2.0 * plan.row_norm / math.sqrt(max(plan.columns, 1))) if plan.row_norm else 1.0
    return USUAL_DRIFT * shorter if plan.sigmoid not in ("exact", "piecewise") else 0.0


def _explained_share(auc: float) -> float:
    """The share of the labels' variance that a score with this AUC explains, for two normal classes."""
    ratio = NormalDist().inv_cdf(auc) / math.sqrt(2.0)
    return ratio**2 / (1.0 + ratio**2)


def _auc(ratio: float) -> float:
    return NormalDist().cdf(math.sqrt(2.0) * ratio)


def lower_end(share: float, n: int) -> float:
    """Of Wilson's interval."""
    spread = NORMAL_QUANTILE**2 / n
    half = NORMAL_QUANTILE * math.sqrt(max(share * (1.0 - share), 0.0) / n + spread / (4 * n))
    return (share + spread / 2 - half) / (1 + spread)
