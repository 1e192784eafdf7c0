"""Sines that are not on the circle: a feature party has the label party's score of one person laid into its own weight.

In the last pass it takes its sines and cosines for those of no angle at all, so that the person's residual is the sine
of the label party's share of the score. Its only column is that person's. It knows its own share, so what is opened to
it shows the score: the label party's columns, and the label beside it.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice import LatticeEngine, Small, angles
from plumbob.crypto.lattice.interface import Angles
from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from tests.protocol.support import made_up, trained
from tests.protocol.test_lattice_shares import in_clear, lattice_plan

PEOPLE, PERSON, FACTOR = 40, 9, 4
ANGLE = 2 * math.pi / 2**32
PERIOD = 64.0
OPENED = 1e-4  # More than a sine is off, because of the bits of an opened weight.


def chosen_plan(**keys: object) -> Plan:
    """Two passes from zero weights; the attacker has a single column."""
    settings = {"scale": "none", "learning_rate": 0.5, "momentum": 0.0, "start": "zero", "epochs": 2}
    return lattice_plan((2, 1), **(settings | keys))


def data() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Small columns of the label party, and one that is 1 for a single person."""
    X, y = made_up(rows=PEOPLE, columns=3)
    X[:, :2] = np.clip(X[:, :2], -4, 4)
    X[:, 2] = 0.0
    X[PERSON, 2] = 1.0
    return X, y


class Attacker:
    """Stands in for the feature party's sines and cosines, and remembers its own shares of the last pass."""

    def __init__(self) -> None:
        self.honest = angles.evaluator_factors
        self.passes = 0
        self.own_share = 0

    def factors(self, engine: LatticeEngine, shares: Angles, *series: Any) -> Small:
        self.passes += 1
        found = self.honest(engine, shares, *series)
        if self.passes == 2:
            self.own_share = int(shares[PERSON])
            found[:, PERSON] = 0
            # Times the owner's sine of the first harmonic, which is that of its whole share.
            found[len(found) // 2, PERSON] = FACTOR << angles.FACTOR_BITS
        return found

    def scores(self, weight: float, rate: float) -> list[tuple[float, float]]:
        """The person's scores that the opened weight allows: for either label, and either angle with that sine."""
        found = []
        for sign in (-1, 1):
            sine = (sign - weight * PEOPLE / rate) / FACTOR
            if abs(sine) < 1 + OPENED:
                nearest = math.asin(max(-1.0, min(1.0, sine)))
                for angle in (nearest, math.pi - nearest):
                    score = PERIOD * (angle + ANGLE * self.own_share) / (2 * math.pi)
                    found.append(((score + PERIOD / 2) % PERIOD - PERIOD / 2, abs(math.cos(angle))))
        return found


def attacked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> tuple[Attacker, Run]:
    """A run with this feature party; nobody else calls its function."""
    attacker = Attacker()
    monkeypatch.setattr(angles, "evaluator_factors", attacker.factors)
    return attacker, trained(plan, data())


def true_score(plan: Plan) -> float:
    """The person's true score after the first pass."""
    X, y = data()
    run = trained(in_clear(plan).replace(epochs=1), (X, y))
    weights = {name: transcript.weights for name, transcript in run.transcripts.items()}
    return float(X[PERSON, :2] @ weights["label"][:2] + weights["label"][2] + weights["features"][0])


def test_an_opened_weight_shows_a_persons_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """With weights opened to their owners, one of the few candidates is the score, as sharp as its sine."""
    plan = chosen_plan(open="own")
    attacker, run = attacked(plan, monkeypatch)
    candidates = attacker.scores(float(run.transcripts["features"].weights[0]), plan.rate)
    assert 1 <= len(candidates) <= 4
    assert min(abs(score - true_score(plan)) * cosine for score, cosine in candidates) < 1e-3
    honest = trained(plan, data()).transcripts["features"].weights
    assert honest != pytest.approx(run.transcripts["features"].weights)


def test_nothing_is_opened_to_it_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `never` the same party ends without any number that depends on another's columns or labels."""
    _, run = attacked(chosen_plan(open="never"), monkeypatch)
    assert run.model.parts["features"].weights is None
    assert run.transcripts["features"].weights.size == 0
    assert run.transcripts["features"].sums.size == 0
