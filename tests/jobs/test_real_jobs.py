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


@pytest.mark.skipif(folder() is None, reason="no real job files here: set PLUMBOB_JOBS to a folder with some")
def test_every_file_is_read_or_named() -> None:
    """No file ends in anything but a job or our own error, and no arbiter that is a party passes."""
    files = [path for path in sorted((folder() or Path()).rglob("*")) if path.is_file()]
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
