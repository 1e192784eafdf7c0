"""What an attack on labels should reach, from a few numbers, and how sure that is: this decides between verdicts.

A row's belief is the label times a signal, plus what blurs it: noise, the other parties' scores, and the labels of
other rows as far as the equations do not tell them apart. With `known` the equations there are for each unknown,

    signal-to-noise^2 = known * signal^2 / (noise^2 + spread^2 + signal^2 * max(0, 1 - known))

and a share Phi(ratio) of the labels comes out right, with AUC Phi(sqrt(2) * ratio). For one batch `known` is rank /
rows, for all epochs together epochs * rank / rows. benchmarks/check_grid.py sets these forecasts beside real attacks.

What a finding's advantage is measured against, own columns' prediction of the label, no plan tells. So it `leaks` if
it would do so beside a usual model of own columns, and is `blocked` only if even beside none it would not. A party that
holds the label knows how well columns predict it, and need not guess (`checking/at_home.py`).

An attack that solves own sums for labels surely says more than the attacker's own columns where it does so for all
usual columns. A solve with d independent columns and s rows returns a row's own label with weight h = d / s, and what
the columns say about labels in general with weight 1 - h. With rho2 the share of the labels' variance that the columns
explain, in units of a label's part of a residual,

    difference of the classes = h + (1 - h) rho2 - luck of the start
    variance within a class   = (1 - h)^2 rho2 (1 - rho2) + h (1 - h) (1 - rho2) / companions + h blur^2

where the blur is noise and the other parties' scores. Scores of a random start fade as training continues: a direction
of the columns with variance v keeps (1 - rate v / 4)^steps of them. The same fading says how much of its own random
start a party's part of the model has left, and so what that part predicts without any attack. docs/check.md tells how
often these verdicts are right.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from plumbob.arrays import Vector
from plumbob.checking.figures import USUAL_AUC, USUAL_DRIFT, Figures
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.model.intervals import wilson
from plumbob.plan.sigmoids import SIGMOIDS

IN_GENERAL = 0.25
"""Equations per label up to which solving for labels is a regression on own columns."""
FORECAST_ERROR = 0.36
"""How far from what an attack reaches a forecast may lie, however many rows there are: .068 where the AUC is .75."""
LUCK = 1.0
"""Standard deviations by which a random start may happen to point to the labels, or away from them."""
TELLING = 2.0
"""How much more than its share of variance a direction says about labels: the power that this share is raised to."""
LOOKS = 6
"""How many steps the fading is taken at."""


@dataclass(frozen=True)
class Forecast:
    """What an attack on labels should reach."""

    ratio: float
    """Signal to noise of one row's belief."""
    coverage: float = 1.0
    """The share of rows, or of chosen targets, that get an answer."""
    judged: int = 1
    """How many rows the rate is taken over: its interval shrinks with them."""
    flipped: float = 0.0
    """The share of labels that were turned over at random before training."""
    baseline_auc: float = USUAL_AUC
    """The AUC that the attacker's own columns are taken to have without any attack."""

    @property
    def accuracy(self) -> float:
        """The share of answered rows whose label is right."""
        return self._unflipped(NormalDist().cdf(self.ratio))

    @property
    def auc(self) -> float:
        """The AUC of the beliefs about answered rows."""
        return self._unflipped(_auc(self.ratio))

    def _unflipped(self, share: float) -> float:
        return self.flipped + (1.0 - 2.0 * self.flipped) * share

    def verdict(self, tolerance: float) -> str:
        """`leaks` beside the baseline, `blocked` even beside none, else in between."""
        if self._sure_advantage > tolerance:
            return LEAKS
        return BLOCKED if self.most_advantage <= tolerance else DEGRADES

    @property
    def _sure_advantage(self) -> float:
        auc = 0.5 + self.coverage * (self.auc - 0.5)
        return _sure_advantage(auc, self.baseline_auc, self.judged)

    @property
    def most_advantage(self) -> float:
        """The advantage over a coin flip with many rows: no finding can say more."""
        return self.coverage * max(2.0 * self.accuracy - 1.0, 2.0 * self.auc - 1.0)


