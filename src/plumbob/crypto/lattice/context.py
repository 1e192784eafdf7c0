"""What a key, a request or a reply is for, and the streams that are derived from it.

Every draw comes from a pseudorandom function (HMAC-SHA-256) of a local key and of everything that it is for. The same
request is therefore answered with the same bytes after a restart, and a changed one never with the same randomness.
"""

import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.crypto.streams import LENGTH, join

SEED_BYTES = 32


@dataclass(frozen=True)
class KeyContext:
    """What a key is for: no two of a run may have equal contexts. A key's uniform polynomial comes from it."""

    session: bytes
    owner: str
    evaluator: str
    kind: str
    last: int
    """The last pass in which the key is used: it is erased then. Between two parties it served all passes before."""

    @property
    def in_words(self) -> str:
        """What the key is for, without the session."""
        return f"{self.kind}, up to pass {self.last}, {self.owner} to {self.evaluator}"

    def encode(self, parameters: ParameterSet) -> bytes:
        fields = (self.session, self.owner.encode(), self.evaluator.encode(), self.kind.encode())
        return join(struct.pack("<IIQ", parameters.number, parameters.degree, self.last), *fields)

    def in_pass(self, number: int) -> "ProductContext":
        return ProductContext(self, number)


@dataclass(frozen=True)
class ProductContext:
    """One product of a run: no two may have equal contexts. What is drawn for requests and replies comes from it.

    A key may serve a product in every pass. Without the pass, two requests with equal content would have the same seed.
    """

    key: KeyContext
    number: int
    """The number of the pass."""

    def encode(self, parameters: ParameterSet) -> bytes:
        return join(self.key.encode(parameters), LENGTH.pack(self.number))


def expand(label: str, *fields: bytes) -> bytes:
    """Derive the key of a public stream."""
    return hashlib.sha256(join(b"plumbob lattice", label.encode(), *fields)).digest()


def derive(local_key: bytes, label: str, *fields: bytes) -> bytes:
    """Derive the key of a secret stream."""
    return hmac.new(local_key, join(b"plumbob lattice", label.encode(), *fields), hashlib.sha256).digest()


def fingerprint(local_key: bytes, context: bytes, data: NDArray[Any] | bytes | memoryview) -> bytes:
    """A tag by which its holder tells two contents of one context apart: Poly1305 under a key that nobody else has.

    Two contents of up to 2**27 bytes have the same one with probability below 2**-79, and nothing that is sent shows
    the key: docs/lattice.md. A hash that collides for nobody would take seven times as long.
    """
    # Late: `plumbob check` takes only sizes from this package, and starts without ciphers.
    from cryptography.hazmat.primitives.poly1305 import Poly1305

    key = derive(local_key, "fingerprint", context)
    view = memoryview(data) if isinstance(data, bytes | memoryview) else memoryview(data.data)
    return Poly1305.generate_tag(key, view.cast("B") if view.nbytes else b"")
