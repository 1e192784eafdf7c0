"""Whether a drafted plan adds noise for whole rows: where the forecast says that it costs next to nothing.

Noise needs an encoding that no row can change, so a plan with it may have other columns than the plan that would be
drafted otherwise. The label party measures on its own table what that difference costs, and the forecast says what the
noise does; peers say how many columns their tables give, and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from plumbob.checking.advice import ROW_EPSILON, offered_noise_loss, small_delta
from plumbob.checking.row_notes import loss_in_words
from plumbob.data import Table
from plumbob.data.encoder import fit_encoder
from plumbob.errors import DataError
from plumbob.model import metrics
from plumbob.model.logistic import fit_logistic
from plumbob.party.ledger import USUAL_DELTA, EpsilonLimit
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.privacy.rows import RowSpending
from plumbob.protocol.row_noise import spending_of_a_run

MOST_LOSS = 0.005
"""The most AUC that a drafted plan gives up for its promise."""
FOLDS = 4
PENALTY = 1e-3
MOST_RUNS = 100
"""Up to how many runs are counted in words."""


def noise_keys(rows: int) -> dict[str, Any]:
    """The keys of a draft with noise; `rows` are those that the label party's table can train on."""
    return {"noise": "rows", "epsilon": ROW_EPSILON, "delta": small_delta(USUAL_DELTA, rows)}


@dataclass(frozen=True)
class NoiseForecast:
    """What noise for whole rows is expected to cost, against the plan that would be drafted without it."""

    rows: int
    from_noise: float
    from_encoding: float

    @classmethod
    def of(cls, with_noise: Plan, without: Plan, table: Table, most: int) -> "NoiseForecast":
        """Forecast the cost; `with_noise` has everybody's columns, `most` are the rows of the smallest table."""
        rows = trained_rows(most, with_noise)
        columns = [party.features for party in with_noise.learners]
        return cls(rows, offered_noise_loss(rows, columns, with_noise.delta), encoding_loss(table, with_noise, without))

    @property
    def loss(self) -> float:
        return self.from_noise + self.from_encoding

    @property
    def is_cheap(self) -> bool:
        return self.loss <= MOST_LOSS

    @property
    def words(self) -> str:
        return (
            f"is expected to cost {loss_in_words(max(0.0, self.loss))} of AUC with {self.rows:,} training rows, against"
            " the plan without it, encoding included"
        )


def trained_rows(most: int, plan: Plan) -> int:
    """The most rows that a run can train on: the rows in common are not known before they are aligned."""
    return max(1, most - plan.held_out(most))


def encoding_loss(table: Table, plan: Plan, other: Plan) -> float:
    """How much less AUC a model of this table's columns alone has under this plan's encoding than under the other's."""
    if table.labels is None or not table.columns:
        return 0.0
    try:
        return max(0.0, _auc(table, other) - _auc(table, plan))
    except DataError:
        # What an encoding refuses is told where the plan is used.
        return 0.0


def _auc(table: Table, plan: Plan) -> float:
    """The AUC on rows left out of the fit, all of them in turn."""
    folds = np.random.default_rng(0).permutation(len(table)) % FOLDS
    scores = np.zeros(len(table))
    for fold in range(FOLDS):
        training, others = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        encoder = fit_encoder(table, training, plan)
        X = np.column_stack([encoder.encode(table), np.ones(len(table))])
        labels = np.asarray(table.labels)[training]
        penalty = PENALTY * np.diag([1.0] * (X.shape[1] - 1) + [0.0])
        scores[others] = X[others] @ fit_logistic(X[training], labels, penalty)
    return metrics.auc(np.asarray(table.labels), scores)


# In words.


def drafted(forecast: NoiseForecast, plan: Plan) -> Iterator[str]:
    """Sentences for the label party: whether noise is in the draft, at what price, and what to type otherwise."""
    if plan.noise == "rows":
        yield (
            f"noise for whole rows is in the plan (epsilon {plan.epsilon:g}, delta {plan.delta:g}); it"
            f" {forecast.words}; --noise none leaves it out"
        )
        return
    label = plan.label_party.name
    yield (
        f"no noise is in the plan: noise for whole rows (epsilon {ROW_EPSILON:g}) {forecast.words}; without it, {label}"
        " can read the row of a person of its choice if it invents labels; --noise rows adds it"
    )


def runs_in_words(plan: Plan, settings: HomeSettings, rows: int) -> Iterator[str]:
    """A sentence for every party: how many runs like this one its own limit allows on the same people."""
    if plan.noise != "rows":
        return
    limit = EpsilonLimit.of(plan, settings.most_epsilon, settings.most_delta, "most_epsilon")
    one, spent, runs = spending_of_a_run(plan, rows), RowSpending(), 0
    while runs < MOST_RUNS and limit.allows((spent + one).epsilon(limit.delta)):
        spent, runs = spent + one, runs + 1
    allowed = {0: "no run", 1: "one run"}.get(runs, f"{runs} runs")
    yield f"your budget allows {allowed} of this plan on the same people: {limit.words}"
