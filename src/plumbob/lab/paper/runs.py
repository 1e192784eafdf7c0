"""Small runs in the clear, and what an attack reaches on them; experiments and benchmarks share them."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob import datasets
from plumbob.arrays import Matrix, Vector
from plumbob.data import split_array
from plumbob.errors import DataError
from plumbob.lab.attacks.hooks import Hook
from plumbob.lab.attacks.interface import Attack, Claim, View
from plumbob.lab.simulate import Run, train
from plumbob.model.logistic import partial_residuals, signs_of
from plumbob.model.metrics import auc, balanced_accuracy
from plumbob.plan import PAPER, Plan

Samples = tuple[Matrix, NDArray[np.int64]]

SMALL_STEPS: dict[str, Any] = {**PAPER, "protocol": "clear", "learning_rate": 0.01, "intercept": False, "seed": 1}


def trained(split: Sequence[int], X: Matrix, y: Any, **keys: Any) -> Run:
    """A run with small steps, in the clear unless stated otherwise."""
    plan = Plan.for_columns(split, **(SMALL_STEPS | keys))
    tables = split_array(X, y, split)
    return train(plan, {party.name: table for party, table in zip(plan.learners, tables, strict=True)})


def views_of(split: Sequence[int], data: Samples, **keys: Any) -> dict[str, View]:
    """Everybody's view of a run on these rows, with the plan's own learning rate and an intercept."""
    usual = {"learning_rate": 0.1, "intercept": True, "seed": 3, "test_only_keys": True, "key_bits": 512}
    return {name: View.of(one) for name, one in trained(split, *data, **(usual | keys)).transcripts.items()}


def credit(
    rows: int | None = None, column: int | None = None, is_first: bool = False, data_dir: str | None = None
) -> Samples:
    """Real rows; with `column`, that one stands alone at the end, or at the beginning."""
    X, y = _credit(data_dir)
    order = list(range(X.shape[1]))
    if column is not None:
        order.remove(column)
        order = [column, *order] if is_first else [*order, column]
    return X[:rows, order], y[:rows]


@cache
def _credit(data_dir: str | None) -> Samples:
    """The credit data, read once: parsing them takes longer than most experiments."""
    X, y = datasets.load("credit", data_dir=data_dir)
    return X, y.astype(np.int64)


def made_up(rows: int, columns: int, seed: int) -> Samples:
    """Normal rows with a linear signal."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, columns))
    y = X @ generator.normal(size=columns) / np.sqrt(columns) + generator.normal(size=rows) > 0
    return X, y.astype(np.int64)


def even_split(columns: int, parties: int) -> list[int]:
    """Columns split as evenly as possible, with one more for the later parties."""
    return [columns // parties + (1 if place >= parties - columns % parties else 0) for place in range(parties)]


def labels_of(run: Run) -> NDArray[np.int8]:
    """The labels that an attack's claims are scored against."""
    y = run.transcripts["label"].y
    if y is None:
        raise DataError("the label party's transcript holds no labels")
    return y


def label_rates(run: Run, attack: Attack, party: str = "features") -> dict[str, Any]:
    """One attack's rates against the truth, with its seconds and conditions."""
    started = time.perf_counter()
    claim = attack(View.of(run.transcripts[party]))
    if not isinstance(claim, Claim):
        raise DataError(f"{attack.name}: expected a claim about labels, got {claim}")
    y = labels_of(run)
    is_right = np.sign(np.nan_to_num(claim.beliefs)) == signs_of(y)
    determined = claim.is_determined
    return {
        "rate": float(is_right.mean()),
        "auc": auc(y, np.nan_to_num(claim.beliefs)),
        "balanced_accuracy": balanced_accuracy(y, np.nan_to_num(claim.beliefs)),
        "determined": float(determined.mean()),
        "rate_where_determined": float(is_right[determined].mean()) if determined.any() else None,
        "seconds": round(time.perf_counter() - started, 1),
        "conditions": {condition.name: [condition.value, condition.is_met] for condition in claim.conditions},
    }


def column_errors(attack: Callable[[View], Any], view: View, truth: Vector) -> dict[str, Any]:
    """How far a claim about the peer's only column is off, up to one sign."""
    started = time.process_time()
    claim = attack(view)
    seconds = time.process_time() - started
    if not isinstance(claim, Claim):
        return {"not applicable": claim.why}
    values = claim.values[:, 0]
    errors = np.abs(values * (1.0 if np.nansum(values * truth) >= 0 else -1.0) - truth)
    relative = errors / np.maximum(np.abs(truth), 2.0**-16)
    known = claim.is_determined
    return {
        "rows": len(truth),
        "answered": float(np.isfinite(values).mean()),
        "determined": float(known.mean()),
        "largest relative error of a determined row": float(relative[known].max()) if known.any() else None,
        "largest error of a determined row, in standard deviations": (
            float(errors[known].max() / truth.std()) if known.any() else None
        ),
        "seconds": round(seconds, 2),
        "conditions": {item.name: item.value for item in claim.conditions},
    }


def exact_readings(run: Run, by: str, hook: Hook) -> list[NDArray[np.bool_]]:
    """Which values of each reading are what the other parties encrypted, added up as integers."""
    unit = 2.0**run.model.plan.residual_bits
    released: dict[int, Vector] = {}
    for view in (View.of(transcript) for name, transcript in run.transcripts.items() if name != by):
        for batch, _, scores, _ in view.steps():
            signs = None if view.signs is None else view.signs[batch.rows]
            total = released.setdefault(batch.step, np.zeros(view.rows))
            total[batch.rows] += np.rint(partial_residuals(scores, signs) * unit)
    return [np.rint(one.residuals * unit) == released[one.step][one.rows] for one in hook.readings]
