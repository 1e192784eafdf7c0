"""Attacks that have runs of their own and scores after them: other labels, rows, values or shares of a residual."""

from functools import cache

import numpy as np
import pytest

from plumbob.checking.check import check, figures_of, judge_figures
from plumbob.lab.attacks import false_residual
from plumbob.lab.attacks.chosen_labels import read_rows
from plumbob.lab.audit import audit
from plumbob.lab.audit.again import RunsAgain
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from plumbob.record import Finding
from tests.protocol.support import made_up, plan_for, shares_plan, trained

ROWS, SPLIT = 600, (3, 5)


@cache
def run_of(split: tuple[int, ...] = SPLIT, noise: str = "none", open: str = "never", epsilon: float = 4.0) -> Run:
    """An honest run, trained once for all tests."""
    keys = {"noise": noise, "epochs": 0, "epsilon": epsilon, "delta": 1e-5} if noise == "rows" else {"epochs": 6}
    plan = shares_plan(split, open=open, scale="whitened", start="zero", learning_rate=0.0, **keys)
    return trained(plan, made_up(rows=ROWS if noise == "none" else 3 * ROWS, columns=plan.columns))


def found(run: Run, attack: str, predicted: int | None = None) -> Finding:
    """The findings by the label party, about the first feature party."""
    return next(one for one in audit(run, [attack], predicted=predicted) if "features" in one.against.split("+"))


@pytest.mark.parametrize("attack", ["chosen-labels", "false-residual"])
@pytest.mark.parametrize("split", [SPLIT, (2, 3, 3)], ids=str)
def test_a_row_is_read_that_was_never_scored(attack: str, split: tuple[int, ...]) -> None:
    """A row that was never scored is read, between two parties and among three, as `check` says before."""
    run = run_of(split)
    measured, said = found(run, attack), check(run.model.plan, ROWS)
    assert (measured.verdict, measured.assumes) == ("leaks", "cheating")
    assert measured.rate is not None
    assert measured.rate > 0.98
    assert {one.verdict for one in said if (one.attack, one.by) == (attack, "label")} == {"leaks"}


@pytest.mark.parametrize(("attack", "verdict"), [("chosen-labels", []), ("false-residual", ["blocked"])])
def test_without_scores_nothing_comes_back(attack: str, verdict: list[str]) -> None:
    """Without scores nothing comes back, neither in `check` nor in the audit."""
    run = run_of()
    about = [one for one in audit(run, [attack], predicted=0) if one.target == "features"]
    assert [one.verdict for one in about] == verdict
    said = [
        one.verdict
        for one in judge_figures(figures_of(run.model.plan, ROWS, predicted=0))
        if (one.attack, one.by, one.target) == (attack, "label", "features")
    ]
    assert said == verdict


def test_opened_weights_do_not_stop_invented_labels() -> None:
    """Under `own` the peer's part of a score comes from its own weights, which point at the row as well."""
    assert found(run_of(open="own"), "chosen-labels").verdict == "leaks"


def test_noise_for_rows_stops_invented_labels_and_no_false_residual() -> None:
    """The promise is about inputs of anybody's choice, not about numbers of any size."""
    noisy = run_of(noise="rows")
    assert found(noisy, "chosen-labels").verdict == "blocked"
    falsified = found(noisy, "false-residual")
    assert falsified.verdict == "leaks"


def test_a_group_gives_the_sum_of_its_rows() -> None:
    """Label 1 for ten people gives the sum of their rows."""
    truth = Truth.of(run_of())
    group = list(range(10))
    [read] = read_rows(RunsAgain(truth, "label", ROWS), [group])
    wanted = truth.features("features")[group].sum(axis=0)
    assert np.corrcoef(read, wanted)[0, 1] > 0.98


def test_kept_evidence_names_other_software_only() -> None:
    """A replay names a false residual, so it degrades; invented labels are honest messages, and leak."""
    plan = run_of().model.plan.replace(evidence="keep", days=30, auditors={"label": "a" * 64, "features": "b" * 64})
    verdicts = {one.attack: one.verdict for one in check(plan, ROWS) if one.by == "label"}
    assert (verdicts["false-residual"], verdicts["chosen-labels"]) == ("degrades", "leaks")


def test_scores_rank_people_by_a_column_that_was_taken_for_the_label() -> None:
    """People of whom the label party knows nothing are ranked; whatever was measured, it degrades, as in `check`."""
    run = run_of()
    (measured,) = audit(run, ["chosen-column"])
    assert (measured.verdict, measured.assumes) == ("degrades", "cheating")
    assert measured.rate is not None
    assert measured.rate > (measured.baseline or 0.0) + 0.3
    assert measured.n == ROWS - ROWS // 4


def test_a_column_of_nobody_who_is_scored_is_not_ranked() -> None:
    """The negative control: without scores there is nothing to rank by."""
    assert not audit(run_of(open="own"), ["chosen-column"], predicted=0)


def test_few_known_people_are_one_batch() -> None:
    """Whoever brings fewer people than a batch has rows still trains on them."""
    plan = plan_for(SPLIT, protocol="exchange", batch_size=64, epochs=2)
    (measured,) = audit(trained(plan, made_up(rows=80, columns=plan.columns)), ["chosen-column"])
    assert measured.n == 60


def test_much_noise_for_rows_hides_no_false_residual() -> None:
    """The falsehood may be larger than any noise; with fewer rows, noise on their scaling leaves no row to read."""
    plan = Plan.for_columns(SPLIT, noise="rows", delta=1e-5)
    measured = found(trained(plan, made_up(rows=1000, columns=plan.columns)), "false-residual")
    assert measured.verdict == "leaks"
    assert (measured.rate or 0.0) > 0.95


def test_a_weak_try_is_no_all_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a falsehood of one size drowns in noise, a larger one does not: the plan's verdict stays."""
    monkeypatch.setattr(false_residual, "MOVED_IN_NOISE", 0.01)
    measured = found(run_of(noise="rows"), "false-residual")
    assert (measured.rate or 0.0) < 0.5
    assert measured.verdict == "leaks"
    assert "reached less than the plan allows" in measured.why
