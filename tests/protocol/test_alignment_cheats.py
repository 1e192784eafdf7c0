"""Alignment with a dishonest party: whoever returns or unblinds other points than it should is refused, and named."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto import ristretto
from plumbob.crypto.ristretto import POINT_BYTES
from plumbob.data.ids import hash_of_ids
from plumbob.errors import CryptoError, DataError, RemoteProtocolError
from plumbob.protocol.account import HASH_BYTES, hash_fields
from plumbob.protocol.alignment import Alignment, AlignmentParty
from plumbob.protocol.messages import Kind
from plumbob.protocol.points import Blinder, SortedPoints
from tests.protocol.support import Wire, changing, seated
from tests.protocol.test_alignment import ANNA, BERT, THREE, TWO, played, split

OWN, VICTIMS = ANNA, BERT
DICTIONARY = ["xaver", "yves", "zacharias", "zoe", "zora"]


class Unproved(AlignmentParty):
    """The switch: what comes back is taken as it comes."""

    def _commit(self, held: bytes) -> bytes:
        return b""

    def _get_back_own_points(self, held: bytes, commitment: bytes) -> bytes:
        return self._return_in_order(held)


class Cheat(AlignmentParty):
    """Waits for its own list, and returns one of its points in the place of an id that it does not have."""

    read: str | None = None

    def _get_back_own_points(self, held: bytes, commitment: bytes) -> bytes:
        channel = self._channel(self._next)
        with self._step() as step:
            returned = channel.receive(Kind.TWICE_BLINDED_IDS, step, POINT_BYTES * len(self._ids))
            theirs, ours = split(held), split(returned)
            # The victim's first id that is not ours gets a point of one of ours that the victim does not have.
            place = next(place for place, point in enumerate(theirs) if point not in ours)
            self._taken = next(point for point in ours if point not in theirs)
            channel.send(Kind.TWICE_BLINDED_IDS, step, b"".join([*theirs[:place], self._taken, *theirs[place + 1 :]]))
        self._known = dict(zip(self._own_order.tolist(), ours, strict=True))
        return returned

    def _finish(self, places: NDArray[np.uint32], points: bytes) -> Alignment:
        theirs = self._channel(self._next).receive(Kind.CONFIRMATION, 0, HASH_BYTES)
        common = [self._known[place] for place in places.tolist()]
        hashed = hashlib.sha256(b"".join(sorted([*common, self._taken]))).digest()
        ids = self._ids.texts(places)
        for guess in DICTIONARY:
            if self._confirmation(sorted([*ids, guess]), hashed) == theirs:
                self.read = guess
        raise DataError("the cheat has what it wanted, and hangs up")

    def _confirmation(self, ids: Sequence[str], points: bytes) -> bytes:
        key = hash_fields(b"aligned", self._drawn.identity, points)
        order = hash_fields(b"order", key, hash_of_ids(ids)).hex()
        return hash_fields(b"confirmation", key, self._next.encode(), order.encode())


class UnprovedCheat(Cheat):
    """A cheat against the weak build."""

    def _commit(self, held: bytes) -> bytes:
        return b""


class ProvingCheat(Cheat):
    """A cheat against ours: commits to the honest list, returns another one, and plays the rest as it is due."""

    def _get_back_own_points(self, held: bytes, commitment: bytes) -> bytes:
        returned = super()._get_back_own_points(held, commitment)
        self._exchange(Kind.RETURN_CHALLENGE, self._salt + self._challenge)
        return returned


class Shuffler(AlignmentParty):
    """Commits to, returns and proves a list in which two points have changed places."""

    def _travel(self) -> bytes:
        points = super()._travel()
        return points[32:64] + points[:32] + points[64:]


def cheated(cheat: type[AlignmentParty], victim: type[AlignmentParty], wire: Wire, **options: Any) -> Any:
    """The cheat as the label party, and how both ended."""
    participants = seated(TWO, wire)
    kinds = {"label": cheat, "features": victim}
    return played(participants, {"label": OWN, "features": VICTIMS}, kinds, chunk=8, **options)


def test_an_unproved_list_gives_an_id_away() -> None:
    """Without commitment and proof the cheat finds "zoe", which it never named, in its dictionary."""
    parties, _ = cheated(UnprovedCheat, Unproved, Wire())
    assert parties["label"].read == "zoe"


def test_another_list_than_the_committed_one_is_refused() -> None:
    """Ours ends the session before it confirms anything."""
    wire = Wire()
    parties, ends = cheated(ProvingCheat, AlignmentParty, wire)
    assert isinstance(ends["features"], RemoteProtocolError)
    assert "committed" in str(ends["features"])
    assert parties["label"].read is None
    assert not wire.bodies(Kind.CONFIRMATION, sender="features")


@pytest.mark.parametrize("options", [{}, {"go_on": lambda size: size > 0}], ids=["at once", "size first"])
def test_points_in_each_others_place_are_refused(options: dict[str, Any]) -> None:
    """A list that was committed to and yet mixes up ids fails its proof; nothing is confirmed."""
    wire = Wire()
    _, ends = cheated(Shuffler, AlignmentParty, wire, **options)
    assert isinstance(ends["features"], RemoteProtocolError)
    assert "proof does not hold" in str(ends["features"])
    assert not wire.bodies(Kind.CONFIRMATION, sender="features")


# Among three: a party that takes its scalar off other points than it should, and proves as well as it can.


class FalseUnblinder(AlignmentParty):
    """Changes its unblinded points before it sends them, and makes its proof for what it sent."""

    change: Callable[[list[bytes]], list[bytes]]

    def _unblind_by(self, name: str, above: bytes) -> bytes:
        if name != self.participant.name:
            return super()._unblind_by(name, above)
        honest = self._blinder.take_off(above)
        self._false = self._in_chunks(b"".join(self.change(split(honest))))
        super()._unblind_by(name, above)
        # So that it plays on while the others look at what it sent.
        return honest

    def _unblind_chunk(self, name: str, points: bytes) -> bytes:
        if name != self.participant.name:
            return super()._unblind_chunk(name, points)
        with self._step() as step:
            return self._send_all(Kind.UNBLINDED_IDS, step, next(self._false))

    def _unblinding_proof(self, above: bytes, lowered: bytes) -> bytes:
        try:
            return super()._unblinding_proof(above, lowered)
        except CryptoError:
            # Nobody can prove anything of what is no point.
            return self._blinder.public() + bytes(64)


def negative(point: bytes) -> bytes:
    """The point whose sum with this one is the identity."""
    return ristretto.RistrettoGroup().times(point, ristretto.ORDER - 1)


IS_NO_POINT = "point 1 (counted from 0) is not the canonical encoding"
NO_PROOF = "its proof does not hold"


@pytest.mark.parametrize("cheat", ["label", "features", "features-2"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda points: [ristretto.GENERATOR, *points[1:]], NO_PROOF),
        (lambda points: [points[0], points[0], *points[2:]], NO_PROOF),
        (lambda points: [points[2], points[1], points[0]], NO_PROOF),
        (lambda points: [negative(points[0]), *points[1:]], NO_PROOF),
        (lambda points: [negative(points[0]), negative(points[1]), points[2]], NO_PROOF),
        (lambda points: [points[0], bytes(32), points[2]], IS_NO_POINT),
        (lambda points: [points[0], b"\xed" + b"\xff" * 30 + b"\x7f", points[2]], IS_NO_POINT),
        (lambda points: [points[0], points[1][:-1] + bytes([points[1][-1] | 0x80]), points[2]], IS_NO_POINT),
    ],
    ids=["replaced", "repeated", "other chunk", "negative", "two negatives", "identity", "no point", "second encoding"],
)
def test_a_false_unblinding_is_refused(cheat: str, change: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the others refuses it by name, before another scalar comes off and before anything is confirmed."""
    monkeypatch.setattr(FalseUnblinder, "change", staticmethod(change), raising=False)
    wire, ends = played_by_three(cheat, FalseUnblinder)
    ring = [party.name for party in THREE.learners]
    others = [name for name in ring if name != cheat]
    refusals = [str(ends[name]) for name in others if isinstance(ends[name], RemoteProtocolError)]
    assert any(f"{cheat}: " in words_said and words in words_said for words_said in refusals), ends
    later = ring[ring.index(cheat) + 1 :]
    assert not any(wire.bodies(Kind.UNBLINDED_IDS, sender=name) for name in later)
    assert not any(wire.bodies(Kind.CONFIRMATION, sender=name) for name in others)


