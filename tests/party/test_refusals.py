"""A peer that breaks a rule, through journals, reliable links and channels: who says what, and that the run survives.

What TLS refuses is in `tests/net/test_station.py`, malformed keys and ciphertexts in `tests/protocol` and
`tests/crypto`. `docs/network.md`, section 7, has the same as a table.
"""

import re
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plumbob.data import Batch, Table
from plumbob.errors import (
    DataError,
    LocalProtocolError,
    PeerAwayError,
    PlumbobError,
    RemoteProtocolError,
    TransportError,
    UnsafePlanError,
)
from plumbob.net import Connection, Data
from plumbob.net.connector import Connector, Peer
from plumbob.net.identity import Identity
from plumbob.net.reliable import FRAME, MESSAGE
from plumbob.party import signature
from plumbob.party.conversation import ConnectorFor
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun
from plumbob.party.settings import HomeSettings
from plumbob.party.signature import PlanSignature
from plumbob.party.training import train
from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER, Kind, Message, decode
from plumbob.protocol.part import ModelPart
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import RunRecord
from plumbob.run_folder import JOURNAL
from tests.party.processes import QUICK, free_port
from tests.party.support import PATIENCE, Killed, Switchboard
from tests.protocol.support import made_up, plan_for, tables_for, trained, weights_of

PLAN = plan_for((2, 3), protocol="exchange", epochs=1, batch_size=10)
ROWS = made_up(columns=PLAN.columns)
CIPHERTEXT = 2 * PLAN.key_bits // 8
SHORT = 1.0  # Seconds of patience, for those who will wait in vain.


@pytest.fixture(scope="module")
def expected() -> bytes:
    """The weights of the simulation."""
    return weights_of(trained(PLAN, ROWS)).tobytes()


class Runs:
    """The two parties of a plan, each in a thread and in a folder of its own, started as often as a test wants."""

    def __init__(self, folder: Path, plan: Plan = PLAN) -> None:
        self.folder, self.plan = folder, plan
        self.tables = tables_for(plan, *ROWS)
        self.board = Switchboard()

    def start(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        table: Table | None = None,
        patience: float = PATIENCE,
        dies_after: int = 0,
        signed: PlanSignature | None = None,
        connector_for: ConnectorFor | None = None,
    ) -> "Future[RunRecord]":
        """Start a party; with `dies_after`, it dies when it has finished that step."""
        place = self.folder / name
        place.mkdir(mode=0o700, exist_ok=True)
        used = plan or self.plan
        own = self.tables[name] if table is None else table
        connectors = connector_for or self.board.connector(name)
        party_run = PartyRun(name, used, own, place, connectors, patience=patience, lingering=0.2, signature=signed)

        def die(batch: Batch, steps: int) -> None:
            if batch.step == dies_after:
                raise Killed

        def work() -> RunRecord:
            journal = SqliteJournal(place / JOURNAL)
            try:
                return train(party_run, journal, die)
            finally:
                journal.close()

        return in_thread(work)

    def journal(self, name: str) -> Path:
        return self.folder / name / JOURNAL

    def end_well(self, expected: bytes) -> None:
        """Started again by honest hands, both finish with the simulation's weights."""
        self.board = Switchboard()
        for future in [self.start(name) for name in self.tables]:
            future.result(PATIENCE)
        parts = [ModelPart.load(self.folder / name / "parties" / name / "part.json") for name in self.tables]
        assert np.concatenate([part.weights for part in parts if part.weights is not None]).tobytes() == expected


def in_thread(work: Callable[[], RunRecord]) -> "Future[RunRecord]":
    """What it returns or raises, later."""
    future: Future[RunRecord] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def failure(future: "Future[RunRecord]") -> BaseException:
    """What a start ended with; a TimeoutError here means that it hangs."""
    error = future.exception(PATIENCE)
    assert error is not None
    return error


