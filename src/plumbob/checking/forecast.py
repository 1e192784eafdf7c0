"""What an attack on labels should reach, from a few numbers; how sure that is decides between three verdicts.

A row's belief is the label times a signal, plus what blurs it: noise, the other parties' scores, and the labels of
other rows as far as the equations do not tell them apart. With `known` the equations there are for each unknown,

    signal-to-noise^2 = known * signal^2 / (noise^2 + spread^2 + signal^2 * max(0, 1 - known))

and a share Phi(ratio) of the labels comes out right, with AUC Phi(sqrt(2) * ratio). For one batch `known` is rank /
rows, for all epochs together epochs * rank / rows. benchmarks/check_grid.py sets these forecasts beside real attacks.

What a finding's advantage is measured against, own columns' prediction of the label, no plan tells. So it `leaks` if
it would do so beside a usual model of own columns, and is `blocked` only if even beside none it would not. A party that
holds the label knows how well columns predict it, and need not guess (`checking/at_home.py`).
"""

import math
from dataclasses import dataclass

from plumbob.checking.certainty import lower_end
from plumbob.checking.figures import USUAL_AUC, Figures
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS

IN_GENERAL = 0.25
"""Equations for each label up to which solving for labels is a regression on own columns."""
FORECAST_ERROR = 0.16
"""How far from what an attack reaches a forecast may lie, however many rows there are: .03 where the AUC is .75."""


@dataclass(frozen=True)
class Forecast:
    """Of an attack on labels."""

    ratio: float
    """Signal to noise of one row's belief."""
    coverage: float = 1.0
    """The share of rows, or of chosen targets, that get an answer."""
    judged: int = 1
    """Rows that the rate is taken over: its interval shrinks with them."""
    flipped: float = 0.0
    """Labels that were turned over at random before training."""
    baseline_auc: float = USUAL_AUC
    """What the attacker's own columns are taken to predict without any attack."""

    @property
    def accuracy(self) -> float:
        """On answered rows."""
        return self._unflipped(_normal(self.ratio))

    @property
    def auc(self) -> float:
        """On answered rows."""
        return self._unflipped(_normal(math.sqrt(2.0) * self.ratio))

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
        sure_auc = min(lower_end(auc, self.judged), auc - FORECAST_ERROR * auc * (1.0 - auc))
        return (sure_auc - self.baseline_auc) / (1.0 - self.baseline_auc)

    @property
    def most_advantage(self) -> float:
        """Beside the flip of a coin, with many rows: no finding can say more."""
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


def _normal(value: float) -> float:
    return 0.5 * (1.0 + math.erf(value / math.sqrt(2.0)))
