"""Tables from files, frames and arrays, and what is refused without showing a value."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv
from pyarrow import feather, parquet

from plumbob.data import Table, read_table, store, table_files, table_from
from plumbob.errors import DataError

CSV = "id,age,city,paid\n007,31,Paris,yes\n008,,Rome,no\n009,40.5,,yes\n"
COLUMNS: dict[str, list[Any]] = {
    "id": ["007", "008", "009"],
    "age": [31.0, None, 40.5],
    "city": ["Paris", "Rome", None],
    "paid": ["yes", "no", "yes"],
}


def written(folder: Path, kind: str) -> Path:
    """The same three rows as a file of this kind."""
    path = folder / f"rows.{kind}"
    if kind == "csv":
        path.write_text(CSV)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(CSV.encode()))
    elif kind == "feather":
        feather.write_feather(pa.table(COLUMNS), path)
    else:
        parquet.write_table(pa.table(COLUMNS), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "feather"])
def test_files_give_the_same_table(tmp_path: Path, kind: str) -> None:
    """Whatever the format, ids stay text, gaps stay gaps, and the second class in order is positive."""
    table = read_table(written(tmp_path, kind), id_column="id", label_column="paid")
    assert table.ids == ("007", "008", "009")
    assert [column.name for column in table.columns] == ["age", "city"]
    age, city = table.columns
    assert np.array_equal(np.asarray(age.values, dtype=float), [31.0, np.nan, 40.5], equal_nan=True)
    assert list(city.values) == ["Paris", "Rome", None]
    assert list(city.is_missing) == [False, False, True]
    assert table.labels is not None
    assert list(table.labels) == [1, 0, 1]
    assert table.classes == ("no", "yes")


def framed(kind: str) -> Any:
    """The same three rows as a frame of this kind; skipped where its library is not installed."""
    library, _, variant = kind.partition("-")
    if library == "arrow":
        return pa.table(COLUMNS)
    module: Any = pytest.importorskip(library)
    frame = module.DataFrame(COLUMNS)
    if variant == "object":
        return frame.astype(object)
    if variant == "category":
        return frame.astype({"city": "category"})
    return frame.with_columns(module.col("city").cast(module.Categorical)) if variant == "categorical" else frame


@pytest.mark.parametrize(
    "kind", ["pandas", "pandas-object", "pandas-category", "polars", "polars-categorical", "arrow"]
)
def test_frames_of_any_kind_give_the_same_table(kind: str) -> None:
    """pandas, polars and Arrow frames are read alike."""
    frame = framed(kind)
    table = table_from(frame, "id", "paid", columns=["city", "age"])
    assert [column.name for column in table.columns] == ["city", "age"]
    assert list(table.columns[0].values) == ["Paris", "Rome", None]
    assert np.array_equal(np.asarray(table.columns[1].values, dtype=float), [31.0, np.nan, 40.5], equal_nan=True)


def test_true_and_false_are_numbers() -> None:
    """Booleans and whole numbers become float64, gaps among them NaN."""
    table = table_from(pa.table({"flag": [True, None, False], "count": [1, 2, None]}))
    for column, expected in zip(table.columns, ([1, np.nan, 0], [1, 2, np.nan]), strict=True):
        assert np.array_equal(np.asarray(column.values, dtype=float), expected, equal_nan=True)


def test_a_column_of_mixed_kinds_is_refused() -> None:
    """An object column of texts and numbers is named, and its values are not."""
    pandas: Any = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="'x' mixes kinds of values in 2 rows") as refusal:
        table_from(pandas.DataFrame({"x": ["s3cret", 1]}))
    assert "s3cret" not in str(refusal.value)


def test_numbered_columns_of_pandas_are_named_by_their_numbers() -> None:
    """A pandas frame made from an array has numbers for names, and is read all the same."""
    pandas: Any = pytest.importorskip("pandas")
    table = table_from(pandas.DataFrame(np.eye(2)), label_column="1")
    assert [column.name for column in table.columns] == ["0"]


def test_arrays_take_their_place_as_id() -> None:
    """An array's rows are called by their place, its columns x0, x1, ..."""
    table = table_from(np.arange(6.0).reshape(3, 2), labels=[5, 3, 5])
    assert table.ids == ("0", "1", "2")
    assert [column.name for column in table.columns] == ["x0", "x1"]
    assert table.labels is not None
    assert list(table.labels) == [1, 0, 1]
    assert table.classes == (3, 5)


