"""The ledger of one run's budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.errors import BudgetExceededError
from plumbob.privacy.accounting import LabelCost
from plumbob.privacy.noise_cost import LabelReleases

COST = LabelCost(std=10.0, sensitivity=4.0, visits=3)


@given(st.lists(st.lists(st.integers(0, 9), unique=True), max_size=30))
def test_what_is_spent_never_falls_and_equals_a_recount(releases: list[list[int]]) -> None:
    """After every release, refused or not, the ledger says what counting the accepted ones says."""
    ledger, visits, before = LabelReleases(COST, 10), np.zeros(10, dtype=int), 0.0
    for rows in releases:
        chosen = np.array(rows, dtype=np.intp)
        try:
            ledger.spend(chosen)
            visits[chosen] += 1
        except BudgetExceededError:
            assert (visits[chosen] >= 3).any()
        assert ledger.spent == pytest.approx(visits.max() * COST.rho_per_visit)
        assert ledger.spent >= before
        before = ledger.spent


def test_a_release_too_many_is_refused_and_not_booked() -> None:
    """The fourth visit of a row stops the run, and leaves the other rows of its batch as they were."""
    ledger = LabelReleases(COST, 2)
    for _ in range(3):
        ledger.spend(np.array([0]))
    with pytest.raises(BudgetExceededError, match="more than 3 times"):
        ledger.spend(np.array([0, 1]))
    for _ in range(3):
        ledger.spend(np.array([1]))
    assert ledger.spent == pytest.approx(COST.rho)
