"""A disk that is really full: every start stops cleanly, and once there is room the run ends as it should."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from plumbob import party
from plumbob.errors import ROOM_ADVICE, JournalError
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for, trained

PAGE = 4096
FIRST_PAGES = 3
CAN_MOUNT = os.geteuid() == 0 and shutil.which("mount") is not None


class Disk(Protocol):
    """A disk with room for this many pages and no more."""

    def grow(self, pages: int) -> None: ...

    @property
    def circumstances(self) -> dict[str, object]: ...


class SmallDisk:
    """A file system in memory that holds the runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.circumstances: dict[str, object] = {}

    def grow(self, pages: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={pages * PAGE}", self._folder], check=True)


class FileLimit:
    """No file may become longer: what a disk quota looks like to a process."""

    def __init__(self) -> None:
        self.circumstances: dict[str, object] = {}

    def grow(self, pages: int) -> None:
        self.circumstances = {"largest_file": pages * PAGE}


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mounted there until the block ends."""
    folder.mkdir(mode=0o700)
    options = f"size={FIRST_PAGES * PAGE},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def stop_and_go_on(disk: Disk, organisations: Organisations, pages_more: int) -> list[str]:
    """Start one party until its run is over, with a little more room each time; what it complained of."""
    # The one that dials: it is connected as soon as it is there.
    other = organisations.train("label")
    complaints = []
    for pages in range(FIRST_PAGES, 40_000, pages_more):
        disk.grow(pages)
        command = organisations.train("features", **disk.circumstances)
        code = command.wait()
        if code == 0:
            break
        assert code == 1, command.complained
        assert "Traceback" not in command.complained
        complaints.append(command.complained)
    assert other.wait() == 0, other.complained
    return complaints


def full_disk(folder: Path, pages_more: int, *, mounted: bool) -> list[str]:
    """A whole run; the weights are the simulation's at the end."""
    plan = Plan.for_columns((2, 3), epochs=2, open="own", test_share=0.0)
    rows = made_up(columns=plan.columns)
    organisations = Organisations(plan, tables_for(plan, *rows), folder)
    try:
        if mounted:
            with small_disk(organisations.home("features") / "runs") as disk:
                complaints = stop_and_go_on(disk, organisations, pages_more)
                organisations.assert_same(trained(plan, rows))
        else:
            complaints = stop_and_go_on(FileLimit(), organisations, pages_more)
            organisations.assert_same(trained(plan, rows))
    finally:
        organisations.close()
    return complaints


@pytest.mark.skipif(not CAN_MOUNT, reason="needs root to mount a small file system")
def test_a_full_disk(tmp_path: Path) -> None:
    """Started on a file system without room, it ends with 1 and says what to do; with more room it goes on."""
    complaints = full_disk(tmp_path, 300, mounted=True)
    assert len(complaints) > 1
    assert all(ROOM_ADVICE in complaint for complaint in complaints), complaints


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The same where the system refuses to write (EFBIG), which needs no rights to try."""
    complaints = full_disk(tmp_path, 60, mounted=False)
    assert len(complaints) > 1
    assert all(ROOM_ADVICE in complaint for complaint in complaints), complaints


def test_a_journal_that_could_not_be_made(tmp_path: Path) -> None:
    """Wherever the room ends while a journal is made, the next start with more room makes it after all."""
    file, refused, identity = tmp_path / "journal.db", 0, ""
    for limit in range(0, 1 << 20, 1024):
        with files_up_to(limit), suppress(JournalError), closing(SqliteJournal(file)) as journal:
            identity = journal.identity()
        if identity:
            break
        refused += 1
    assert refused > 20
    with closing(SqliteJournal(file)) as journal:
        assert journal.identity() == identity


def test_a_party_that_could_not_be_set_up(tmp_path: Path) -> None:
    """Wherever the room ends while a party is set up, typing the same again with more room sets it up after all."""
    refused = 0
    for limit in range(0, 1 << 14, 64):
        with files_up_to(limit), suppress(OSError):
            party.init(tmp_path / "bank", "bank")
            break
        refused += 1
        assert not list((tmp_path / "bank").glob("*.*")), "half an identity refuses the next one"
    assert refused > 20
    assert party.invite(tmp_path / "bank")["name"] == "bank"


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file of this process may become longer."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mounted", [pytest.param(True, marks=pytest.mark.skipif(not CAN_MOUNT, reason="root")), False])
def test_a_disk_that_is_full_again_at_every_write(mounted: bool, tmp_path: Path) -> None:
    """With a few pages more at each start, hardly a commit of the journal is not once the one that finds no room."""
    # One file needs less room than all of them.
    assert len(full_disk(tmp_path, 4 if mounted else 1, mounted=mounted)) > 20
