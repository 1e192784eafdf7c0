"""Fingerprints are Poly1305 tags under a local key: one bit of the content, the context or the key changes them."""

import numpy as np
import pytest

from plumbob.crypto.lattice.context import derive, fingerprint
from tests.crypto.lattice.support import EVALUATOR_SEED, OWNER_SEED

PRIME = 2**130 - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF


def tag_by_integers(key: bytes, data: bytes) -> bytes:
    """RFC 8439, section 2.5, in Python's integers."""
    factor, last = int.from_bytes(key[:16], "little") & CLAMP, int.from_bytes(key[16:], "little")
    total = 0
    for start in range(0, len(data), 16):
        total = (total + int.from_bytes(data[start : start + 16] + b"\1", "little")) * factor % PRIME
    return ((total + last) % 2**128).to_bytes(16, "little")


@pytest.mark.parametrize("size", [0, 1, 16, 17, 1000])
def test_a_fingerprint_is_the_tag_of_the_standard(size: int) -> None:
    """The fingerprint of bytes is the standard's tag, under a key derived from the local one and the context."""
    data = np.random.default_rng(size).bytes(size)
    assert fingerprint(OWNER_SEED, b"one", data) == tag_by_integers(derive(OWNER_SEED, "fingerprint", b"one"), data)


def test_an_array_counts_as_its_bytes() -> None:
    """An array of any shape, an empty one too, counts as its bytes."""
    values = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    assert fingerprint(OWNER_SEED, b"", values) == fingerprint(OWNER_SEED, b"", values.tobytes())
    assert fingerprint(OWNER_SEED, b"", np.zeros((5, 0), dtype=np.int32)) == fingerprint(OWNER_SEED, b"", b"")


def test_every_change_shows() -> None:
    """A bit of the content, another context, another key: another fingerprint."""
    data = bytes(range(200))
    usual = fingerprint(OWNER_SEED, b"one", data)
    flipped = [bytes([*data[:place], data[place] ^ 1 << place % 8, *data[place + 1 :]]) for place in range(len(data))]
    others = [fingerprint(OWNER_SEED, b"one", each) for each in [*flipped, data[:-1], data + b"\0"]]
    others += [fingerprint(OWNER_SEED, b"two", data), fingerprint(EVALUATOR_SEED, b"one", data)]
    assert usual not in others
    assert len(set(others)) == len(others)