class Cheat:
    """A features party that sends honest messages up to one of them, and that one as `change` makes it."""

    def __init__(self, kind: Kind, step: int, change: "Callable[[Cheat, bytes], Iterable[bytes]]") -> None:
        self._kind, self._step, self._change = kind, step, change
        self.sent: list[bytes] = []
        """Its frames so far, as they were before the change."""
        self.held: list[bytes] = []
        """Frames that wait for the next one."""
        self.has_struck = False

    def __call__(self, sender: str, frame: bytes) -> Iterable[bytes]:
        if sender != "features" or frame[:1] == b"{" or frame[0] != MESSAGE:
            return [frame]
        message = message_of(frame)
        due, self.held = self.held, []
        if (message.kind, message.step) == (self._kind, self._step):
            self.has_struck = True
            changed = list(self._change(self, frame))
        else:
            changed = [frame]
        self.sent.append(frame)
        return [*changed, *due]

    def earlier(self, kind: Kind, step: int) -> bytes:
        """A frame that it sent before."""
        return next(one for one in self.sent if (message_of(one).kind, message_of(one).step) == (kind, step))


def message_of(frame: bytes) -> Message:
    """The message that a frame carries."""
    return decode(frame[FRAME.size :])


def with_message(frame: bytes, message: bytes) -> bytes:
    """The same frame around other bytes."""
    return frame[: FRAME.size] + message


def rewritten(frame: bytes, **fields: object) -> bytes:
    """The frame with other fields in the message's header, or another body."""
    message = message_of(frame)
    return with_message(frame, replace(message, **fields).encode())  # type: ignore[arg-type]


Change = Callable[[Cheat, bytes], Iterable[bytes]]


def shorter(cheat: Cheat, frame: bytes) -> Iterable[bytes]:
    """The frame with one ciphertext less than the plan's width."""
    return [rewritten(frame, body=message_of(frame).body[:-CIPHERTEXT])]


def flipped(cheat: Cheat, frame: bytes) -> Iterable[bytes]:
    """The frame with another last bit."""
    return [frame[:-1] + bytes([frame[-1] ^ 1])]


def held_back(cheat: Cheat, frame: bytes) -> Iterable[bytes]:
    """No frame now: it follows the next one."""
    cheat.held.append(frame)
    return []


def numbered(frame: bytes, later: int = 0, stored: int | None = None) -> bytes:
    """The frame with another number, or another confirmation of what was received."""
    kind, number, confirmed = FRAME.unpack_from(frame)
    return FRAME.pack(kind, number + later, confirmed if stored is None else stored) + frame[FRAME.size :]


CHANGES: dict[str, Change] = {
    "longer": lambda cheat, frame: [rewritten(frame, body=message_of(frame).body + bytes(CIPHERTEXT))],
    "shorter": shorter,
    "later": lambda cheat, frame: [rewritten(frame, step=3)],
    # What it said in the step before, in the place of what is due; then the body of another message under its header.
    "replayed": lambda cheat, frame: [with_message(frame, cheat.earlier(Kind.RESIDUALS, 1)[FRAME.size :])],
    "replayed as new": lambda cheat, frame: [rewritten(frame, body=message_of(cheat.earlier(Kind.PUBLIC_KEY, 0)).body)],
    "another answer": lambda cheat, frame: [rewritten(frame, kind=Kind.OPENED_SUMS)],
    "held back": held_back,
    # As if one message had been sent that was not.
    "left out": lambda cheat, frame: [numbered(frame, later=1)],
    "equivocating": lambda cheat, frame: [frame, *flipped(cheat, frame)],
    "rewriting the past": lambda cheat, frame: [frame, *flipped(cheat, cheat.earlier(Kind.RESIDUALS, 1))],
    "cut in the message": lambda cheat, frame: [frame[:-1]],
    "cut in its header": lambda cheat, frame: [frame[: FRAME.size + HEADER.size - 1]],
    "cut in the frame": lambda cheat, frame: [frame[: FRAME.size - 1]],
    "of no known kind": lambda cheat, frame: [b"\x07" + frame[1:]],
    "confirming too much": lambda cheat, frame: [numbered(frame, stored=10**6)],
    "flipped": flipped,
}


