"""Ids by one rule, and what is refused."""

import hashlib
import struct
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.data import table_from
from plumbob.data.ids import PackedIds, canonical, canonical_ids, hash_of_ids, ids_in_words
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
    agreed = table_from(frame_of(id=["b ", "a", " c"], x=[1.0, 2.0, 3.0], y=[0, 1, 1]), "id", "y").select(("a", "c"))
    assert agreed.ids == ("a", "c")
    assert agreed.columns[0].values.tolist() == [2.0, 3.0]
    assert agreed.labels is not None
    assert agreed.labels.tolist() == [1, 1]


def test_an_agreed_id_that_is_missing() -> None:
    """An order that the table cannot take is refused."""
    with pytest.raises(DataError, match="1 of 2 agreed ids are not in this table"):
        table_from(np.zeros((2, 1))).select(("0", "7"))


def frame_of(**columns: Any) -> pd.DataFrame:
    """A frame of these columns."""
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1.0, 2.0], "the id column holds fractions"),
        (["1.0", "2.0"], r"2 of 2 ids are written as fractions, such as 12\.0"),
        (["1", "1.2E+11"], r"1 of 2 ids are written as powers of ten, such as 1\.2E\+11"),
        (["x", None], r"1 of 2 rows has no id \(row 2\)"),
    ],
)
def test_cells_that_are_no_id(ids: list[Any], words: str) -> None:
    """A fraction, a rounded number and a gap are refused: no digits are guessed back."""
    with pytest.raises(DataError, match=words):
        table_from(frame_of(nr=ids), "nr")


def test_whole_numbers_are_their_digits() -> None:
    """A number in a Parquet file is the same person as its digits in a CSV file, and a zero before them counts."""
    assert table_from(frame_of(nr=[7, 10**17 + 1]), "nr").ids == ("7", "100000000000000001")
    assert table_from(frame_of(nr=["007", " 8"]), "nr").ids == ("007", "8")


def test_an_id_is_on_one_row() -> None:
    """Repeated ids are refused with their number, blanks around them aside, and what to do is said."""
    repeated = frame_of(id=["b", "a", " b", "c", "b"], x=[1.0, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(DataError, match=r"2 of 5 rows repeat .* aside \(rows 3, 5\); bring each person's rows"):
        table_from(repeated, "id")


# How ids are written.


def test_a_list_of_ids_is_described_without_one_of_them() -> None:
    """What its owner compares with a peer's list where few rows are in common."""
    assert ids_in_words(["007", "Anna"]) == (
        "2 ids of 3 to 4 characters, of which 1 begin with a 0, 1 have capital letters, 1 have small letters"
    )


def encodings_of(packed: PackedIds) -> list[bytes]:
    """Each id as it is hashed."""
    data, starts, ends = packed.encoded()
    return [bytes(data[start:end]) for start, end in zip(starts, ends, strict=True)]


some_text = st.text(st.characters(blacklist_categories=["Cs"]), max_size=3)


@settings(max_examples=30)
@given(st.lists(some_text, min_size=1))
def test_packed_ids_are_what_was_packed(texts: list[str]) -> None:
    """Packed ids come out in any order, and their hash is that of their encodings one after the other."""
    packed = PackedIds(texts)
    assert packed.texts(np.arange(len(texts), dtype=np.uint32)[::-1]) == texts[::-1]
    encodings = [struct.pack("<HI", 1, len(text.encode())) + text.encode() for text in texts]
    assert encodings_of(packed) == encodings
    assert packed.digest() == hash_of_ids(texts) == hashlib.sha256(b"".join(encodings)).digest()
