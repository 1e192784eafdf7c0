"""What a party answers for in one session: two commitments, and signatures before anything is opened.

In its greeting a party commits to the root of its draws, to its rows as they were read, to its settings and to what it
brings from earlier sessions; before the first message that depends on data, to the numbers that it calculates with.
Before anything is opened, everybody has signed all commitments and the hashes of all its streams so far, and whatever
opens something is signed by its sender. docs/accountability.md says why a replay then cannot be passed by a message
with a single false byte.

Signatures stand outside the hashed streams. In a simulation nobody signs.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.draws import salt_of
from plumbob.crypto.streams import join
from plumbob.data import Table
from plumbob.data.ids import in_pieces
from plumbob.errors import RemoteProtocolError

HASH_BYTES = 32
SIGNATURE_BYTES = 64
NOTHING_FIXED = bytes(HASH_BYTES)
LAST = 0  # The step of a session's last signatures.
Numbers = Mapping[str, NDArray[Any]]
"""The arrays that a party calculates with, by name."""


class Signer(Protocol):
    """Signs for this party, and knows the others' certificates."""

    def sign(self, data: bytes) -> bytes:
        """Sign these bytes; the same data give the same signature, so that a restart sends the same message."""

    def verify(self, name: str, data: bytes, signature: bytes) -> None:
        """Raise IdentityError unless that party signed these bytes."""


# Commitments.


@dataclass(frozen=True)
class FirstCommitment:
    """What a party fixes before a session: a salted hash of each thing. Peers hear one hash over them all."""

    items: Mapping[str, bytes]

    @classmethod
    def to(cls, root: bytes, table: Table | None, brought: bytes = b"") -> Self:
        """Commit to these; an arbiter has no table, and `brought` is whatever this session continues from."""
        digests = {"root": root, "brought": hashlib.sha256(brought).digest()}
        if table is not None:
            digests |= {
                "rows": digest_of_rows(table),
                "ids": digest_of_ids(table),
                "settings": digest_of_settings(table),
            }
        return cls({item: salted(root, item, digest) for item, digest in digests.items()})

    def hash(self) -> bytes:
        fields = (field for item in sorted(self.items) for field in (item.encode(), self.items[item]))
        return hash_fields(b"first commitment", *fields)


def salted(root: bytes, item: str, digest: bytes) -> bytes:
    """A commitment to one thing: nobody can test a guess at it without the root."""
    return hash_fields(b"committed", salt_of(root, item), digest)


def digest_of_rows(table: Table) -> bytes:
    """A hash over ids, columns and labels; no other table has it, not even one whose numbers spell another's texts."""
    texts = (f"text {place}" for place, column in enumerate(table.columns) if column.is_text)
    more = () if table.weights is None else ("weights",)
    tags = [tag.encode() for tag in (*texts, *more)]
    return hash_fields(b"rows", table.digest(), *tags) if tags else table.digest()


def digest_of_ids(table: Table) -> bytes:
    """A hash over the ids in their order."""
    return hash_fields(ids=table.ids)


def digest_of_settings(table: Table) -> bytes:
    """How the party chose to read its columns, and what its whole file says of them: both shape every number."""
    fitted = [] if table.fitted is None else [msgspec.json.encode(table.fitted, order="sorted")]
    return hash_fields(b"settings", msgspec.json.encode(table.choices, order="sorted"), *fitted)


def digest_of_numbers(numbers: Numbers) -> bytes:
    """A hash over the numbers with their names, types and shapes."""
    digest = hashlib.sha256()
    for name in sorted(numbers):
        values = np.ascontiguousarray(numbers[name])
        digest.update(join(name.encode(), values.dtype.str.encode(), repr(values.shape).encode()))
        digest.update(values.data)
    return digest.digest()


# Signatures.


def seal_bytes(parties: int) -> int:
    """Bytes of a seal among this many parties."""
    return HASH_BYTES + 2 * HASH_BYTES * (parties - 1) + SIGNATURE_BYTES


