"""Alignment of two: whoever returns points it was just shown reads ids it never named, unless it must prove them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest

from plumbob.errors import DataError, RemoteProtocolError
from plumbob.protocol.alignment import Alignment, AlignmentParty
from plumbob.protocol.handshake import HASH_BYTES, hash_fields
from plumbob.protocol.messages import Kind
from tests.protocol.support import Wire, outcomes, plan_for, seated

PLAN = plan_for((2, 3), protocol="exchange", seed=0)
OWN = ["anna", "bert", "carl", "dora", "emil"]
VICTIMS = ["carl", "zoe", "anna", "emil"]
DICTIONARY = ["xaver", "yves", "zacharias", "zoe", "zora"]


class Unproved(AlignmentParty):
    """The switch: what comes back is taken as it comes."""

    def _commit(self, held: Sequence[bytes]) -> bytes:
        return b""

    def _get_back_own_points(self, held: Sequence[bytes], commitment: bytes) -> list[bytes]:
        return self._return_in_order(held)


class Cheat(AlignmentParty):
    """Waits for its own list, and returns one of its points in the place of an id that it does not have."""

    read: str | None = None

    def _get_back_own_points(self, held: Sequence[bytes], commitment: bytes) -> list[bytes]:
        count, channel, step = len(self.ids), self._channel(self._next), self._done
        sizes = [self._chunk_bytes(start, count) for start in self._starts(self._longest)]
        mine = b"".join(channel.receive(Kind.TWICE_BLINDED_IDS, step + n, size) for n, size in enumerate(sizes) if size)
        returned = [mine[at : at + 32] for at in range(0, len(mine), 32)]
        self._changed = self._exchanged(held, returned)
        for n, start in enumerate(self._starts(self._longest)):
            if chunk := self._changed[start : start + self._chunk]:
                channel.send(Kind.TWICE_BLINDED_IDS, step + n, b"".join(chunk))
        self._done += len(sizes)
        self._pieces += [b""] * len(sizes)
        self._own_returned = returned
        return returned

    def _exchanged(self, held: Sequence[bytes], returned: Sequence[bytes]) -> list[bytes]:
        """The victim's first id that is not ours gets a point of one of ours that the victim does not have."""
        place = next(place for place, point in enumerate(held) if point not in returned)
        free = next(point for point in returned if point not in held)
        return [*held[:place], free, *held[place + 1 :]]

    def _finish(self, ids: Sequence[str], points: Sequence[bytes]) -> Alignment:
        theirs = self._channel(self._next).receive(Kind.CONFIRMATION, 0, HASH_BYTES)
        known = dict(zip(self._shuffled_ids, self._own_returned, strict=True))
        taken = next(point for point in self._changed if point in known.values() and point not in points)
        for guess in DICTIONARY:
            named = sorted([*((identity, known[identity]) for identity in ids), (guess, taken)])
            if self._confirmation([identity for identity, _ in named], [point for _, point in named]) == theirs:
                self.read = guess
        raise DataError("the cheat has what it wanted, and hangs up")

    def _confirmation(self, ids: Sequence[str], points: Sequence[bytes]) -> bytes:
        key = hash_fields(b"aligned", self._drawn.identity, b"".join(points))
        order = hash_fields(b"order", key, msgspec.json.encode(tuple(ids))).hex()
        return hash_fields(b"confirmation", key, self._next.encode(), order.encode())


class UnprovedCheat(Cheat):
    """Against the weak build."""

    def _commit(self, held: Sequence[bytes]) -> bytes:
        return b""


class ProvingCheat(Cheat):
    """Against ours: commits to the honest list, returns another one, and plays the rest as it is due."""

    def _get_back_own_points(self, held: Sequence[bytes], commitment: bytes) -> list[bytes]:
        returned = super()._get_back_own_points(held, commitment)
        asked = self._salt + self._challenge
        self._in_step(partial(self._trade, Kind.RETURN_CHALLENGE, asked, len(asked)), len(asked))
        return returned


class Shuffler(AlignmentParty):
    """Commits to, returns and proves a list in which two points have changed places."""

    def _travel(self) -> list[bytes]:
        held = super()._travel()
        return [held[1], held[0], *held[2:]]


def played(cheat: type[AlignmentParty], victim: type[AlignmentParty], wire: Wire, **options: Any) -> Any:
    """The cheat as the label party, and how both ended."""
    participants = seated(PLAN, wire)
    for name, kind in (("label", cheat), ("features", victim)):
        for channel in participants[name].channels.values() if kind is not AlignmentParty else ():
            channel.break_free()
    parties = {
        "label": cheat(participants["label"], OWN, chunk=8, jobs=1, **options),
        "features": victim(participants["features"], VICTIMS, chunk=8, jobs=1, **options),
    }
    return parties, outcomes({name: party.run for name, party in parties.items()}, participants)


def test_an_unproved_list_gives_an_id_away() -> None:
    """Without commitment and proof the cheat finds "zoe", which it never named, in its dictionary."""
    parties, _ = played(UnprovedCheat, Unproved, Wire())
    assert parties["label"].read == "zoe"


def test_another_list_than_the_committed_one_is_refused() -> None:
    """Ours ends the session before it confirms anything."""
    wire = Wire()
    parties, ends = played(ProvingCheat, AlignmentParty, wire)
    assert isinstance(ends["features"], RemoteProtocolError)
    assert "committed" in str(ends["features"])
    assert parties["label"].read is None
    assert not wire.bodies(Kind.CONFIRMATION, sender="features")


@pytest.mark.parametrize("options", [{}, {"go_on": lambda size: size > 0}], ids=["at once", "size first"])
def test_points_in_each_others_place_are_refused(options: dict[str, Any]) -> None:
    """A list that was committed to and yet mixes up ids fails its proof; nothing is confirmed."""
    wire = Wire()
    _, ends = played(Shuffler, AlignmentParty, wire, **options)
    assert isinstance(ends["features"], RemoteProtocolError)
    assert "proof does not hold" in str(ends["features"])
    assert not wire.bodies(Kind.CONFIRMATION, sender="features")
