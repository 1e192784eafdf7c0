"""What several tests of the auditor need: a small run, its truth, and attacks that know the answers."""

from typing import Any

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks import Attack, Claim, NotApplicable
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from tests.protocol.support import plan_for, trained


def small_run(split: tuple[int, ...] = (2, 3), rows: int = 40, **keys: Any) -> Run:
    """Made-up rows, trained in the clear unless told otherwise."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(rows, sum(split)))
    y = (X @ np.linspace(-1.0, 1.0, sum(split)) + generator.normal(size=rows) > 0.3).astype(np.int64)
    return trained(plan_for(split, **({"protocol": "clear"} | keys)), (X, y))


def attack(answer: Claim | NotApplicable, name: str = "label-toy", by: str = "features") -> Attack:
    """One that gives this answer whatever it sees."""
    assert by in ("label", "features")
    return Attack(name, by, lambda view: answer, "section 0")  # type: ignore[arg-type]


def signs(truth: Truth) -> Vector:
    """The right beliefs."""
    return np.where(truth.is_positive, 1.0, -1.0)


def label_claim(beliefs: Vector, **fields: Any) -> Claim:
    """A claim with these beliefs, none of them determined unless told otherwise."""
    return Claim.of_labels(beliefs, **fields)


def value_claim(values: Matrix, **fields: Any) -> Claim:
    """A claim with these values as somebody's features."""
    about = {"target": "features", "against": "features"}
    return Claim(values=values, **(about | fields))
