"""Raw files on the command line: a plan from tables, test files, a split by time, columns by name."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import CommandLine

ROWS = 300


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A bank's and a fund's rows, with gaps, text, a date, a constant and a name."""
    generator = np.random.default_rng(2)
    bank, fund = ["client,opened,income,name,late"], ["client,debt,town,same"]
    for row in range(ROWS):
        risk = generator.normal()
        income = "" if row % 11 == 0 else f"{40 - 9 * risk:.1f}"
        late = "yes" if risk + generator.normal() > 1 else "no"
        bank.append(f"c{row},{2001 + row // 12}-{row % 12 + 1:02d}-01,{income},n{row}x,{late}")
        fund.append(f"c{row},{risk * 100 + generator.normal():.0f},{('Bonn', 'Kiel')[row % 2]},7")
    for name, lines in {"bank": bank, "fund": fund}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return [f"bank={tmp_path / 'bank.csv'}", f"fund={tmp_path / 'fund.csv'}"]


def trained(cli: CommandLine, files: list[str], *words: str) -> Any:
    """A run from files alone."""
    common = ["--id", "client", "--label", "late", "--protocol", "clear", "--accept-leaks"]
    common += ["--epochs", "3", "--batch-size", "50"]
    out = str(Path(files[0].partition("=")[2]).parent / "run")
    return cli.answer("train", "--data", *files, *common, "--out", out, *words)


def test_train_drafts_a_plan_from_files(cli: CommandLine, files: list[str]) -> None:
    """Nobody counts columns: the label's holder comes first, a fifth of the rows is held out, and bins fit the rest."""
    result = trained(cli, files, "--drop", "name")
    assert 'bank = { role = "label", features = 11 }' in result["plan"]
    assert 'fund = { role = "features", features = 6 }' in result["plan"]
    assert "\nbins = 5 " in result["plan"]
    assert result["remarks"][0].startswith("Drafted for 240 training rows, 3 numeric columns and 3 levels")
    assert result["test_rows"] == 60
    assert not any("fewer than" in remark for remark in result["remarks"])
    bank = Path(files[0].partition("=")[2])
    head, *lines = bank.read_text().replace(",yes", ",no").splitlines()
    bank.write_text("\n".join([head, *(line[:-2] + "yes" for line in lines[:20]), *lines[20:]]) + "\n")
    rare = trained(cli, files, "--drop", "name", "--new")
    few = "about 16 training rows of the rarer class for 17 encoded columns are fewer than 2 for each"
    assert any(few in remark for remark in rare["remarks"])


def test_peers_whose_columns_add_nothing(cli: CommandLine, files: list[str]) -> None:
    """A joint model that is not better than the label party's own is called that, and what to try is named."""
    generator = np.random.default_rng(3)
    noise = [",".join([f"c{row}", *(f"{cell:.3f}" for cell in generator.normal(size=8))]) for row in range(ROWS)]
    Path(files[1].partition("=")[2]).write_text("\n".join(["client,a,b,c,d,e,f,g,h", *noise]) + "\n")
    *_, said = trained(cli, files, "--drop", "name", "--set", "seed=1")["remarks"]
    assert said.startswith("the joint model is not better than local-only (AUC ")
    assert said.endswith("try more rows, fewer columns (--drop), or a larger --l2")
    words = ["--id", "client", "--label", "late", "--drop", "name", "--protocol", "clear", "--set", "seed=1"]
    words += ["--noise", "rows", "--epsilon", "0.1", "--out", str(Path(files[0].partition("=")[2]).parent / "noisy")]
    *_, said = cli.answer("train", "--data", *files, *words)["remarks"]
    assert said.endswith("the plan's may hide what the peers' columns add; try more rows, or a larger --epsilon")


