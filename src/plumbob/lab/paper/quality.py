"""One run of section 7, epoch by epoch: what its figures show, and what they leave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from plumbob.arrays import Matrix
from plumbob.data import Table
from plumbob.errors import DataError
from plumbob.lab.paper.findings import Curve
from plumbob.lab.paper.readings import Effort, ResultStore, Setting, Study
from plumbob.lab.paper.released import Released, success
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.quality import epoch_weights
from plumbob.model import metrics

METRICS: Mapping[str, str] = {
    "train_accuracy": "training accuracy",
    "test_accuracy": "test accuracy",
    "attack": "label attack success",
    "weight_norm": "norm of the weights",
    # From here on not in the paper.
    "test_auc": "test AUC",
    "test_balanced_accuracy": "test balanced accuracy",
    "attack_balanced": "label attack, balanced accuracy",
    "attack_without_own_scores": "label attack that subtracts its own scores",
}
Curves = dict[Setting, dict[str, Curve]]
"""For each setting and each of `METRICS`."""


def curves_of(study: Study, settings: Sequence[Setting], results: ResultStore, effort: Effort) -> Curves:
    """Every setting with every seed; what is in the store is not run again."""
    work = _StudyRuns(study, study.tables("train"), study.tables("test"))
    total, done = len(settings) * len(effort.all_seeds), 0
    found: Curves = {}
    for setting in settings:
        runs = []
        for seed in effort.all_seeds:
            done += 1
            title = f"{study.name} {setting.preset}: {setting.name}, seed {seed}"
            effort.tell(f"{title} ({done} of {total})")
            plan = setting.plan(study, work.rows, seed)
            key = {"plan": plan.to_toml(), "study": study.identity, "metrics": list(METRICS)}
            runs.append(results.get_or_run(title, key, partial(work.run, setting, seed)))
        epochs = range(1, study.epochs + 1)
        found[setting] = {
            name: Curve.of(setting.name, epochs, list(zip(*(run[name] for run in runs), strict=True)))
            for name in METRICS
        }
    return found


@dataclass(frozen=True, repr=False, eq=False)
class _StudyRuns:
    study: Study
    train: dict[str, Table]
    test: dict[str, Table]

    @property
    def rows(self) -> int:
        return len(self.train["label"])

    def run(self, setting: Setting, seed: int) -> dict[str, Any]:
        trained = train(setting.plan(self.study, self.rows, seed), self.train)
        # Once for each setting: rows do not depend on the seed.
        if seed == 1 and not setting.has_unit_rows:
            _refuse_shortened(trained, self.train)
        return measured(trained, self.test)


def _refuse_shortened(run: Run, tables: Mapping[str, Table]) -> None:
    """The settings promise rows as they are."""
    for name, part in run.model.parts.items():
        given = np.linalg.norm(part.encode(tables[name]), axis=1)
        used = np.linalg.norm(run.transcripts[name].X, axis=1)
        if not np.allclose(given, used, atol=1e-3):
            raise DataError(f"{name}: a row is longer than the plan's row_norm {run.model.plan.row_norm:g}; raise it")


def measured(run: Run, test: Mapping[str, Table]) -> dict[str, list[float]]:
    """For each of `METRICS` one number an epoch."""
    released = Released.of(run)
    plan, parts = run.model.plan, run.model.parts
    weights = {
        name: np.array(list(epoch_weights(plan, run.transcripts[name], part.penalties(plan.l2))))
        for name, part in parts.items()
    }
    training: Matrix = np.sum([weights[name] @ run.transcripts[name].X.T for name in parts], axis=0)
    tested: Matrix = np.sum([weights[name] @ part.encode(test[name]).T for name, part in parts.items()], axis=0)
    y_test = np.asarray(test[plan.label_party.name].labels)
    return {
        "train_accuracy": [metrics.accuracy(released.y, scores) for scores in training],
        "test_accuracy": [metrics.accuracy(y_test, scores) for scores in tested],
        "attack": success(released.y, released.residuals),
        "weight_norm": np.linalg.norm(np.hstack(list(weights.values())), axis=1).tolist(),
        "test_auc": [metrics.auc(y_test, scores) for scores in tested],
        "test_balanced_accuracy": [metrics.balanced_accuracy(y_test, scores) for scores in tested],
        "attack_balanced": [metrics.balanced_accuracy(released.y, -values) for values in released.residuals],
        "attack_without_own_scores": success(released.y, released.without_own_scores),
    }


@cache
def majority(study: Study, part: str = "test") -> float:
    """What always saying the larger class would give."""
    share = float(np.mean(np.asarray(study.tables(part)["label"].labels)))
    return max(share, 1.0 - share)