def test_a_table_prints_no_data() -> None:
    """The repr of tables and columns holds names and counts only."""
    table = table_from(pa.table(COLUMNS), "id", "paid")
    text = repr(table) + repr(table.columns)
    assert "Column('age', 3 rows)" in text
    for secret in ("Paris", "31", "007", "yes"):
        assert secret not in text


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"id": [1.5, 2.0]}, {"id_column": "id"}, "fractions"),
        (
            {"y": [float("nan")] * 2},
            {"label_column": "y"},
            r"2 of 2 rows have no label .* is this the label",
        ),
        ({"x": [1]}, {"id_column": "key"}, "no column 'key'"),
        ({"x": [1]}, {"columns": ["z"]}, "no column 'z'"),
        ({"x": [[1, 2]]}, {}, "expected numbers"),
        ({"x": [1, 2]}, {"labels": [0, 1, 1]}, "one label for each of 2 rows"),
    ],
)
def test_bad_tables_are_refused_without_values(columns: dict[str, Any], options: dict[str, Any], words: str) -> None:
    """The error counts rows and names columns, and never repeats a value."""
    with pytest.raises(DataError, match=words) as refusal:
        table_from(pa.table(columns), **options)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("data", [np.zeros(3), np.array([["a"]]), [[1, 2]], {"x": [1]}])
def test_other_shapes_are_refused(data: Any) -> None:
    """What is neither a frame nor a matrix of numbers is refused."""
    with pytest.raises(DataError, match="expected a"):
        table_from(data)


def test_unreadable_files_are_refused_without_their_content(tmp_path: Path) -> None:
    """A parser's message may quote a cell, so it is not passed on; a folder is not said to be missing."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,s3cret\n1,2,3\n")
    with pytest.raises(DataError, match=r"rows\.csv") as refusal:
        read_table(path)
    assert "s3cret" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="this is a folder"):
        read_table(tmp_path)


def test_arrow_opens_files_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Python object is left in Arrow's threads, which would abort the program when it ends at the wrong moment."""
    opened, parse = [], pa_csv.open_csv

    def watched(source: Any, *options: Any, **named: Any) -> Any:
        opened.append(type(source))
        return parse(source, *options, **named)

    monkeypatch.setattr(pa_csv, "open_csv", watched)
    for kind in ("csv", "csv.gz"):
        read_table(written(tmp_path, kind), "id")
    assert set(opened) == {str}


def in_blocks(monkeypatch: pytest.MonkeyPatch, path: Path) -> Any:
    """The file read a few bytes at a time, and beside it read at once."""
    whole = read_table(path, "id")
    monkeypatch.setattr(table_files, "LONGEST_ROW", 64)
    monkeypatch.setattr(store, "MAPPED_FROM", 128)
    return read_table(path, "id"), whole


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
def test_a_csv_file_in_blocks_is_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    """A file read in blocks is the same table, even if a column changes its kind later, or is empty for long."""
    lines = ["id,whole,late,text,gap,flag"]
    for row in range(30):
        late, text = "0.5" if row > 25 else "3", "tall" if row > 10 else "1.50"
        lines.append(f"{row:03d},{row},{late},{text},{'x' if row == 29 else ''},{'true' if row % 2 else 'false'}")
    content = ("\n".join(lines) + "\n").encode()
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    assert_same(*in_blocks(monkeypatch, path))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_quoted_cells_of_several_lines_in_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str) -> None:
    """Wherever a block ends, the rows are those that Python's own reader finds, also of names with several lines."""
    pieces = ["a", ",", '"', "\n", "\n7,8,9\n", " ", "\r\n", "b", '""']
    generator = np.random.default_rng(6)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, lineterminator=ending)
        writer.writerow(["id", "two\nlines", "x"])
        for row in range(200):
            writer.writerow([row, "t" + "".join(generator.choice(pieces, size=6)), f"u{row}"])
        # A mark within a cell opens nothing.
        file.writelines(f'{row},5" pipe,u{row}{ending}' for row in range(200, 211))
    with path.open(newline="", encoding="utf-8-sig") as file:
        # The lines of a cell end in one way, whatever the file has, and blanks around it say nothing.
        expected = [[cell.replace("\r\n", "\n").strip() for cell in row] for row in csv.reader(file)]
    for block in (100, 150, 211, 1000):
        monkeypatch.setattr(table_files, "LONGEST_ROW", block)
        table = read_table(path, "id")
        assert [column.name for column in table.columns] == expected[0][1:]
        found = [list(row) for row in zip(table.ids, *(column.values for column in table.columns), strict=True)]
        assert found == expected[1:]


def test_quoted_cells_of_several_lines_in_a_long_file(tmp_path: Path) -> None:
    """Arrow, too, reads in blocks of its own: lines that look like rows are none within a cell."""
    rows = 9000
    path = tmp_path / "rows.csv"
    cell = "x\n" + "7,y,1\n" * 50
    path.write_text("id,text,x\n" + "".join(f'{row},"{cell}",{row % 3}\n' for row in range(rows)))
    table = read_table(path, "id")
    assert table.ids == tuple(map(str, range(rows)))
    assert set(table.columns[0].values) == {cell.strip()}
    assert table.columns[1].values.tolist() == [row % 3 for row in range(rows)]


