"""Nothing that must stay at home is found where it must not be, in no session of `shares`, at no moment of it.

Keys, seeds, masks, shares, rows, labels and ids of each party are looked for, in six spellings, in every message of
every party, in every line of a log, in what objects print of themselves, and in all files of the other parties: in the
middle of a session, between two of its writes, and after its end. What keys and masks are made of is then gone from
the party's own disk, too.
"""

import gc
import hashlib
import logging
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from plumbob.crypto import Draws
from plumbob.crypto.lattice import KeyContext, OwnerKey
from tests.protocol.support import signers_of
from tests.sessions.secrets import PIECE, Secrets, found, spellings
from tests.world import SESSIONS, EventJournal, Session, World, own_tables

SEARCHED = (
    "training of two",
    "training of two, opened",
    "training of two, noise, evidence",
    "training of three, noise",
    "prediction of three",
    "alignment of two",
    "alignment of three, size first",
)
MOMENTS = 50  # Writes of a journal between two looks at all folders.


@dataclass
class Looks:
    """Reads all files of all parties again and again, while they play."""

    folder: Path
    pieces: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    """What was in each party's folder, by its digest."""
    count: int = 0

    def __call__(self, name: str, statement: str) -> None:
        self.count += 1
        if self.count % MOMENTS == 0:
            self.read(name)

    def read(self, name: str) -> None:
        """Add everything that is in one party's folder now."""
        pieces = self.pieces.setdefault(name, {})
        for file in (self.folder / name).rglob("*"):
            # A file may go while we look.
            with suppress(FileNotFoundError, IsADirectoryError):
                data = file.name.encode() + b"\n" + file.read_bytes()
                pieces[hashlib.sha256(data).digest()] = data

    def contents(self, name: str) -> bytes:
        """All of it, one after the other."""
        return b"\n".join(self.pieces[name].values())


@pytest.mark.parametrize(
    "name", [name if name in SEARCHED else pytest.param(name, marks=pytest.mark.soak) for name in SESSIONS]
)
def test_nothing_secret_leaves(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in a message, a log or another party's files; and draws are forgotten with the end."""
    caplog.set_level(logging.DEBUG)
    session = with_own_tables(SESSIONS[name])
    secrets = Secrets(session.names)
    secrets.watch(monkeypatch)
    looks = Looks(tmp_path)
    ends = World(session, tmp_path, on_event=looks).run().honest()
    secrets.add_tables(session.tables)
    for party in session.names:
        looks.read(party)
    said = {party: b"\n".join(frame for sender, _, frame in ends.frames if sender == party) for party in session.names}
    logged = caplog.text.encode()
    assert b"connected" in logged
    for party in session.names:
        peers = [other for other in session.names if other != party]
        drawn = secrets.drawn[party] - shared_with(secrets, party, peers)
        kept = drawn | secrets.held[party] | secrets.words[party] | secrets.shares[party] | identity_of(session, party)
        assert len(drawn) > 30
        assert len(secrets.held[party]) > 2 or session.purpose == "predict"
        for other in session.names:
            assert found(said[other], kept) == []
        assert found(logged, kept) == []
        for other in peers:
            assert found(looks.contents(other), kept) == []
        if session.purpose == "train":
            # What keys are made of for scores, where nobody opens weights, is in the party's part of the model.
            assert found(everything_in(tmp_path / party, without="part.json"), drawn) == []
    # The search finds what is there: links in the own journals, while the session lasted.
    assert any(found(looks.contents(party), secrets.drawn[party]) for party in session.names)


def test_keys_vanish_with_their_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parties have keys for each pass: in the second one nothing is left of those of the first.

    Nor of the key from which a party's whole session follows.
    """
    whole: dict[str, bytes] = {}
    session, contents = SESSIONS["training of three"], dict[str, bytes]()
    seeds: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    make, draw = OwnerKey.__init__, EventJournal.draws

    def on_make(key: OwnerKey, engine: Any, parameters: Any, context: KeyContext, seed: bytes) -> None:
        make(key, engine, parameters, context, seed)
        seeds[context.owner, context.last].add(seed)

    def on_draws(journal: EventJournal, *given: Any) -> Draws:
        draws = draw(journal, *given)
        whole[journal._name] = draws.key
        return draws

    def look(name: str, statement: str) -> None:
        if world.steps[name] == 2:
            contents[name] = b"".join(file.read_bytes() for file in (tmp_path / name).glob("journal*"))

    monkeypatch.setattr(OwnerKey, "__init__", on_make)
    monkeypatch.setattr(EventJournal, "draws", on_draws)
    world = World(session, tmp_path, on_event=look)
    world.run().honest()
    for name in session.names:
        assert found(contents[name], [whole[name], *seeds[name, 1]]) == []
        assert found(contents[name], seeds[name, 2])


def shared_with(secrets: Secrets, party: str, peers: list[str]) -> set[bytes]:
    """Keys of pairs: both ends have them, and a third one must not; every pair is looked at on its own."""
    return {needle for other in peers for needle in secrets.drawn[party] & secrets.drawn[other]}


def with_own_tables(session: Session) -> Session:
    """The session with cells and names that nobody writes by chance."""
    return session if session.purpose != "train" else replace(session, tables=own_tables(session.plan))


def identity_of(session: Session, party: str) -> set[bytes]:
    """The number with which this party signs."""
    key = signers_of(tuple(session.names))[party].identity._key
    return set(spellings(key.private_numbers().private_value.to_bytes(32, "big")[:PIECE]))


def everything_in(folder: Path, without: str) -> bytes:
    """All bytes of all files but this one."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != without)
    return b"\n".join(file.read_bytes() for file in files)


def test_objects_print_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of ours is alive in the middle of a session: its `repr` shows nothing of what a party keeps."""
    session = with_own_tables(SESSIONS["training of three, noise, evidence"])
    secrets = Secrets(session.names)
    secrets.watch(monkeypatch)
    printed: dict[str, str] = {}
    # What earlier tests left behind may be half made, and is not this session's.
    others = objects_of_ours()
    known = {id(each) for each in others}

    def look(name: str, statement: str) -> None:
        if "'finished'" in statement:
            printed.update(
                {type(each).__qualname__ + str(id(each)): text_of(each, known) for each in objects_of_ours()}
            )

    World(session, tmp_path, on_event=look).run().honest()
    secrets.add_tables(session.tables)
    kinds = {name.rstrip("0123456789") for name in printed}
    assert {"SharesParty", "Draws", "Keys", "OwnerKey", "Session", "Shard", "Table", "Channel", "Witness"} <= kinds
    text = "\n".join(printed.values()).encode()
    for party in session.names:
        assert found(text, secrets.drawn[party] | secrets.held[party] | secrets.shares[party]) == []


def text_of(each: object, known: set[int]) -> str:
    """An object's `repr`; one that was there before the session may be half made, and then has none."""
    try:
        return repr(each)
    except Exception:
        if id(each) not in known:
            raise
        return ""


def objects_of_ours() -> list[object]:
    """Everything that the collector knows, of a class of this package."""
    return [each for each in gc.get_objects() if str(type(each).__module__).startswith("plumbob.")]


def test_the_search_finds_every_spelling() -> None:
    """A piece of a secret in the middle of other bytes, in each of six spellings and at any place."""
    secret = bytes(range(7, 7 + PIECE))
    needles = list(spellings(secret))
    assert len(needles) == 7
    for needle in needles:
        for before in range(9):
            assert found(b"." * before + needle + b".", needles) == [needle]
    assert found(b"." * 100, needles) == []
