"""The tutorial is run as it is written: every command of its page, each side's in a folder of its own."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from plumbob.lab import datasets
from plumbob.model import metrics
from tests.command_line import call
from tests.docs.sides import play

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS.parent / "examples" / "two-machines" / "README.md"
SIDES = ("bank", "processor")


def loans_at(folder: Path) -> None:
    """Each side has its table in its folder."""
    for side, table in datasets.write_tables("loans", folder).items():
        (folder / side).mkdir()
        table.rename(folder / side / table.name)


@pytest.mark.timeout(600)
def test_release_after_replay_from_end_to_end(tmp_path: Path) -> None:
    """The page is run as written; no score is computed before the auditor's statement is kept, and then useful ones."""
    loans_at(tmp_path)
    bank = play(DOCS / "two-organisations.md", tmp_path, SIDES, ["auditor"])["bank"]
    assert not (bank.folder / "scores.csv").exists()
    scores = read_scores(bank.folder / "held-out.csv")
    assert len(scores) == 800
    assert metrics.quality(*labelled(bank.folder / "bank.csv", scores)).auc > 0.7


@pytest.mark.timeout(600)
def test_three_organisations_with_auditors(tmp_path: Path) -> None:
    """The page is run as written, by six sides; every auditor finds its party honest."""
    loans_at(tmp_path)
    (tmp_path / "shop").mkdir()
    auditors = ("ada", "ben", "cleo")
    sides = play(DOCS / "three-organisations.md", tmp_path, (*SIDES, "shop"), auditors)
    for name in auditors:
        statement = json.loads((sides[name].folder / "statement.json").read_text(encoding="utf-8"))["statement"]
        assert statement["honest"]
        assert statement["settled"]


@pytest.mark.timeout(600)
def test_the_tutorial_from_end_to_end(tmp_path: Path) -> None:
    """Both sides see what the page shows and end with a part, a receipt and a page, and the bank with useful scores."""
    loans_at(tmp_path)
    play(PAGE, tmp_path, SIDES)
    scores = read_scores(tmp_path / "bank" / "scores.csv")
    assert len(scores) == 4000
    with (tmp_path / "bank" / "scores.csv").open(encoding="utf-8") as lines:
        assert [row["held_out"] for row in csv.DictReader(lines)].count("yes") == 800
    # Ids with what is predicted of them.
    assert (tmp_path / "bank" / "scores.csv").stat().st_mode & 0o077 == 0
    assert metrics.quality(*labelled(tmp_path / "bank" / "bank.csv", scores)).auc > 0.7
    # Scores that are opened from shares are rounded up or down.
    assert read_scores(tmp_path / "bank" / "one.csv") == {"24": pytest.approx(scores["24"], abs=2.0**-14)}
    for side in SIDES:
        [run] = (tmp_path / side / "party" / "runs").iterdir()
        assert (run / "parties" / side / "part.json").exists()
        assert not (run / "parties" / SIDES[1 - SIDES.index(side)]).exists()
        assert call("report", str(run)) == 0
        page = (run / "report.html").read_text(encoding="utf-8")
        assert "If someone cheats" in page
        # The ends of its columns are for itself: run.json may be sent to the peer.
        assert f"Columns of {side}" in page
        assert '"inputs": []' in (run / "run.json").read_text(encoding="utf-8")


def read_scores(file: Path) -> dict[str, float]:
    """The scores by customer."""
    with file.open(encoding="utf-8") as lines:
        return {row["id"]: float(row["score"]) for row in csv.DictReader(lines)}


def labelled(table: Path, scores: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores in one order."""
    with table.open(encoding="utf-8") as lines:
        defaults = {row["id"]: float(row["default"]) for row in csv.DictReader(lines)}
    return np.array([defaults[customer] for customer in scores]), np.array(list(scores.values()))
