"""Releases: who reads what, how often and how wide; everything that counts bits counts these."""

from typing import Any

import pytest

from plumbob.plan import Plan
from plumbob.protocol.openings import OPENED_SCORES, SCORE_PART, WEIGHTS
from plumbob.protocol.releases import Release, opened_bits, releases, scored_bits

ROWS = 1000


def released(split: tuple[int, ...], **keys: Any) -> set[tuple[str, str]]:
    """What is released, and to whom."""
    return {(one.what, one.to) for one in releases(Plan.for_columns(split, **keys), ROWS)}


@pytest.mark.parametrize(
    ("split", "keys", "expected"),
    [
        ((2, 3), {}, {("scores", "label")}),
        (
            (2, 3),
            {"open": "own"},
            {("weights", "label"), ("weights", "features"), ("parts of scores", "label")},
        ),
        (
            (2, 3),
            {"protocol": "exchange"},
            {("gradient", "label"), ("gradient", "features"), ("parts of scores", "label")},
        ),
        ((0, 3), {"protocol": "clear", "intercept": False}, {("gradient", "features")}),
        ((2, 2, 1), {}, {("masked numbers", "label"), ("scores", "label")}),
        (
            (2, 3),
            {"protocol": "arbiter", "unmasked_gradients_for_the_arbiter": True},
            {
                ("gradient", "label"),
                ("gradient", "features"),
                ("all gradients", "arbiter"),
                ("parts of scores", "label"),
            },
        ),
    ],
)
def test_who_reads_what(split: tuple[int, ...], keys: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    """No protocol releases anything that is not listed, and none of these is missing."""
    assert released(split, **keys) == expected


def test_widths_are_those_of_the_openings() -> None:
    """A release carries the bits that its message has room for."""
    own, never = Plan.for_columns((2, 3), open="own"), Plan.for_columns((2, 3), most_rows=70)
    by_what: dict[str, Release] = {one.what: one for one in (*releases(own, ROWS), *releases(never, ROWS))}
    assert by_what["weights"].bits == WEIGHTS.bits
    assert by_what["parts of scores"].bits == SCORE_PART.bits
    assert (by_what["scores"].numbers, by_what["scores"].bits) == (70, OPENED_SCORES.bits)
    assert opened_bits(own, "label") == 3 * WEIGHTS.bits
    assert opened_bits(never, "label") == 0
    assert scored_bits(never, 10) == 10 * OPENED_SCORES.bits
    assert scored_bits(own, 10) == 0


def test_what_only_a_cheating_party_reads_is_marked() -> None:
    """Masked numbers tell nothing to a label party that keeps to the protocol."""
    assumed = {one.what: one.assumes for one in releases(Plan.for_columns((2, 2, 1)), ROWS)}
    assert assumed == {"masked numbers": "cheating", "scores": "honest"}