class OtherScalar(AlignmentParty):
    """Takes another scalar off than the one it put on, off all points alike, which is what its proof says."""

    def _unblind(self, common: bytes) -> bytes:
        self._blinder = Blinder(12345, b"", threads=1)
        return super()._unblind(common)


def test_one_and_the_same_wrong_scalar_finds_no_ids() -> None:
    """Its proof holds; what is left is nobody's id, and nobody confirms anything."""
    wire, ends = played_by_three("features", OtherScalar)
    assert any("common points are no ids of ours" in str(end) for end in ends.values())
    assert not any(wire.bodies(Kind.CONFIRMATION, sender=name) for name in ("label", "features-2"))


def test_different_lists_for_different_peers_are_refused() -> None:
    """Whoever unblinds one list for one peer and another for the next: nothing of it is unblinded further."""

    def negatives(body: bytes) -> bytes:
        return b"".join(map(negative, split(body)))

    changed = changing(Kind.UNBLINDED_IDS, negatives, "label", "features-2")
    wire, ends = played_by_three("label", AlignmentParty, changed)
    assert "label: the points that it unblinded" in str(ends["features-2"])
    assert not wire.bodies(Kind.UNBLINDED_IDS, sender="features-2")
    assert not wire.bodies(Kind.CONFIRMATION)


