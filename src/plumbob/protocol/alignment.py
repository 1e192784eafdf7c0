"""Finding the ids that all parties have: a private set intersection by Diffie-Hellman in the group ristretto255.

Everybody hashes its ids to points and multiplies them with a secret scalar. Multiplications commute, so equal ids
become equal points once every party's scalar is in; before that they say nothing. The lists travel round a ring, in
chunks. Then

- two parties return each other's points in order, with a proof that all carry the same scalar, and each recognises
  its own;
- three and more show all lists, sorted, so that everybody counts; the common points, and only these, lose one scalar
  after the other, each with such a proof. Two that want to know the size first count in the same way.

Who keeps to the protocol learns the common ids and what docs/alignment.md lists. An arbiter takes no part.

A step is a chunk. All randomness is drawn before the first one. Lists stay in memory, and nothing is kept for a
restart: an alignment that breaks off begins again.
"""

import hashlib
import hmac
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plumbob.caller import Progress
from plumbob.crypto.kernel import cores
from plumbob.crypto.ristretto import ORDER, POINT_BYTES
from plumbob.crypto.same_scalar import PROOF_BYTES
from plumbob.data.ids import PackedIds, hash_of_ids
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.protocol.account import hash_fields
from plumbob.protocol.channel import Channel, blame
from plumbob.protocol.handshake import confirm, greet_peers
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant
from plumbob.protocol.points import Blinder, SortedPoints, shuffle

CHUNK = 1 << 14
"""Ids of one message. Each message is a synced write on both sides: short ones take longer than the work."""
MOST_IDS = 10_000_000  # A peer that announces more is refused, unless the operator says another number.
SEED_BYTES = 32
TERMS = struct.Struct("<QQB")  # How many ids, in which chunks, and whether the size comes first.
DOMAIN = b"plumbob alignment 2"


GoOn = Callable[[int], bool]
"""Asked with the size of the intersection, before anybody learns which ids it holds."""


@dataclass(frozen=True, repr=False)
class Alignment:
    """What all parties agreed on."""

    ids: tuple[str, ...] | None
    """The ids that all have, sorted as text; None where a party declined after hearing the size."""
    order_hash: str | None
    """A hash over the ordered ids, under a key that only those who took part know."""
    size: int
    sizes: dict[str, int]
    """How many ids each party brought."""


class AlignmentTerms(NamedTuple):
    """What every party announces before the first chunk."""

    ids: int
    chunk: int
    size_first: bool


@dataclass(frozen=True, repr=False)
class Drawn:
    """A party's secrets of one alignment, and how many ids everybody announced."""

    identity: bytes
    scalar: int
    seed: bytes
    sizes: Mapping[str, int]


