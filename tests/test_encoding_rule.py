"""The rule for the encoding of a drafted plan: what `benchmarks/encoding_study.py` found, kept as it was found."""

from itertools import pairwise

import pytest

from plumbob.plan.encodings import TRIED, encoding_for


@pytest.mark.parametrize(
    ("table", "encoding"),
    [
        ((200, 30, 0), (0, True, 0.1)),
        ((100, 5, 0), (3, True, 0.3)),
        ((600, 22, 1), (3, True, 0.03)),
        ((1500, 10, 17), (3, True, 0.1)),
        ((1500, 8, 0), (5, True, 0.1)),
        ((5000, 22, 1), (5, True, 0.03)),
        ((20_000, 22, 1), (10, True, 0.03)),
        ((5000, 3, 0), (10, True, 0.1)),
        ((30, 4, 0), (0, True, 1.0)),
        ((500, 0, 60), (0, True, 0.1)),
    ],
    ids=str,
)
def test_a_table_has_its_encoding(table: tuple[int, int, int], encoding: tuple[int, bool, float]) -> None:
    """Small tables have plain columns and a penalty, larger ones a few bins beside them, large ones ten."""
    assert encoding_for(*table) == encoding


@pytest.mark.parametrize("numeric", [1, 5, 22, 60])
@pytest.mark.parametrize("levels", [0, 1, 30, 400])
def test_more_rows_never_give_fewer_bins(numeric: int, levels: int) -> None:
    """Whoever brings more rows loses no detail, and always keeps the plain column and a penalty that was tried."""
    found = [encoding_for(rows, numeric, levels) for rows in (1, 30, 200, 600, 1500, 5000, 20_000, 10**6)]
    assert all(fewer[0] <= more[0] for fewer, more in pairwise(found))
    assert all(plain and C in TRIED for _, plain, C in found)


def test_more_columns_never_give_more_bins_or_a_weaker_penalty_at_the_same_bins() -> None:
    """What a column may cost falls with their number."""
    found = [encoding_for(5000, numeric, 10) for numeric in range(1, 200)]
    assert all(few[0] >= many[0] for few, many in pairwise(found))
    assert all(few[2] >= many[2] for few, many in pairwise(found) if few[0] == many[0])


@pytest.mark.parametrize("table", [(0, 1, 1), (10, -1, 1), (10, 1, -1)])
def test_a_table_that_cannot_be_is_refused(table: tuple[int, int, int]) -> None:
    """A count that is too small says which one it is."""
    with pytest.raises(ValueError, match=r"expected \d or more"):
        encoding_for(*table)
