"""A simulated run that stops at any moment goes on as if it had not, and leaves nothing behind when it is over."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.crypto.kernel import INSTRUCTIONS
from plumbob.data import Batch
from plumbob.errors import DataError, DivergenceError, JournalError, LocalProtocolError
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.lab.simulate import Run, checkpoint, train
from plumbob.lab.simulate.checkpoint import unfinished
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.party import AnyParty
from plumbob.record import RunRecord
from plumbob.run_folder import JOURNAL, UNFINISHED
from tests.lab.exchange.quick_keys import use_quick_keys
from tests.party.test_full_disk import files_up_to
from tests.protocol.support import Tables, made_up, plan_for, tables_for, weights_of

STEPS = 4
NOISY: dict[str, Any] = {"noise": "sound", "epsilon": 4.0, "row_norm": 1.0}

PLANS = {
    "clear": plan_for((2, 3), protocol="clear", class_weight="balanced"),
    "clear, noise": plan_for((2, 3), protocol="clear", noise="std", noise_std=1.0, row_norm=1.0),
    "clear, sound noise": plan_for((2, 3), protocol="clear", seed=0, start="normal", **NOISY),
    "clear, flipped labels": plan_for((2, 3), protocol="clear", seed=0, label_flip_epsilon=1.0),
    "clear, no column": plan_for((0, 3), protocol="clear", intercept=False, **NOISY),
    "exchange": plan_for((2, 3), protocol="exchange", seed=0, start="normal", l2=0.1),
    "exchange of three": plan_for((2, 2, 1), protocol="exchange"),
    "exchange, no column": plan_for((0, 3), protocol="exchange", intercept=False),
    "exchange, noise": plan_for((2, 3), protocol="exchange", **NOISY),
    "exchange, flipped labels": plan_for((2, 3), protocol="exchange", seed=0, label_flip_epsilon=1.0),
    "arbiter": plan_for((2, 3), protocol="arbiter", unmasked_gradients_for_the_arbiter=True),
    "arbiter, noise": plan_for((2, 3), protocol="arbiter", noise="std", noise_std=1.0, row_norm=1.0),
    "shares": plan_for((2, 3), protocol="shares", start="normal", epochs=4),
    "shares, never opened": plan_for((2, 3), protocol="shares", start="normal", epochs=4, open="never"),
}


class StoppedError(Exception):
    """What ends a run in these tests, where a user would have pressed a key."""


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is written, so that little runs can be stopped between two of them."""
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(checkpoint, "REST", 0.0)


@pytest.fixture
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are made once, where no test looks at how they were drawn."""
    use_quick_keys(monkeypatch)


@pytest.fixture(autouse=True)
def noise_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is the same in two runs: it follows from how much was drawn before."""

    def drawn(party: GradientParty, count: int) -> Any:
        generator = np.random.default_rng([party.noise_draws, len(party.participant.name)])
        party.noise_draws += count
        return generator.integers(-1000, 1000, count)

    monkeypatch.setattr(GradientParty, "_noise", drawn)


def tables_of(plan: Plan) -> Tables:
    """The same rows for every plan of this width."""
    return tables_for(plan, *made_up(columns=plan.columns))


def roots(plan: Plan, seed: str) -> dict[str, bytes]:
    """Each party draws from a seed of its own."""
    return {party.name: sha256(f"{seed} {party.name}".encode()).digest() for party in plan.parties}


def whole(plan: Plan, seed: str = "first") -> Run:
    """The run without any interruption."""
    return train(plan, tables_of(plan), roots=roots(plan, seed))


def started(plan: Plan, out: Path, seed: str, stop_after: int = 0) -> Run:
    """Start the run from wherever the checkpoint stands."""
    tables = tables_of(plan)

    def stop(batch: Batch, _: int) -> None:
        if batch.step == stop_after:
            raise StoppedError

    with unfinished(out, plan, tables) as kept:
        return train(plan, tables, roots=roots(plan, seed), progress=stop, checkpoint=kept)