@pytest.mark.parametrize("rest", ["", "3,4\n", "3,4\n" * 2**17], ids=["at the end", "before a row", "far from the end"])
def test_a_quotation_mark_that_is_left_open(tmp_path: Path, rest: str) -> None:
    """Would swallow all rows that follow, so it is refused."""
    path = tmp_path / "rows.csv"
    path.write_text('id,x\n1,2\n2,"5\n' + rest)
    with pytest.raises(DataError, match="a cell begins with a quotation mark and does not end with one"):
        read_table(path, "id")


def test_a_row_that_is_too_long(tmp_path: Path) -> None:
    """Two marks left open far from each other look like one cell, and the error says what to look for."""
    path = tmp_path / "rows.csv"
    path.write_text('id,x\n1,"5\n' + "3,4\n" * (3 * 2**18) + '2,5"\n')
    with pytest.raises(DataError, match=r"expected rows of 1048576 bytes at most.*quotation mark left open"):
        read_table(path, "id")


def test_a_parquet_file_in_pieces_is_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Row groups of any size, with a text that begins with gaps."""
    columns = {"id": [str(row) for row in range(9)], "x": np.arange(9.0), "t": [None] * 5 + ["a", "b", None, "a"]}
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=4)
    assert_same(*in_blocks(monkeypatch, path))


def test_a_file_without_rows_is_a_table_without_rows(tmp_path: Path) -> None:
    """A file without rows still has its columns."""
    (tmp_path / "rows.csv").write_text("id,x\n")
    parquet.write_table(pa.table({"id": pa.array([], pa.string()), "x": pa.array([], pa.float64())}), tmp_path / "r.pq")
    for name in ("rows.csv", "r.pq"):
        table = read_table(tmp_path / name, "id")
        assert (len(table), [column.name for column in table.columns]) == (0, ["x"])
        with pytest.raises(DataError, match="and no rows"):
            read_table(tmp_path / name, "id", "x")


def assert_same(left: Table, right: Table) -> None:
    """Ids, kinds and values of all columns."""
    assert left.ids == right.ids
    for ours, theirs in zip(left.columns, right.columns, strict=True):
        assert (ours.name, ours.is_text) == (theirs.name, theirs.is_text)
        assert list(ours.is_missing) == list(theirs.is_missing)
        kept = ~ours.is_missing
        assert list(ours.values[kept]) == list(theirs.values[kept])


def test_aligned_tables_share_their_ids() -> None:
    """Rows in another order are selected; rows that are in order already are not copied."""
    table = table_from(pa.table({"id": ["b", "a", "c"], "x": [1.0, 2.0, 3.0], "t": ["u", "v", "w"]}), "id")
    wanted = ("a", "b")
    chosen = table.select(wanted)
    assert chosen.ids is wanted
    assert [list(column.values) for column in chosen.columns] == [[2.0, 1.0], ["v", "u"]]
    assert chosen.select(["a", "b"]) is chosen
    assert chosen.take([0, 1]) is chosen


def test_a_digest_tells_tables_apart() -> None:
    """Other ids, another order, another name, number, text, gap or label: another digest; the same again: the same."""
    rows: dict[str, list[Any]] = {"id": ["a", "b"], "x": [1.0, None], "c": ["None", None], "y": [0, 1]}
    changes: list[dict[str, list[Any]]] = [
        {},
        {"id": ["a", "c"]},
        {"id": ["b", "a"]},
        {"x": [1.0, 2.0]},
        {"x": [-1.0, None]},
        {"c": [None, "None"]},
        {"y": [1, 0]},
        {"x": [1.0, None], "more": [0.0, 0.0]},
    ]
    made = [table_from(pa.table(rows | change), "id", "y") for change in changes]
    renamed = table_from(pa.table(rows).rename_columns(["id", "z", "c", "y"]), "id", "y")
    digests = {table.digest() for table in [*made, renamed, made[1].take([1, 0])]}
    assert len(digests) == len(made) + 2
    assert table_from(pa.table(rows), "id", "y").digest() == made[0].digest()


def test_every_infinite_column_is_named_at_once(tmp_path: Path) -> None:
    """One correction of the file is enough, and no value is shown."""
    file = tmp_path / "fund.csv"
    file.write_text("id,a,b,c\n1,inf,2,3\n2,inf,2,-inf\n")
    with pytest.raises(DataError) as refused:
        read_table(file, "id")
    assert str(refused.value) == (
        "2 columns cannot be read as they are:\n"
        "  column 'a': 2 of 2 numbers are infinite or too large, the first in row 1; correct them, or leave the column"
        " out with --drop\n"
        "  column 'c': 1 of 2 numbers is infinite or too large, the first in row 2; correct them, or leave the column"
        " out with --drop"
    )