@dataclass(frozen=True)
class Seal:
    """One party's signature over everything so far."""

    commitments: bytes
    """A hash over everybody's commitments, as the signer heard them."""
    streams: Mapping[str, tuple[bytes, bytes]]
    """The hashes over what was sent to each peer and over what came from it."""
    signature: bytes = b""

    def unsigned_bytes(self) -> bytes:
        return self.commitments + b"".join(digest for pair in self.streams.values() for digest in pair)

    def to_bytes(self) -> bytes:
        return self.unsigned_bytes() + self.signature

    @classmethod
    def from_bytes(cls, body: bytes, peers: Sequence[str]) -> Self:
        """Parse the seal of a signer with these peers, in the plan's order; ValueError where it has another length."""
        if len(body) != seal_bytes(len(peers) + 1):
            raise ValueError(f"a seal among {len(peers) + 1} parties has {seal_bytes(len(peers) + 1)} bytes")
        hashes = [body[start : start + HASH_BYTES] for start in range(0, len(body) - SIGNATURE_BYTES, HASH_BYTES)]
        streams = {peer: (hashes[1 + 2 * at], hashes[2 + 2 * at]) for at, peer in enumerate(peers)}
        return cls(hashes[0], streams, body[-SIGNATURE_BYTES:])

    @property
    def digest(self) -> str:
        """A digest of everything but the signature, by which a statement names the places that a party signed."""
        return hashlib.sha256(self.unsigned_bytes()).hexdigest()

    def to_sign(self, session: bytes, signer: str, step: int) -> bytes:
        peers = (peer.encode() for peer in self.streams)
        return join(b"seal", session, signer.encode(), step.to_bytes(8, "little"), self.unsigned_bytes(), *peers)


@dataclass(repr=False)
class SessionAccount:
    """What one party has committed to, signed and heard in one session."""

    commitment: bytes = NOTHING_FIXED
    """The party's first commitment."""
    signer: Signer | None = None
    session: bytes = b""
    names: list[str] = field(default_factory=list)
    """The names of everybody in the session, in the plan's order."""
    commitments: dict[str, bytes] = field(default_factory=dict)
    """Everything that each party has committed to so far."""
    marks: dict[str, bytes] = field(default_factory=dict)
    """The hash over what we had sent to each peer when it last had to sign."""
    seals: dict[str, Seal] = field(default_factory=dict)
    """The last seal of each party."""

    def note_session(self, session: bytes, names: Iterable[str], first: Mapping[str, bytes]) -> None:
        """Note the session's identity, of which all first commitments are a part."""
        self.session, self.names = session, list(names)
        self.commitments = {name: first[name] for name in self.names}

    def add(self, name: str, commitment: bytes) -> None:
        """Add a later commitment of a party to its earlier ones."""
        self.commitments[name] = hash_fields(b"commitments", self.commitments[name], commitment)

    def peers_of(self, signer: str) -> list[str]:
        return [name for name in self.names if name != signer]

    def all_commitments(self) -> bytes:
        fields = (field for name in sorted(self.commitments) for field in (name.encode(), self.commitments[name]))
        return hash_fields(b"all commitments", *fields)

    def refuse_other_versions(self, names: Sequence[str]) -> None:
        """Refuse seals that contradict each other: what one party sent must be what the other got, for all of these."""
        for sender in names:
            for other in names:
                if sender != other and self.seals[sender].streams[other][0] != self.seals[other].streams[sender][1]:
                    raise RemoteProtocolError(
                        f"{sender} and {other}: the message logs that they signed differ, so one of them tells two "
                        "versions and the run ends here; start over with --new"
                    )


def hash_fields(*fields: bytes, ids: Sequence[str] = ()) -> bytes:
    """A hash over length-prefixed fields: no two lists give the same bytes. Ids, maybe millions, come last."""
    digest = hashlib.sha256(join(*fields))
    for piece in in_pieces(ids):
        digest.update(join(*map(str.encode, piece)))
    return digest.digest()
