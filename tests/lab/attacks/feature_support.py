"""What the tests of the attacks on features share: runs, their parties' views, and the truth to measure against."""

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob import datasets
from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.interface import Condition, NotApplicable, ValueClaim, View
from plumbob.plan import PAPER, Plan
from tests.lab.attacks.label_support import gaussian
from tests.protocol.support import trained

Data = tuple[Matrix, NDArray[np.int64]]


def views_of(split: tuple[int, ...], data: Data, **keys: Any) -> dict[str, View]:
    """Every party's view of a run; in `clear`, as the paper trains and with a fixed seed, unless told otherwise."""
    paper = {**PAPER, "key_bits": 512, "test_only_keys": True, "batch_size": 16}
    usual = {"protocol": "clear", "seed": 3, **({} if keys.get("protocol") == "shares" else paper)}
    plan = Plan.for_columns(split, **(usual | keys))
    run = trained(plan, data)
    return {name: View.of(transcript) for name, transcript in run.transcripts.items()}


def made_up(rows: int, columns: int) -> Data:
    """Rows without structure and labels that follow them a little."""
    return gaussian(rows, columns)


def credit(column: int, rows: int, is_first: bool = False) -> Data:
    """Credit with one column moved to the end, or to the beginning."""
    if "PLUMBOB_DATA" not in os.environ:
        pytest.skip("PLUMBOB_DATA is not set")
    X, y = datasets.load("credit")
    others = [index for index in range(X.shape[1]) if index != column]
    order = [column, *others] if is_first else [*others, column]
    return X[:rows, order], y[:rows].astype(np.int64)


def claimed(claim: object) -> ValueClaim:
    """The claim, where there must be one."""
    assert isinstance(claim, ValueClaim), claim
    return claim


def refused(claim: object, *words: str) -> bool:
    """Whether an attack had nothing to work on, and says so in these words."""
    return isinstance(claim, NotApplicable) and all(word in claim.why for word in words)


def condition(claim: ValueClaim, name: str) -> Condition:
    """One of the claim's conditions, by a part of its name."""
    return next(condition for condition in claim.conditions if name in condition.name)


def up_to_sign(claim: ValueClaim, truth: Vector) -> Vector:
    """The claim's only column with the better one of two signs."""
    values = claim.values[:, 0]
    return values * (1.0 if np.nansum(values * truth) >= 0 else -1.0)


def largest_error(claim: ValueClaim, truth: Vector) -> float:
    """The largest error of a value relative to it, or to the smallest step that the encoding has, up to one sign."""
    errors = np.abs(up_to_sign(claim, truth) - truth)
    return float(np.max(errors / np.maximum(np.abs(truth), 2.0**-16)))


def explained(claim: ValueClaim, truth: Vector) -> float:
    """R^2 up to one sign; a row without an answer counts as the mean."""
    values = np.where(np.isnan(claim.values[:, 0]), truth.mean(), up_to_sign(claim, truth))
    return 1.0 - float(np.sum((values - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def gram_error(claim: ValueClaim, truth: Matrix) -> float:
    """The relative error of the matrix of inner products between rows, which no rotation changes."""
    gram = truth @ truth.T
    return float(np.linalg.norm(claim.values @ claim.values.T - gram) / np.linalg.norm(gram))
