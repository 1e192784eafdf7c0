"""The public rule of whole rows: passes, and what each party may spend at home."""

import math

import pytest

from plumbob.plan import Plan
from plumbob.plan.settings import FEWEST_ROW_PASSES, MOST_ROW_PASSES
from plumbob.privacy.rows import rho_at_home, row_rule

DELTA = 1e-6


def test_the_rule_stays_within_its_limits() -> None:
    """However many rows there are, passes stay between the fewest and the most."""
    for n in (1, 100, 10_000, 10**9):
        assert FEWEST_ROW_PASSES <= row_rule(n, (5, 5), 1.0, DELTA).passes <= MOST_ROW_PASSES


def test_rows_are_shortened_where_noise_is_dear() -> None:
    """Never below a quarter of sqrt of all columns, never above it, and shorter the fewer rows there are."""
    shares = [row_rule(n, (10, 10), 1.0, DELTA).row_norm / math.sqrt(20) for n in (100, 3000, 6000, 10**6)]
    assert shares[0] == pytest.approx(0.25)
    assert shares[-1] == pytest.approx(1.0)
    assert shares == sorted(shares)
    assert 0.3 < shares[1] < shares[2] < 0.9


def test_a_plan_keeps_its_norm_when_rows_are_filled_in() -> None:
    """The rule is for rows that the plan states; one that states none keeps sqrt of all columns."""
    known = Plan.for_columns((10, 10), rows=3000, noise="rows")
    unknown = Plan.for_columns((10, 10), noise="rows")
    assert known.joint_norm == pytest.approx(row_rule(3000, (10, 10), known.epsilon, known.delta).row_norm)
    assert unknown.joint_norm == math.sqrt(20)
    assert unknown.replace(rows=3000, row_norm=unknown.fixed_row_norm).joint_norm == math.sqrt(20)
    assert known.replace(rows=0, row_norm=known.fixed_row_norm).joint_norm == known.joint_norm
    assert Plan.for_columns((10, 10), rows=3000).fixed_row_norm == 0.0


@pytest.mark.parametrize("parties", [1, 2, 5, 8])
def test_homes_never_spend_more_than_half(parties: int) -> None:
    """A tenth each, and at most half together; a party without columns spends nothing."""
    spent = rho_at_home(1.0, [3] * parties) * parties
    assert spent == pytest.approx(min(0.1 * parties, 0.5))
    assert rho_at_home(1.0, [0, 3, 3]) == rho_at_home(1.0, [3, 3])
