"""A networked party: the same weights as in the simulation, however often it is killed."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.data import Table, batches
from plumbob.errors import DataError, JournalError
from plumbob.lab.exchange.party import GradientParty
from plumbob.net import Data
from plumbob.party import training
from plumbob.party.conversation import Conversation
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import Message
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import party_at
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import RunRecord
from plumbob.run_folder import JOURNAL, RunFolder
from tests.party.processes import root_of
from tests.party.support import Killed, Switchboard, keep_starting, part_numbers, run_parties
from tests.party.verbs import Organisations
from tests.protocol.support import Tables, made_up, plan_for, tables_for, trained, weights_of


def networked(
    plan: Plan,
    tables: Tables,
    folder: Path,
    journal_class: Callable[[Path, str], SqliteJournal],
    roots: Mapping[str, bytes] | None = None,
) -> dict[str, RunRecord]:
    """Every party of the plan, in a folder of its own."""
    board = Switchboard()
    starts = {
        party.name: partial(
            keep_starting,
            party.name,
            plan,
            tables.get(party.name),
            folder / party.name,
            board,
            journal_class,
            roots,
        )
        for party in plan.parties
    }
    return run_parties(starts)


def joint_weights(plan: Plan, folder: Path) -> Any:
    """The joint weights, from the parts that the parties saved."""
    parts = [ModelPart.load(folder / party.name / "parties" / party.name / "part.json") for party in plan.learners]
    return np.concatenate([part.weights for part in parts if part.weights is not None])


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("victim", ["label", "features"])
def test_killed_at_every_event(victim: str, stride: int, tmp_path: Path) -> None:
    """Whatever was about to happen at a party when it died, the run ends with the same weights."""
    plan = plan_for((2, 3), protocol="exchange", epochs=1, batch_size=20)
    X, y = made_up(columns=plan.columns)
    expected = weights_of(trained(plan, (X, y))).tobytes()
    kills = KillList()
    # The two start in different places, so that both together come closer to all of them.
    for number in range(stride // 2 if victim == "label" else 0, 200, stride):
        kills.arm(victim, number)
        folder = tmp_path / f"{number}"
        folder.mkdir()
        networked(plan, tables_for(plan, X, y), folder, kills.journal)
        assert joint_weights(plan, folder).tobytes() == expected
        if not kills.has_struck:
            break
    assert number > 12


class KillList:
    """Journals of which one party's dies at its n-th event, once."""

    def __init__(self) -> None:
        self.victim, self.left, self.has_struck = "", 0, False

    def arm(self, victim: str, number: int) -> None:
        self.victim, self.left, self.has_struck = victim, number, False

    def journal(self, path: Path, name: str) -> SqliteJournal:
        return MortalJournal(path, self if name == self.victim else None)

    def strike(self) -> None:
        if self.has_struck:
            return
        if self.left == 0:
            self.has_struck = True
            raise Killed
        self.left -= 1


class MortalJournal(SqliteJournal):
    """Dies before or after each thing it is asked to do."""

    def __init__(self, path: Path, kills: KillList | None) -> None:
        super().__init__(path)
        self._kills = kills

    def _strike(self) -> None:
        if self._kills is not None:
            self._kills.strike()

    def sending(self, peer: str, message: Message, digest: bytes) -> bool:
        self._strike()
        is_new = super().sending(peer, message, digest)
        self._strike()
        return is_new

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        self._strike()
        super().keep(peer, data, digest)
        self._strike()

    def finish(self, step: int, result: Any, state: Any) -> None:
        self._strike()
        super().finish(step, result, state)
        self._strike()


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        ((2, 3), {"protocol": "shares"}),
        ((2, 3), {"protocol": "shares", "open": "never"}),
        ((2, 3), {"protocol": "shares", "open": "never", "l2": 0.01, "class_weight": "balanced", "test_share": 0.2}),
        ((2, 3), {"protocol": "shares", "noise": "rows", "epsilon": 20.0}),
        ((2, 3), {"protocol": "exchange", "noise": "sound", "row_norm": 1.0, "epsilon": 4.0, "test_share": 0.2}),
        ((2, 2, 1), {"protocol": "exchange", "noise": "std", "noise_std": 0.5, "row_norm": 1.0}),
        ((2, 3), {"protocol": "arbiter", "noise": "std", "noise_std": 0.5, "row_norm": 1.0}),
        ((2, 3), {"protocol": "exchange", "label_flip_epsilon": 1.0}),
    ],
)
@pytest.mark.parametrize("killed_at", [(13, 21), pytest.param((None, 17, 24), marks=pytest.mark.soak)])
def test_what_is_drawn_is_drawn_once(
    split: tuple[int, ...], keys: dict[str, Any], killed_at: tuple[int | None, ...], tmp_path: Path
) -> None:
    """With the same source of randomness, shares and noise too end bit for bit as in the simulation, killed or not."""
    plan = plan_for(split, epochs=1, batch_size=20, **keys)
    X, y = made_up(columns=plan.columns)
    roots = {party.name: root_of(party.name) for party in plan.parties}
    run = trained(plan, (X, y), roots=roots)
    expected = {name: part_numbers(part) for name, part in run.model.parts.items()}
    for number in killed_at:
        kills = KillList()
        if number is not None:
            kills.arm("label", number)
        folder = tmp_path / f"{number}"
        folder.mkdir()
        records = networked(plan, tables_for(plan, X, y), folder, kills.journal, roots)
        assert kills.has_struck == (number is not None)
        for name, numbers in expected.items():
            assert part_numbers(ModelPart.load(folder / name / "parties" / name / "part.json")) == numbers
            own, simulated = records[name].parties[0], next(one for one in run.record.parties if one.name == name)
            # Counts, bytes and the hashes over every byte that passed.
            assert own == simulated


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.soak)])
def test_a_full_disk_stops_cleanly_and_the_run_goes_on(stride: int, tmp_path: Path) -> None:
    """Whichever write of the journal fails, the error says so, nothing is lost, and the next start ends the run."""
    plan = plan_for((2, 3), protocol="exchange", epochs=1, batch_size=20)
    X, y = made_up(columns=plan.columns)
    expected = weights_of(trained(plan, (X, y))).tobytes()
    for number in range(0, 200, stride):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        disk = Disk(number)
        networked(plan, tables_for(plan, X, y), folder, disk.journal)
        assert joint_weights(plan, folder).tobytes() == expected
        if not disk.errors:
            break
        assert "make room" in str(disk.errors[0])
    assert number > 20


