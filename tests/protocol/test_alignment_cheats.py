"""Alignment of two: whoever returns points it was just shown reads ids it never named, unless it must prove them."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.errors import DataError, RemoteProtocolError
from plumbob.protocol.account import hash_fields
from plumbob.protocol.alignment import Alignment, AlignmentParty, encoded_id
from plumbob.protocol.handshake import HASH_BYTES
from plumbob.protocol.messages import Kind
from plumbob.protocol.point_lists import PointList
from tests.protocol.support import Wire, outcomes, plan_for, seated

PLAN = plan_for((2, 3), protocol="exchange", seed=0)
OWN = ["anna", "bert", "carl", "dora", "emil"]
VICTIMS = ["carl", "zoe", "anna", "emil"]
DICTIONARY = ["xaver", "yves", "zacharias", "zoe", "zora"]


class Unproved(AlignmentParty):
    """The switch: what comes back is taken as it comes."""

    def _commit(self, held: PointList) -> bytes:
        return b""

    def _get_back_own_points(self, held: PointList, commitment: bytes) -> PointList:
        return self._return_in_order(held)


class Cheat(AlignmentParty):
    """Waits for its own list, and returns one of its points in the place of an id that it does not have."""

    read: str | None = None

    def _get_back_own_points(self, held: PointList, commitment: bytes) -> PointList:
        channel, step = self._channel(self._next), self._done
        returned = self._kept([channel.receive(Kind.TWICE_BLINDED_IDS, step)])
        theirs, ours = split(held.chunk(0)), split(returned.chunk(0))
        # The victim's first id that is not ours gets a point of one of ours that the victim does not have.
        place = next(place for place, point in enumerate(theirs) if point not in ours)
        self._taken = next(point for point in ours if point not in theirs)
        channel.send(Kind.TWICE_BLINDED_IDS, step, b"".join([*theirs[:place], self._taken, *theirs[place + 1 :]]))
        self._done += 1
        self._pieces.append(b"")
        self._known = dict(zip(self._own_order.tolist(), ours, strict=True))
        return returned

    def _finish(self, places: NDArray[np.uint32], points: bytes) -> Alignment:
        theirs = self._channel(self._next).receive(Kind.CONFIRMATION, 0, HASH_BYTES)
        common = [self._known[place] for place in places.tolist()]
        hashed = hashlib.sha256(b"".join(sorted([*common, self._taken]))).digest()
        ids = [self.ids[place] for place in places.tolist()]
        for guess in DICTIONARY:
            if self._confirmation(sorted([*ids, guess]), hashed) == theirs:
                self.read = guess
        raise DataError("the cheat has what it wanted, and hangs up")

    def _confirmation(self, ids: Sequence[str], points: bytes) -> bytes:
        key = hash_fields(b"aligned", self._drawn.identity, points)
        texts = hashlib.sha256(b"".join(map(encoded_id, ids))).digest()
        return hash_fields(b"confirmation", key, self._next.encode(), hash_fields(b"order", key, texts).hex().encode())


class UnprovedCheat(Cheat):
    """Against the weak build."""

    def _commit(self, held: PointList) -> bytes:
        return b""


class ProvingCheat(Cheat):
    """Against ours: commits to the honest list, returns another one, and plays the rest as it is due."""

    def _get_back_own_points(self, held: PointList, commitment: bytes) -> PointList:
        returned = super()._get_back_own_points(held, commitment)
        asked = self._salt + self._challenge
        self._in_step(partial(self._trade, Kind.RETURN_CHALLENGE, asked), len(asked))
        return returned


class Shuffler(AlignmentParty):
    """Commits to, returns and proves a list in which two points have changed places."""

    def _travel(self) -> PointList:
        points = super()._travel().chunk(0)
        return self._kept([points[32:64] + points[:32] + points[64:]])


def split(points: bytes) -> list[bytes]:
    """A message of points as single ones."""
    return [points[start : start + 32] for start in range(0, len(points), 32)]


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
