"""A run's folder: where its files lie, whose they are, and what becomes of an earlier run."""

import os
import stat
from pathlib import Path

import pytest

from plumbob.errors import DataError
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FINISHED
from plumbob.run_folder import RunFolder
from tests.protocol.support import plan_for

PLAN = plan_for((2, 3), protocol="exchange")


def finished_run(path: Path) -> RunFolder:
    """A finished run that left as little as possible."""
    folder = RunFolder(path)
    folder.keep(unfinished_record(PLAN, 40, FINISHED))
    folder.keep_pages("<html>", "<html>")
    folder.make_party_folder("label")
    folder.part_file("label").write_text("{}")
    return folder


def test_the_plan_comes_back_as_it_was(tmp_path: Path) -> None:
    """The record, the file beside it and the plan in memory say the same."""
    folder = finished_run(tmp_path)
    assert folder.plan() == PLAN
    assert folder.plan_file.read_text() == folder.record().plan == PLAN.to_toml()


def test_a_partys_own_files_are_its_owners_alone(tmp_path: Path) -> None:
    """A part and a transcript hold what nobody else may read."""
    folder = finished_run(tmp_path)
    assert stat.S_IMODE(folder.party_folder("label").stat().st_mode) == 0o700


def test_a_finished_run_is_set_aside_and_only_its_own_files(tmp_path: Path) -> None:
    """The next run finds the place free, and what somebody else put there is where it was."""
    folder = finished_run(tmp_path)
    (tmp_path / "notes.txt").touch()
    folder.set_finished_run_aside()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["earlier-run", "notes.txt"]
    assert folder.earlier.is_finished()
    assert folder.earlier.part_file("label").exists()
    folder.earlier.remove_run()
    assert not folder.earlier.path.exists()


def test_an_unfinished_run_is_not_set_aside(tmp_path: Path) -> None:
    """It makes room for the next one; only its pages go, which would speak of another run."""
    folder = RunFolder(tmp_path)
    folder.keep(unfinished_record(PLAN, 40, "failed"))
    folder.keep_pages("<html>", "<html>")
    folder.set_finished_run_aside()
    assert not folder.earlier.path.exists()
    assert folder.record().status == "failed"
    assert not folder.report_file.exists()
    assert not folder.summary_file.exists()


def test_everything_a_run_left_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder's own name, and each file with the folder that names it."""
    (tmp_path / "run").mkdir()
    folder = finished_run(tmp_path / "run")
    settled: set[Path] = set()
    monkeypatch.setattr(os, "fsync", lambda handle: settled.add(Path(os.readlink(f"/proc/self/fd/{handle}"))))
    folder.settle()
    assert settled == {tmp_path, folder.path, *folder.path.rglob("*")}


def test_a_record_whose_plan_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A record with an unreadable plan is refused at once, not by whoever first looks at the plan."""
    folder = finished_run(tmp_path)
    text = folder.record_file.read_text()
    folder.record_file.write_text(text.replace("[parties]", "[partys]"))
    with pytest.raises(DataError, match="a part of the run record is not as in format"):
        folder.record()
