"""Real files of other people, where they are at hand: every one is read, or refused with its kind."""

import os
from pathlib import Path

import pytest

from plumbob.errors import PlanError
from plumbob.jobs import judge, plan_to_check, read_job


def folder() -> Path | None:
    """Named by PLUMBOB_JOBS, or beside the data that PLUMBOB_DATA names."""
    named = os.environ.get("PLUMBOB_JOBS")
    data = os.environ.get("PLUMBOB_DATA")
    path = Path(named) if named else Path(data).parent / "real-jobs" if data else None
    return path if path is not None and path.is_dir() else None


@pytest.fixture(name="files")
def real_files() -> list[Path]:
    """All of them; skips where there are none."""
    root = folder()
    if root is None:
        pytest.skip("no real job files here: set PLUMBOB_JOBS to a folder with some")
    return [path for path in sorted(root.rglob("*")) if path.is_file()]


def test_every_file_is_read_or_named(files: list[Path]) -> None:
    """No file ends in anything but a job or our own error, and no arbiter that is a party passes."""
    read = 0
    for path in files:
        try:
            job = read_job(path, "SecretFlow" if "secret" in str(path) else "FATE")
        except PlanError:
            continue
        read += 1
        plan, job = plan_to_check(job, {})
        is_party = set(job.parties.arbiter) & {*job.parties.label, *job.parties.features}
        assert not is_party or any(one.verdict == "leaks" for one in judge(job, plan)), path.name
    assert read
