"""What all draws have in common: fields that cannot run into each other, and a stream for each key."""

import struct
from itertools import chain
from typing import Any

LENGTH = struct.Struct("<Q")


def join(*fields: bytes) -> bytes:
    """Join fields behind their lengths, so that no two lists give the same bytes."""
    lengths = map(LENGTH.pack, map(len, fields))
    return b"".join(chain.from_iterable(zip(lengths, fields, strict=True)))


def chacha20(key: bytes, nonce: bytes = bytes(16)) -> Any:
    """The ChaCha20 stream (RFC 8439) of this key: `update(bytes(n))` gives its next n bytes."""
    # Late: `plumbob check` takes only sizes from this package, and starts without ciphers.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    return Cipher(ChaCha20(key, nonce), mode=None).encryptor()
