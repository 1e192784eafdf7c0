"""A peer that breaks a rule, through journals, reliable links and channels: who says what, and that the run survives.

Bodies that are not as they should be are in refusals.txt beside this file, what TLS refuses is in `tests/net`.
`docs/network.md`, section 7, has the same as a table.
"""

import re
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import (
    DataError,
    LocalProtocolError,
    PeerAwayError,
    PlumbobError,
    RemoteProtocolError,
    TransportError,
    UnsafePlanError,
)
from plumbob.net.frames import FRAME, GREETING
from plumbob.net.identity import Identity
from plumbob.party import signature
from plumbob.party.home import Home
from plumbob.party.settings import HomeSettings
from plumbob.party.signature import PlanSignature
from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER, Kind
from plumbob.run_folder import JOURNAL
from tests.world import (
    SESSIONS,
    Addresses,
    Killed,
    World,
    as_sent,
    failure,
    in_frame,
    message_in,
    number_in,
    simulated,
)

SESSION = SESSIONS["training of two"]
THREE = SESSIONS["training of three, opened, penalty"]
NAMES = ("label", "features")
SHORT = 1.0  # Seconds of patience, for those who will wait in vain.
ENOUGH = 5.0  # Longer than any honest message of these small runs takes.


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two parties that have not begun."""
    return World(SESSION, tmp_path)


def end_well(world: World) -> None:
    """Started again by honest hands, all finish with the simulation's weights and bytes."""
    world.on_frame = as_sent
    assert world.run().honest().outcome() == simulated(world.session)


def started(world: World, **changes: Any) -> "dict[str, Future[Any]]":
    """All parties, each with the same changes."""
    return {name: world.start(name, **changes) for name in world.session.names}


# Frames that only the peer itself can send.

Change = Callable[["Cheat", bytes], Iterable[bytes]]


