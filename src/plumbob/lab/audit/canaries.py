"""Canaries: rows whose labels are coin flips, so that nothing but the run itself could give them away.

A promise about rows bounds how often such a label is named: (e^epsilon + delta) / (1 + e^epsilon). On real labels a
guess may be right because the model is good; on a coin it is right half of the time, or the run has leaked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plumbob.counting import percent
from plumbob.data import Table
from plumbob.errors import DataError
from plumbob.lab.simulate import train
from plumbob.lab.simulate.training import Run
from plumbob.model.intervals import Interval, wilson
from plumbob.plan import Plan
from plumbob.privacy.rows import coin_flip_bound

Coins = NDArray[np.int8]
CANARIES, RUNS = 20, 10
"""Canaries and runs of an audit: two hundred coins tell .731 from .881, and take ten short trainings."""


@dataclass(frozen=True)
class CanaryResult:
    """How many canaries' labels were named over all runs, beside what the promise allows."""

    named: int
    canaries: int
    bound: float
    """The largest share that the plan's promise allows; 1 where it makes none."""

    @property
    def share(self) -> float:
        return self.named / self.canaries

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the share of right guesses."""
        return wilson(self.named, self.canaries)

    @property
    def is_within_the_bound(self) -> bool:
        """Whether the interval's lower end is below the bound; if not, the promise is broken."""
        return self.interval[0] <= self.bound

    def in_words(self) -> str:
        """One sentence for a report."""
        low, high = self.interval
        return (
            f"Of {self.canaries} canaries, rows whose labels are coin flips, whoever sees the weights and knows all "
            f"else names {percent(self.share)} ({percent(low)} to {percent(high)}); the promise (differential "
            f"privacy) allows {percent(self.bound)}."
        )


def canary_sentence(plan: Plan, tables: Mapping[str, Table]) -> str:
    """A sentence on what a few runs on these prepared rows show, for a plan that makes a promise about rows.

    They are calculated in the clear with the plan's own noise: nobody's view of a run holds more than its weights.
    """
    rows = len(tables[plan.label_party.name])
    in_clear = plan.replace(protocol="clear", open="own", most_rows=0, lattice_set=0, seed=0)
    found = try_canaries(in_clear, tables, min(CANARIES, max(1, rows // 10)), RUNS, np.random.default_rng())
    verdict = "within the bound" if found.is_within_the_bound else "BEYOND THE BOUND: the promise is broken"
    return f"{found.in_words()[:-1]}, so it is {verdict}."


def try_canaries(
    plan: Plan, tables: Mapping[str, Table], canaries: int, runs: int, generator: np.random.Generator
) -> CanaryResult:
    """Train several times with fresh coins on some rows, and guess them from the weights that were opened.

    The guesser is as strong as it can be without breaking anything: it knows every column and every other label.
    """
    label_party = plan.label_party.name
    labels = tables[label_party].labels
    if labels is None or canaries > len(labels):
        raise DataError(f"expected labels and at least {canaries} rows for the canaries; choose fewer")
    named = 0
    for _ in range(runs):
        places = generator.choice(len(labels), canaries, replace=False)
        coins = generator.integers(0, 2, canaries).astype(np.int8)
        run = train(plan, {**tables, label_party: _with_coins(tables[label_party], places, coins)})
        named += int((guessed_coins(run, places) == coins).sum())
    bound = coin_flip_bound(plan.epsilon, plan.delta) if plan.noise == "rows" else 1.0
    return CanaryResult(named, runs * canaries, bound)


def _with_coins(table: Table, places: NDArray[np.intp], coins: Coins) -> Table:
    if table.labels is None:
        raise DataError("expected labels in the label party's table")
    labels = table.labels.copy()
    labels[places] = coins
    return replace(table, labels=labels)


def guessed_coins(run: Run, places: NDArray[np.intp]) -> Coins:
    """Guess 1 where a row scores above what the others' rows predict: a label pulls the weights toward its row.

    The weights without a row are one Newton step away from those with it, which takes the row's own leverage out.
    """
    transcripts = [run.transcripts[party.name] for party in run.model.plan.learners]
    X = np.hstack([transcript.X for transcript in transcripts])
    weights = np.concatenate([transcript.weights for transcript in transcripts])
    others = np.setdiff1d(np.arange(len(X)), places)
    y = transcripts[0].y
    if y is None:
        raise DataError("expected the label party's labels")
    gradient = X[others].T @ (_probability(X[others] @ weights) - y[others])
    chances = _probability(X @ weights)
    curvature = (X * (chances * (1 - chances))[:, None]).T @ X + 1e-6 * np.eye(X.shape[1])
    # At the optimum the canaries' residuals balance everybody else's: this is what they must add up to.
    pull = X[places] @ np.linalg.solve(curvature, gradient)
    return (pull > 0).astype(np.int8)


def _probability(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    chances: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(0.5 * scores)
    return chances