class Disk:
    """Fails at the label party's n-th write to its journal, once."""

    def __init__(self, number: int) -> None:
        self.left, self.errors = number, list[JournalError]()

    def journal(self, path: Path, name: str) -> SqliteJournal:
        return FullDiskJournal(path, self) if name == "label" else SqliteJournal(path)


class FullDiskJournal(SqliteJournal):
    """Every statement and every commit may be the one for which there is no room."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._disk: Disk | None = None
        super().__init__(path)
        self._disk = disk

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
        disk = self._disk
        if disk is not None and not disk.errors and not statement.startswith("SELECT"):
            if disk.left == 0:
                disk.errors.append(self._failure(sqlite3.OperationalError("database or disk is full")))
                raise disk.errors[0]
            disk.left -= 1
        return super()._execute(statement, values)


@pytest.mark.parametrize("moment", ["before over", "after over", "after parted", "before forget", "after forget"])
def test_a_loss_of_power_at_the_end_loses_nothing(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are on the disk before the journal says that it is over, and long before it forgets."""
    plan = plan_for((2, 3), protocol="exchange", epochs=1, batch_size=20)
    X, y = made_up(columns=plan.columns)
    cache = WriteCache()
    monkeypatch.setattr(os, "fsync", cache.fsync)
    loss = PowerLoss(moment, tmp_path / "label", cache)
    networked(plan, tables_for(plan, X, y), tmp_path, loss.journal)
    assert loss.has_struck
    assert joint_weights(plan, tmp_path).tobytes() == weights_of(trained(plan, (X, y))).tobytes()
    assert RunFolder(tmp_path / "label").record().is_finished
    assert ModelPart.load(tmp_path / "label" / "parties" / "label" / "part.json").weights is not None
    assert Plan.load(tmp_path / "label" / "plan.toml") == plan


class WriteCache:
    """Knows what is on the disk and what is only on its way there."""

    def __init__(self) -> None:
        self._fsync = os.fsync
        self._when: dict[int, int] = {}

    def fsync(self, handle: int) -> None:
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


class PowerLoss:
    """Strikes the label party once, at one moment of the end of its run."""

    def __init__(self, moment: str, folder: Path, cache: WriteCache) -> None:
        self.moment, self.folder, self.cache, self.has_struck = moment, folder, cache, False

    def journal(self, path: Path, name: str) -> SqliteJournal:
        return EndingJournal(path, self) if name == "label" else SqliteJournal(path)

    def at(self, moment: str) -> None:
        if moment == self.moment and not self.has_struck:
            self.has_struck = True
            self.cache.lose(self.folder)
            raise Killed


class EndingJournal(SqliteJournal):
    """A journal that may lose power before and after each of its last writes."""

    def __init__(self, path: Path, loss: PowerLoss) -> None:
        super().__init__(path)
        self._loss = loss

    def note(self, name: str, value: bytes) -> None:
        self._loss.at(f"before {name}")
        super().note(name, value)
        self._loss.at(f"after {name}")

    def forget(self) -> None:
        self._loss.at("before forget")
        super().forget()
        self._loss.at("after forget")