def assert_same(one: Run, other: Run) -> None:
    """All that a run leaves; of shares, as far as their rounding is not a matter of chance."""
    for name, transcript in one.transcripts.items():
        theirs = other.transcripts[name]
        assert transcript.seed == theirs.seed
        assert np.array_equal(transcript.start, theirs.start)
        assert np.array_equal(transcript.sums, theirs.sums)
        assert_equal(transcript.own_noise, theirs.own_noise)
        assert_equal(transcript.flipped, theirs.flipped)
    if one.arbiter is not None and other.arbiter is not None:
        assert one.arbiter.sums.keys() == other.arbiter.sums.keys()
        for name, sums in one.arbiter.sums.items():
            assert np.array_equal(sums, other.arbiter.sums[name])
    if one.model.plan.protocol == "shares":
        tables = tables_for(one.model.plan, made_up(columns=one.model.plan.columns)[0], None)
        # An opened score is right to 2**-16, and an opened weight to 2**-20.
        assert np.abs(one.model.scores(tables) - other.model.scores(tables)).max() <= 2.0**-16
    else:
        assert np.array_equal(weights_of(one), weights_of(other))
    assert comparable(one.record) == comparable(other.record)


def assert_equal(one: Any, other: Any) -> None:
    """The same array, or none in both."""
    assert (one is None) == (other is None)
    assert one is None or np.array_equal(one, other)


def comparable(record: RunRecord) -> RunRecord:
    """The record without its seconds, and without hashes and weights that hold random draws."""
    for party in record.parties:
        for peer, sent in party.streams.items():
            (other,) = [one for one in record.parties if one.name == peer]
            assert other.received_streams[party.name] == sent
    parties = [replace(party, streams={}, received_streams={}) for party in record.parties]
    if record.protocol == "shares":
        parties = [replace(party, coefficients=None, offset=0.0) for party in parties]
    return replace(record, seconds=0.0, parties=parties, transcripts={})


@pytest.mark.usefixtures("every_step", "quick_keys")
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_a_run_that_stopped_goes_on(plan: Plan, tmp_path: Path) -> None:
    """A run that stopped after the first, third or last step ends as one start would have."""
    for stop_after in (1, 3, STEPS):
        with pytest.raises(StoppedError):
            started(plan, tmp_path, f"until {stop_after}", stop_after)
    expected = whole(plan, "until 1")
    assert expected.record.steps == STEPS
    assert_same(started(plan, tmp_path, "the rest"), expected)
    assert not (tmp_path / UNFINISHED).exists()


@pytest.mark.usefixtures("every_step", "quick_keys")
@pytest.mark.parametrize("name", ["exchange of three", "arbiter", "shares"])
def test_parties_that_stopped_in_different_steps(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whichever message is the first that is not sent, all go back to the same step."""
    plan, stops = PLANS[name], 0
    expected = whole(plan, "0")
    sent = sum(party.messages_sent for party in expected.record.parties)
    for last in range(sent - 1, 5, -max(sent // 7, 1)):
        out = tmp_path / str(last)
        out.mkdir()
        with suppress(StoppedError), messages_up_to(last, monkeypatch):
            started(plan, out, "0")
        stops += (out / UNFINISHED).exists()
        assert_same(started(plan, out, "0"), expected)
    assert stops > 3


@contextmanager
def messages_up_to(count: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this many messages be sent; whoever sends one more stops."""
    left, send = iter(range(count)), Channel.send

    def limited(channel: Channel, *content: Any) -> None:
        if next(left, None) is None:
            raise StoppedError
        send(channel, *content)

    with monkeypatch.context() as patch:
        patch.setattr(Channel, "send", limited)
        yield


@pytest.mark.usefixtures("every_step")
def test_what_was_drawn_once_is_not_drawn_again(tmp_path: Path) -> None:
    """Keys and the session are those of the first start, whatever the later one would have drawn."""
    plan = PLANS["exchange"]
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 2)
    resumed, expected = started(plan, tmp_path, "second"), whole(plan)
    for name, party in expected.parties.items():
        assert moduli(resumed.parties[name]) == moduli(party)
        assert resumed.model.parts[name].run == expected.model.parts[name].run


