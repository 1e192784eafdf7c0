"""Lifting shares of three and more parties: they are added up behind masks, and the masks are the new shares.

The parties hold x modulo m, and abs(x) is far smaller than m. Every party but the first draws a whole number r_j, many
bits wider than x, sends x_j + r_j modulo m to the first one, and keeps -r_j. The first adds its own share to what it
gets: c = x + r, a whole number, because r is so small beside m that nothing wraps. These whole numbers add up to x, and
each party can round its own off alone. One honest mask hides x from everybody else together: docs/lattice.md has the
proof.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.crypto.lattice import pairs
from plumbob.crypto.lattice.interface import Pairs
from plumbob.crypto.streams import chacha20
from plumbob.errors import CiphertextRefusedError

MOST_SPARE_BITS = 64
"""Bits by which a mask is wider than what it hides, where the modulus has room for them."""


@dataclass(frozen=True)
class MaskedOpening:
    """Numbers smaller than 2**value_bits, shared modulo `modulus` among `holders` parties."""

    modulus: int
    value_bits: int
    holders: int

    @property
    def mask_bits(self) -> int:
        """Bits of each party's mask: all masks together stay below half of the modulus."""
        room = self.modulus.bit_length() - 2 - math.ceil(math.log2(self.holders))
        return min(room, self.value_bits + MOST_SPARE_BITS)

    @property
    def shown_bits(self) -> int:
        """The logarithm of the statistical distance between what two different numbers show, behind one mask."""
        return self.value_bits + 1 - self.mask_bits

    @property
    def most_bits(self) -> int:
        """How many bits c = x + masks tells about x at most, whatever x is: its own entropy less that of one mask."""
        return self.modulus.bit_length() - self.mask_bits

    def size(self, count: int) -> int:
        """Bytes of a message with this many numbers."""
        return count * self._element_bytes

    def masks(self, key: bytes, count: int) -> Pairs:
        """Masks, uniform below 2**mask_bits, from a key that serves nothing else."""
        stream = chacha20(key).update(bytes(16 * count))
        return pairs.reduce(np.frombuffer(stream, dtype="<u8").reshape(count, 2), self.mask_bits)

    def hide(self, share: Pairs, masks: Pairs) -> Pairs:
        """Hide a share (count, 2), which is below the modulus, behind its masks."""
        return pairs.add_modulo(share, masks, self.modulus)

    def to_bytes(self, hidden: Pairs) -> bytes:
        """The hidden numbers as bytes, without those that are zero in every number."""
        return pairs.to_octets(hidden, self._element_bytes).tobytes()

    def from_bytes(self, data: bytes) -> Pairs:
        """The inverse of `to_bytes`, of a body whose length was checked."""
        values = pairs.from_octets(np.frombuffer(data, dtype=np.uint8).reshape(-1, self._element_bytes))
        if not pairs.is_below(values, self.modulus).all():
            raise CiphertextRefusedError("a masked number outside its range: expected one below the modulus")
        return values

    def lift(self, share: Pairs, hidden: Sequence[Pairs]) -> Pairs:
        """The first party's share from now on, c = x + r: signed whole numbers, modulo 2**128."""
        total = share
        for each in hidden:
            total = pairs.add_modulo(total, each, self.modulus)
        # Masks are not negative and reach half of the modulus together: what comes near all of it is below zero.
        is_negative = ~pairs.is_below(total, self.modulus * 3 // 4)
        return pairs.add_where(total, is_negative.astype(np.uint64), -self.modulus)

    @property
    def _element_bytes(self) -> int:
        return -(-(self.modulus - 1).bit_length() // 8)
