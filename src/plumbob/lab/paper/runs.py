"""Small runs in the clear, what an attack reaches on them, and finished work that a second call takes from a folder."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import split_array
from plumbob.errors import DataError
from plumbob.lab import datasets
from plumbob.lab.attacks.hooks import Hook
from plumbob.lab.attacks.interface import Attack, Claim, NotApplicable, View
from plumbob.lab.one_step import partial_residuals
from plumbob.lab.simulate import Run, train
from plumbob.model.logistic import signs_of
from plumbob.model.metrics import auc
from plumbob.plan import PAPER, Plan
from plumbob.version import __version__

Samples = tuple[Matrix, NDArray[np.int64]]
T = TypeVar("T")

SMALL_STEPS: dict[str, Any] = {**PAPER, "protocol": "clear", "learning_rate": 0.01, "intercept": False, "seed": 1}


@dataclass(frozen=True)
class Effort:
    """How thorough a reproduction is; passed to every experiment."""

    seeds: int = 5
    is_quick: bool = False
    tell: Callable[[str], None] = lambda _: None
    data_dir: str | None = None
    """The folder of the larger data sets; None = as the environment says."""

    @property
    def all_seeds(self) -> range:
        return range(1, (1 if self.is_quick else self.seeds) + 1)

    def credit(self, rows: int | None = None, column: int | None = None, is_first: bool = False) -> Samples:
        """Real rows; with `column`, that one stands alone at the end, or at the beginning."""
        X, y = _credit(self.data_dir)
        order = [place for place in range(X.shape[1]) if place != column]
        if column is not None:
            order = [column, *order] if is_first else [*order, column]
        return X[:rows, order], y[:rows]


@cache
def _credit(data_dir: str | None) -> Samples:
    """The credit data, read once: parsing them takes longer than most experiments."""
    X, y = datasets.load("credit", data_dir=data_dir)
    return X, y.astype(np.int64)


@dataclass(frozen=True)
class ResultStore:
    """A folder of finished results, one file each, so that an interrupted command resumes where it stopped."""

    folder: Path

    def get_or_run(self, settings: Mapping[str, Any], kind: type[T], work: Callable[[], T]) -> T:
        """The stored result of exactly these settings, or else that of the work, which is then stored."""
        key = json.dumps({**settings, "plumbob": __version__}, sort_keys=True)
        file = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (FileNotFoundError, msgspec.DecodeError):
            content = msgspec.json.encode(work(), enc_hook=float)
        self.folder.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, whenever it is interrupted.
        unfinished = file.with_suffix(".part")
        unfinished.write_bytes(content)
        os.replace(unfinished, file)
        # Through JSON, so that a number of numpy's is one of Python's, stored or not.
        return msgspec.json.decode(content, type=kind)


def trained(split: Sequence[int], X: Matrix, y: Any, **keys: Any) -> Run:
    """A run with small steps, in the clear unless stated otherwise."""
    plan = Plan.for_columns(split, **(SMALL_STEPS | keys))
    tables = split_array(X, y, split)
    return train(plan, {party.name: table for party, table in zip(plan.learners, tables, strict=True)})


def views_of(split: Sequence[int], data: Samples, **keys: Any) -> dict[str, View]:
    """Everybody's view of a run on these rows, with the plan's own learning rate and an intercept."""
    usual = {"learning_rate": 0.1, "intercept": True, "seed": 3, "test_only_keys": True, "key_bits": 512}
    return {name: View.of(one) for name, one in trained(split, *data, **(usual | keys)).transcripts.items()}


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


@dataclass(frozen=True)
class LabelRates:
    """What one attack on labels reached."""

    rate: float
    """The share of labels that are right."""
    auc: float
    determined: float
    """The share of rows whose label the equations fix."""


def label_rates(run: Run, attack: Attack) -> LabelRates:
    """The rates of one attack by the feature party against the truth."""
    claim = attack(View.of(run.transcripts["features"]))
    if not isinstance(claim, Claim):
        raise DataError(f"{attack.name}: expected a claim about labels, got {claim}")
    y, beliefs = labels_of(run), np.nan_to_num(claim.beliefs)
    is_right = np.sign(beliefs) == signs_of(y)
    return LabelRates(float(is_right.mean()), auc(y, beliefs), float(claim.is_determined.mean()))


@dataclass(frozen=True)
class ColumnErrors:
    """How far a claim about the peer's only column is off, up to one sign."""

    largest: float = 1.0
    """The largest error of a determined row, in standard deviations; 1 where no row is determined."""
    determined: float = 0.0
    """The share of rows whose value the equations fix."""
    conditions: Mapping[str, float] = field(default_factory=dict)


def column_errors(attack: Callable[[View], Claim | NotApplicable], view: View, truth: Vector) -> ColumnErrors:
    """The errors of one attack's claim."""
    claim = attack(view)
    if not isinstance(claim, Claim):
        return ColumnErrors()
    values, is_known = claim.values[:, 0], claim.is_determined
    errors = np.abs(values * (1.0 if np.nansum(values * truth) >= 0 else -1.0) - truth)
    largest = float(errors[is_known].max() / truth.std()) if is_known.any() else 1.0
    return ColumnErrors(largest, float(is_known.mean()), {one.name: one.value for one in claim.conditions})


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
