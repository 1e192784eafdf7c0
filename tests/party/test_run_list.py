"""`plumbob runs`: every run with its date, title and verdict; those that never started can be deleted."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from plumbob.checking.filing import with_predictions
from plumbob.cli import app
from plumbob.commands import runs
from plumbob.errors import DataError
from plumbob.party.run_list import runs_in, verdict_of
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.protocol.row_noise import spending_of_a_run
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import FINISHED, PartyRecord
from plumbob.run_folder import JOURNAL, RunFolder

PLAN = Plan.for_columns((11, 12), title="Default within 12 months", rows=1000)
LEAKING = PLAN.replace(protocol="exchange", batch_size=8)
AUDITED = PLAN.replace(
    noise="rows",
    epsilon=4.0,
    delta=1e-6,
    evidence="keep",
    days=30,
    auditors={party.name: "a" * 64 for party in PLAN.parties},
)


def put(folder: Path, plan: Plan = PLAN, status: str = FINISHED, date: float = 1e9) -> Path:
    """A run of this plan that ended so, with what its plan says."""
    folder.mkdir(parents=True)
    RunFolder(folder).keep(with_predictions(unfinished_record(plan, 1000, status)))
    os.utime(folder / "run.json", (date, date))
    return folder


def party_run(folder: Path, *facts: str) -> Path:
    """A party's run without a record; the facts say whom it met."""
    folder.mkdir(parents=True)
    RunFolder(folder).plan_file.write_text(PLAN.to_toml())
    journal = SqliteJournal(folder / JOURNAL)
    journal.identity()
    for fact in facts:
        journal.note(fact, b"ab")
    journal.close()
    return folder


def lines_of(result: dict[str, Any]) -> str:
    """The printed lines."""
    return "\n".join(result["lines"])


def test_runs_are_listed_by_date_with_title_and_verdict(tmp_path: Path) -> None:
    """Runs of parties and of simulations are listed, wherever below the folder they are."""
    put(tmp_path / "run", LEAKING, date=2e9)
    put(tmp_path / "party" / "runs" / "abc", date=1e9)
    put(tmp_path / "party" / "runs" / "def", AUDITED, date=1.5e9)
    result = runs.run([tmp_path], deletes_unstarted=False)
    listed: Any = result["runs"]
    assert [run["run"] for run in listed] == ["abc", "def", "run"]
    assert {run["title"] for run in listed} == {"Default within 12 months"}
    assert listed[0]["date"].startswith("2001-09-0")
    assert listed[0]["verdict"] == "leaks only if someone cheats (by the plan)"
    assert listed[1]["verdict"] == "nothing leaks (by the plan)"
    assert " leak (by the plan)" in listed[2]["verdict"]
    assert "Default within 12 months" in lines_of(result)


def test_what_rows_have_spent_is_added_up(tmp_path: Path) -> None:
    """Spendings are added up over runs with noise for whole rows that began, if there are several."""
    noisy = PLAN.replace(noise="rows", epsilon=1.0, delta=1e-6)
    put(tmp_path / "one", noisy)
    clear = {"sigmoid": "fourier", "scale": "whitened", "batches": "full"}
    put(tmp_path / "two", Plan.for_columns((11, 12), protocol="clear", noise="rows", **clear))
    assert "whole rows" not in lines_of(runs.run([tmp_path], deletes_unstarted=False))
    put(tmp_path / "three", noisy)
    said = lines_of(runs.run([tmp_path], deletes_unstarted=False))
    assert "2 of these runs promise something about whole rows" in said
    once = spending_of_a_run(noisy, 1000)
    twice = (once + once).epsilon(1e-6)
    assert f"all of them together cost epsilon {twice:.3g} at delta 1e-06" in said


def test_what_attacks_found_goes_before_what_the_plan_says() -> None:
    """A verdict says where it comes from."""
    record = with_predictions(unfinished_record(LEAKING, 1000, FINISHED))
    attacked = replace(record, findings=[finding for finding in record.predicted if finding.verdict != "leaks"])
    assert verdict_of(attacked) == "nothing leaks (attacked)"
    assert verdict_of(replace(record, predicted=[])) == ""


def test_only_runs_that_never_started_are_deleted(tmp_path: Path) -> None:
    """A peer may wait for one that it met, and a record is never deleted."""
    home = tmp_path / "party" / "runs"
    kept = [put(tmp_path / "run"), party_run(home / "met", "run/fund"), put(home / "finished")]
    kept += [put(tmp_path / "half", status="running")]
    gone = [party_run(home / "alone"), put(tmp_path / "stopped", status="interrupted before the first step")]
    (gone[1] / "notes.txt").write_text("mine")
    before = runs.run([tmp_path], deletes_unstarted=False)
    assert "2 never started; to delete: plumbob runs --delete-unstarted" in lines_of(before)
    assert before["deleted"] == []
    after: Any = runs.run([tmp_path], deletes_unstarted=True)
    assert sorted(after["deleted"]) == sorted(map(str, gone))
    assert {Path(run["folder"]) for run in after["runs"]} == set(kept)
    assert {run.folder for run in runs_in([tmp_path])} == set(kept)
    assert (gone[1] / "notes.txt").exists()
    assert not gone[0].exists()
    assert "nothing was deleted" in lines_of(runs.run([tmp_path], deletes_unstarted=True))


def test_a_record_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    """A record that cannot be read is listed as such, and never deleted."""
    put(tmp_path / "good")
    (put(tmp_path / "bad") / "run.json").write_text("{}")
    result: Any = runs.run([tmp_path], deletes_unstarted=True)
    assert {run["run"]: run["status"] for run in result["runs"]} == {
        "good": FINISHED,
        "bad": "its run.json cannot be read",
    }


def test_a_session_is_no_run(tmp_path: Path) -> None:
    """An alignment that was interrupted is listed by `party status`, not here."""
    party_run(tmp_path / "party" / "runs" / "align-abc")
    assert runs_in([tmp_path]) == []


def test_the_verb_looks_here_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb looks here without a folder, and says what to do where there is nothing, or no such folder."""
    monkeypatch.chdir(tmp_path)
    assert "no runs here" in CliRunner().invoke(app, ["runs"]).stdout
    put(tmp_path / "run")
    assert "Default within 12 months" in CliRunner().invoke(app, ["runs"]).stdout
    with pytest.raises(DataError, match="there is no such folder"):
        runs.run([tmp_path / "nowhere"], deletes_unstarted=False)


def test_a_run_that_two_parties_recorded_is_one_run(tmp_path: Path) -> None:
    """The peer's record is named below the first one; another seed is another run."""
    for place, seed in (("bank", "a1"), ("fund", "a1"), ("other", "b2")):
        record = with_predictions(unfinished_record(PLAN, 1000, FINISHED))
        side = PartyRecord(place, "features", [], None, 0.0, 0, 0, 0, {}, {})
        folder = tmp_path / place / "runs" / "abc"
        folder.mkdir(parents=True)
        RunFolder(folder).keep(replace(record, seed=seed, parties=[side]))
        os.utime(folder / "run.json", (1e9, 1e9))
    result = runs.run([tmp_path], deletes_unstarted=False)
    listed: Any = result["runs"]
    folders = [tmp_path / place / "runs" / "abc" for place in ("bank", "fund", "other")]
    assert [run["folder"] for run in listed] == [str(folders[0]), str(folders[2])]
    assert listed[0]["other_sides"] == [{"party": "fund", "folder": str(folders[1])}]
    assert f"  the same run at fund: {folders[1]}" in lines_of(result)
