"""What several tests of Paillier need: an engine that counts, and plain arithmetic."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from plumbob.crypto import Encoded, Encoding
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey

SINGLE: dict[str, Any] = {"key_bits": 256, "feature_bits": 30, "residual_bits": 30}
"""Keys of a plan under which a reply has room for one sum."""


def integers(entries: Sequence[Sequence[int]], bits: int) -> Encoded:
    """A matrix of given integers under an encoding of `bits` bits, sign included."""
    return Encoded(np.array(entries, dtype=np.int64), Encoding(bits - 1, 0))


def plain_product(values: Sequence[int], matrix: Encoded) -> list[int]:
    """What `@` must give, in Python's unbounded integers."""
    return [int(value) for value in np.array(values, dtype=object) @ matrix.values.astype(object)]


def decrypt_signed(key: PrivateKey, vector: EncryptedVector) -> list[int]:
    """The plaintexts, centred around 0."""
    return [centred(value, key.public.n) for value in key.decrypt(vector)]


class CountingEngine:
    """Passes every call on to another engine, and counts the calls by name."""

    def __init__(self, inner: PaillierEngine) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()
        self.packed_in: set[int] = set()
        """Roots of the rings in which `pack` was asked for."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if not callable(method):
            return method

        def counted(*arguments: Any) -> Any:
            self.calls[name] += 1
            if name == "pack":
                self.packed_in.add(arguments[0].root)
            return method(*arguments)

        return counted


def counted_key(private: PrivateKey) -> tuple[PrivateKey, CountingEngine]:
    """The same key on an engine that counts."""
    counting: Any = CountingEngine(private.public.engine)
    public = private.public
    again = PublicKey(public.n, public.profile, counting, public.randomness)
    return PrivateKey(int(private._p), int(private._q), again), counting
