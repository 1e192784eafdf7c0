"""Which rows of several files belong together: an id says so, written alike in all of them."""

from pathlib import Path

import numpy as np
import pytest

from tests.command_line import CommandLine

ROWS = 120
WORDS = ("--label", "late", "--protocol", "clear", "--epochs", "2", "--batch-size", "16", "--accept-leaks")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The fund's rows are as many as the bank's, and in another order."""
    generator = np.random.default_rng(5)
    risk = generator.normal(size=ROWS)
    bank = [f"c{row},{risk[row] + generator.normal():.3f},{int(risk[row] > 0)}" for row in range(ROWS)]
    fund = [f"c{row},{risk[row]:.3f},{row % 3}" for row in range(ROWS)][::-1]
    return [written(tmp_path, "bank", "client,income,late", bank), written(tmp_path, "fund", "client,debt,rank", fund)]


def written(folder: Path, party: str, names: str, rows: list[str]) -> str:
    """Write these rows and return PARTY=FILE."""
    (folder / f"{party}.csv").write_text("\n".join([names, *rows]) + "\n")
    return f"{party}={folder / f'{party}.csv'}"


@pytest.mark.parametrize("verb", [["train"], ["audit", "--only", "label-sign"]], ids=" ".join)
def test_files_without_an_id_are_refused(cli: CommandLine, verb: list[str], files: list[str], tmp_path: Path) -> None:
    """Files of one length say nothing about their order: a column that could be meant is named, nothing is written."""
    out = tmp_path / "run"
    assert cli(*verb, "--data", *files, *WORDS, "--out", str(out)) == 1
    said = cli.err
    assert "which rows of bank and fund belong together?" in said
    assert "--id COLUMN (--id client could be meant)" in said
    assert not out.exists()


def test_new_rows_without_an_id_are_refused(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """`predict` asks as `train` does."""
    run, scores = str(tmp_path / "run"), tmp_path / "scores.csv"
    assert cli("train", "--data", *files, "--id", "client", *WORDS, "--out", run) == 0
    predict = ["predict", run, "--data", *files, "--out", str(scores)]
    assert cli(*predict) == 1
    assert "--id client could be meant" in cli.err
    assert not scores.exists()
    assert cli(*predict, "--id", "client") == 0


def test_what_could_be_the_id_is_suggested(cli: CommandLine, tmp_path: Path) -> None:
    """Columns that are named like an id: of one name in all files, or the only one of each."""
    bank = [f"{row},{row}.5,x,{row % 3},{9000 + row},{row % 2}" for row in range(30)]
    fund = [f"{row},{row}.5,{row % 3},{9000 + row},{row}" for row in range(30)]
    given = [
        written(tmp_path, "bank", "row,income,kind,group,loan_id,late", bank),
        written(tmp_path, "fund", "row,income,group,loan_id,debt", fund),
    ]
    train = ["train", "--data", *given, *WORDS, "--out", str(tmp_path / "run")]
    assert cli(*train) == 1
    assert "(--id loan_id could be meant)" in cli.err
    written(tmp_path, "fund", "place,incomes,groups,customer_no,debt", fund)
    assert cli(*train) == 1
    assert "(--id bank=loan_id --id fund=customer_no could be meant)" in cli.err
    written(tmp_path, "fund", "place,incomes,groups,sums,debt", fund)
    assert cli(*train) == 1
    assert "--id COLUMN, or --id PARTY=COLUMN for each file" in cli.err


def test_ids_written_in_two_ways_are_noticed(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """Where few rows are in common, each file's ids are described, and no id is shown."""
    bank = [f"{'C' if row % 3 else 'c'}{row},{row * 7 % 11},{row % 2}" for row in range(ROWS)]
    given = [written(tmp_path, "bank", "client,income,late", bank), files[1]]
    train = ["train", "--data", *given, "--id", "client", *WORDS, "--quiet", "--out", str(tmp_path / "run")]
    assert cli(*train) == 0
    said = cli.err
    assert "bank: 120 ids of 2 to 4 characters, of which 80 have capital letters, 40 have small letters" in said
    assert "fund: 120 ids of 2 to 4 characters, of which 120 have small letters" in said
    assert "only 40 rows in common: are the ids written in one way in all files?" in said
    assert "c119" not in said


def test_blanks_around_ids_count_nowhere(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """Not when rows are paired, and not when the rows that a plan is drafted for are counted."""
    bank = [f" c{row} ,{row * 7 % 11},{row % 2}" for row in range(ROWS)]
    given = [written(tmp_path, "bank", "client,income,late", bank), files[1]]
    train = ["train", "--data", *given, "--id", "client", "--label", "late", "--out", str(tmp_path / "run")]
    assert cli(*train) == 0
    assert f"Drafted for {ROWS * 4 // 5} training rows" in cli.out


BANK, FUND = "client,income,late", "client,debt"
PEOPLE = [f"c{row},{row * 7 % 11},{row % 2}" for row in range(60)]
SUMS = [f"c{row},{row * 5 % 13}" for row in range(60)]
ODD_FILES = {
    "no rows of columns": (PEOPLE, [], "fund: the file has a line with the columns' names and no rows"),
    "no rows of labels": ([], SUMS, "bank: the file has a line with the columns' names and no rows"),
    "one constant column": (
        PEOPLE,
        [f"c{row},7" for row in range(60)],
        "fund: column 'debt' has the same value in every row, so there is nothing to learn from",
    ),
}


@pytest.mark.parametrize("case", ODD_FILES)
def test_odd_files_have_a_sentence_of_their_own(cli: CommandLine, case: str, tmp_path: Path) -> None:
    """It names the party and what is wrong with its file, not a key of a plan that nobody wrote."""
    bank, fund, message = ODD_FILES[case]
    given = [written(tmp_path, "bank", BANK, bank), written(tmp_path, "fund", FUND, fund)]
    train = ["train", "--data", *given, "--id", "client", "--label", "late", "--out", str(tmp_path / "run")]
    assert cli(*train) == 1
    assert message in cli.err
    assert not (tmp_path / "run").exists()


def test_one_party_alone_has_a_sentence_of_its_own(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """Joint training takes two."""
    train = ["train", "--data", files[0], "--id", "client", "--label", "late", "--out", str(tmp_path / "run")]
    assert cli(*train) == 1
    assert "--data names one party only, bank; expected two at least" in cli.err


def test_files_without_a_party_have_a_sentence_of_their_own(
    cli: CommandLine, files: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether they come after one --data or two, and for every verb: never taken for a plan."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    for words in (
        ["train", "--data", "bank.csv", "fund.csv"],
        ["audit", "--data", "bank.csv", "--data", "fund.csv"],
        ["predict", "run", "--data", "bank.csv", "fund.csv"],
    ):
        assert cli(*words, "--id", "client") == 2
        assert "bank.csv, fund.csv: whose table is it? files with data are given as PARTY" in cli.err
