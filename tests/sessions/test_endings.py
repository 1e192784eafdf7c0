"""The end of a run: what a loss of power takes, and what is kept for a peer that did not come to its own end."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from plumbob import party
from plumbob.errors import DataError, JournalError
from plumbob.party.session import Peers
from plumbob.plan import Plan
from plumbob.protocol.account import LAST
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import Kind
from plumbob.run_folder import JOURNAL, RunFolder
from tests.party.verbs import Organisations
from tests.world import PATIENCE, SESSIONS, Ends, EventJournal, Killed, World, failure, message_in, simulated


class WriteCache:
    """Knows what is on the disk and what is only on its way there."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._fsync = os.fsync
        self._when: dict[int, int] = {}
        patch.setattr(os, "fsync", self._written)

    def _written(self, handle: int) -> None:
        self._fsync(handle)
        self._when[os.fstat(handle).st_ino] = time.time_ns()

    def lose(self, folder: Path) -> None:
        """What a loss of power may do: a file that was not written out is empty, what is in such a folder is gone."""
        if self._when.get(folder.parent.stat().st_ino, 0) < folder.parent.stat().st_mtime_ns:
            shutil.rmtree(folder)
            return
        for file in [path for path in folder.rglob("*") if path.is_file() and "journal" not in path.name]:
            found, place = file.stat(), file.parent.stat()
            if self._when.get(place.st_ino, 0) < found.st_ctime_ns:
                file.unlink()
            elif self._when.get(found.st_ino, 0) < found.st_mtime_ns:
                file.write_bytes(b"")


@dataclass
class PowerLoss:
    """Strikes one party, once, before or after one of the last writes of its journal."""

    victim: str
    moment: str
    lose: Callable[[], None]
    has_struck: bool = field(default=False)

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Hear of these writes."""
        note, forget = EventJournal.note, EventJournal.forget

        def on_note(journal: EventJournal, name: str, value: bytes) -> None:
            self._at(journal, f"before {name}")
            note(journal, name, value)
            self._at(journal, f"after {name}")

        def on_forget(journal: EventJournal) -> None:
            self._at(journal, "before forget")
            forget(journal)
            self._at(journal, "after forget")

        patch.setattr(EventJournal, "note", on_note)
        patch.setattr(EventJournal, "forget", on_forget)

    def _at(self, journal: EventJournal, moment: str) -> None:
        if (journal._name, moment) == (self.victim, self.moment) and not self.has_struck:
            self.has_struck = True
            self.lose()
            raise Killed


@pytest.mark.parametrize("moment", ["before over", "after over", "after parted", "before forget", "after forget"])
@pytest.mark.parametrize("name", ["training of two", "training of two, opened"])
def test_a_loss_of_power_at_the_end_loses_nothing(
    name: str, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are on the disk before the journal says that it is over, and long before it forgets."""
    session, cache = SESSIONS[name], WriteCache(monkeypatch)
    loss = PowerLoss("label", moment, lambda: cache.lose(tmp_path / "label"))
    loss.watch(monkeypatch)
    ends = World(session, tmp_path).run().honest()
    assert loss.has_struck
    assert_recorded(ends)
    assert ends.outcome() == simulated(session)


def test_what_had_not_left_before_the_end_leaves_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that died with its last signature unsent calculates nothing again, and yet sends the same signature."""
    session = SESSIONS["training of two"]
    loss = PowerLoss("label", "after over", lambda: None)
    loss.watch(monkeypatch)
    withheld: list[bytes] = []
    late: list[bytes] = []

    def hold_back(sender: str, receiver: str, frame: bytes) -> list[bytes]:
        message = message_in(frame)
        is_last = message is not None and (message.kind, message.step) == (Kind.SEAL, LAST)
        if sender == "label" and not loss.has_struck and (withheld or is_last):
            withheld.append(frame)
            return []
        if sender == "label" and is_last:
            late.append(frame)
        return [frame]

    ends = World(session, tmp_path, on_frame=hold_back).run().honest()
    # After its restart. Whether its link had taken the signature to the wire before, or not yet, is chance.
    assert late
    assert ends.outcome() == simulated(session)


def assert_recorded(ends: Ends) -> None:
    """The label party's folder says how the run ended, and by which plan."""
    folder = RunFolder(ends.folder / "label")
    assert folder.record().is_finished
    assert Plan.load(folder.plan_file) == ends.session.agreed


def test_secrets_kept_for_a_peer_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three, one dies at its very end: the others' status says what is kept, for whom, and how to give it up."""
    session = SESSIONS["training of three"]
    organisations = Organisations(session.plan, session.tables, tmp_path)
    monkeypatch.setattr(Peers.leave, "__defaults__", (0.5,))
    loss = PowerLoss("features-2", "before over", lambda: None)
    loss.watch(monkeypatch)
    for name in session.names:
        (organisations.home(name) / "runs").mkdir(mode=0o700)
        organisations.run_folder(name).mkdir(mode=0o700)
    world = World(session, tmp_path / "world")

    def start(name: str) -> "Future[Any]":
        return world.start(name, lingering=0.5, folder=organisations.run_folder(name))

    futures = {name: start(name) for name in session.names}
    assert isinstance(failure(futures.pop("features-2")), Killed)
    assert all(future.result(PATIENCE).is_finished for future in futures.values())
    home, run = organisations.home("label"), session.plan.hash()[:12]
    before = only_run(home)
    assert (before["finished"], before["keeps_secrets"]) == (True, True)
    assert "because features-2 has not said that it has everything" in before["status"]
    assert before["status"].endswith(f"plumbob party forget {run}")
    results = organisations.run_folder("label") / "parties" / "label" / "part.json"
    part = results.read_bytes()
    party.forget(home, run)
    after = only_run(home)
    assert (after["status"].split(";")[0], after["keeps_secrets"]) == ("finished", False)
    # Nobody is waited for, and the results are as they were.
    assert start("label").result(PATIENCE).is_finished
    # What has nothing to forget, an emptied journal or none at all, is left alone whatever is said.
    party.forget(home, run, give_up=True)
    organisations.journal("label").unlink()
    party.forget(home, run, give_up=True)
    assert only_run(home)["status"] == after["status"]
    assert results.read_bytes() == part
    give_up_unfinished(organisations.home("features-2"), organisations.run_folder("features-2"))


def only_run(home: Path) -> dict[str, Any]:
    """What `party status` says of it."""
    runs: Any = party.status(home)["runs"]
    assert len(runs) == 1
    found: dict[str, Any] = runs[0]
    return found


def give_up_unfinished(home: Path, place: Path) -> None:
    """A run that is not over goes only if that is said, never while a process is at work, and then as a whole."""
    assert str(only_run(home)["status"]).endswith(f"plumbob party forget {place.name} --give-up")
    with pytest.raises(DataError, match="has not finished; add --give-up"):
        party.forget(home, place.name)
    with pytest.raises(DataError, match="no run of this party has that name"):
        party.forget(home, "../runs", give_up=True)
    with (
        closing(SqliteJournal(place / JOURNAL)),
        pytest.raises(JournalError, match="another process is using this run"),
    ):
        party.forget(home, place.name, give_up=True)
    assert (place / JOURNAL).exists()
    # Another name of the same file shows what is left where it stood.
    left = home / "left"
    left.hardlink_to(place / JOURNAL)
    with closing(sqlite3.connect(left)) as database:
        links = [data for (data,) in database.execute("SELECT value FROM facts WHERE name IN ('leaf', 'link')")]
    assert links
    party.forget(home, place.name, give_up=True)
    assert not place.exists()
    assert not any(data in left.read_bytes() for data in links)