def test_the_ledger_equals_a_recount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the label party died, every label's releases are booked once a visit."""
    parties: list[GradientParty] = []

    def remembered(participant: Participant, table: Table | None, progress: Any = None) -> Any:
        party = party_at(participant, table, progress)
        if isinstance(party, GradientParty) and participant.name == "label":
            parties.append(party)
        return party

    monkeypatch.setattr(training, "party_at", remembered)
    plan = plan_for((2, 3), protocol="exchange", noise="sound", row_norm=1.0, epsilon=4.0, epochs=2, batch_size=20)
    X, y = made_up(columns=plan.columns)
    kills = KillList()
    kills.arm("label", 30)
    networked(plan, tables_for(plan, X, y), tmp_path, kills.journal)
    assert kills.has_struck
    first, last = parties
    assert first is not last
    recount = np.zeros(len(last.shard), dtype=np.int64)
    for batch in batches(last.session.seed, len(last.shard), plan):
        recount[batch.rows] += 1
    assert last.budget is not None
    assert np.array_equal(last.budget._visits, recount)
    assert last.budget.spent == pytest.approx(2 * last.budget.cost.rho_per_visit)
    assert last.noise_draws == recount.sum()


def test_secrets_kept_for_a_peer_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three, one dies at its very end: the others' status says what is kept, for whom, and how to give it up."""
    plan = plan_for((2, 2, 1), protocol="exchange", epochs=1, batch_size=20)
    tables = tables_for(plan, *made_up(columns=plan.columns))
    organisations = Organisations(plan, tables, tmp_path)
    monkeypatch.setattr(Conversation.leave, "__defaults__", (0.5,))
    cache = WriteCache()
    monkeypatch.setattr(os, "fsync", cache.fsync)
    loss = PowerLoss("before over", organisations.run_folder("features-2"), cache)
    board = Switchboard()
    for name in tables:
        (organisations.home(name) / "runs").mkdir(mode=0o700)

    def start(name: str) -> RunRecord:
        place = organisations.run_folder(name)
        place.mkdir(mode=0o700, exist_ok=True)
        journal = EndingJournal(place / JOURNAL, loss) if name == "features-2" else SqliteJournal(place / JOURNAL)
        party_run = PartyRun(
            name,
            plan,
            tables[name],
            place,
            board.connector(name),
            patience=30.0,
            lingering=0.5,
        )
        try:
            return training.train(party_run, journal)
        finally:
            journal.close()

    with pytest.raises(Killed):
        run_parties({name: partial(start, name) for name in tables})
    home, run = organisations.home("label"), plan.hash()[:12]
    before = only_run(home)
    assert (before["finished"], before["keeps_secrets"]) == (True, True)
    assert "because features-2 has not said that it has everything" in before["status"]
    assert before["status"].endswith(f"plumbob party forget {run}")
    results = organisations.run_folder("label") / "parties" / "label" / "part.json"
    part = results.read_bytes()
    Home.open(home).forget(run)
    after = only_run(home)
    assert (after["status"], after["keeps_secrets"]) == ("finished", False)
    # Nobody is waited for, and the results are as they were.
    assert start("label").is_finished
    # What has nothing to forget, an emptied journal or none at all, is left alone whatever is said.
    Home.open(home).forget(run, give_up=True)
    organisations.journal("label").unlink()
    Home.open(home).forget(run, give_up=True)
    assert only_run(home)["status"] == "finished"
    assert results.read_bytes() == part
    give_up_unfinished(organisations.home("features-2"), organisations.run_folder("features-2"))


def only_run(home: Path) -> dict[str, Any]:
    """What `party status` says of it."""
    runs: Any = Home.open(home).status()["runs"]
    assert len(runs) == 1
    found: dict[str, Any] = runs[0]
    return found


def give_up_unfinished(home: Path, place: Path) -> None:
    """A run that is not over goes only if that is said, never while a process is at work, and then as a whole."""
    assert str(only_run(home)["status"]).endswith(f"plumbob party forget {place.name} --give-up")
    with pytest.raises(DataError, match="has not finished; add --give-up"):
        Home.open(home).forget(place.name)
    with pytest.raises(DataError, match="no run of this party has that name"):
        Home.open(home).forget("../runs", give_up=True)
    with (
        closing(SqliteJournal(place / JOURNAL)),
        pytest.raises(JournalError, match="another process is using this run"),
    ):
        Home.open(home).forget(place.name, give_up=True)
    assert (place / JOURNAL).exists()
    # Another name of the same file shows what is left where it stood.
    left = home / "left"
    left.hardlink_to(place / JOURNAL)
    with closing(sqlite3.connect(left)) as database:
        links = [data for (data,) in database.execute("SELECT value FROM facts WHERE name IN ('leaf', 'link')")]
    assert links
    Home.open(home).forget(place.name, give_up=True)
    assert not place.exists()
    assert not any(data in left.read_bytes() for data in links)
