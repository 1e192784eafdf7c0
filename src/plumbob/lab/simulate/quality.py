"""The quality of a run's model, beside the label party's columns alone and all columns pooled.

All three are judged on the same rows: the data set's own test part, else the held-out rows, else, and then the name
says so, the rows that they were trained on. Where there are very many rows, the two comparisons are fitted, and the
epochs judged, on some of them, evenly spread; the joint model is always judged on all.

Which rows it was trained on, and which it was judged on, stands in a file beside the label party's part. Only rows with
an id of their own are kept there. Rows that are known by their place would be taken for rows of another file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.counting import decimal
from plumbob.data import Table, batches, store
from plumbob.data.encoder import ALL_ROWS, Rows, fit_encoder
from plumbob.data.shards import held_out_rows
from plumbob.data.whitening import CLIP
from plumbob.lab import one_step
from plumbob.lab.simulate.files import LoadedTables
from plumbob.lab.simulate.training import JointModel, Run
from plumbob.lab.transcript import Transcript
from plumbob.model import metrics
from plumbob.model.links import log_odds
from plumbob.party.held_out import keep_trained_rows
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.protocol.outcome import HELD_OUT, measure_quality
from plumbob.run_folder import RunFolder

TEST_PART, TRAINING = "test part", "training rows"

SAMPLED = "Very many rows: local-only and pooled models were fitted, and epochs judged, on some of them, evenly spread."
MANY_ROWS = 100_000
"""Rows that are enough to settle a regression's weights, and that scikit-learn can copy in memory."""

ADDS_NOTHING = (
    "these rows show nothing that the peers' columns add; try more rows, fewer columns (--drop), or a larger --l2"
)
HIDDEN_BY_NOISE = (
    "local-only has no noise, and the plan's may hide what the peers' columns add; try more rows, or a larger --epsilon"
)


def with_quality(run: Run, tables: Mapping[str, Table], test: Mapping[str, Table] | None = None) -> Run:
    """The same run with its quality in the record; `tables` are those it was trained on."""
    plan = run.model.plan
    training, held_out = _rows_of(run, tables)
    trained_on = _take(tables, training)
    if test:
        name, judged_on = TEST_PART, dict(test)
    elif len(held_out):
        name, judged_on = HELD_OUT, _take(tables, held_out)
    else:
        name, judged_on = TRAINING, trained_on
    y, some = _labels(plan, judged_on), _some(judged_on)
    scores = {
        "joint": log_odds(plan, run.model.scores(judged_on)),
        **baseline_scores(run.model, _some(trained_on), judged_on),
    }
    quality = {name: {model: measure_quality(y, values) for model, values in scores.items()}}
    record = replace(
        run.record,
        notes=[*run.record.notes, *([SAMPLED] if len(training) > MANY_ROWS or len(y) > MANY_ROWS else [])],
        test_rows=0 if name == TRAINING else len(y),
        calibration={model: metrics.calibration_curve(y, values) for model, values in scores.items()},
        quality=quality,
        predicted_class=str(run.model.classes[1]),
        remarks=[*run.record.remarks, *_remarks(plan, name, quality[name], trained_on, judged_on)],
        epochs=[
            {"epoch": float(epoch), **measure_quality(_labels(plan, some), values)}
            for epoch, values in enumerate((log_odds(plan, one) for one in epoch_scores(run, some)), start=1)
        ],
    )
    return replace(run, record=record)


def _remarks(
    plan: Plan,
    rows: str,
    models: Mapping[str, Mapping[str, float | None]],
    trained_on: Mapping[str, Table],
    judged_on: Mapping[str, Table],
) -> Iterator[str]:
    """Remarks on how plain columns would do, lest the encoding be taken for the limit, and on whether joining paid."""
    plain = measure_quality(_labels(plan, judged_on), _plain_scores(plan, _some(trained_on), judged_on))
    yield (
        "Plain columns with scikit-learn's C = 1, pooled, would reach"
        f" AUC {_shown(plain['auc'])} and log loss {_shown(plain['log_loss'])}"
    )
    joint, local = models["joint"], models["local-only"]
    if rows != TRAINING and not _is_better(joint, local):
        why = ADDS_NOTHING if plan.noise == "none" else HIDDEN_BY_NOISE
        yield (
            f"the joint model is not better than local-only (AUC {_shown(joint['auc'])} against"
            f" {_shown(local['auc'])}, log loss {_shown(joint['log_loss'])} against {_shown(local['log_loss'])}): {why}"
        )


