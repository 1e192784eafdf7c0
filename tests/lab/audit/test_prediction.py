"""What scores of predicted rows give away, before and after a run."""

import numpy as np
import pytest

import plumbob
from plumbob.checking.check import figures_of, judge_figures
from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from plumbob.record import Finding
from tests.protocol.support import cut, made_up, plan_for, trained

ATTACK = "prediction-equations"


def about(findings: list[Finding], target: str, by: str = "label") -> Finding:
    """The finding about predictions on this target."""
    return next(one for one in findings if one.attack == ATTACK and (one.by, one.target) == (by, target))


@pytest.fixture(scope="module")
def run() -> Run:
    """Two feature columns at the peer."""
    return trained(plan_for((3, 2), protocol="clear", epochs=2), cut("breast-cancer", 80, 5))


def test_known_rows_give_the_weights(run: Run) -> None:
    """Three known rows fix two weights and an offset; two say what two equations of three can; one says nothing."""
    found = about(plumbob.audit(run, [ATTACK], predicted=3), "weights")
    assert (found.verdict, found.stage, found.n) == ("degrades", "prediction", 3)
    assert found.rate == pytest.approx(1.0)
    assert about(plumbob.audit(run, [ATTACK], predicted=2), "weights").n == 2


def test_scores_explain_columns_once_weights_are_known(run: Run) -> None:
    """One equation per row about two columns says much about both."""
    found = about(plumbob.audit(run, [ATTACK], predicted=80), "features")
    assert found.rate is not None
    assert found.rate > 0.3


def test_a_single_column_leaks() -> None:
    """Its scores are the column itself, times one number; `check` says so beforehand."""
    plan = Plan.for_columns((5, 1), protocol="exchange", rows=1000)
    assert about(judge_figures(figures_of(plan, predicted=100)), "features").verdict == "leaks"
    assert about(judge_figures(figures_of(plan, predicted=100)), "labels", "features").verdict == "blocked"
    assert not any(one.attack == ATTACK for one in judge_figures(figures_of(plan, predicted=0)))


@pytest.mark.parametrize(("predicted", "verdict"), [(400, "leaks"), (11, "degrades")])
def test_a_single_column_leaks_though_weights_stay_shared(predicted: int, verdict: str) -> None:
    """Nobody is sent a weight and no row is known: what own columns do not explain of scores is that column's rest."""
    run = trained(plan_for((5, 1), open="never", epochs=0), made_up(rows=400, columns=6))
    found = about(plumbob.audit(run, [ATTACK], predicted=predicted), "features")
    said = about(judge_figures(figures_of(run.model.plan, 400, predicted=predicted)), "features")
    assert said.verdict == verdict
    if verdict == "leaks":
        assert (found.verdict, found.assumes) == ("leaks", "honest")
        assert found.rate is not None
        assert found.rate > 0.99


def test_what_own_columns_explain_is_no_news() -> None:
    """The negative control: the peer's only column repeats one of the label party's, and scores add nothing."""
    X, y = made_up(rows=400, columns=5)
    run = trained(plan_for((5, 1), open="never", epochs=0), (np.column_stack([X, X[:, 2]]), y))
    assert about(plumbob.audit(run, [ATTACK]), "features").verdict == "blocked"


def test_a_limit_below_the_weights_leaves_a_part(run: Run) -> None:
    """Eleven known rows of twelve give nearly all of the weights, though `check` once called that blocked."""
    plan = Plan.for_columns((5, 6), protocol="shares", rows=1000)
    verdicts = {rows: about(judge_figures(figures_of(plan, predicted=rows)), "weights").verdict for rows in (100, 11)}
    assert verdicts == {100: "degrades", 11: "degrades"}
    run = trained(plan_for((1, 19), open="never", epochs=0), made_up(rows=400, columns=20))
    found = about(plumbob.audit(run, [ATTACK], predicted=20), "weights")
    assert (found.verdict, found.n) == ("degrades", 20)
    assert (found.rate or 0.0) > 0.8
    assert about(plumbob.audit(run, [ATTACK], predicted=1), "weights").verdict == "blocked"


def test_scores_of_shared_weights_are_solved_too() -> None:
    """Under `open = "never"` the audit solves real joint scores, cut as they are shown, for the peer's weights."""
    plan = plan_for((3, 2), open="never", epochs=0)
    run = trained(plan, cut("breast-cancer", 80, 5))
    found = about(plumbob.audit(run, [ATTACK], predicted=80), "weights")
    assert (found.verdict, found.n) == ("degrades", 6)
    assert found.rate is not None
    assert found.rate > 0.9


def test_check_counts_the_bits_of_a_score() -> None:
    """What an opened score can carry, for one row and for all."""
    plan = Plan.for_columns((5, 6), rows=1000)
    assert (
        "at most 22 bits, whatever anybody sends: 2,200 for 100 rows"
        in about(judge_figures(figures_of(plan, predicted=100)), "features").why
    )
