"""Statements are judged by curves, and by nothing else."""

from collections.abc import Sequence

import pytest

from plumbob.lab.paper.frames import Curve, Point
from plumbob.lab.paper.quality import METRICS, Curves
from plumbob.lab.paper.statements import STATEMENTS, Evidence, claims_of, first_epochs
from plumbob.lab.paper.study import CREDIT, MNIST, RATE, Setting, settings_of


def curve(*means: float) -> Curve:
    """A curve with one point per epoch."""
    return Curve([Point(epoch, (mean,)) for epoch, mean in enumerate(means, start=1)])


def flat(value: float) -> Curve:
    """A curve with the same value in thirty epochs."""
    return curve(*[value] * 30)


def as_the_paper_has_it() -> Curves:
    """Curves under which everything holds that section 7 says of MNIST."""
    accuracy = {None: 0.995, 0.5: 0.99, 0.2: 0.95, 0.1: 0.8}
    attack = {"xavier": [1.0] * 8 + [0.9] * 22, "kaiming": [1.0] * 8 + [0.9] * 22, "zero": [1.0] * 18 + [0.9] * 12}
    found: Curves = {}
    for setting in settings_of("figures", is_quick=False):
        one = {name: flat(0.9) for name in METRICS}
        one["test_accuracy"] = flat(accuracy[setting.epsilon])
        if setting.rate < RATE:
            one["test_accuracy"] = flat(0.9)
        one["train_accuracy"] = flat(0.95 if setting.start == "zero" else 0.9)
        one["attack"] = curve(*attack[setting.start]) if setting.epsilon is None else flat(0.5)
        one["attack_without_own_scores"] = flat(1.0)
        if setting.has_unit_rows:
            one["attack"] = flat(1.0)
        one["weight_norm"] = flat(1.7)
        found[setting] = one
    return found


def verdicts(curves: Curves) -> dict[str, str]:
    """All but the one about the larger class, which needs the real data."""
    evidence = Evidence(MNIST, "figures", curves, 12_665)
    about = [one for one in STATEMENTS if MNIST in one.studies and one.name != "majority"]
    return {one.name: one.claim(evidence).verdict for one in about}


def test_all_statements_hold() -> None:
    """On curves drawn as the paper describes them, every statement agrees."""
    assert set(verdicts(as_the_paper_has_it()).values()) == {"agrees"}


@pytest.mark.parametrize(
    ("name", "metric", "start", "epsilon", "means"),
    [
        ("accuracy-at-0.2", "test_accuracy", "xavier", 0.2, [0.89] * 30),
        ("comparable", "test_accuracy", "xavier", 0.5, [0.96] * 30),
        ("attack-undefended", "attack", "xavier", None, [1.0, 0.9] * 15),
        ("attack-defended", "attack", "kaiming", 0.1, [0.6] * 30),
        ("kaiming", "attack", "kaiming", None, [1.0] * 20 + [0.9] * 10),
        ("zero-attack", "attack", "zero", None, [1.0] * 8 + [0.9] * 22),
        ("zero-accuracy", "train_accuracy", "zero", None, [0.5] * 30),
        ("small-norm", "weight_norm", "zero", 0.1, [1.0] * 29 + [2.1]),
        ("rate", "test_accuracy", "xavier", None, [0.8] * 30),
        ("own-scores", "attack_without_own_scores", "xavier", None, [0.8] * 30),
    ],
)
def test_each_statement_can_fail(
    name: str, metric: str, start: str, epsilon: float | None, means: Sequence[float]
) -> None:
    """One curve drawn otherwise turns the statement about it."""
    curves = as_the_paper_has_it()
    curves[Setting("figures", start, epsilon)][metric] = curve(*means)
    assert verdicts(curves)[name] == "disagrees"


def test_unit_rows_can_fail() -> None:
    """One epoch in which a label in a hundred is wrong turns the statement about rows of norm 1."""
    curves = as_the_paper_has_it()
    curves[Setting("figures", "zero", has_unit_rows=True)]["attack"] = curve(*[1.0] * 29, 0.99)
    assert verdicts(curves)["unit-rows"] == "disagrees"


def test_what_was_left_out_is_not_judged() -> None:
    """Without the settings that a statement is about it is neither true nor false."""
    curves = {setting: one for setting, one in as_the_paper_has_it().items() if setting.start == "xavier"}
    found = verdicts(curves)
    assert found["zero-attack"] == found["kaiming"] == "not run"
    assert found["attack-undefended"] == "agrees"
    empty = claims_of(Evidence(CREDIT, "text", {}, 27_000))
    assert {claim.verdict for claim in empty} == {"not run"}


def test_first_epochs() -> None:
    """They end where the curve first falls below the level, whatever it does later."""
    assert first_epochs(curve(1.0, 0.9995, 0.99, 1.0)) == 2
    assert first_epochs(flat(1.0)) == 30
    assert first_epochs(curve(0.9, 1.0)) == 0