# Among three: a party that says different things to different peers. They do not see what it told the other.


class TwoScalars(AlignmentParty):
    """Takes its scalar off for the others, and another one for features-2; both proofs hold."""

    def _unblind_by(self, name: str, above: bytes) -> bytes:
        if name == self.participant.name:
            self._above = above
        return super()._unblind_by(name, above)

    def _send_all(self, kind: Kind, step: int, body: bytes) -> bytes:
        blinder, honest = Blinder(12345, b"", threads=1), self._blinder
        for peer, channel in self.participant.data_peers.items():
            said = body
            if peer == "features-2" and kind is Kind.UNBLINDED_IDS:
                said = blinder.take_off(honest.put_on(body))
            if peer == "features-2" and kind is Kind.UNBLINDING_PROOF:
                self._blinder = blinder
                said = self._unblinding_proof(self._above, blinder.take_off(self._above))
                self._blinder = honest
            channel.send(kind, step, said)
        return body


class TwoLists(AlignmentParty):
    """Shows features a list with other points than label, so that they find different numbers in common."""

    def _swap(self, kind: Kind, outgoing: Mapping[str, bytes], incoming: Mapping[str, int]) -> dict[str, bytes]:
        if kind is Kind.SHUFFLED_IDS:
            false = b"".join(bytes(31) + bytes([place]) for place in range(len(outgoing["features"]) // 32))
            outgoing = {**outgoing, "features": false}
        return super()._swap(kind, outgoing, incoming)


class Relay(AlignmentParty):
    """Passes the list of the party before it on as its own, which then comes back to that party."""

    def _hop(self, hop: int, chunks: Iterator[bytes]) -> bytes:
        if hop:
            return super()._hop(hop, chunks)
        passed = bytearray()
        for start in self._starts(self._longest):
            with self._step() as step:
                size = self._chunk_bytes(self.sizes[self._previous], start)
                passed += self._channel(self._previous).receive(Kind.BLINDED_IDS, step, size)
                self._channel(self._next).send(Kind.BLINDED_IDS, step, bytes(passed[-size:]))
        self._sent.append(SortedPoints(bytes(passed)))
        return self._blinder.put_on(passed)

    def _refuse_false_lists(self, received: SortedPoints, hop: int) -> None:
        """It knows that it sent them."""


@pytest.mark.parametrize(
    ("kind", "cheat", "words"),
    [
        (TwoScalars, "label", r"features: .* its proof does not hold; or another party sent it other points than us"),
        (TwoLists, "features-2", r"label: expected CONFIRMATION .*; or another party sent it other points than us"),
        (Relay, "label", "features or label: its list holds points that we sent ourselves"),
    ],
    ids=["two scalars", "two lists", "relayed list"],
)
def test_no_innocent_party_is_blamed_for_certain(kind: type[AlignmentParty], cheat: str, words: str) -> None:
    """Whoever cannot know which of the others lied does not name one alone; nothing is accepted."""
    _, ends = played_by_three(cheat, kind, own=[*OWN, "zoe"])
    said = [str(end) for name, end in ends.items() if name != cheat and isinstance(end, RemoteProtocolError)]
    assert any(re.match(words, each) for each in said), ends
    assert all(each.startswith(f"{cheat}: ") or " or " in each for each in said), ends
    assert not any(isinstance(end, Alignment) for end in ends.values())


def played_by_three(
    cheat: str, kind: type[AlignmentParty], wire: Wire | None = None, own: Sequence[str] = OWN
) -> tuple[Wire, dict[str, Any]]:
    """One cheat among three, in chunks of two, and how all ended."""
    seen = wire or Wire()
    lists = {"label": own, "features": VICTIMS, "features-2": [*OWN, "zoe"]}
    return seen, played(seated(THREE, seen), lists, {cheat: kind}, chunk=2)[1]
