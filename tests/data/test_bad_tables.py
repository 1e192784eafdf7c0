"""Tables as people really have them: each kind is read correctly, or refused in one sentence without a cell's content.

The kinds are habits of files that circulate: exports of spreadsheets, of databases and of data frames. `s3cret` stands
for a cell that must never be shown.
"""

import gzip
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from plumbob.data import ColumnChoices, Table, read_table
from plumbob.data.encoder import fit_columns
from plumbob.data.tables import EncodingChoices
from plumbob.errors import DataError

ROWS = [f"p{row},{row}.5,{'red' if row % 2 else 'blue'},{'yes' if row % 3 else 'no'}" for row in range(1, 41)]
GOOD = "\n".join(["id,x,colour,paid", *ROWS]) + "\n"
Look = Callable[[Table], bool]


def changed(old: str, new: str, count: int = 1) -> bytes:
    """The good file with some cells changed."""
    assert old in GOOD
    return GOOD.replace(old, new, count).encode()


def numbers(table: Table, name: str = "x") -> list[float]:
    """One column's values."""
    return [float(value) for value in next(column for column in table.columns if column.name == name).values]


def names(table: Table) -> list[str]:
    """The features' names."""
    return [column.name for column in table.columns]


def is_good(table: Table) -> bool:
    """All forty rows, as they were meant."""
    assert table.labels is not None
    return (
        table.ids == tuple(f"p{row}" for row in range(1, 41))
        and names(table) == ["x", "colour"]
        and numbers(table) == [row + 0.5 for row in range(1, 41)]
        and table.classes == ("no", "yes")
        and int(table.labels.sum()) == 27
    )


def has_gap(table: Table) -> bool:
    """The first row's number is missing, and nothing else."""
    return [row for row, value in enumerate(numbers(table)) if value != value] == [0]


@dataclass(frozen=True)
class Kind:
    """A file, and either what the table must be like or what the refusal says."""

    name: str
    content: bytes
    look: Look | None = None
    words: str = ""
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    ending: str = "csv"


def semicolons(text: str = GOOD) -> bytes:
    """A table as a spreadsheet in much of Europe saves it."""
    return text.replace(",", ";").replace(".5", ",5").encode()


def with_column(name: str, cells: list[str]) -> bytes:
    """The good file with one more column."""
    lines = GOOD.splitlines()
    return "\n".join(
        [f"{lines[0]},{name}", *(f"{line},{cell}" for line, cell in zip(lines[1:], cells, strict=True))]
    ).encode()


def mostly(number: str, *others: str) -> list[str]:
    """Forty cells of which the last ones are others."""
    return [number] * (40 - len(others)) + list(others)


