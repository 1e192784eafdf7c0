"""Ids by one rule, and what is refused."""

from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.data import canonical, canonical_ids, in_agreed_order, table_from
from plumbob.data.tables import Table
from plumbob.errors import DataError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("007", "007"),
        (" 007\t", "007"),
        ("\u00a0x\u2003", "x"),
        ("Ko\u0308ln", "K\u00f6ln"),
        ("K\u00f6ln", "K\u00f6ln"),
        ("a b", "a b"),
        ("Anna", "Anna"),
    ],
)
def test_the_rule(written: str, meant: str) -> None:
    """NFC, blanks around it stripped; zeros, case and inner blanks stay."""
    assert canonical(written) == meant


@given(st.text())
def test_the_rule_is_settled_after_once(text: str) -> None:
    """Applying it again changes nothing, and both ways to write an accent end in the same text."""
    once = canonical(text)
    assert canonical(once) == once == once.strip()
    assert canonical(normalize("NFD", text)) == once


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "a ", "b", "c"], r"2 of 5 rows repeat .* \(rows 3, 4\)"),
        (["a", " ", ""], r"2 of 3 rows have an empty id \(rows 2, 3\)"),
        (["x"] * 9, r"8 of 9 rows repeat .* \(rows 2, 3, 4, 5, 6, \.\.\.\)"),
        (["fine", "\ud800secret"], r"1 of 2 rows have an id of no text \(rows 2\)"),
    ],
    ids=["repeated", "empty", "many", "no text"],
)
def test_what_cannot_be_aligned_is_reported(ids: list[str], words: str) -> None:
    """Empty, repeated or broken ids are counted, and the first few rows named, without an id."""
    with pytest.raises(DataError, match=words) as caught:
        canonical_ids(ids)
    assert "secret" not in str(caught.value)


def test_a_table_in_the_agreed_order() -> None:
    """Rows are those that were agreed on, in that order, with their own values and labels, whatever the file wrote."""
    table = table_from(np.array([[1.0], [2.0], [3.0]]), labels=[0, 1, 1])
    named = Table(("b ", "a", " c"), table.columns, table.labels, table.classes)
    agreed = in_agreed_order(named, ("a", "c"))
    assert agreed.ids == ("a", "c")
    assert agreed.columns[0].values.tolist() == [2.0, 3.0]
    assert agreed.labels is not None
    assert agreed.labels.tolist() == [1, 1]


def test_an_agreed_id_that_is_missing() -> None:
    """An order that the table cannot take is refused."""
    with pytest.raises(DataError, match="1 of 2 agreed ids are not in this table"):
        in_agreed_order(table_from(np.zeros((2, 1))), ("0", "7"))