def reading(
    figures: Figures,
    party: str,
    known: float,
    visits: int = 1,
    coverage: float = 1.0,
    judged: int | None = None,
    unrest: float = 1.0,
) -> Forecast:
    """A forecast for this many equations per unknown, with the noise averaged over `visits`.

    `unrest`: how much more than at first the other parties' scores blur what is put together from many steps.
    """
    signal, spread = figures.label_signal, unrest * figures.peer_spread(party)
    noise = figures.noise_toward(party) / math.sqrt(visits)
    blur = noise**2 + spread**2 + signal**2 * max(0.0, 1.0 - known)
    ratio = math.sqrt(min(known, 1.0)) * signal / math.sqrt(blur) if blur else math.inf
    if known <= IN_GENERAL and not figures.noise_toward(party):
        # Batches much longer than the rank are regressions: they show what own columns say in general, too.
        ratio = math.hypot(ratio, figures.general_ratio(party))
    judged_rows = figures.rows if judged is None else judged
    return Forecast(ratio, coverage, judged_rows, figures.flipped, figures.baseline_auc)


@dataclass(frozen=True)
class Solve:
    """How an attack solves its sums, in numbers."""

    share: float
    """The weight of a row's own label in what is solved for the row."""
    noise: float
    """The deviation of the noise that is left on a residual."""
    last_step: int
    """The last of the steps that it uses."""
    companions: float = 1.0
    """How many batches with different rows a row is averaged over."""
    unrest: float = 1.0
    """How much more than in one step the others' scores blur what is put together from many."""
    most_auc: float = 1.0
    """The AUC that it reaches at best."""


@dataclass(frozen=True)
class Reach:
    """The AUC that an attack reaches, and that of the attacker's part of the model without it."""

    auc: float
    baseline_auc: float
    rows: int

    @property
    def advantage(self) -> float:
        """The least advantage that the attack surely has."""
        return _sure_advantage(self.auc, self.baseline_auc, self.rows)


def sure_reach(figures: Figures, party: str, solve: Solve) -> Reach | None:
    """The least reach over all usual qualities of own columns; None unless that is above the plan's tolerance."""
    least = min(
        (_reach(figures, party, solve, auc) for auc in figures.usual_aucs(party)), key=lambda one: one.advantage
    )
    return least if least.advantage > figures.plan.tolerance_labels else None


def _reach(figures: Figures, party: str, solve: Solve, general_auc: float) -> Reach:
    """The reach, its AUC as a mean over the steps in which the others' scores fade."""
    steps = np.unique(np.linspace(0, max(0, solve.last_step - 1), LOOKS).astype(int))
    aucs = [_auc_at(figures, party, solve, _explained_share(general_auc), int(step)) for step in steps]
    reached = figures.flipped + (1.0 - 2.0 * figures.flipped) * min(solve.most_auc, float(np.mean(aucs)))
    return Reach(reached, _baseline_auc(figures, party, general_auc), figures.rows)


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
    """The AUC of the attacker's part of the model at the end: at most its columns', less what the start left."""
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
    """How much scores drift: short rows hardly move their weights."""
    plan = figures.plan
    shorter = min(1.0, 2.0 * plan.row_norm / math.sqrt(max(plan.columns, 1))) if plan.row_norm else 1.0
    return USUAL_DRIFT * shorter if SIGMOIDS[plan.sigmoid].may_mislead else 0.0


def _explained_share(auc: float) -> float:
    """The share of the labels' variance that a score with this AUC explains, for two normal classes."""
    ratio = NormalDist().inv_cdf(auc) / math.sqrt(2.0)
    return ratio**2 / (1.0 + ratio**2)


def _auc(ratio: float) -> float:
    return NormalDist().cdf(math.sqrt(2.0) * ratio)


def _sure_advantage(auc: float, baseline_auc: float, judged: int) -> float:
    """The advantage at the lower end of the interval for this many rows, and of what a forecast is worth."""
    sure = min(wilson(auc * judged, judged)[0], auc - FORECAST_ERROR * auc * (1.0 - auc))
    return (sure - baseline_auc) / (1.0 - baseline_auc)
