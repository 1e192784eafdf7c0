"""What the tests of passive attacks share: runs, their parties' views, and the truth to measure against."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.arrays import Flags, Matrix, Vector
from plumbob.lab.attacks.interface import Claim, Condition, NotApplicable, View
from plumbob.lab.paper import runs
from plumbob.model.logistic import signs_of
from plumbob.plan import PAPER, Plan
from tests.protocol.support import trained

Data = tuple[Matrix, NDArray[np.int64]]
AnyAttack = Callable[[View], object]


def gaussian(rows: int, columns: int, seed: int = 4) -> Data:
    """Rows without structure and labels that follow them a little."""
    return runs.made_up(rows, columns, seed)


def credit(column: int | None, rows: int, is_first: bool = False) -> Data:
    """Credit with one column moved to the end, or to the beginning."""
    if "PLUMBOB_DATA" not in os.environ:
        pytest.skip("PLUMBOB_DATA is not set")
    return runs.Effort().credit(rows, column, is_first)


def condition(claim: Claim, name: str) -> Condition:
    """One of the claim's conditions, by a part of its name."""
    return next(condition for condition in claim.conditions if name in condition.name)


def refused(claim: object, *words: str) -> bool:
    """Whether an attack had nothing to work on, and says so in these words."""
    return isinstance(claim, NotApplicable) and all(word in claim.why for word in words)


# Labels.


def seen(plan: Plan, data: Any, party: str = "features") -> tuple[View, Vector]:
    """A party's view of a run, and the labels as -1/+1."""
    run = trained(plan, data)
    y = run.transcripts["label"].y
    assert y is not None
    return View.of(run.transcripts[party]), signs_of(y)


@dataclass(frozen=True)
class Read:
    """What an attack claims about labels from one view, beside the truth."""

    claim: Claim
    view: View
    signs: Vector

    @property
    def beliefs(self) -> Vector:
        return self.claim.beliefs

    @property
    def is_determined(self) -> Flags:
        return self.claim.is_determined

    @property
    def rate(self) -> float:
        """The share of rows whose label the claim gets right; a row without an answer counts as wrong."""
        return float(np.mean(np.sign(np.nan_to_num(self.beliefs)) == self.signs))

    def condition(self, name: str) -> Condition:
        return condition(self.claim, name)


def read(attack: AnyAttack, plan: Plan, data: Any, party: str = "features") -> Read:
    """The claim of an attack on one party's view of a run, where there must be one."""
    view, signs = seen(plan, data, party)
    return read_from(attack, view, signs)


def read_from(attack: AnyAttack, view: View, signs: Vector) -> Read:
    """The same of a view that is here."""
    claim = attack(view)
    assert isinstance(claim, Claim), claim
    return Read(claim, view, signs)


# Features.


def views_of(split: tuple[int, ...], data: Data, **keys: Any) -> dict[str, View]:
    """Every party's view of a run; in `clear`, as the paper trains and with a fixed seed, unless told otherwise."""
    paper = {**PAPER, "key_bits": 512, "test_only_keys": True, "batch_size": 16}
    usual = {"protocol": "clear", "seed": 3, **({} if keys.get("protocol") == "shares" else paper)}
    plan = Plan.for_columns(split, **(usual | keys))
    return {name: View.of(transcript) for name, transcript in trained(plan, data).transcripts.items()}


def claimed(claim: object) -> Claim:
    """The claim, where there must be one."""
    assert isinstance(claim, Claim), claim
    return claim


def up_to_sign(claim: Claim, truth: Vector) -> Vector:
    """The claim's only column with the better one of two signs."""
    values = claim.values[:, 0]
    return values * (1.0 if np.nansum(values * truth) >= 0 else -1.0)


def largest_error(claim: Claim, truth: Vector) -> float:
    """The largest error of a value relative to it, or to the smallest step that the encoding has, up to one sign."""
    errors = np.abs(up_to_sign(claim, truth) - truth)
    return float(np.max(errors / np.maximum(np.abs(truth), 2.0**-16)))


def explained(claim: Claim, truth: Vector) -> float:
    """R^2 up to one sign; a row without an answer counts as the mean."""
    values = np.where(np.isnan(claim.values[:, 0]), truth.mean(), up_to_sign(claim, truth))
    return 1.0 - float(np.sum((values - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def gram_error(claim: Claim, truth: Matrix) -> float:
    """The relative error of the matrix of inner products between rows, which no rotation changes."""
    gram = truth @ truth.T
    return float(np.linalg.norm(claim.values @ claim.values.T - gram) / np.linalg.norm(gram))