def _is_better(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    return (one["auc"] or 0.0) > (other["auc"] or 0.0) and (one["log_loss"] or 0.0) < (other["log_loss"] or 0.0)


def _shown(value: float | None) -> str:
    return decimal(value)


def _plain_scores(plan: Plan, trained_on: Mapping[str, Table], judged_on: Mapping[str, Table]) -> Vector:
    """The scores of scikit-learn's default model on all columns as they are; levels are separate, gaps marked."""
    as_they_are = Plan.for_columns((1, 1), protocol="clear", rare=plan.rare)
    encoders = {name: fit_encoder(replace(table, fitted=None), as_they_are) for name, table in trained_on.items()}

    def encoded(tables: Mapping[str, Table], rows: Rows) -> Matrix:
        return np.clip(np.hstack([encoders[name].encode(tables[name], rows) for name in tables]), -CLIP, CLIP)

    y = _labels(plan, trained_on)
    weights = trained_on[plan.label_party.name].weights
    decide = _fit(plan.replace(l2=0.0), encoded(trained_on, ALL_ROWS), y, weights)
    pieces = store.pieces(len(judged_on[plan.label_party.name]))
    return np.concatenate([decide(encoded(judged_on, piece)) for piece in pieces])


def baseline_scores(
    model: JointModel, trained_on: Mapping[str, Table], judged_on: Mapping[str, Table]
) -> dict[str, Vector]:
    """Scores of scikit-learn's logistic regression on the label party's own columns, and on everybody's."""
    y = _labels(model.plan, trained_on)
    label_party = model.plan.label_party.name
    own, everybody = [label_party], list(model.parts)
    rows = len(judged_on[label_party])
    scores = {}
    for title, names in {"local-only": own, "pooled": everybody}.items():
        decide = _fit(model.plan, _encode(model, trained_on, names, ALL_ROWS), y, trained_on[label_party].weights)
        pieces = [decide(_encode(model, judged_on, names, piece)) for piece in store.pieces(rows)]
        scores[title] = np.concatenate(pieces)
    return scores


def epoch_scores(run: Run, tables: Mapping[str, Table]) -> Iterator[Vector]:
    """The joint scores after each epoch; none where no party knew its weights before the end."""
    plan, parts = run.model.plan, run.model.parts
    if not plan.kind.shows_gradients:
        return
    encoded = {name: part.encode(tables[name]) for name, part in parts.items()}
    weights = {name: list(epoch_weights(plan, run.transcripts[name], parts[name].penalties(plan.l2))) for name in parts}
    for epoch in range(plan.passes(run.record.rows)):
        scores: Vector = np.sum([X @ weights[name][epoch] for name, X in encoded.items()], axis=0)
        yield scores


def epoch_weights(plan: Plan, transcript: Transcript, penalties: Vector | Matrix) -> Iterator[Vector]:
    """A party's weights after each epoch, by repeating its steps from its start and the sums that it learnt."""
    sigmoid = SIGMOIDS[plan.sigmoid]
    descent = one_step.Descent.from_start(transcript.start)
    epoch = 1
    for batch, sums in zip(batches(transcript.seed, len(transcript.X), plan), transcript.sums, strict=True):
        if batch.epoch != epoch:
            yield descent.weights
            epoch = batch.epoch
        gradient = one_step.gradient(sums, len(batch), sigmoid)
        descent = descent.after(gradient, plan.rate_over(len(batch)), plan.momentum, penalties)
    yield descent.weights


def _rows_of(run: Run, tables: Mapping[str, Table]) -> tuple[Any, Any]:
    table = tables[run.model.plan.label_party.name]
    key = run.held_out_key or bytes.fromhex(run.record.seed)
    return held_out_rows(table.ids, run.model.plan.held_out(len(table)), key)


def _take(tables: Mapping[str, Table], rows: Any) -> dict[str, Table]:
    return {name: table.take(rows) for name, table in tables.items()}


def _some(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with all rows, or with as many as are enough."""
    rows = len(next(iter(tables.values())))
    chosen = np.arange(rows) if rows <= MANY_ROWS else np.linspace(0, rows - 1, MANY_ROWS).astype(np.intp)
    return _take(tables, chosen)


def _labels(plan: Plan, tables: Mapping[str, Table]) -> Vector:
    return np.asarray(tables[plan.label_party.name].labels, dtype=np.float64)


def _encode(model: JointModel, tables: Mapping[str, Table], names: list[str], rows: Rows) -> Matrix:
    encoded: Matrix = np.hstack([model.parts[name].encoder.encode(tables[name], rows) for name in names])
    return np.clip(encoded, -CLIP, CLIP) if model.plan.is_whitened else encoded


def _fit(plan: Plan, X: Matrix, y: Vector, weights: Vector | None = None) -> Callable[[Matrix], Vector]:
    """A fitted scorer of rows, with the plan's intercept, weights and penalty, or C = 1 where it has none."""
    if X.shape[1] == 0:
        # Without columns all that can be learnt is how frequent the classes are.
        share = float(np.average(y, weights=weights)) if plan.intercept and plan.class_weight == "none" else 0.5
        return lambda judged: np.full(len(judged), np.log(share / (1.0 - share)))
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    balance = "balanced" if plan.class_weight == "balanced" else None
    C = 1.0 / (plan.l2 * len(X)) if plan.l2 else 1.0
    regression = LogisticRegression(C=C, fit_intercept=plan.intercept, class_weight=balance, max_iter=1000)
    # A plan may leave the columns in units in which the solver does not converge.
    scaling = [StandardScaler()] if plan.scale == "none" else []
    fitted = make_pipeline(*scaling, regression).fit(X, y, logisticregression__sample_weight=weights)
    return lambda judged: fitted.decision_function(judged) if len(judged) else np.zeros(0)


# The rows that it was trained on and judged on.


def keep_rows(run: Run, loaded: LoadedTables, folder: RunFolder) -> None:
    """Keep the rows for the label party alone, like its part; nothing where rows have no ids."""
    if not loaded.has_ids:
        return
    name = run.model.plan.label_party.name
    folder.make_party_folder(name)
    keep_trained_rows(folder, name, _held_out(run, loaded))


def _held_out(run: Run, loaded: LoadedTables) -> dict[str, bool]:
    """Whether each row was held out; a row of a test file that is also in the training file was trained on."""
    name = run.model.plan.label_party.name
    ids = loaded.tables[name].ids
    _, held_out = _rows_of(run, loaded.tables)
    tested = dict.fromkeys(loaded.test[name].ids if loaded.test else (), True)
    return tested | dict.fromkeys(ids, False) | dict.fromkeys((ids[row] for row in held_out.tolist()), True)
