"""What a key, a request or a reply is for, and the streams that are derived from it.

Every draw comes from a pseudorandom function (HMAC-SHA-256) of a local key and of everything that it is for. The same
request is therefore answered with the same bytes after a restart, and a changed one never with the same randomness.
"""

import hashlib
import hmac
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from plumbob.crypto.lattice.sets import ParameterSet

SEED_BYTES = 32
PIECE = 1 << 20  # Bytes that are hashed at once.


@dataclass(frozen=True)
class Context:
    """One product of a run: no two may have equal contexts."""

    session: bytes
    owner: str
    evaluator: str
    kind: str
    number: int
    """The pass."""

    def encode(self, parameters: ParameterSet) -> bytes:
        fields = (self.session, self.owner.encode(), self.evaluator.encode(), self.kind.encode())
        return join(struct.pack("<IIQ", parameters.number, parameters.degree, self.number), *fields)


def join(*fields: bytes) -> bytes:
    """Fields behind their lengths: no two lists give the same bytes."""
    return b"".join(struct.pack("<Q", len(field)) + field for field in fields)


def expand(label: str, *fields: bytes) -> bytes:
    """The key of a public stream."""
    return hashlib.sha256(join(b"plumbob lattice", label.encode(), *fields)).digest()


def derive(local_key: bytes, label: str, *fields: bytes) -> bytes:
    """The key of a secret stream."""
    return hmac.new(local_key, join(b"plumbob lattice", label.encode(), *fields), hashlib.sha256).digest()


def digest_of(data: bytes, threads: int) -> bytes:
    """A hash over the hashes of pieces, which several threads can do; it does not depend on their number."""
    view = memoryview(data)
    pieces = [view[start : start + PIECE] for start in range(0, len(view), PIECE)]
    if threads > 1 and len(pieces) > 1:
        with ThreadPoolExecutor(threads) as pool:
            digests = list(pool.map(_sha256, pieces))
    else:
        digests = [_sha256(piece) for piece in pieces]
    return expand("digest", struct.pack("<Q", len(data)), *digests)


def _sha256(data: memoryview) -> bytes:
    return hashlib.sha256(data).digest()
