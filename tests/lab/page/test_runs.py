"""Runs in a lab's folder: listed, described, and reached by their names alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from plumbob.errors import DataError
from plumbob.lab.page.runs import OPENED, Runs, worst
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding
from plumbob.run_folder import RunFolder


def finding(verdict: str, advantage: float | None, target: str = "labels") -> Finding:
    """A finding with this outcome."""
    return Finding("label-sign", "fund", "bank", target, verdict, "", "", "", advantage=advantage)


def kept(folder: Path, status: str = "finished") -> Path:
    """A run's folder with a record."""
    folder.mkdir(parents=True)
    record = unfinished_record(Plan.for_columns((8, 22), title="T", epochs=3, protocol="exchange"), 455, status)
    RunFolder(folder).save_record(
        replace(record, findings=[finding("leaks", 0.9)], quality={"test part": {"joint": {"auc": 0.9}}})
    )
    return folder


def test_runs_are_numbered(tmp_path: Path) -> None:
    """A new run's number follows the largest, also where some were removed; other folders do not count."""
    runs = Runs(tmp_path / "lab-runs")
    assert runs.names() == []
    assert runs.next("exchange") == ("001-exchange", tmp_path / "lab-runs" / "001-exchange")
    kept(tmp_path / "lab-runs" / "007-shares")
    (tmp_path / "lab-runs" / "999-..").mkdir()
    assert runs.names() == ["007-shares"]
    assert runs.next("clear")[0] == "008-clear"


def test_a_run_is_described_by_its_record(tmp_path: Path) -> None:
    """Quality, the worst that was found, and its plan as the controls want it."""
    kept(tmp_path / "001-exchange")
    (run,) = Runs(tmp_path).listed()
    assert (run["auc"], run["title"], run["is_finished"], run["has_report"]) == (0.9, "T", True, False)
    assert run["labels"] == {"verdict": "leaks", "attack": "label-sign", "advantage": 0.9}
    assert run["values"] is None
    assert run["plan"]["data"] == "breast-cancer"
    assert run["plan"]["keys"]["epochs"] == 3


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """A folder without a record, or with half of one, does not stop the others from being shown."""
    kept(tmp_path / "001-exchange")
    (tmp_path / "002-exchange").mkdir()
    (tmp_path / "003-exchange").mkdir()
    (tmp_path / "003-exchange" / "run.json").write_text("{")
    assert [run["name"] for run in Runs(tmp_path).listed()] == ["001-exchange"]


def test_only_names_in_the_list_lead_anywhere(tmp_path: Path) -> None:
    """The opened run has a name of its own; nothing else outside has one."""
    elsewhere = kept(tmp_path / "elsewhere")
    runs = Runs(tmp_path / "lab-runs", elsewhere)
    assert runs.path(OPENED) == elsewhere
    for name in ("..", "../elsewhere", str(elsewhere), "elsewhere", ""):
        with pytest.raises(DataError, match="no such run"):
            runs.path(name)
    with pytest.raises(DataError, match="no report"):
        runs.report(OPENED)


def test_the_worst_is_shown() -> None:
    """The worst verdict beside the furthest that any attack got, which is never less than nothing."""
    found = worst([finding("degrades", -0.2), finding("leaks", 0.4), finding("blocked", None)], "labels")
    assert found == {"verdict": "leaks", "attack": "label-sign", "advantage": 0.4}
    assert worst([finding("blocked", -0.2)], "labels") == {
        "verdict": "blocked",
        "attack": "label-sign",
        "advantage": 0.0,
    }
    assert worst([finding("leaks", 0.4)], "features", "scores") is None
