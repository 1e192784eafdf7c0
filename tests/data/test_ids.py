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

from plumbob.data import ColumnChoices, align, canonical, canonical_ids, in_agreed_order, table_from
from plumbob.data.align import refuse_several_rows_of_one, remarks_on_ids
from plumbob.data.ids import BEFORE_NUMBER, PackedIds, hash_of_ids, look_alikes
from plumbob.data.tables import Table
from plumbob.errors import DataError
from plumbob.plan import Plan


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


def frame_of(**columns: Any) -> pd.DataFrame:
    """A frame of these columns."""
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1.0, 2.0], "the id column holds fractions"),
        (["1.0", "2.0"], r"2 of 2 ids are written as fractions, such as 12\.0"),
        (["1", "1.2E+11"], r"1 of 2 ids are written as powers of ten, such as 1\.2E\+11"),
        (["1", "a\N{SYMBOL FOR RECORD SEPARATOR}b"], "1 of 2 rows have an id with .* in it"),
        (["x", None], r"1 of 2 rows has no id \(row 2\)"),
    ],
)
def test_cells_that_are_no_id(ids: list[Any], words: str) -> None:
    """A fraction, a rounded number, our own sign and a gap are refused: no digits are guessed back."""
    with pytest.raises(DataError, match=words):
        table_from(frame_of(nr=ids), "nr")


def test_whole_numbers_are_their_digits() -> None:
    """A number in a Parquet file is the same person as its digits in a CSV file, and a zero before them counts."""
    assert table_from(frame_of(nr=[7, 10**17 + 1]), "nr").ids == ("7", "100000000000000001")
    assert table_from(frame_of(nr=["007", " 8"]), "nr").ids == ("007", " 8")


# Ids on several rows.

REPEATED = {"id": ["b", "a", " b", "c", "b"], "x": [1.0, 2.0, 3.0, 4.0, 5.0]}


def read_as(duplicates: str) -> Table:
    """The file above, read with this choice for ids on several rows."""
    return table_from(frame_of(**REPEATED), "id", choices=ColumnChoices(duplicates=duplicates))


@pytest.mark.parametrize(
    ("duplicates", "ids", "values"),
    [
        ("first", ["b", "a", "c"], [1, 2, 4]),
        ("last", ["a", "c", "b"], [2, 4, 5]),
        ("repeat", ["b", "a", "b\N{SYMBOL FOR RECORD SEPARATOR}2", "c", "b\N{SYMBOL FOR RECORD SEPARATOR}3"], None),
    ],
)
def test_ids_on_several_rows(duplicates: str, ids: list[str], values: list[float] | None) -> None:
    """One row of each, or all with a number; how many rows repeat an id is counted, blanks around it aside."""
    table = read_as(duplicates)
    assert list(table.ids) == ids
    assert table.columns[0].values.tolist() == (values or [1, 2, 3, 4, 5])
    assert table.repeated == 2
    (remark,) = remarks_on_ids(table)
    assert remark.startswith("2 rows beyond the first of an id")


def test_repeated_ids_are_refused_by_default() -> None:
    """The message names the flag; another word than the four is refused too."""
    with pytest.raises(DataError, match="--duplicates first, last or repeat"):
        align([read_as("refuse"), read_as("refuse")])
    with pytest.raises(DataError, match="expected refuse, first, last, repeat"):
        read_as("all")


def test_every_row_with_every_row() -> None:
    """Pairs have one name on all sides, in one order, and each side finds its own row behind it."""
    left = table_from(frame_of(id=["a", "b", "b"], x=[1.0, 2.0, 3.0]), "id", choices=ColumnChoices(duplicates="repeat"))
    right = table_from(
        frame_of(id=["b", "a", "b", "z"], x=[10.0, 20.0, 30.0, 40.0]), "id", choices=ColumnChoices(duplicates="repeat")
    )
    tables = align([left, right])
    assert tables[0].ids == tables[1].ids
    assert [name.partition(BEFORE_NUMBER)[2] for name in tables[0].ids] == ["", "1.1", "1.2", "2.1", "2.2"]
    assert [table.columns[0].values.tolist() for table in tables] == [[1, 2, 2, 3, 3], [20, 10, 30, 10, 30]]


@pytest.mark.parametrize("noise", ["none", "rows"])
def test_row_privacy_is_about_single_rows(noise: str) -> None:
    """Several rows of one person are refused where the promise is about one."""
    plan = Plan.for_columns((1, 1), noise=noise, rows=1000, scale="public" if noise == "rows" else "whitened")
    refuse_several_rows_of_one(plan, read_as("first").choices.duplicates)
    if noise == "none":
        refuse_several_rows_of_one(plan, read_as("repeat").choices.duplicates)
        return
    with pytest.raises(DataError, match="promises something about single rows"):
        refuse_several_rows_of_one(plan, read_as("repeat").choices.duplicates)


# Ids that look alike.


@pytest.mark.parametrize(
    ("ids", "counts"),
    [
        (["anna", "bert", "7", "70", "a0"], {}),
        (["anna", "Anna", "ANNA", "bert"], {"case": 3, "blanks": 0, "leading zeros": 0}),
        (["a b", "ab", "c"], {"case": 0, "blanks": 2, "leading zeros": 0}),
        (["007", "7", "07", "100", "a0", "a-01", "a-1"], {"case": 0, "blanks": 0, "leading zeros": 5}),
    ],
    ids=["none", "case", "blanks", "zeros"],
)
def test_ids_that_look_alike_are_counted(ids: list[str], counts: dict[str, int]) -> None:
    """Ids that differ in case, blanks or leading zeros only, by what it is; no id is shown."""
    found = look_alikes(ids)
    assert found.counts == counts
    assert bool(found) == bool(counts)
    assert not any(identity in str(found) for identity in ids if len(identity) > 2)


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
