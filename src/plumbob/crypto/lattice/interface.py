"""The arrays that polynomials and numbers are, and the keys that requests and replies are made with.

Polynomials modulo q are arrays (primes, degree) of residues in transformed order; on the wire each residue has 50 bits.
Numbers of up to 128 bits are arrays whose last axis holds two 64-bit limbs, the lower one first. Keys of streams are 32
bytes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Residues = NDArray[np.uint64]
Pairs = NDArray[np.uint64]
Small = NDArray[np.int32]
SlotValues = Small | Pairs
"""Values in slots: small numbers, or numbers below the slot modulus, whose last axis then holds two limbs."""
Packed = NDArray[np.uint8]
Angles = NDArray[np.uint32]
"""Angles in units of a turn / 2**32, so that sums wrap as angles do."""
Wave = tuple[int, int, int]
Answered = tuple[Packed, Pairs]
"""The replies, and the evaluator's shares."""


@dataclass(frozen=True, repr=False)
class RequestKeys:
    """What a request is encrypted with: the owner's secret, and the keys of the streams of a and of e."""

    secret: Residues
    uniform: bytes
    errors: bytes
    first: int = 0
    """The place of the first polynomial in the streams: a part of a request has the bytes that it has in the whole."""


@dataclass(frozen=True, repr=False)
class ReplyKeys:
    """What a reply is made with: the request's stream of a, the owner's b and its stream of a, and those of u and e2.

    A stream is given by its key.
    """

    uniform: bytes
    b: Residues
    a: bytes
    secret: bytes
    errors: bytes
    first: int = 0
    """The place of the first reply, or of the first block of rows in slots, in the streams."""
