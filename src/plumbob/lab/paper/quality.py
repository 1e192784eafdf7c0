"""One run of section 7, epoch by epoch: what its figures show, and what they leave out.

The paper's curves take residuals as read, as its packing attack reads them, whatever the batch size ("independent of
the choices of batch size or the splitting ratio"). So they are rebuilt here from a run's views and the noise of
`clear`, which comes from its seed, and checked against the sums that training really used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking.study import noise_std
from plumbob.data import Batch, Table, stream
from plumbob.errors import DataError
from plumbob.lab.attacks.interface import View
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.frames import Curve, Point
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.lab.paper.study import PaperStudy, Setting
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.quality import epoch_weights
from plumbob.model import metrics
from plumbob.model.logistic import signs_of
from plumbob.plan import Plan

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
Measured = dict[str, list[float]]
"""One number per epoch for each of `METRICS`."""
Curves = dict[Setting, dict[str, Curve]]
"""The curve of each setting and each of `METRICS`."""


def curves_of(study: PaperStudy, settings: Sequence[Setting], results: ResultStore, effort: Effort) -> Curves:
    """The curves of every setting, over all seeds; what is in the store is not run again."""
    tables, test = study.tables("train"), study.tables("test")
    wanted = [(setting, seed) for setting in settings for seed in effort.all_seeds]
    found: dict[Setting, list[Measured]] = {}
    for place, (setting, seed) in enumerate(wanted, start=1):
        effort.tell(f"{study.name} {setting.preset}: {setting.name}, seed {seed} ({place} of {len(wanted)})")
        plan = setting.plan(study, len(tables["label"]), seed)

        def work(plan: Plan = plan, keeps_rows: bool = not setting.has_unit_rows) -> Measured:
            run = train(plan, tables)
            if keeps_rows:
                _refuse_shortened(run, tables)
            return measure(run, test)

        key = {"plan": plan.to_toml(), "study": study.identity, "metrics": list(METRICS)}
        found.setdefault(setting, []).append(results.get_or_run(key, Measured, work))
    return {setting: {name: _curve(runs, name) for name in METRICS} for setting, runs in found.items()}


def _curve(runs: Sequence[Measured], name: str) -> Curve:
    """One metric by epoch, with all seeds as repetitions."""
    epochs = enumerate(zip(*(run[name] for run in runs), strict=True), start=1)
    return Curve([Point(float(epoch), values) for epoch, values in epochs])


def _refuse_shortened(run: Run, tables: Mapping[str, Table]) -> None:
    """Refuse a run with shortened rows: the settings promise rows as they are."""
    for name, part in run.model.parts.items():
        given = np.linalg.norm(part.encode(tables[name]), axis=1)
        used = np.linalg.norm(run.transcripts[name].X, axis=1)
        if not np.allclose(given, used, atol=1e-3):
            raise DataError(f"{name}: a row is longer than the plan's row_norm {run.model.plan.row_norm:g}; raise it")


@dataclass(frozen=True, repr=False, eq=False)
class Released:
    """For each epoch and row, the residual that a feature party would read; NaN for a row that was dropped."""

    residuals: Matrix
    own_scores: Matrix
    """The reader's own part of the residuals."""
    own: View
    y: NDArray[np.int8]

    @classmethod
    def of(cls, run: Run) -> "Released":
        """The residuals of a run in the clear between two parties; refused if they do not give the run's sums."""
        truth = Truth.of(run)
        if truth.plan.kind.is_encrypted or len(truth.views) != 2:
            raise DataError("expected a run in the clear between two parties")
        own = truth.views[truth.plan.feature_parties[0].name]
        y = truth.views[truth.plan.label_party.name].y
        shape = (truth.plan.passes(truth.rows), truth.rows)
        residuals, own_scores = np.full(shape, np.nan), np.full(shape, np.nan)
        for batch, read, ours in _steps(truth, own):
            residuals[batch.epoch - 1, batch.rows] = read
            own_scores[batch.epoch - 1, batch.rows] = ours
        return cls(residuals, own_scores, own, np.asarray(y))

    @property
    def without_own_scores(self) -> Matrix:
        """The residuals without what the reader knows: the other party's score, the label and noise are left."""
        return self.residuals - self.own_scores


def _steps(truth: Truth, own: View) -> Iterator[tuple[Batch, Vector, Vector]]:
    """For each step: the batch, the residuals as released to the feature party, and its own scores in them."""
    label = truth.views[truth.plan.label_party.name]
    std, generator = noise_std(truth.plan, "label"), stream(own.seed, "noise")
    signs = signs_of(truth.is_positive)
    for step, batch in enumerate(own.batches):
        # As `clear` draws it: one row of noise for each party, the label party's first.
        drawn = std * generator.standard_normal((2, len(batch)))[0]
        # A full batch is the table itself: a copy of it in every step would take longer than the rest.
        is_all = truth.plan.batches == "full"
        X, theirs = (own.X, label.X) if is_all else (own.X[batch.rows], label.X[batch.rows])
        ours = X @ own.weights_before[step]
        scores = ours + theirs @ label.weights_before[step]
        residuals = own.sigmoid.residuals(scores, signs[batch.rows]) + drawn
        if step in (0, len(own.batches) - 1):
            _refuse_others(residuals @ X, own.sums[step])
        yield batch, residuals, ours


def _refuse_others(sums: Vector, used: Vector) -> None:
    if not np.allclose(sums, used, rtol=1e-6, atol=1e-6 * float(np.abs(used).max(initial=1.0))):
        raise DataError("the residuals do not give the sums of the run; was it trained by another version?")


def measure(run: Run, test: Mapping[str, Table]) -> Measured:
    """What a run reached after each epoch."""
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


def success(y: NDArray[np.int8], values: Matrix) -> list[float]:
    """The share of labels that -sign(value) gives correctly in each epoch (Criterion 4.2), of the rows in a batch."""
    is_read = np.isfinite(values)
    return [metrics.accuracy(y[read], -one[read]) for one, read in zip(values, is_read, strict=True)]


@cache
def majority(study: PaperStudy) -> float:
    """The accuracy of always saying the larger class, on the test rows."""
    share = float(np.mean(np.asarray(study.tables("test")["label"].labels)))
    return max(share, 1.0 - share)