@dataclass
class Cheat:
    """A feature party that sends honest messages up to the first of a kind in a step, and that one as `change` does."""

    kind: Kind
    step: int
    change: Change
    sent: list[bytes] = field(default_factory=list)
    """Its frames so far to the label party, as they were before the change."""
    held: list[bytes] = field(default_factory=list)
    """Frames that wait for the next one."""
    number: int = -1
    """Of the changed message on its link."""

    def __call__(self, sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        message = message_in(frame)
        if (sender, receiver) != ("features", "label") or message is None:
            return [frame]
        due, self.held = self.held, []
        changed: Iterable[bytes] = [frame]
        if (message.kind, message.step) == (self.kind, self.step) and self.number in (-1, number_in(frame)):
            self.number = number_in(frame)
            changed = list(self.change(self, frame))
        self.sent.append(frame)
        return [*changed, *due]

    @property
    def earlier(self) -> bytes:
        """The first frame of the same kind, which answers the same in the first pass."""
        return next(frame for frame in self.sent if (message := message_in(frame)) and message.kind is self.kind)


def rewritten(frame: bytes, **fields: Any) -> bytes:
    """The frame with other fields in the message's header, or another body."""
    message = message_in(frame)
    assert message is not None
    return in_frame(frame, replace(message, **fields))


def body(frame: bytes) -> bytes:
    """The body of the message in a frame."""
    return frame[FRAME.size + HEADER.size :]


def flipped(frame: bytes) -> bytes:
    """The frame with another last bit."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


def held_back(cheat: Cheat, frame: bytes) -> Iterable[bytes]:
    """No frame now: it follows the next one."""
    cheat.held.append(frame)
    return []


def numbered(frame: bytes, later: int = 0, stored: int | None = None) -> bytes:
    """The frame with another number, or another confirmation of what was received."""
    kind, number, confirmed = FRAME.unpack_from(frame)
    return FRAME.pack(kind, number + later, confirmed if stored is None else stored) + frame[FRAME.size :]


CONFIRMATION, START = (Kind.CONFIRMATION, 0), (Kind.START_SHARE, 0)  # Nothing is awaited between it and the next one.
REQUEST, REPLY = (Kind.LATTICE_REQUEST, 2), (Kind.LATTICE_REPLY, 2)
CHANGES: dict[str, tuple[tuple[Kind, int], Change, str]] = {
    "longer": (
        REPLY,
        lambda cheat, frame: [rewritten(frame, body=body(frame) + bytes(8))],
        "features: expected LATTICE_REPLY with 20480 bytes, got 20488; do the plans agree",
    ),
    "of a later pass": (
        REPLY,
        lambda cheat, frame: [rewritten(frame, step=3)],
        "features: expected LATTICE_REPLY of step 2 as message {number}, got LATTICE_REPLY of step 3",
    ),
    "of the pass before": (
        REPLY,
        lambda cheat, frame: [frame[: FRAME.size] + cheat.earlier[FRAME.size :]],
        "features: expected LATTICE_REPLY of step 2 as message {number}, got LATTICE_REPLY of step 1",
    ),
    "of another kind": (
        REPLY,
        lambda cheat, frame: [rewritten(frame, kind=Kind.LATTICE_REQUEST)],
        "features: expected LATTICE_REPLY of step 2",
    ),
    "behind the next one": (START, held_back, "features: expected message {number}, got {following}"),
    "left out": (
        REPLY,
        lambda cheat, frame: [numbered(frame, later=1)],
        "features: expected message {number}, got {following}",
    ),
    "twice, not the same": (
        REPLY,
        lambda cheat, frame: [frame, flipped(frame)],
        "features: sent message {number} a second time with other contents",
    ),
    "rewriting the past": (
        REPLY,
        lambda cheat, frame: [frame, flipped(cheat.earlier)],
        "features: sent message {earlier} a second time with other contents",
    ),
    "cut in its header": (
        REPLY,
        lambda cheat, frame: [frame[: FRAME.size + HEADER.size - 1]],
        "features: expected a message of at least 18 bytes, got 17",
    ),
    "cut in the frame": (
        REPLY,
        lambda cheat, frame: [frame[: FRAME.size - 1]],
        "features: expected a frame of at least 17 bytes, got 16",
    ),
    "in no known kind of frame": (
        REPLY,
        lambda cheat, frame: [b"\x07" + frame[1:]],
        "features: frames of kind 7 are unknown",
    ),
    "confirming too much": (
        REPLY,
        lambda cheat, frame: [numbered(frame, stored=10**6)],
        "features: confirms message 1000000, which was never sent",
    ),
    "about other rows": (
        CONFIRMATION,
        lambda cheat, frame: [flipped(frame)],
        "features: its ids, their order or its seed differ from ours; align again",
    ),
}


@pytest.mark.parametrize(("place", "change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_broken_rule_ends_both_sides_and_not_the_run(
    place: tuple[Kind, int], change: Change, words: str, world: World
) -> None:
    """The honest side says what was expected, what came and from whom; the other hears it; both can go on honestly."""
    world.on_frame = cheat = Cheat(*place, change)
    label, features = started(world).values()
    refused, heard = failure(label), failure(features)
    assert cheat.number >= 0
    earlier = number_in(cheat.earlier) if place == REPLY else 0
    words = words.format(number=cheat.number, following=cheat.number + 1, earlier=earlier)
    assert type(refused) is RemoteProtocolError
    assert words in str(refused)
    assert type(heard) is RemoteProtocolError
    assert str(heard).startswith("label stopped: ")
    assert words[:40] in str(heard)
    end_well(world)


@pytest.mark.parametrize("kind", [Kind.MASKED_SHARE, Kind.LATTICE_REPLY, Kind.WEIGHT_SHARE])
def test_whoever_breaks_a_rule_ends_all_three(kind: Kind, tmp_path: Path) -> None:
    """Everybody hears at once who sent what; started again by honest hands, all three finish."""
    world, struck = World(THREE, tmp_path), list[bytes]()

    def shorten(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        message = message_in(frame)
        if (sender, receiver) != ("features", "label") or message is None or message.kind is not kind:
            return [frame]
        struck.append(frame)
        return [rewritten(frame, body=body(frame)[:-1])]

    world.on_frame = shorten
    errors = [failure(future) for future in started(world).values()]
    assert struck
    assert {type(error) for error in errors} == {RemoteProtocolError}
    assert all("features" in str(error) or "stopped" in str(error) for error in errors)
    end_well(world)


def test_the_same_bytes_twice_are_taken_once(world: World) -> None:
    """A network that repeats every frame, or brings an old one again, changes nothing."""
    seen = list[bytes]()

    def repeat(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        if sender != "features" or message_in(frame) is None:
            return [frame]
        seen.append(frame)
        return [frame, frame, seen[0]]

    world.on_frame = repeat
    assert world.run().honest().outcome() == simulated(SESSION)
    assert len(seen) > 12


# Other plans, rows and columns.


@pytest.mark.parametrize("key", ["epochs", "columns"])
def test_another_plan_is_refused_at_the_greeting(key: str, world: World) -> None:
    """Another number of passes or another width is another plan: both sides say so before a message was sent."""
    other = SESSION.plan.replace(epochs=3) if key == "epochs" else Plan.for_columns((3, 2), epochs=2)
    label, features = world.start("label"), world.start("features", plan=other)
    for refused, peer in ((failure(label), "features"), (failure(features), "label")):
        assert type(refused) is RemoteProtocolError
        assert str(refused).startswith(peer)
        assert f"its plan differs from ours in {'model.epochs' if key == 'epochs' else 'parties'}" in str(refused)
    end_well(world)


def test_rows_in_another_order_are_refused(tmp_path: Path) -> None:
    """Both say that the ids differ; whoever had the wrong ones must begin anew, and then both do."""
    world, table = World(SESSION, tmp_path / "first"), SESSION.tables["features"]
    label, features = world.start("label"), world.start("features", table=table.take(range(len(table))[::-1]))
    for future in (label, features):
        refused = failure(future)
        assert type(refused) is RemoteProtocolError
        assert "align again" in str(refused)
    refused = failure(world.start("features"))
    assert type(refused) is DataError
    assert "start a new run" in str(refused)
    end_well(World(SESSION, tmp_path / "again"))


def test_columns_that_the_plan_does_not_have(world: World) -> None:
    """Its own side says which; the peer hears that it stopped, and no name of a column."""
    table = SESSION.tables["features"]
    label, features = world.start("label"), world.start("features", table=replace(table, columns=table.columns[:-1]))
    assert type(failure(features)) is DataError
    heard = failure(label)
    assert type(heard) is RemoteProtocolError
    assert str(heard) == "features stopped: 'it cannot use its own table as it is; the reason is shown there'"
    for name in NAMES:
        shutil.rmtree(world.folder / name)
    end_well(world)


# Silence.


def test_a_silent_peer(world: World) -> None:
    """A peer that does not come, and one that comes and says nothing, each end this side's patience with its name."""
    absent = failure(world.start("label", patience=SHORT))
    assert type(absent) is PeerAwayError
    assert str(absent) == f"features: expected it within {SHORT:g} s; is it running, with this plan?"

    def mute(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        return [] if sender == "features" and frame[0] != GREETING else [frame]

    world.on_frame = mute
    label, features = world.start("label", patience=SHORT), world.start("features", patience=2 * SHORT)
    silent = failure(label)
    assert type(silent) is TransportError
    assert "features: no message arrived within 1 s; it is connected" in str(silent)
    assert isinstance(failure(features), TransportError)
    end_well(world)


@dataclass
class Leaving:
    """A party that says nothing more from its second pass on."""

    name: str
    has_left: threading.Event = field(default_factory=threading.Event)

    def __call__(self, sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        message = message_in(frame)
        if sender == self.name and message is not None and message.step == 2:
            self.has_left.set()
        return [] if sender == self.name and self.has_left.is_set() and frame[0] != GREETING else [frame]


@pytest.mark.parametrize(("session", "last"), [(SESSION, "features"), (THREE, "features-2")], ids=["two", "three"])
def test_a_peer_that_stops_in_the_middle(session: Any, last: str, tmp_path: Path) -> None:
    """It costs the others their patience, and nothing of the run: they say whom they waited for."""
    world = World(session, tmp_path)
    world.on_frame = leaving = Leaving(last)
    errors = [failure(future) for future in started(world, patience=ENOUGH).values()]
    assert {type(error) for error in errors} == {TransportError}
    assert leaving.has_left.is_set()
    assert last in "".join(map(str, errors[:-1]))
    end_well(world)


# Messages that are too long.

LIMIT = 1_000_000  # Bytes, as if the plan allowed no more: tests of keys are longer.


def test_a_message_longer_than_the_plan_allows(world: World) -> None:
    """Over real TLS: the connection ends each time it is announced, and who waits in vain is told why."""
    lines = Addresses(NAMES, world.folder)
    label = world.start("label", patience=ENOUGH, connector_for=lines.connector("label", LIMIT))
    features = world.start("features", patience=2 * ENOUGH, connector_for=lines.connector("features"))
    waited, heard = failure(label), failure(features)
    assert type(waited) is TransportError
    assert f"features sent a message above {LIMIT} bytes, the most that the plan allows" in str(waited)
    assert type(heard) is TransportError
    assert "label" in str(heard)
    end_well(world)


def test_an_own_message_longer_than_the_plan_allows(world: World) -> None:
    """A mistake on this side, which no new connection mends: it says so at once, and the peer hears that it stopped."""
    lines = Addresses(NAMES, world.folder)
    label = world.start("label", connector_for=lines.connector("label"))
    features = world.start("features", connector_for=lines.connector("features", LIMIT))
    refused, heard = failure(features), failure(label)
    assert type(refused) is LocalProtocolError
    assert re.search(rf"our message to label has \d{{7}} bytes, the plan allows {LIMIT}", str(refused))
    assert type(heard) is RemoteProtocolError
    assert str(heard) == "features stopped: 'something went wrong on its own side; the reason is shown there'"
    end_well(world)


# Restarts with something else.


def test_changed_data_after_a_restart(world: World) -> None:
    """A run continues with the rows it began with: the side that changed them says so, and the peer waits."""
    features = world.start("features")
    assert isinstance(failure(world.start("label", dies_after=1)), Killed)
    table = SESSION.tables["label"]
    assert table.labels is not None
    refused = failure(world.start("label", table=replace(table, labels=1 - table.labels)))
    assert type(refused) is DataError
    assert "label: the rows, columns or labels have changed since this run started" in str(refused)
    # The peer still waits, and the run goes on with the old rows.
    world.start("label").result(ENOUGH)
    features.result(ENOUGH)
    end_well(world)


def test_an_older_copy_of_the_journal(world: World) -> None:
    """Put back, it would draw anew what has left already: refused on both sides, and the newer one goes on."""
    features, journal = world.start("features"), world.folder / "label" / JOURNAL
    assert isinstance(failure(world.start("label", dies_after=1)), Killed)
    older, newer = world.folder / "older.db", world.folder / "newer.db"
    shutil.copy(journal, older)
    assert isinstance(failure(world.start("label", dies_after=2)), Killed)
    shutil.copy(journal, newer)
    shutil.copy(older, journal)
    refused, heard = failure(world.start("label")), failure(features)
    assert type(refused) is LocalProtocolError
    assert str(refused).startswith("features: has ")
    assert "bring the newer journal back" in str(refused)
    assert type(heard) is RemoteProtocolError
    assert "label" in str(heard)
    assert "journal" in str(heard)
    shutil.copy(newer, journal)
    end_well(world)


def test_the_peers_journal_is_lost(world: World) -> None:
    """A side that begins anew in the middle of a run is told apart by both; with its journal back, the run goes on."""
    features, journal = world.start("features"), world.folder / "label" / JOURNAL
    assert isinstance(failure(world.start("label", dies_after=1)), Killed)
    kept = journal.rename(world.folder / "kept.db")
    lost, heard = failure(world.start("label")), failure(features)
    assert type(lost) is LocalProtocolError
    assert str(lost).startswith("features: is in the middle of a run")
    assert "bring" in str(lost)
    assert type(heard) is RemoteProtocolError
    assert "both start over" in str(heard)
    kept.replace(journal)
    end_well(world)


# Signatures over the plan.


def test_nothing_moves_before_a_plan_was_signed(tmp_path: Path) -> None:
    """Without a signature of our own, or with one that does not hold, we do not begin; `sign` puts both right."""
    home, plan = Home.create(tmp_path / "bank", HomeSettings("bank")), SESSION.plan
    with pytest.raises(UnsafePlanError, match="type: plumbob party sign PLAN"):
        signature.own_signature(home, plan)
    file = signature.sign(home, plan)
    before = file.read_bytes()
    assert signature.sign(home, plan).read_bytes() == before
    assert signature.own_signature(home, plan).signature == before
    file.write_bytes(home.identity.sign(signature.PURPOSE, plan.replace(epochs=3).hash().encode()))
    with pytest.raises(UnsafePlanError, match="type: plumbob party sign PLAN"):
        signature.own_signature(home, plan)
    home.identity.certificate.verify(signature.PURPOSE, plan.hash().encode(), signature.sign(home, plan).read_bytes())


@pytest.mark.parametrize("forgery", ["another plan", "another purpose", "another key", "nothing"])
def test_a_signature_over_anything_else(forgery: str, world: World) -> None:
    """The honest side names the peer and keeps no such signature; signed rightly, a new run ends as it should."""
    bank, fund, stranger = (Identity.create(world.folder / name, name) for name in ("bank", "fund", "stranger"))
    certificates = {"label": bank.certificate, "features": fund.certificate}
    right, other = SESSION.plan.hash().encode(), SESSION.plan.replace(epochs=3).hash().encode()
    forged = {
        "another plan": fund.sign(signature.PURPOSE, other),
        "another purpose": fund.sign("invitation", right),
        "another key": stranger.sign(signature.PURPOSE, right),
        "nothing": b"",
    }[forgery]
    own = PlanSignature(bank.sign(signature.PURPOSE, right), certificates)
    label = world.start("label", signature=own)
    features = world.start("features", signature=PlanSignature(forged, certificates))
    refused, heard = failure(label), failure(features)
    assert type(refused) is RemoteProtocolError
    assert str(refused) == "features: its signature is not over this plan; ask it to sign again"
    assert isinstance(heard, PlumbobError)
    assert "label stopped" in str(heard)
    assert not (world.folder / "label" / "signatures").exists()
    for name in NAMES:
        shutil.rmtree(world.folder / name)
    signed = PlanSignature(fund.sign(signature.PURPOSE, right), certificates)
    for future in [world.start("label", signature=own), world.start("features", signature=signed)]:
        assert future.result(ENOUGH).is_finished
    assert (world.folder / "label" / "signatures" / "features.signature").read_bytes() == signed.signature
