"""What the tests of the attacks on labels share: a run, one party's view of it, and the truth to measure against."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.interface import LabelClaim, NotApplicable, View
from plumbob.model.logistic import signs_of
from plumbob.plan import Plan
from tests.protocol.support import trained


def gaussian(rows: int, columns: int, seed: int = 4) -> tuple[Matrix, NDArray[np.int64]]:
    """Rows without structure and labels that follow them a little."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, columns))
    scores = X @ generator.normal(size=columns) / np.sqrt(columns) + generator.normal(size=rows)
    return X, (scores > 0).astype(np.int64)


def seen(plan: Plan, data: Any, party: str = "features") -> tuple[View, Vector]:
    """A party's view of a run, and the labels as -1/+1."""
    run = trained(plan, data)
    y = run.transcripts["label"].y
    assert y is not None
    return View.of(run.transcripts[party]), signs_of(y)


def claimed(claim: object) -> LabelClaim:
    """The claim, where there must be one."""
    assert isinstance(claim, LabelClaim), claim
    return claim


def rate(claim: LabelClaim, signs: Vector) -> float:
    """The share of rows whose label is claimed rightly; one without an answer counts as wrong."""
    return float(np.mean(np.sign(np.nan_to_num(claim.beliefs)) == signs))


def refused(claim: object, *words: str) -> bool:
    """Whether an attack had nothing to work on, and says so in these words."""
    return isinstance(claim, NotApplicable) and all(word in claim.why for word in words)


def condition(claim: LabelClaim, name: str) -> Any:
    """One of the claim's conditions, by a part of its name."""
    return next(condition for condition in claim.conditions if name in condition.name)
