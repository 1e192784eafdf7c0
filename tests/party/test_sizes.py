"""The longest message: never shorter than what a run really sends."""

import pytest

from plumbob.party.verbs.train import largest_message
from plumbob.plan import Plan
from plumbob.protocol.shares.sizes import largest_body


@pytest.mark.parametrize(("told", "in_plan"), [(0, 0), (0, 50_000), (50_000, 0), (50_000, 20)])
def test_it_holds_the_longest_message_of_the_rows_that_are_known(told: int, in_plan: int) -> None:
    """Aligned rows count, then those of the plan, then as many as a plan is drafted for."""
    plan = Plan.for_columns((11, 12), test_share=0.2, rows=in_plan)
    rows = told or in_plan or 10_000
    least = largest_body(plan, rows - plan.held_out(rows))
    assert least < largest_message(plan, told) < 2 * least + 2_000_000
