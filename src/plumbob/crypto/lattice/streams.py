"""Randomness and public polynomials from ChaCha20 (RFC 8439) streams: the definition that every engine follows.

A stream is named by a key of 32 bytes and by two numbers: the polynomial's index and the prime's. Its first block has
counter 0. Words are little-endian.
"""

import struct
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.sets import ERROR_COINS, PRIME_BITS

SMALL_STREAM = 0xFFFFFFFF
"""Stands in place of a prime's index, for polynomials that are the same modulo every prime."""
REFUSED_BYTE = 255  # 255 is divisible by three: the bytes below it give each ternary value equally often.


def keystream(key: bytes, index: int, part: int, size: int) -> bytes:
    """The first bytes of a stream."""
    cipher, algorithm = _chacha20()
    nonce = struct.pack("<IIQ", 0, part, index)
    stream: bytes = cipher(algorithm(key, nonce), mode=None).encryptor().update(bytes(size))
    return stream


@cache
def _chacha20() -> tuple[Any, Any]:
    # Late: importing this package must not load more than numpy and gmpy2.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    return Cipher, ChaCha20


def uniform(key: bytes, index: int, part: int, bound: int, count: int) -> NDArray[np.uint64]:
    """Numbers uniform below `bound`, by rejection among the low 50 bits of the stream's 64-bit words."""
    mask = np.uint64((1 << PRIME_BITS) - 1)
    spare = 64
    while True:
        words = np.frombuffer(keystream(key, index, part, 8 * (count + spare)), dtype="<u8") & mask
        accepted = words[words < np.uint64(bound)]
        if len(accepted) >= count:
            return accepted[:count].astype(np.uint64)
        spare = 2 * spare + count


def ternary(key: bytes, index: int, count: int) -> NDArray[np.int64]:
    """Numbers uniform in {-1, 0, 1}: bytes modulo three, of which one value in 256 is refused."""
    spare = 256
    while True:
        drawn = np.frombuffer(keystream(key, index, SMALL_STREAM, count + spare), dtype=np.uint8)
        accepted = drawn[drawn != REFUSED_BYTE]
        if len(accepted) >= count:
            values: NDArray[np.int64] = accepted[:count].astype(np.int64) % 3 - 1
            return values
        spare = 2 * spare + count


def errors(key: bytes, index: int, count: int) -> NDArray[np.int64]:
    """Heads among 21 coins less heads among 21 others: standard deviation 3.24, never above 21."""
    words = np.frombuffer(keystream(key, index, SMALL_STREAM, 8 * count), dtype="<u8")
    mask = np.uint64((1 << ERROR_COINS) - 1)
    return _heads(words & mask) - _heads(words >> np.uint64(ERROR_COINS) & mask)


def _heads(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    total = np.zeros(len(words), dtype=np.int64)
    for coin in range(ERROR_COINS):
        total += (words >> np.uint64(coin) & np.uint64(1)).astype(np.int64)
    return total