KINDS = [
    # Encodings and line ends.
    Kind("plain", GOOD.encode(), is_good),
    Kind("byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), is_good),
    Kind("UTF-16", GOOD.encode("utf-16"), words="UTF-16"),
    Kind(
        "Latin-1 in a cell",
        changed("red", "r\N{LATIN SMALL LETTER O WITH DIAERESIS}t").decode().encode("latin-1"),
        words="column 'colour' holds text that is not UTF-8",
    ),
    Kind(
        "Latin-1 in an id", GOOD.replace("p1,", "p\xf6,").encode("latin-1"), words="column 'id' holds text that is not"
    ),
    Kind("Latin-1 in a label", GOOD.replace("no", "n\xf6").encode("latin-1"), words="'paid' holds text that is not"),
    Kind(
        "Latin-1 in a name",
        changed("colour", "gr\N{LATIN SMALL LETTER O WITH DIAERESIS}sse").decode().encode("latin-1"),
        words="first line is not",
    ),
    Kind("Windows line ends", GOOD.replace("\n", "\r\n").encode(), is_good),
    Kind("old Macintosh line ends", GOOD.replace("\n", "\r").encode(), is_good),
    Kind("no line end at the end", GOOD.rstrip("\n").encode(), is_good),
    Kind("compressed", gzip.compress(GOOD.encode()), is_good, ending="csv.gz"),
    Kind("a program instead of a table", b"\x7fELF\x00\x00\x01\x02" * 20, words="no text"),
    # Separators and decimal signs.
    Kind(
        "semicolons and decimal commas",
        semicolons(),
        words="column 'x': 40 of 40 cells are not numbers or days as .* --category x",
    ),
    Kind("semicolons and decimal points", GOOD.replace(",", ";").encode(), is_good),
    Kind("tabs", GOOD.replace(",", "\t").encode(), is_good),
    Kind("vertical bars", GOOD.replace(",", "|").encode(), is_good),
    Kind(
        "a line that names the separator",
        b"sep=;\r\n" + semicolons().replace(b"\n", b"\r\n"),
        words="expected 2 cells in every line, as in the first one, row 1 has 4",
    ),
    Kind(
        "thousands in quotes",
        with_column("sum", mostly("12", '"1,234"')),
        words="column 'sum': 1 of 40 cells is not a number, the first in row 40",
    ),
    Kind(
        "commas that may be thousands",
        GOOD.replace(",", ";").replace(".5", ",500").encode(),
        words="column 'x': 40 of 40 cells are not numbers or days as",
    ),
    Kind(
        "commas that are thousands",
        with_column("sum", ['"1,234"'] * 40),
        words="column 'sum': 40 of 40 cells are not numbers or days as",
    ),
    Kind(
        "commas that are thousands, said to be text",
        with_column("sum", ['"1,234"'] * 40),
        lambda table: table.columns[-1].texts == ["1,234"] * 40,
        choices=ColumnChoices(category=("sum",)),
    ),
    Kind(
        "decimal commas with dots for thousands",
        GOOD.replace(",", ";").replace("1.5;red", "1.234,5;red").replace(".5", ",5").encode(),
        words="column 'x': 40 of 40 cells are not numbers or days as",
    ),
    Kind(
        "decimal commas and decimal points in one column",
        GOOD.replace(",", ";").replace("1.5;red", "1,25;red").encode(),
        words="column 'x': 4 of 40 cells are not numbers, the first in row 1",
    ),
    Kind(
        "points that may set thousands apart",
        with_column("sum", ["8.520", "900"] * 20),
        words="column 'sum': every decimal point is followed by exactly three digits .20 of 40 cells.; is 1.234 .*"
        "--category sum",
    ),
    Kind(
        "points of which one cannot set thousands apart",
        with_column("sum", mostly("8.520", "0.125")),
        lambda table: numbers(table, "sum")[-2:] == [8.52, 0.125],
    ),
    Kind(
        "points after which the digits differ",
        with_column("sum", mostly("8.520", "8.5")),
        lambda table: numbers(table, "sum")[-2:] == [8.52, 8.5],
    ),
    Kind(
        "an amount with its currency",
        with_column("sum", mostly("12", "12 s3cret")),
        words="column 'sum': 1 of 40 cells",
    ),
    Kind(
        "amounts with a currency in every cell",
        with_column("sum", ['"$1,234.50"'] * 40),
        words="column 'sum': 40 of 40 cells are not numbers or days as .*--category sum",
    ),
    Kind(
        "two currencies",
        with_column("sum", ["$12", "12 EUR"] * 20),
        words="column 'sum': 40 of 40 cells are not numbers or days as",
    ),
    Kind("per cent", with_column("rate", ["12.5%"] * 40), words="column 'rate': 40 of 40 cells"),
    Kind(
        "a typographer's minus and thousands",
        with_column("sum", ["\N{MINUS SIGN}1\N{NO-BREAK SPACE}234"] * 40),
        words="column 'sum': 40 of 40 cells",
    ),
    Kind("blanks after commas", GOOD.replace(",", ", ").encode(), is_good),
    Kind("columns of fixed width", GOOD.replace(",", "   ").encode(), words="this table has one column only"),
    # Lines that are no rows.
    Kind("empty", b"", words="is empty"),
    Kind("blank lines", GOOD.replace("\n", "\n\n").encode(), is_good),
    Kind("names alone", b"id,x,colour,paid\n", words="and no rows"),
    Kind(
        "no names",
        "\n".join(f"{row},1.5,3,{row % 2}" for row in range(9)).encode(),
        words="all 4 cells are numbers",
    ),
    Kind("names again in the middle", changed("p7,", "id,x,colour,paid\np7,"), words="row 7 repeats the line"),
    Kind("a total at the end", GOOD.encode() + b"Total,860.0,,yes\n", words="row 41, the last one, is a total"),
    Kind(
        "a title before the names",
        b"Customers 2026\n" + GOOD.encode(),
        words="expected 1 cells in every line, as in the first one, row 1 has 4",
    ),
    Kind("a row with a cell too many", changed("p9,", "p9,s3cret,"), words="row 9 has 5"),
    Kind("a row with a cell too few", changed("p9,9.5,", "p9,"), words="row 9 has 3"),
    Kind("a row of nothing but commas", changed("p9,", ",,,\np9,"), words="1 of 41 rows has no id .row 9."),
    Kind("lines within quoted cells", changed("red", '"re\nd"'), lambda table: len(table) == 40),
    Kind(
        "months by name without a comma",
        with_column("day", [f"Nov {row % 28 + 1} 2024" for row in range(40)]),
        words="column 'day': 40 of 40 cells are not numbers or days as they must be written",
    ),
    Kind(
        "days with a dot before a month's name",
        with_column("day", [f"{row % 28 + 1}. November 2024" for row in range(40)]),
        words="column 'day': 40 of 40 cells are not numbers or days as they must be written",
    ),
    Kind(
        "lakhs",
        with_column("sum", [f'"1,00,{row:03d}.50"' for row in range(40)]),
        words="column 'sum': 40 of 40 cells are not numbers or days as",
    ),
    Kind("lakhs without a fraction", with_column("sum", ['"1,00,200"'] * 40), words="--category sum"),
    Kind(
        "blanks before quoted cells",
        changed(",red,", ', "red",', 20),
        words="column 'colour': a quotation mark stands behind a blank",
    ),
    Kind(
        "blanks before quoted cells with commas",
        changed(",red,", ',  "red, dark",'),
        words="expected 4 cells in every line, as in the first one, row 1 has 5",
    ),
    Kind(
        "blanks before quoted names",
        changed("id,x,colour", '"id", "x", "colour"'),
        words="the first line: a quotation mark stands behind a blank",
    ),
    Kind("backslashes before marks", changed(",red,", r',"say \"red\"",'), words="column 'colour': a quotation mark"),
    Kind(
        "backslashes before marks in cells with commas",
        changed(",red,", r',"say \"red, dark\"",'),
        words="expected 4 cells in every line, as in the first one, row 1 has 5",
    ),
    Kind(
        "a backslash at the end of a quoted cell",
        changed(",red,", ',"C:\\",'),
        lambda table: table.columns[1].values[0] == "C:\\",
    ),
    Kind(
        "doubled marks after a comma",
        changed(",red,", ',"say, ""red""",'),
        lambda table: table.columns[1].values[0] == 'say, "red"',
    ),
    Kind(
        "blanks before quoted cells, packed",
        gzip.compress(changed(",red,", ', "red",', 20)),
        words="column 'colour': a quotation mark stands behind a blank",
        ending="csv.gz",
    ),
    Kind(
        "a blank before a quotation mark left open",
        GOOD.encode() + b'p41,1.5, "red,yes\n',
        words="column 'colour': a quotation mark stands behind a blank",
    ),
    Kind("a quotation mark left open", GOOD.encode() + b'p41,1.5,red,"yes\n', words="does not end with one; .* row 41"),
    Kind("a remark below the rows", GOOD.encode() + b"Source: s3cret\n", words="row 41 has 1"),
    Kind("a remark above the names", b"# s3cret\n" + GOOD.encode(), words="row 1 has 4"),
    Kind("types below the names", changed("p1,", "text,number,text,yes\np1,"), words="'x': 1 of 41 .*first in row 1"),
    Kind("a page instead of a table", b"<html><table>\n<tr><td>s3cret</td></tr>\n", words="one column only"),
    Kind("a workbook", b"PK\x03\x04" * 9, words="expected a name that ends in", ending="xlsx"),
    # Columns.
    Kind("a comma at the end of every line", GOOD.replace("\n", ",\n").encode(), is_good),
    *(
        Kind(
            f"the index of a shuffled data frame called {name!r}",
            "\n".join(
                [f"{name},id,x,colour,paid", *(f"{7 * place % 41},{row}" for place, row in enumerate(ROWS, 1))]
            ).encode(),
            is_good,
        )
        for name in ("", "Unnamed: 0", "__index_level_0__")
    ),
    Kind("a column without a name", with_column("", ["7", *["8"] * 39]), lambda t: t.left_out == ("(column 5)",)),
    Kind("two columns of one name", with_column("x", ["7"] * 40), words="1 of 5 columns repeat a name: 'x'"),
    Kind(
        "a column without any value",
        with_column("empty", [""] * 40),
        lambda table: bool(np.isnan(numbers(table, "empty")).all()),
    ),
    Kind("another spelling of the id", changed("id,x", "Id,x"), words="no column 'id'.*did you mean \"Id\""),
    # Ids.
    Kind("an id twice", changed("p2,", "p1,"), words="1 of 40 rows repeat the id of an earlier row"),
    Kind(
        "ids as fractions",
        "\n".join(
            ["id,x,colour,paid", *(f"{row}.0,{row}.5,red,{'yes' if row % 2 else 'no'}" for row in range(1, 41))]
        ).encode(),
        words="40 of 40 ids are written as fractions, such as 12.0; export the ids as text",
    ),
    Kind(
        "ids that a spreadsheet rounded", changed("p3,", "1.20E+11,"), words="1 of 40 ids are written as powers of ten"
    ),
    Kind(
        "ids with zeros in front",
        "\n".join(["id,x,colour,paid", *(f"{row:05d},1.5,red,{row % 2}" for row in range(4))]).encode(),
        lambda table: table.ids == ("00000", "00001", "00002", "00003"),
    ),
    # Cells.
    Kind("empty cells", changed("1.5,red", ",red"), has_gap),
    Kind("the usual NA", changed("1.5,red", "NA,red"), has_gap),
    Kind(
        "blanks",
        changed("1.5,red", " ,red"),
        words=r"column .x.: 1 of 40 cells is not a number .1 blank., the first in row 1; .* with --na \" \" that",
    ),
    Kind("blanks, said to be gaps", changed("1.5,red", " ,red"), has_gap, choices=ColumnChoices(gaps=(" ",))),
    Kind("question marks", changed("1.5,red", "?,red"), words="column 'x': 1 of 40 cells is not a number, .*--na MARK"),
    Kind("question marks, said to be gaps", changed("1.5,red", "?,red"), has_gap, choices=ColumnChoices(gaps=("?",))),
    Kind(
        "several marks and a word",
        with_column("age", mostly("33", "-", "unknown", "-", "s3cret")),
        words="4 of 40 cells are not numbers, the first in row 37",
    ),
    Kind("a spreadsheet's errors", with_column("age", mostly("33", "#DIV/0!")), words="1 of 40 cells is not a number"),
    Kind(
        "numbers with blanks around them",
        with_column("age", mostly(" 33 ")),
        lambda table: numbers(table, "age") == [33.0] * 40,
    ),
    Kind(
        "postcodes with a zero in front",
        with_column("postcode", mostly("04103", "53111")),
        lambda table: table.columns[-1].is_text,
    ),
    Kind(
        "true and false",
        with_column("member", ["true", "False"] * 20),
        lambda table: numbers(table, "member") == [1.0, 0.0] * 20,
    ),
    Kind(
        "dates",
        with_column("opened", mostly("2024-02-29", "2024-03-01")),
        lambda table: numbers(table, "opened")[-2:] == [19782.0, 19783.0],
    ),
    Kind(
        "timestamps",
        with_column("opened", ["2024-02-29T23:05:00Z", "2024-03-01 00:10:00.5+01:00"] * 20),
        lambda table: numbers(table, "opened")[:2] == [19782.0, 19783.0],
    ),
    Kind(
        "a day that does not exist",
        with_column("opened", mostly("2024-02-29", "2024-02-31")),
        words="column 'opened': some of its days do not exist",
    ),
    Kind(
        "dates and a word",
        with_column("opened", mostly("2024-02-29", "s3cret", "unknown")),
        words="column 'opened': 2 of 40 cells are not days, the first in row 39",
    ),
    Kind(
        "other dates",
        with_column("opened", mostly("29.02.2024", "")),
        words="column 'opened': 39 of 40 cells are not numbers or days as .*, besides 1 gap",
    ),
    Kind(
        "other dates with a time",
        with_column("opened", mostly("29.02.2024 13:05", "")),
        words="column 'opened': 39 of 40 cells",
    ),
    Kind("dates in two ways", with_column("opened", mostly("01/02/2024")), words="column 'opened': 40 of 40 cells"),
    Kind(
        "other dates and a word",
        with_column("opened", mostly("29.02.2024", "s3cret", "unknown")),
        words="column 'opened': 40 of 40 cells",
    ),
    Kind("numbers beyond all bounds", with_column("sum", mostly("1", "1e999")), words="'sum': 1 of 40 .* row 40"),
    Kind(
        "blanks around texts",
        changed("red", " red "),
        lambda table: set(table.columns[1].values.tolist()) == {"red", "blue"},
    ),
    Kind(
        "levels in order",
        with_column("size", ["low", "high", "mid", ""] * 10),
        lambda table: table.columns[-1].texts[:4] == ["low", "high", "mid", None],
    ),
    Kind(
        "codes that are no numbers",
        with_column("branch", ["1", "2"] * 20),
        lambda table: table.columns[-1].is_text,
        choices=ColumnChoices(category=("branch",)),
    ),
    Kind(
        "numbers in other writing",
        with_column("rate", ["1e-3", "+5"] * 20),
        lambda table: numbers(table, "rate") == [0.001, 5.0] * 20,
    ),
    # Labels.
    Kind(
        "a label missing",
        GOOD.replace("blue,yes", "blue,", 1).encode(),
        lambda table: len(table) == 39 and table.unlabelled == 1,
    ),
    Kind("labels with blanks around them", GOOD.replace("yes", "yes ").encode(), is_good),
    Kind("one class", GOOD.replace(",no", ",yes").encode(), words="got 1; is this the label"),
    Kind("three classes", changed("blue,yes", "blue,s3cret"), words="got 3; is this the label"),
    Kind(
        "the class to predict",
        GOOD.encode(),
        lambda table: table.classes == ("yes", "no"),
        choices=ColumnChoices(positive="no"),
    ),
    Kind(
        "a class that is none",
        GOOD.encode(),
        words="expected one of the label's two classes",
        choices=ColumnChoices(positive="maybe"),
    ),
    Kind(
        "labels as fractions",
        GOOD.replace(",yes", ",1.0").replace(",no", ",0.0").encode(),
        lambda table: table.classes == (0.0, 1.0),
    ),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_read_or_refused(tmp_path: Path, kind: Kind) -> None:
    """A file is read as it was meant, or one sentence names the column, the row or the count, and shows no cell."""
    path = tmp_path / f"rows.{kind.ending}"
    path.write_bytes(kind.content)
    if kind.look is not None:
        assert kind.look(read_table(path, "id", "paid", choices=kind.choices))
        return
    with pytest.raises(DataError, match=kind.words) as refusal:
        read_table(path, "id", "paid", choices=kind.choices)
    told = str(refusal.value)
    assert "s3cret" not in told
    assert "\n" not in told


def test_there_are_forty_kinds() -> None:
    """There are forty kinds, and no two of them have one name."""
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 40


def test_a_text_that_differs_in_every_row(tmp_path: Path) -> None:
    """A text that is different in every row is read, and a plan with bins makes no column of it."""
    path = tmp_path / "rows.csv"
    path.write_text("id,name,x\n" + "".join(f"{row},n{row}x,{row % 7}\n" for row in range(20_000)))
    table = read_table(path, "id")
    columns = fit_columns(table, EncodingChoices(bins=10))
    assert {column.name: column.width for column in columns} == {"name": 0, "x": 7}


@pytest.mark.parametrize("name", ["years on job", "it's", "a $HOME `b`", "plain"])
def test_the_advice_can_be_pasted(tmp_path: Path, name: str) -> None:
    """Whatever a column is called, a shell reads the flag of a refusal as two words, and the flag helps."""
    path = tmp_path / "rows.tsv"
    path.write_text(f"id\t{name}\n" + "".join(f"{row}\t{cell}\n" for row, cell in enumerate(["1", "2", "3", "old"])))
    with pytest.raises(DataError, match="--category ") as refusal:
        read_table(path, "id")
    message = str(refusal.value)
    flag, column = shlex.split(message[message.index("--category ") :])[:2]
    assert (flag, column) == ("--category", name)
    assert read_table(path, "id", choices=ColumnChoices(category=(column,))).columns[0].texts == ["1", "2", "3", "old"]


def test_all_bad_columns_are_told_at_once(tmp_path: Path) -> None:
    """One correction of the file is enough, and no cell is printed."""
    path = tmp_path / "rows.csv"
    path.write_text("id,a,b,c,d\n1,1,8.520,1e999,2\n2,s3cret,9.130,1,3\n3,4,1.000,2,5\n")
    with pytest.raises(DataError) as refusal:
        read_table(path, "id")
    told = str(refusal.value).splitlines()
    assert told[0] == "3 columns cannot be read as they are:"
    assert [line.split(":")[0] for line in told[1:]] == ["  column 'a'", "  column 'b'", "  column 'c'"]
    assert "s3cret" not in str(refusal.value)


def test_telco_names_its_blanks() -> None:
    """Seven blanks and four empty cells among its numbers are counted, and the flag that makes gaps of them works."""
    folder = os.environ.get("PLUMBOB_DATA")
    if not folder or not (Path(folder) / "telco/telco.csv").exists():
        pytest.skip("PLUMBOB_DATA names no folder with telco/telco.csv")
    path = Path(folder) / "telco/telco.csv"
    words = (
        r"'TotalCharges': 7 of 7043 cells are not numbers \(7 blank\), besides 4 gaps, .*--na \" \" that they are gaps"
    )
    with pytest.raises(DataError, match=words):
        read_table(path, "customerID", "Churn")
    table = read_table(path, "customerID", "Churn", choices=ColumnChoices(gaps=(" ",)))
    assert np.isnan(numbers(table, "TotalCharges")).sum() == 11
