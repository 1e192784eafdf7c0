"""The longest message: never shorter than what a run really sends."""

from typing import Any

import pytest

from plumbob.party.party_run import largest_message
from plumbob.plan import Plan


@pytest.mark.parametrize(
    ("keys", "least"),
    [
        ({"protocol": "exchange", "batch_size": 100}, 199 * 512),
        ({"protocol": "exchange", "batch_size": 100, "rows": 1001}, 101 * 512),
        ({"protocol": "exchange", "batches": "full", "rows": 5000, "key_bits": 3072}, 5000 * 768),
        ({"protocol": "exchange", "batch_size": 1}, 24 * 512),
    ],
)
def test_it_holds_the_longest_batch_and_all_columns(keys: dict[str, Any], least: int) -> None:
    """Ciphertexts are twice as long as the key; the last batch may be nearly twice as long as the others."""
    size = largest_message(Plan.for_columns((11, 12), **keys))
    assert least < size < 2 * least + 200_000


def test_the_aligned_rows_count() -> None:
    """Once the rows are known, a full batch is as long as they are."""
    plan = Plan.for_columns((11, 12), protocol="exchange", batches="full")
    assert largest_message(plan, 10_000) > 10_000 * 512