@pytest.mark.parametrize(
    ("kind", "step", "change", "words"),
    [
        (Kind.RESIDUALS, 2, "longer", "features: expected RESIDUALS with 1280 bytes, got 1408; do the plans agree"),
        (Kind.RESIDUALS, 2, "shorter", "features: expected RESIDUALS with 1280 bytes, got 1152; do the plans agree"),
        (Kind.OPENED_SUMS, 2, "longer", "features: expected OPENED_SUMS with"),
        (Kind.RESIDUALS, 2, "later", "features: expected RESIDUALS of step 2 as message 7, got RESIDUALS of step 3"),
        (Kind.RESIDUALS, 2, "replayed", "features: expected RESIDUALS of step 2 as message 7, got RESIDUALS of step 1"),
        (Kind.RESIDUALS, 2, "replayed as new", "features: expected RESIDUALS with 1280 bytes"),
        (Kind.MASKED_SUMS, 2, "another answer", "features: expected MASKED_SUMS of step 2"),
        (Kind.MASKED_SUMS, 2, "held back", "features: expected message 8, got 9"),
        (Kind.MASKED_SUMS, 2, "left out", "features: expected message 8, got 9"),
        (Kind.RESIDUALS, 2, "equivocating", "features: sent message 7 a second time with other contents"),
        (Kind.MASKED_SUMS, 2, "rewriting the past", "features: sent message 4 a second time with other contents"),
        (Kind.RESIDUALS, 2, "cut in the message", "features: the header announces a body of 1280 bytes, 1279 came"),
        (Kind.RESIDUALS, 2, "cut in its header", "features: expected a message of at least 32 bytes, got 31"),
        (Kind.RESIDUALS, 2, "cut in the frame", "features: expected a frame of at least 17 bytes, got 16"),
        (Kind.RESIDUALS, 2, "of no known kind", "features: frames of kind 7 are unknown"),
        (Kind.RESIDUALS, 2, "confirming too much", "features: confirms message 1000000, which was never sent"),
        (Kind.CONFIRMATION, 0, "flipped", "features: its ids, their order or its seed differ from ours; align again"),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else "" if isinstance(value, int) else value[:20],
)
def test_a_broken_rule_ends_both_sides_and_not_the_run(
    kind: Kind, step: int, change: str, words: str, tmp_path: Path, expected: bytes
) -> None:
    """The honest side says what was expected, what came and from whom; the other hears it; both can go on honestly."""
    runs, cheat = Runs(tmp_path), Cheat(kind, step, CHANGES[change])
    runs.board = Switchboard(cheat)
    label, features = runs.start("label"), runs.start("features")
    refused, told = failure(label), failure(features)
    assert cheat.has_struck
    assert type(refused) is RemoteProtocolError
    assert words in str(refused)
    assert type(told) is RemoteProtocolError
    assert str(told).startswith("label stopped: ")
    assert words[:40] in str(told)
    runs.end_well(expected)


def test_the_same_bytes_twice_are_taken_once(tmp_path: Path, expected: bytes) -> None:
    """A network that repeats every frame, or brings an old one again, changes nothing."""
    runs, seen = Runs(tmp_path), list[bytes]()

    def repeat(sender: str, frame: bytes) -> Iterable[bytes]:
        if sender != "features" or frame[:1] == b"{" or frame[0] != MESSAGE:
            return [frame]
        seen.append(frame)
        return [frame, frame, seen[0]]

    runs.board = Switchboard(repeat)
    for future in [runs.start("label"), runs.start("features")]:
        future.result(PATIENCE)
    assert len(seen) > 12
    runs.end_well(expected)


@pytest.mark.parametrize("part", ["seed", "other columns"])
def test_another_plan_is_refused_at_the_greeting(part: str, tmp_path: Path, expected: bytes) -> None:
    """Another seed or another width is another plan: both sides say so before a message was sent."""
    runs = Runs(tmp_path)
    other = PLAN.replace(seed=8) if part == "seed" else plan_for((3, 2), protocol="exchange", epochs=1, batch_size=10)
    label, features = runs.start("label"), runs.start("features", plan=other)
    for refused, peer in ((failure(label), "features"), (failure(features), "label")):
        assert type(refused) is RemoteProtocolError
        assert str(refused).startswith(peer)
        assert f"its plan differs from ours in {'model.seed' if part == 'seed' else 'parties'}" in str(refused)
    runs.end_well(expected)


def test_rows_in_another_order_are_refused(tmp_path: Path, expected: bytes) -> None:
    """Before the first step both say that the ids differ; the side with the wrong ones must begin anew, both do."""
    runs = Runs(tmp_path)
    table = runs.tables["features"]
    label, features = runs.start("label"), runs.start("features", table=table.take(range(len(table))[::-1]))
    assert all("align again" in str(failure(future)) for future in (label, features))
    assert all(type(failure(future)) is RemoteProtocolError for future in (label, features))
    refused = failure(runs.start("features"))
    assert type(refused) is DataError
    assert "start a new run" in str(refused)
    again = tmp_path / "again"
    again.mkdir()
    Runs(again).end_well(expected)


def test_a_share_of_the_seed_that_was_not_committed_to(tmp_path: Path) -> None:
    """Who changes its share of the seed after seeing the other's is found out; nobody chooses the batches."""
    runs, cheat = Runs(tmp_path, PLAN.replace(seed=0)), Cheat(Kind.SEED_SHARE, 0, flipped)
    runs.board = Switchboard(cheat)
    label, features = runs.start("label"), runs.start("features")
    assert "features: its share of the seed is not the one it committed to" in str(failure(label))
    assert "label stopped" in str(failure(features))


def test_columns_that_the_plan_does_not_have(tmp_path: Path, expected: bytes) -> None:
    """Its own side says which; the peer hears that it stopped, and no name of a column."""
    runs = Runs(tmp_path)
    table = runs.tables["features"]
    short = replace(table, columns=table.columns[:-1])
    label, features = runs.start("label"), runs.start("features", table=short)
    assert type(failure(features)) is DataError
    told = failure(label)
    assert type(told) is RemoteProtocolError
    assert str(told) == "features stopped: 'it cannot use its own table as it is; the reason is shown there'"
    shutil.rmtree(tmp_path / "features")
    shutil.rmtree(tmp_path / "label")
    runs.end_well(expected)


def test_a_silent_peer(tmp_path: Path, expected: bytes) -> None:
    """A peer that does not come, and one that comes and says nothing, each end this side's patience with its name."""
    runs = Runs(tmp_path)
    absent = failure(runs.start("label", patience=SHORT))
    assert type(absent) is PeerAwayError
    assert str(absent) == f"features: expected it within {SHORT:g} s; is it running, with this plan?"

    def mute(sender: str, frame: bytes) -> Iterable[bytes]:
        return [] if sender == "features" and frame[:1] != b"{" else [frame]

    runs.board = Switchboard(mute)
    label, features = runs.start("label", patience=SHORT), runs.start("features", patience=2 * SHORT)
    silent = failure(label)
    assert type(silent) is TransportError
    assert "features: no message arrived within 1 s; it is connected" in str(silent)
    assert isinstance(failure(features), TransportError)
    runs.end_well(expected)


def test_a_peer_that_stops_in_the_middle(tmp_path: Path, expected: bytes) -> None:
    """One that is too slow in one step costs this side its patience, and nothing of the run."""
    runs = Runs(tmp_path)
    is_stuck = threading.Event()

    def stuck(sender: str, frame: bytes) -> Iterable[bytes]:
        if sender == "features" and frame[:1] != b"{" and message_of(frame).step == 2:
            is_stuck.set()
        return [] if sender == "features" and is_stuck.is_set() and frame[:1] != b"{" else [frame]

    runs.board = Switchboard(stuck)
    label, features = runs.start("label", patience=SHORT), runs.start("features", patience=SHORT)
    assert all(type(failure(future)) is TransportError for future in (label, features))
    assert is_stuck.is_set()
    runs.end_well(expected)


class LongWinded:
    """A connection whose long messages are longer than they should be."""

    def __init__(self, connection: Connection) -> None:
        self.peer, self._inner = connection.peer, connection

    def send(self, *parts: Data) -> None:
        self._inner.send(*parts, bytes(5000 if sum(map(len, parts)) > 1000 else 0))

    def receive(self, seconds: float) -> Data:
        return self._inner.receive(seconds)

    def close(self) -> None:
        self._inner.close()


class Lines:
    """Real TLS between the two parties, with limits of their own."""

    def __init__(self, folder: Path) -> None:
        self._identities = {name: Identity.create(folder / f"of-{name}", name) for name in ("label", "features")}
        self._at = f"127.0.0.1:{free_port()}"

    def connector_for(
        self, name: str, largest: int, speaker: Callable[[Connection], Connection] = lambda connection: connection
    ) -> ConnectorFor:
        """A connector; the label party listens."""
        peer = "features" if name == "label" else "label"
        there = Peer(peer, self._identities[peer].certificate.der, None if name == "label" else self._at)
        return lambda on_connection: Connector(
            self._identities[name],
            [there],
            listen=self._at if name == "label" else None,
            proxy=None,
            largest_message=largest,
            on_connection=lambda connection: on_connection(speaker(connection)),
            timeouts=QUICK,
        )


def test_a_message_longer_than_the_plan_allows(tmp_path: Path, expected: bytes) -> None:
    """Over real TLS: the connection ends each time it is announced, and who waits in vain is told why."""
    runs, lines = Runs(tmp_path), Lines(tmp_path)
    label = runs.start("label", patience=2 * SHORT, connector_for=lines.connector_for("label", 2000))
    features = runs.start(
        "features", patience=4 * SHORT, connector_for=lines.connector_for("features", 9000, LongWinded)
    )
    waited, told = failure(label), failure(features)
    assert type(waited) is TransportError
    assert "features sent a message above 2000 bytes, the most that the plan allows" in str(waited)
    assert type(told) is TransportError
    assert "label" in str(told)
    runs.end_well(expected)


def test_an_own_message_longer_than_the_plan_allows(tmp_path: Path, expected: bytes) -> None:
    """A mistake on this side, which no new connection mends: it says so at once, and the peer hears that it stopped."""
    runs, lines = Runs(tmp_path), Lines(tmp_path)
    label = runs.start("label", connector_for=lines.connector_for("label", 9000))
    features = runs.start("features", connector_for=lines.connector_for("features", 2000, LongWinded))
    refused, told = failure(features), failure(label)
    assert type(refused) is LocalProtocolError
    assert re.search(r"our message to label has \d{4} bytes, the plan allows 2000", str(refused))
    assert type(told) is RemoteProtocolError
    assert str(told) == "features stopped: 'something went wrong on its own side; the reason is shown there'"
    runs.end_well(expected)


def test_changed_data_after_a_restart(tmp_path: Path, expected: bytes) -> None:
    """A run continues with the rows it began with: the side that changed them says so, and the peer waits."""
    runs = Runs(tmp_path)
    features = runs.start("features")
    assert isinstance(failure(runs.start("label", dies_after=2)), Killed)
    table = runs.tables["label"]
    assert table.labels is not None
    refused = failure(runs.start("label", table=replace(table, labels=1 - table.labels)))
    assert type(refused) is DataError
    assert "label: the rows, columns or labels have changed since this run started" in str(refused)
    # The peer still waits, and the run goes on with the old rows.
    runs.start("label").result(PATIENCE)
    features.result(PATIENCE)
    runs.end_well(expected)


def test_an_older_copy_of_the_journal(tmp_path: Path, expected: bytes) -> None:
    """Put back, it would draw anew what has left already: refused on both sides, and the newer one goes on."""
    runs = Runs(tmp_path)
    features = runs.start("features")
    assert isinstance(failure(runs.start("label", dies_after=1)), Killed)
    older, newer = tmp_path / "older.db", tmp_path / "newer.db"
    shutil.copy(runs.journal("label"), older)
    assert isinstance(failure(runs.start("label", dies_after=3)), Killed)
    shutil.copy(runs.journal("label"), newer)
    shutil.copy(older, runs.journal("label"))
    refused, told = failure(runs.start("label")), failure(features)
    assert type(refused) is LocalProtocolError
    assert str(refused).startswith("features: has ")
    assert "bring the newer journal back" in str(refused)
    assert type(told) is RemoteProtocolError
    assert "label" in str(told)
    assert "journal" in str(told)
    shutil.copy(newer, runs.journal("label"))
    runs.end_well(expected)


def test_the_peers_journal_is_lost(tmp_path: Path, expected: bytes) -> None:
    """A side that begins anew in the middle of a run is told apart by both; with its journal back, the run goes on."""
    runs = Runs(tmp_path)
    features = runs.start("features")
    assert isinstance(failure(runs.start("label", dies_after=2)), Killed)
    kept = tmp_path / "kept.db"
    runs.journal("label").rename(kept)
    lost, told = failure(runs.start("label")), failure(features)
    assert type(lost) is LocalProtocolError
    assert str(lost).startswith("features: is in the middle of a run")
    assert type(told) is RemoteProtocolError
    assert "bring" in str(lost)
    assert "both start over" in str(told)
    kept.replace(runs.journal("label"))
    runs.end_well(expected)


def test_nothing_moves_before_a_plan_was_signed(tmp_path: Path) -> None:
    """Without a signature of our own, or with one that does not hold, we do not begin; `sign` puts both right."""
    home = Home.create(tmp_path / "bank", HomeSettings("bank"))
    with pytest.raises(UnsafePlanError, match="type: plumbob party sign PLAN"):
        signature.own_signature(home, PLAN)
    file = signature.sign(home, PLAN)
    before = file.read_bytes()
    assert signature.sign(home, PLAN).read_bytes() == before
    assert signature.own_signature(home, PLAN).signature == before
    file.write_bytes(home.identity.sign(signature.PURPOSE, PLAN.replace(seed=8).hash().encode()))
    with pytest.raises(UnsafePlanError, match="type: plumbob party sign PLAN"):
        signature.own_signature(home, PLAN)
    home.identity.certificate.verify(signature.PURPOSE, PLAN.hash().encode(), signature.sign(home, PLAN).read_bytes())


@pytest.mark.parametrize("forgery", ["another plan", "another purpose", "another key", "nothing"])
def test_a_signature_over_anything_else(forgery: str, tmp_path: Path, expected: bytes) -> None:
    """The honest side names the peer and keeps no such signature; signed rightly, a new run ends as it should."""
    bank, fund, stranger = (Identity.create(tmp_path / name, name) for name in ("bank", "fund", "stranger"))
    certificates = {"label": bank.certificate, "features": fund.certificate}
    right = PLAN.hash().encode()
    forged = {
        "another plan": fund.sign(signature.PURPOSE, PLAN.replace(seed=8).hash().encode()),
        "another purpose": fund.sign("invitation", right),
        "another key": stranger.sign(signature.PURPOSE, right),
        "nothing": b"",
    }[forgery]
    own = PlanSignature(bank.sign(signature.PURPOSE, right), certificates)
    runs = Runs(tmp_path)
    label, features = (
        runs.start("label", signed=own),
        runs.start("features", signed=PlanSignature(forged, certificates)),
    )
    refused, told = failure(label), failure(features)
    assert type(refused) is RemoteProtocolError
    assert str(refused) == "features: its signature is not over this plan; ask it to sign again"
    assert isinstance(told, PlumbobError)
    assert "label stopped" in str(told)
    assert not (tmp_path / "label" / "signatures").exists()
    for name in ("label", "features"):
        shutil.rmtree(tmp_path / name)
    signed = PlanSignature(fund.sign(signature.PURPOSE, right), certificates)
    for future in [runs.start("label", signed=own), runs.start("features", signed=signed)]:
        future.result(PATIENCE)
    assert (tmp_path / "label" / "signatures" / "features.signature").read_bytes() == signed.signature
    runs.end_well(expected)