def moduli(party: AnyParty) -> list[int]:
    """The moduli of every key that the party holds."""
    assert isinstance(party, ExchangeParty)
    return [int(key.n) for key in (party.key.public, *party.peer_keys.values())]


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("name", ["exchange", "shares"])
def test_the_machine_may_change(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was begun with one machine's instructions ends with another's."""
    for path, stop_after in (("portable", 1), ("", 2)):
        monkeypatch.setenv(INSTRUCTIONS, path)
        with pytest.raises(StoppedError):
            started(PLANS[name], tmp_path, "first", stop_after)
    monkeypatch.setenv(INSTRUCTIONS, "portable")
    resumed = started(PLANS[name], tmp_path, "second")
    assert_same(resumed, whole(PLANS[name]))


@pytest.mark.usefixtures("every_step")
def test_the_budget_is_the_same(tmp_path: Path) -> None:
    """Steps of an earlier start are spent as well, each of them once."""
    plan = PLANS["exchange, noise"]
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 3)
    label, uninterrupted = started(plan, tmp_path, "second").parties["label"], whole(plan).parties["label"]
    assert isinstance(label, GradientParty)
    assert isinstance(uninterrupted, GradientParty)
    assert label.budget is not None
    assert uninterrupted.budget is not None
    assert label.budget.spent == uninterrupted.budget.spent > 0
    assert label.noise_draws == uninterrupted.noise_draws == 2 * 40


@pytest.mark.usefixtures("every_step")
def test_seconds_are_those_of_all_starts(tmp_path: Path) -> None:
    """A record that counted the last start only would praise the machine."""
    plan = PLANS["exchange"]
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 3)
    with unfinished(tmp_path, plan, tables_of(plan)) as kept:
        kept.seconds = spent = kept.seconds + 1000.0
        run = train(plan, tables_of(plan), checkpoint=kept)
    assert 1000.0 < spent < run.record.seconds < 2000.0


@pytest.mark.usefixtures("every_step")
def test_another_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another plan, other rows, another version: each is named, with what to do; what lies there stays."""
    plan, (X, y) = PLANS["clear"], made_up(columns=5)
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 2)
    X[0, 4] += 1e-9
    changed, flipped = tables_for(plan, X, y), tables_for(plan, made_up(columns=5)[0], 1 - y)
    for what, tables in {"plan": tables_of(plan), "data": changed, "data ": flipped}.items():
        other = plan.replace(learning_rate=0.2) if what == "plan" else plan
        message = f"with a different {what.strip()}; restore it to resume, .* --out, or add --new"
        with pytest.raises(DataError, match=message), unfinished(tmp_path, other, tables):
            pass
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "__version__", "0.0.0")
        with pytest.raises(DataError, match="with a different version"), unfinished(tmp_path, plan, tables_of(plan)):
            pass
    assert_same(started(plan, tmp_path, "first"), whole(plan))


@pytest.mark.usefixtures("every_step")
def test_a_new_run_forgets_the_old_one(tmp_path: Path) -> None:
    """A new run forgets the old one, even if its journal is unreadable; but not one that is at work."""
    plan = PLANS["clear"]
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 2)
    with (
        unfinished(tmp_path, plan, tables_of(plan)),
        pytest.raises(JournalError, match="another process is using this run"),
        unfinished(tmp_path, plan, tables_of(plan), is_new=True),
    ):
        pass
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 2)
    (tmp_path / UNFINISHED / JOURNAL).write_bytes(b"not a journal" * 1000)
    for leftover in (tmp_path / UNFINISHED).glob(f"{JOURNAL}-*"):
        leftover.unlink()
    with pytest.raises(JournalError, match="cannot be opened"):
        started(plan, tmp_path, "first")
    with unfinished(tmp_path, plan.replace(l2=0.5), tables_of(plan), is_new=True) as kept:
        assert kept.step == 0
    assert not (tmp_path / UNFINISHED).exists()


