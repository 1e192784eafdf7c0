"""What somebody sees who trains and scores for the first time: classes, columns, held-out rows and limits in words."""

import csv
from pathlib import Path

import numpy as np
import pytest

from plumbob.data import read_table
from plumbob.data.summary import summarise
from plumbob.data.tables import EncodingChoices
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.protocol.limits import most_scored_rows
from plumbob.run_folder import RunFolder
from tests.command_line import CommandLine

ROWS = 200


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Two parties' files, as `--data` takes them."""
    generator = np.random.default_rng(4)
    debt, age = generator.normal(40, 9, ROWS).round(1), generator.integers(18, 80, ROWS)
    late = np.where(debt + generator.normal(0, 9, ROWS) > 42, "yes", "no")
    bank = ["client,age,late", *(f"c{row},{age[row]},{late[row]}" for row in range(ROWS))]
    fund = ["client,debt", *(f"c{row},{debt[row]}" for row in range(ROWS))]
    (tmp_path / "bank.csv").write_text("\n".join(bank) + "\n")
    (tmp_path / "fund.csv").write_text("\n".join(fund) + "\n")
    files = [f"bank={tmp_path / 'bank.csv'}", f"fund={tmp_path / 'fund.csv'}"]
    return ["--data", files[0], files[1], "--id", "client"]


def train(cli: CommandLine, tables: list[str], out: Path, *flags: str) -> str:
    """All that training prints."""
    cli.read()
    # Scores show the fund's only column: the plan leaks, and somebody has to accept it.
    words = ("train", *tables, "--label", "late", "--out", str(out), "--bins", "0", "--accept-leaks", *flags)
    assert cli(*words) == 0
    printed = cli.read()
    return " ".join(f"{printed.out} {printed.err}".split())


def test_the_class_and_the_columns_are_named(cli: CommandLine, tables: list[str], tmp_path: Path) -> None:
    """Training, its page and the file of scores say which class is predicted; every column has its ends."""
    run = tmp_path / "run"
    told = train(cli, tables, run)
    assert "the model predicts the class yes (" in told
    assert "the other class is no; --positive no predicts that one instead" in told
    for column in ("age", "debt"):
        assert column in told
    assert "lowest highest" in told
    assert cli("report", str(run)) == 0
    page = RunFolder(run).report_file.read_text(encoding="utf-8")
    assert "The model predicts the class yes." in page
    for words in ("The columns", "Columns of bank", "Columns of fund"):
        assert words in page
    scores = tmp_path / "scores.csv"
    cli.read()
    assert cli("predict", str(run), *tables, "--out", str(scores)) == 0
    assert "lowest highest" in " ".join(cli.out.split())
    with scores.open(newline="", encoding="utf-8") as lines:
        assert next(csv.reader(lines))[:4] == ["id", "score", "probability of yes", "predicted"]


def test_two_runs_hold_out_the_same_rows(cli: CommandLine, tables: list[str], tmp_path: Path) -> None:
    """On one machine they follow from the ids, so that two models are compared on the same people."""
    kept = []
    for name in ("first", "second"):
        told = train(cli, tables, tmp_path / name, "--test-share", "0.2")
        assert "40 of 200 rows were held out" in told
        assert "To train on all rows, add --test-share 0" in told
        kept.append(RunFolder(tmp_path / name).rows_file("bank").read_text(encoding="utf-8"))
    assert kept[0] == kept[1]
    assert kept[0].count("yes") == 40
    assert "held out" not in train(cli, tables, tmp_path / "all", "--test-share", "0")


def test_a_plan_scores_its_own_people_and_no_more(cli: CommandLine, tables: list[str], tmp_path: Path) -> None:
    """Without a number of its own it allows all aligned rows, held-out ones included; further people are refused."""
    run, scores = tmp_path / "run", ["--out", str(tmp_path / "scores.csv")]
    train(cli, tables, run, "--test-share", "0.2")
    for _ in range(2):
        # People who were scored before are not counted twice.
        assert cli("predict", str(run), *tables, *scores) == 0
    for name in ("bank", "fund"):
        file = tmp_path / f"{name}.csv"
        file.write_text(file.read_text().replace("c1,", "new,"))
    cli.read()
    assert cli("predict", str(run), *tables, *scores) == 1
    assert "the plan allows 200 scored rows in all, 200 were scored, and 1 more" in " ".join(cli.err.split())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2, 1 / 3, 0.5, 0.9])
def test_all_aligned_rows_may_be_scored(share: float) -> None:
    """The limit follows from the rows that are trained on, and leaves no aligned row out."""
    plan = Plan.for_columns((2, 3), test_share=share)
    for rows in range(10, 400):
        trained = rows - plan.held_out(rows)
        limit = most_scored_rows(plan, trained)
        # Where several numbers of aligned rows leave as many to train on, the largest of them.
        assert rows <= limit
        assert limit - plan.held_out(limit) == trained
        assert limit == rows or share


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (("Yes", "yes", "no"), "without capitals and spaces there are two: write each class in one way"),
        (tuple("abcde"), "got 5; is this the label column? --label names it. A model predicts one class against"),
        (("no",), "got 1; is this the label column?"),
    ],
    ids=str,
)
def test_a_label_without_two_classes_says_what_to_do(tmp_path: Path, classes: tuple[str, ...], words: str) -> None:
    """Several spellings, several classes, and one class each have their own way out; no class is quoted."""
    file = tmp_path / "bank.csv"
    file.write_text("\n".join(["id,a,late", *(f"c{row},{row},{classes[row % len(classes)]}" for row in range(60))]))
    with pytest.raises(DataError, match=words.replace("?", r"\?").replace("(", r"\(")):
        read_table(file, "id", "late")


def test_a_spreadsheet_is_refused_with_a_way_out(tmp_path: Path) -> None:
    """Its name is enough: nobody reads on until something breaks."""
    file = tmp_path / "bank.xlsx"
    file.write_bytes(b"PK")
    with pytest.raises(DataError, match="a spreadsheet can save its table as CSV"):
        read_table(file, "id", "late")


def test_a_column_that_is_the_label_is_said_under_quiet_too(
    cli: CommandLine, tables: list[str], tmp_path: Path
) -> None:
    """A model of it is perfect, and nobody who wants no progress should believe it."""
    file = tmp_path / "bank.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([f"{lines[0]},paid", *(f"{line},{int(line.endswith('no'))}" for line in lines[1:])]))
    for flags, times in (("--quiet",), 1), (("--new",), 0):
        told = train(cli, tables, tmp_path / "run", *flags)
        assert told.count("bank: column 'paid' tells the label of every row: is it the label") == times
        assert "tells the label of every row" in told


def test_a_column_that_is_the_label_or_empty_is_remarked(tmp_path: Path) -> None:
    """One tells the label of every row, under other words; another has no value and gives no column."""
    file = tmp_path / "bank.csv"
    lines = (f"c{row},{row % 7},{'left' if row % 3 else 'stayed'},,{int(row % 3 > 0)}" for row in range(60))
    file.write_text("\n".join(["id,debt,state,nothing,late", *lines]))
    summary = summarise(read_table(file, "id", "late"), EncodingChoices(bins=4))
    remarks = {column.name: column.remark for column in summary.columns}
    assert remarks["debt"] == ""
    assert "is it the label under another name? leave it out with --drop" in remarks["state"]
    assert remarks["nothing"] == "no value at all: it gives no column"
    assert {column.name: column.encoded for column in summary.columns}["nothing"] == 0