def test_rows_without_a_label_are_left_out(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """They are counted, also where nothing else is printed."""
    file = tmp_path / "bank.csv"
    lines = file.read_text().splitlines()
    blank = [line.rpartition(",")[0] + "," for line in lines[1:4]]
    file.write_text("\n".join([lines[0], *blank, *lines[4:]]) + "\n")
    words = ["--id", "client", "--label", "late", "--protocol", "clear", "--accept-leaks", "--drop", "name"]
    words += ["--out", str(tmp_path / "run"), "--json"]
    assert cli("train", "--data", *files, *words) == 0
    printed = cli.read()
    assert "bank: 3 rows have no label and are left out" in printed.err
    result = json.loads(printed.out)
    assert result["rows"] + result["test_rows"] == ROWS - 3
    # What `party init` shows, and how plain columns would do.
    assert "distinct" in printed.err
    assert any("Plain columns with scikit-learn's C = 1, pooled" in line for line in result["remarks"])


def test_a_test_file_of_ones_own(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """The model is judged on its rows, and all others are trained on."""
    tests = []
    for word in files:
        party, _, file = word.partition("=")
        lines = Path(file).read_text().splitlines()
        (tmp_path / f"test-{party}.csv").write_text("\n".join([lines[0], *lines[101:171]]) + "\n")
        tests += ["--test", f"{party}={tmp_path / f'test-{party}.csv'}"]
    result = trained(cli, files, "--drop", "name", *tests)
    assert (result["rows"], result["test_rows"]) == (ROWS, 70)
    assert set(result["quality"]) == {"test part"}


def test_scores_say_which_rows_were_held_out(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """The scores' file says yes for a row held out, no for one trained on, and nothing for new rows."""
    trained(cli, files, "--drop", "name")
    with_new_row = []
    for word in files:
        party, _, file = word.partition("=")
        lines = Path(file).read_text().splitlines()
        (tmp_path / f"new-{party}.csv").write_text("\n".join([*lines, "new" + lines[1][lines[1].index(",") :]]) + "\n")
        with_new_row.append(f"{party}={tmp_path / f'new-{party}.csv'}")
    run, out = str(tmp_path / "run"), tmp_path / "scores.csv"
    cli.answer("predict", run, "--data", *with_new_row, "--id", "client", "--out", str(out))
    with out.open(newline="") as lines_of_scores:
        said = {row["id"]: row["held_out"] for row in csv.DictReader(lines_of_scores)}
    assert said.pop("new") == ""
    assert sorted(said.values()) == ["no"] * 240 + ["yes"] * 60
    rows_file = tmp_path / "run" / "parties" / "bank" / "rows.csv"
    assert rows_file.stat().st_mode & 0o777 == 0o600
    rows_file.write_text("id,held_out\nsomebody,perhaps\n")
    assert cli("predict", run, "--data", *files, "--id", "client", "--out", str(out)) == 1


def test_a_class_is_predicted_above_one_half(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """The file has the probability of each row, so that everybody can choose another threshold."""
    trained(cli, files, "--drop", "name")
    out = tmp_path / "scores.csv"
    cli.answer("predict", str(tmp_path / "run"), "--data", *files, "--id", "client", "--out", str(out))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == ROWS
    assert all((float(row["probability of yes"]) > 0.5) == (row["predicted"] == "yes") for row in rows)


def test_rows_as_they_come(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """A level that training never saw is counted, strict mode refuses it, and a row of one party alone is counted."""
    trained(cli, files, "--drop", "name")
    (tmp_path / "new.csv").write_text("client,debt,town,same\nc1,5,s3cret,7\nc2,,Bonn,7\nother,1,Bonn,7\n")
    words = ["predict", str(tmp_path / "run"), "--data", files[0], f"fund={tmp_path / 'new.csv'}", "--id", "client"]
    words += ["--out", str(tmp_path / "scores.csv")]
    assert cli.answer(*words)["unseen"] == {"fund": {"debt": 1, "town": 1}}
    assert cli(*words) == 0
    printed = cli.out
    assert "2 rows in common (bank 300, fund 3)" in printed
    assert "'town' (1)" in printed
    assert cli(*words, "--strict") == 1
    assert "s3cret" not in printed + cli.err


def test_ids_that_are_named_differently(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """Each party's id column may be named; training and prediction take the same flags."""
    file = tmp_path / "fund.csv"
    file.write_text(file.read_text().replace("client", "customer_no"))
    ids = ["--id", "bank=client", "--id", "fund=customer_no"]
    words = [*ids, "--label", "late", "--drop", "name", "--batch-size", "32", "--out", str(tmp_path / "run")]
    cli.answer("train", "--data", *files, *words, "--protocol", "clear", "--accept-leaks")
    scores = ["--out", str(tmp_path / "scores.csv")]
    assert cli.answer("predict", str(tmp_path / "run"), "--data", *files, *ids, *scores)["rows"] == ROWS


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["bank=client"], "no id column for fund; add --id fund=COLUMN"),
        (["bank=client", "find=client"], "--id find=client: no party 'find' has a file here, only bank, fund"),
        (["bank=client", "bank=late"], "--id bank=late: a second id column for bank; expected one"),
        (["client", "fund=client"], "--id client: expected one COLUMN for all files, or PARTY=COLUMN for each party"),
        (["bank=client", "fund="], "--id fund=: expected one COLUMN for all files, or PARTY=COLUMN for each party"),
    ],
)
def test_id_columns_that_do_not_fit_the_parties(
    cli: CommandLine, files: list[str], tmp_path: Path, ids: list[str], message: str
) -> None:
    """The refusal names the party that is meant, and what to type."""
    words = [word for name in ids for word in ("--id", name)]
    out = str(tmp_path / "run")
    assert cli("train", "--data", *files, *words, "--label", "late", "--out", out) == 1
    assert message in cli.err


def test_rare_levels_as_they_come(cli: CommandLine, files: list[str], tmp_path: Path) -> None:
    """Where training grouped rare levels, the training rows pass strict mode, and the rare ones are counted as rare."""
    file = tmp_path / "fund.csv"
    file.write_text(file.read_text().replace("Kiel", "Ulm", 2))
    trained(cli, files, "--drop", "name")
    words = ["predict", str(tmp_path / "run"), "--data", *files, "--id", "client", "--strict"]
    words += ["--out", str(tmp_path / "scores.csv")]
    assert cli(*words) == 0
    printed = cli.out
    assert "never saw" not in printed
    assert "fund: levels outside those that training kept, counted as rare as in training: 'town' (2 rows, 2" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drop", "towm"], "no column 'towm' in any party's file; did you mean \"town\""),
        (["--category", "towm"], "no column 'towm' in any party's file; did you mean \"town\""),
        (["--positive", "maybe"], "expected one of the label's two classes"),
    ],
)
def test_wrong_flags_are_explained(cli: CommandLine, files: list[str], words: list[str], message: str) -> None:
    """Each says what was expected."""
    common = ("--id", "client", "--label", "late", "--protocol", "clear", "--accept-leaks")
    assert cli("train", "--data", *files, *common, *words) == 1
    assert message in cli.err


def test_repeated_runs_on_the_same_rows_are_counted(cli: CommandLine, files: list[str]) -> None:
    """A simulation with noise for whole rows keeps a ledger in its folder and says what all its runs have spent."""
    words = ["--protocol", "shares", "--noise", "rows", "--epochs", "1", "--drop", "name,opened"]
    common = ["train", "--data", *files, "--id", "client", "--label", "late", "--accept-leaks"]
    out = str(Path(files[0].partition("=")[2]).parent / "run")
    spent = []
    for _ in range(2):
        result = cli.answer(*common, *words, "--out", out, "--new")
        (note,) = [note for note in result["notes"] if "rows have spent epsilon" in note]
        spent.append(float(note.partition("epsilon ")[2].split()[0]))
    assert spent[0] == pytest.approx(1.0, abs=0.01)
    assert 1.3 < spent[1] < 2.0
