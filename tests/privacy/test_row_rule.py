"""The public rule of whole rows: passes, and what each party may spend at home."""

import pytest

from plumbob.plan.settings import FEWEST_ROW_PASSES, MOST_ROW_PASSES
from plumbob.privacy.row_rule import rho_at_home, row_rule

DELTA = 1e-6


def test_the_rule_stays_within_its_limits() -> None:
    """However many rows there are, passes stay between the fewest and the most."""
    for n in (1, 100, 10_000, 10**9):
        assert FEWEST_ROW_PASSES <= row_rule(n, (5, 5), 1.0, DELTA).passes <= MOST_ROW_PASSES


@pytest.mark.parametrize("parties", [1, 2, 5, 8])
def test_homes_never_spend_more_than_half(parties: int) -> None:
    """A tenth each, and at most half together; a party without columns spends nothing."""
    spent = rho_at_home(1.0, [3] * parties) * parties
    assert spent == pytest.approx(min(0.1 * parties, 0.5))
    assert rho_at_home(1.0, [0, 3, 3]) == rho_at_home(1.0, [3, 3])