class AlignmentParty:
    """One party that holds ids."""

    def __init__(
        self,
        participant: Participant,
        ids: PackedIds | Iterable[str],
        *,
        go_on: GoOn | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
        chunk: int = CHUNK,
        most_ids: int = MOST_IDS,
    ) -> None:
        """`go_on` asks for the size first: all parties give one, or none does. `jobs` are threads, else all cores.

        A peer that announces more than `most_ids` is refused before anything of its list is taken.
        """
        self.participant = participant
        self._ids = ids if isinstance(ids, PackedIds) else PackedIds.of(ids)
        self._go_on = go_on
        self._jobs = jobs or cores()
        self._progress = progress
        self._chunk = chunk
        self._most_ids = most_ids
        self._done = 0
        self._sent: list[SortedPoints] = []
        """Everything that we sent round the ring."""

    _drawn: Drawn
    _blinder: Blinder
    _own: bytes
    """Our own points, in our order."""
    _received: bytes
    """What came last round the ring, as it came: between two, the peer's points in its order."""

    def run(self) -> Alignment:
        """Align, from the greeting to the confirmed order."""
        self._drawn = self._open()
        self._end_step()
        self._refuse_long_lists()
        self._blinder = Blinder(self._drawn.scalar, DOMAIN + self._drawn.identity, self._jobs)
        held = self._travel()
        commitment = self._commit(held) if self._is_pair else b""
        if self._is_pair and self._go_on is None:
            return self._recognise(self._get_back_own_points(held, commitment), held)
        everybodys = self._show_all(held)
        common = self._common(everybodys)
        size = len(common) // POINT_BYTES
        if not self._all_go_on(size):
            return Alignment(None, None, size, self.sizes)
        if not self._is_pair:
            return self._look_up(self._unblind(common), common)
        returned = self._get_back_own_points(held, commitment)
        if SortedPoints(returned).points.tobytes() != everybodys[self._next].points.tobytes():
            raise RemoteProtocolError(f"{self._next}: what it returned in order is not what it showed before")
        return self._recognise(returned, common)

    @contextmanager
    def _step(self) -> Iterator[int]:
        """A chunk's turn; yields its number."""
        yield self._done
        self._end_step()

    def _end_step(self) -> None:
        self._done += 1
        self.participant.finish_step(self._done)
        self.participant.begin_step(self._done + 1)
        if self._progress is not None:
            self._progress(self._done, max(self._done, self._known_steps))

    # The opening: who, how many, and this party's secrets.

    def _open(self) -> Drawn:
        identity, _ = greet_peers(self.participant, 0, "align")
        # All draws of the session: what follows is calculated.
        scalar = 1 + self.participant.draws.of("scalar").below(ORDER - 1)
        seed = self.participant.draws.of("order of ids").draw(SEED_BYTES)
        ours = AlignmentTerms(len(self._ids), self._chunk, size_first=self._go_on is not None)
        self.participant.send_all(Kind.ALIGNMENT_OPENING, TERMS.pack(*ours))
        sizes = {self.participant.name: len(self._ids)}
        for peer, channel in self.participant.data_peers.items():
            sizes[peer] = _check_opening(peer, channel.receive(Kind.ALIGNMENT_OPENING, 0, TERMS.size), ours)
        return Drawn(identity, scalar, seed, sizes)

    def _refuse_long_lists(self) -> None:
        """Refuse lists that are too long, before the first chunk."""
        for peer in self.participant.data_peers:
            if self.sizes[peer] > self._most_ids:
                raise RemoteProtocolError(
                    f"{peer}: submitted {self.sizes[peer]} ids, the limit is {self._most_ids}; "
                    "if that is expected, raise --at-most"
                )

    # Round the ring: every list gets every scalar.

    def _travel(self) -> bytes:
        """Pass the lists round the ring; returns the points of the party after this one, under all scalars.

        Between two they are in their owner's order; otherwise every party has shuffled them.
        """
        own = (
            self._ids.encoded(self._own_order[start : start + self._chunk]) for start in self._starts(len(self._ids))
        )
        held = self._hop(0, map(self._blinder.blind, own))
        for hop in range(1, len(self._ring) - 1):
            mixed = shuffle(held, self._order(len(held) // POINT_BYTES, hop))
            held = self._hop(hop, self._in_chunks(mixed))
        return held

    def _hop(self, hop: int, chunks: Iterator[bytes]) -> bytes:
        """Send our chunks to the next party while those of the one before come in; returns these, times our scalar."""
        incoming = self.sizes[self._before(hop + 1)]
        sent, received, held = bytearray(), bytearray(), bytearray()
        ours = next(chunks)
        for start in self._starts(self._longest):
            with self._step() as step:
                if ours:
                    self._channel(self._next).send(Kind.BLINDED_IDS, step, ours)
                    sent += ours
                    # Now, so that it is calculated while messages travel.
                    ours = next(chunks, b"")
                if start < incoming:
                    theirs = self._receive(self._previous, Kind.BLINDED_IDS, step, self._chunk_bytes(incoming, start))
                    received += theirs
                    with blame(self._previous):
                        held += self._blinder.put_on(theirs)
        self._sent.append(SortedPoints(bytes(sent)))
        self._received = bytes(received)
        if hop == 0:
            self._own = bytes(sent)
        # Before anything of the product leaves.
        self._refuse_false_lists(SortedPoints(self._received), hop)
        return bytes(held)

    def _refuse_false_lists(self, received: SortedPoints, hop: int) -> None:
        if repeated := received.count_repeats():
            raise RemoteProtocolError(f"{self._previous}: its list repeats {repeated} points")
        if self._holds_own_points(received):
            # Whoever passed the list on honestly could not see it.
            hands = " or ".join(self._before(place) for place in range(1, hop + 2))
            raise RemoteProtocolError(f"{hands}: its list holds points that we sent ourselves")

    def _holds_own_points(self, points: SortedPoints) -> bool:
        return any(points.are_in(sent).any() for sent in self._sent)

    # Two parties: each gets its own points back, and a proof that none was exchanged for another.

    def _commit(self, held: bytes) -> bytes:
        """Commit to what we will return, first; returns the peer's commitment and its scalar's point."""
        ours = self._commitment(self.participant.name, self._salt, held) + self._blinder.public()
        return self._exchange(Kind.RETURN_COMMITMENT, ours)

    def _get_back_own_points(self, held: bytes, commitment: bytes) -> bytes:
        """Our own points under both scalars, in our order, once all of them are proved to carry the same one."""
        returned = self._return_in_order(held)
        answered = self._exchange(Kind.RETURN_CHALLENGE, self._salt + self._challenge)
        salt, challenge = answered[:SEED_BYTES], answered[SEED_BYTES:]
        expected = self._commitment(self._next, salt, returned)
        if not hmac.compare_digest(expected, commitment[: len(expected)]):
            raise RemoteProtocolError(f"{self._next}: it returned another list than the one it had committed to")
        ours = self._blinder.prove(self._context(self.participant.name), self._in_chunks(self._received), challenge)
        theirs = self._exchange(Kind.RETURN_PROOF, ours)
        public, context = commitment[len(expected) :], self._context(self._next)
        if not self._is_proved(self._next, context, self._challenge, public + theirs, self._own, returned):
            raise RemoteProtocolError(
                f"{self._next}: the points that it returned are not all ours under one scalar; its proof does not hold"
            )
        return returned

    def _is_proved(
        self, name: str, context: bytes, challenge: bytes, proof: bytes, points: bytes, products: bytes
    ) -> bool:
        """Whether a party's proof holds, with its scalar's point before it: all products carry that scalar."""
        with blame(name):
            lists = self._in_chunks(points), self._in_chunks(products)
            return self._blinder.is_proved(context, proof[:POINT_BYTES], *lists, challenge, proof[POINT_BYTES:])

    def _exchange(self, kind: Kind, ours: bytes) -> bytes:
        """Send a message to the peer and receive one of the same size."""
        with self._step() as step:
            self._channel(self._next).send(kind, step, ours)
            return self._receive(self._next, kind, step, len(ours))

    def _commitment(self, name: str, salt: bytes, points: bytes) -> bytes:
        return hash_fields(b"returned", self._context(name), salt, hashlib.sha256(points).digest())

    def _context(self, name: str) -> bytes:
        return hash_fields(b"alignment", self._drawn.identity, name.encode())

    @property
    def _salt(self) -> bytes:
        return hash_fields(b"salt", self._drawn.seed)

    @property
    def _challenge(self) -> bytes:
        return hash_fields(b"challenge", self._drawn.seed)

    def _return_in_order(self, held: bytes) -> bytes:
        peer = self._next
        returned = self._swap(Kind.TWICE_BLINDED_IDS, {peer: held}, {peer: len(self._ids)})[peer]
        points = SortedPoints(returned)
        if points.count_repeats() or self._holds_own_points(points):
            raise RemoteProtocolError(f"{peer}: the points that it returned are not ours under its scalar")
        return returned

    def _recognise(self, returned: bytes, theirs: bytes) -> Alignment:
        """Find own ids whose points the peer has too."""
        own = SortedPoints(returned)
        are_common = own.are_in(SortedPoints(theirs))
        points = own.points[are_common].tobytes()
        return self._finish(self._own_order[own.places[are_common]], hashlib.sha256(points).digest())

    # Three and more parties, or the size first: everybody counts.

    def _show_all(self, held: bytes) -> dict[str, SortedPoints]:
        """Everybody's points under all scalars, by who shows them, sorted: nobody can tell which one is whose id."""
        ours = SortedPoints(held)
        outgoing = dict.fromkeys(self.participant.data_peers, ours.points.tobytes())
        incoming = {peer: self.sizes[self._after(peer)] for peer in self.participant.data_peers}
        received = self._swap(Kind.SHUFFLED_IDS, outgoing, incoming)
        lists = {peer: SortedPoints(points) for peer, points in received.items()}
        for peer, points in lists.items():
            if not points.is_as_it_came:
                raise RemoteProtocolError(f"{peer}: expected its points sorted, each once; they are not")
        return {self.participant.name: ours, **lists}

    def _common(self, lists: Mapping[str, SortedPoints]) -> bytes:
        first, *others = (lists[name] for name in self._ring)
        return first.points[first.are_in(*others)].tobytes()

    def _all_go_on(self, size: int) -> bool:
        return self._go_on is None or all(self._decide(self._go_on, size))

    def _decide(self, go_on: GoOn, size: int) -> bytes:
        with self._step() as step:
            decision = self._send_all(Kind.ALIGNMENT_DECISION, step, bytes([bool(go_on(size))]))
            for peer in self.participant.data_peers:
                theirs = self._receive(peer, Kind.ALIGNMENT_DECISION, step, 1)
                if theirs not in (b"\0", b"\1"):
                    raise RemoteProtocolError(f"{peer}: expected a decision, 0 or 1, got another byte")
                decision += theirs
            return decision

    def _unblind(self, common: bytes) -> bytes:
        """The common points without any scalar: one party after the other takes its own off, and all check it."""
        points = common
        for name in self._ring if common else ():
            # Before the next scalar comes off: a point that somebody exchanged is never unblinded further.
            points = self._unblind_by(name, points)
        return points

    def _unblind_by(self, name: str, above: bytes) -> bytes:
        """The points without one party's scalar, which it takes off itself, and proves."""
        lowered = b"".join([self._unblind_chunk(name, points) for points in self._in_chunks(above)])
        with self._step() as step:
            if name == self.participant.name:
                self._send_all(Kind.UNBLINDING_PROOF, step, self._unblinding_proof(above, lowered))
                return lowered
            proof = self._receive(name, Kind.UNBLINDING_PROOF, step, POINT_BYTES + PROOF_BYTES)
        context = self._unblinding_context(name, proof[:POINT_BYTES], above, lowered)
        if not self._is_proved(name, context, context, proof, lowered, above):
            with self._in_doubt():
                raise RemoteProtocolError(
                    f"{name}: the points that it unblinded are not the common ones under one scalar less; its proof "
                    "does not hold"
                )
        return lowered

    def _unblind_chunk(self, name: str, points: bytes) -> bytes:
        """One chunk without this party's scalar."""
        with self._step() as step:
            if name == self.participant.name:
                return self._send_all(Kind.UNBLINDED_IDS, step, self._blinder.take_off(points))
            return self._receive(name, Kind.UNBLINDED_IDS, step, len(points))

    def _unblinding_proof(self, above: bytes, lowered: bytes) -> bytes:
        public = self._blinder.public()
        context = self._unblinding_context(self.participant.name, public, above, lowered)
        return public + self._blinder.prove(context, self._in_chunks(lowered), context)

    def _unblinding_context(self, name: str, public: bytes, above: bytes, lowered: bytes) -> bytes:
        """The context of a proof and its challenge: all that the prover says, so that each try costs it a hash."""
        digests = (hashlib.sha256(points).digest() for points in (above, lowered))
        return hash_fields(b"unblinding", self._context(name), public, *digests)

    def _send_all(self, kind: Kind, step: int, body: bytes) -> bytes:
        self.participant.send_all(kind, body, step)
        return body

    def _look_up(self, unblinded: bytes, common: bytes) -> Alignment:
        """Find own ids among the points without any scalar."""
        pieces = (slice(start, start + self._chunk) for start in self._starts(len(self._ids)))
        hashed = SortedPoints(b"".join(map(self._blinder.hash_texts, map(self._ids.encoded, pieces))))
        places = hashed.places[hashed.are_in(SortedPoints(unblinded))]
        expected = len(common) // POINT_BYTES
        if len(places) != expected:
            raise RemoteProtocolError(f"{expected - len(places)} of {expected} common points are no ids of ours")
        return self._finish(places, hashlib.sha256(common).digest())

    # The end: the same order everywhere.

    def _finish(self, places: NDArray[np.uint32], points: bytes) -> Alignment:
        """Finish with the places of the common ids, and the hash of their points under all scalars, sorted."""
        found: list[str] = []
        # As in the file, where they often are in order.
        places.sort()
        for start in self._starts(len(places)):
            # A chunk at a time: millions of Python's own integers take more memory than the ids.
            found += self._ids.texts(places[start : start + self._chunk])
        # Nobody asks for them any more, and texts take three times their memory.
        self._ids.forget()
        found.sort()
        ordered = tuple(found)
        del found
        key = hash_fields(b"aligned", self._drawn.identity, points)
        order_hash = hash_fields(b"order", key, hash_of_ids(ordered)).hex()
        with self._in_doubt():
            confirm(self.participant, key, (order_hash,))
        if not ordered:
            raise DataError("the parties have no id in common; are their ids written in the same way?")
        return Alignment(ordered, order_hash, len(ordered), self.sizes)

    # Chunks, the ring, and this party's own order.

    def _swap(self, kind: Kind, outgoing: Mapping[str, bytes], incoming: Mapping[str, int]) -> dict[str, bytes]:
        """Send points to some peers and receive them from some, chunk by chunk; nothing is calculated."""
        received = {peer: bytearray() for peer in incoming}
        for start in self._starts(self._longest):
            with self._step() as step:
                for peer, points in outgoing.items():
                    if chunk := self._chunk_at(points, start):
                        self._channel(peer).send(kind, step, chunk)
                for peer, count in incoming.items():
                    if start < count:
                        received[peer] += self._receive(peer, kind, step, self._chunk_bytes(count, start))
        return {peer: bytes(points) for peer, points in received.items()}

    def _starts(self, count: int) -> range:
        return range(0, count, self._chunk)

    def _chunk_at(self, points: bytes, start: int) -> bytes:
        return points[POINT_BYTES * start : POINT_BYTES * (start + self._chunk)]

    def _chunk_bytes(self, count: int, start: int) -> int:
        """Bytes of the chunk that starts here, in a list of so many points."""
        return POINT_BYTES * min(self._chunk, count - start)

    def _in_chunks(self, points: bytes) -> Iterator[bytes]:
        return (self._chunk_at(points, start) for start in self._starts(len(points) // POINT_BYTES))

    @cached_property
    def _own_order(self) -> NDArray[np.uint32]:
        """The order of sending, which must not be that of the file."""
        return self._order(len(self._ids), hop=0)

    def _order(self, count: int, hop: int) -> NDArray[np.uint32]:
        drawn = hashlib.shake_256(self._drawn.seed + bytes([hop])).digest(8 * count)
        return np.argsort(np.frombuffer(drawn, dtype="<u8"), kind="stable").astype(np.uint32)

    @property
    def sizes(self) -> dict[str, int]:
        """How many ids each party announced, in the plan's order."""
        return {name: self._drawn.sizes[name] for name in self._ring}

    @property
    def _longest(self) -> int:
        return max(self._drawn.sizes.values())

    @property
    def _known_steps(self) -> int:
        """How many steps are known: opening, hops, and showing or returning points; not how many unblinding takes."""
        passes = len(self._ring) - 1 + (1 if self._go_on is None else 2)
        return 1 + passes * len(self._starts(self._longest)) + (3 if self._is_pair else 0)

    @cached_property
    def _ring(self) -> list[str]:
        return [party.name for party in self.participant.plan.learners]

    @property
    def _is_pair(self) -> bool:
        return len(self._ring) == 2

    @property
    def _next(self) -> str:
        return self._after(self.participant.name)

    @property
    def _previous(self) -> str:
        return self._before(1)

    def _after(self, name: str) -> str:
        return self._ring[(self._ring.index(name) + 1) % len(self._ring)]

    def _before(self, places: int) -> str:
        return self._ring[(self._ring.index(self.participant.name) - places) % len(self._ring)]

    def _channel(self, peer: str) -> Channel:
        return self.participant.channels[peer]

    def _receive(self, peer: str, kind: Kind, step: int, size: int) -> bytes:
        with self._in_doubt():
            return self._channel(peer).receive(kind, step, size)

    @contextmanager
    def _in_doubt(self) -> Iterator[None]:
        """What peers send each other we do not see: an honest one that was told something else looks like a liar."""
        try:
            yield
        except RemoteProtocolError as error:
            if self._is_pair:
                raise
            raise RemoteProtocolError(f"{error}; or another party sent it other points than us") from None


def _check_opening(peer: str, body: bytes, ours: AlignmentTerms) -> int:
    """Check that the peer opens as we do; returns how many ids it has."""
    opening = AlignmentTerms(*TERMS.unpack(body))
    if opening.size_first != ours.size_first:
        raise RemoteProtocolError(f"{peer}: one side wants the size first and the other does not; agree on one")
    if opening.chunk != ours.chunk or opening.ids < 1:
        raise RemoteProtocolError(
            f"{peer}: expected at least one id in chunks of {ours.chunk}, got {opening.ids} in {opening.chunk}"
        )
    return opening.ids