@pytest.mark.usefixtures("every_step")
def test_a_damaged_set_up_is_noticed(tmp_path: Path) -> None:
    """A root that is too short or too long is not the one that the run began with."""
    plan = PLANS["exchange"]
    with pytest.raises(StoppedError):
        started(plan, tmp_path, "first", 2)
    for change in ("substr(value, 1, 16)", "value || x'00'"):
        with sqlite3.connect(tmp_path / UNFINISHED / JOURNAL) as database:
            (before,) = database.execute("SELECT value FROM facts WHERE name = 'root/label'").fetchone()
            changed = f"UPDATE facts SET value = CAST({change} AS BLOB) WHERE name = 'root/label'"  # noqa: S608  # Ours.
            database.execute(changed)
        with pytest.raises(LocalProtocolError, match="start a new run"):
            started(plan, tmp_path, "second")
        with sqlite3.connect(tmp_path / UNFINISHED / JOURNAL) as database:
            database.execute("UPDATE facts SET value = ? WHERE name = 'root/label'", (before,))
        database.close()
    assert_same(started(plan, tmp_path, "second"), whole(plan))


@pytest.mark.usefixtures("every_step")
def test_nothing_is_left_where_nothing_could_go_on(tmp_path: Path) -> None:
    """Stopped before the first step, or diverged: the same command begins anew."""
    tables = tables_of(PLANS["clear"])
    with pytest.raises(StoppedError), unfinished(tmp_path, PLANS["clear"], tables):
        raise StoppedError
    assert not (tmp_path / UNFINISHED).exists()
    diverging = plan_for((2, 3), protocol="exchange", learning_rate=900.0, epochs=4)
    with pytest.raises(DivergenceError):
        started(diverging, tmp_path, "first")
    assert not (tmp_path / UNFINISHED).exists()


@pytest.mark.usefixtures("every_step")
def test_only_the_owner_can_look(tmp_path: Path) -> None:
    """Whatever the umask; draws are what keys are made of. No message is among what is kept."""
    plan, before = PLANS["exchange of three"], os.umask(0)
    try:
        with pytest.raises(StoppedError):
            started(plan, tmp_path, "first", 3)
    finally:
        os.umask(before)
    folder = tmp_path / UNFINISHED
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    database = sqlite3.connect(folder / JOURNAL)
    for table in ("sent", "received"):
        assert database.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,)  # noqa: S608  # Names above.
    assert database.execute("SELECT COUNT(*) FROM results").fetchone() == (3,)
    database.close()


@pytest.mark.usefixtures("every_step")
def test_a_full_disk(tmp_path: Path) -> None:
    """Wherever the room ends, it is a sentence that says what to do; with more room the run goes on."""
    plan, complaints = PLANS["exchange"], []
    for limit in range(0, 1 << 20, 16384):
        try:
            with files_up_to(limit):
                run = started(plan, tmp_path, "first")
            break
        except JournalError as error:
            complaints.append(str(error))
    assert any("make room or repair the disk, then run the same command again" in complaint for complaint in complaints)
    assert_same(run, whole(plan))


def test_a_slow_disk_slows_no_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Writes come at most once a second, after a slow one later, and never more than ten seconds are at stake."""
    clock, written, plan = FakeTime(), [], PLANS["exchange"]
    monkeypatch.setattr(checkpoint, "time", clock)
    with unfinished(tmp_path, plan, tables_of(plan)) as kept:
        write = kept._write

        def slow(step: int, states: Any) -> None:
            clock.now += 0.0625 if step < 20 else 0.5
            written.append(step)
            write(step, states)

        monkeypatch.setattr(kept, "_write", slow)
        journal = kept.journal("label")
        journal.begin(1)
        for step in range(1, 121):
            clock.now += 0.25
            journal.finish(step, {"sums": b""}, {})
    assert written == [4, 29, 69, 109]


class FakeTime:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now
