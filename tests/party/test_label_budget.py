"""Labels that are released again cost again, over runs and restarts of the program."""

from pathlib import Path

import pytest

from plumbob.errors import BudgetExceededError, DataError
from plumbob.party.label_budget import LabelBudget
from plumbob.plan import Plan

PLAN = Plan.for_columns((2, 3), protocol="exchange", noise="sound", epsilon=1.0, row_norm=1.0, epochs=3)
IDS = ["anna", "bert", "carl"]


def test_a_second_run_on_the_same_rows_is_refused(tmp_path: Path) -> None:
    """The first spends the whole promise; the same run started again does not spend it twice."""
    budget = LabelBudget(tmp_path / "released" / "labels.json")
    assert budget.book(PLAN, "first", IDS) == pytest.approx(1.0, abs=1e-5)
    assert LabelBudget(budget.file).book(PLAN, "first", IDS) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(BudgetExceededError, match="label_epsilon") as refused:
        LabelBudget(budget.file).book(PLAN, "second", ["zoe", "carl"])
    assert "delete" not in str(refused.value)
    # Other people's labels were not released, and a refusal books nothing.
    assert LabelBudget(budget.file).book(PLAN, "third", ["zoe", "yves"]) == pytest.approx(1.0, abs=1e-5)


def test_a_higher_limit_counts_all_runs_together(tmp_path: Path) -> None:
    """Two runs cost more than one and less than twice as much, and a third is beyond the limit of both."""
    budget = LabelBudget(tmp_path / "labels.json")
    budget.book(PLAN, "first", IDS, most_epsilon=1.6)
    assert 1.3 < budget.book(PLAN, "second", IDS, most_epsilon=1.6) < 1.6
    with pytest.raises(BudgetExceededError):
        budget.book(PLAN, "third", IDS, most_epsilon=1.6)


def test_a_party_s_own_limit_holds_for_the_first_run_too(tmp_path: Path) -> None:
    """label_epsilon is a limit, not a permission: a plan that promises less protection is refused, and not booked."""
    budget = LabelBudget(tmp_path / "labels.json")
    with pytest.raises(BudgetExceededError, match=r"label_epsilon = 0\.5 in party\.toml is the most"):
        budget.book(PLAN, "first", IDS, most_epsilon=0.5)
    assert not budget.file.exists()


def test_the_limit_is_at_the_party_s_own_delta(tmp_path: Path) -> None:
    """A plan with a larger delta costs more at the party's: epsilon 1 at 1e-3 is beyond 1 at 1e-6."""
    budget, loose = LabelBudget(tmp_path / "labels.json"), PLAN.replace(delta=1e-3)
    with pytest.raises(BudgetExceededError, match=r"at most_delta = 1e-06"):
        budget.book(loose, "first", IDS, most_epsilon=1.0)
    assert budget.book(loose, "first", IDS, most_epsilon=1.0, most_delta=1e-3) == pytest.approx(1.0, abs=1e-5)
    assert budget.book(PLAN.replace(delta=1e-4), "other", ["zoe"]) == pytest.approx(1.0, abs=1e-5)


def test_an_earlier_count_is_taken_over(tmp_path: Path) -> None:
    """What the version before this one wrote counts on."""
    file = tmp_path / "labels.json"
    file.write_text('{"runs": {"first": 0.02}, "rho": {"anna": 0.02}}')
    file.chmod(0o600)
    with pytest.raises(BudgetExceededError):
        LabelBudget(file).book(PLAN, "second", IDS, most_epsilon=1.0)
    assert LabelBudget(file).book(PLAN, "second", IDS[1:], most_epsilon=1.0) == pytest.approx(1.0, abs=1e-5)


def test_plans_without_a_promise_cost_nothing(tmp_path: Path) -> None:
    """There is no epsilon to keep where no noise is promised."""
    budget = LabelBudget(tmp_path / "labels.json")
    assert budget.book(PLAN.replace(noise="none"), "run", IDS) == 0.0
    assert not budget.file.exists()


def test_a_damaged_count_is_told(tmp_path: Path) -> None:
    """What cannot be read is not taken for nothing."""
    (tmp_path / "labels.json").write_text("{}")
    with pytest.raises(DataError, match="restore it"):
        LabelBudget(tmp_path / "labels.json").book(PLAN, "run", IDS)
