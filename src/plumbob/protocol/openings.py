"""How wide numbers are, and opening a shared one: no more bits leave than an honest number has.

To open a shared number, each side cuts its own share: it drops the low bits that nobody needs and reduces what is left
modulo 2**K, K being the public width of an honest number. The sender hands over K bits and the receiver adds its own.
Whatever the receiver did before, these K bits are all that this message can carry out (docs/protocol.md has
the argument). Where several answer, masks hide each answer among the others' (`pair_masks`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto.fixed_point import Encoding
from plumbob.errors import RemoteProtocolError
from plumbob.plan import Plan

Share = list[int]
ENTRY_INTEGER_BITS = 7  # Integer bits of an entry of a lattice product's matrix.
ASSUMED_ROWS = 10_000  # Where a plan does not say; used for nothing that travels.

SCORE_PART = Encoding(32, 24)
"""The encoding of a part of a score that its party knows: below 2**24, to 2**-32."""


@dataclass(frozen=True)
class OpenedWidth:
    """The width of an honest number: a sign, integer bits and the fraction bits that are kept."""

    integer_bits: int
    fraction_bits: int

    @property
    def bits(self) -> int:
        """How many bits one opened number can carry out."""
        return 1 + self.integer_bits + self.fraction_bits

    @property
    def limit(self) -> float:
        """The limit of honest numbers; larger ones wrap around."""
        return 2.0**self.integer_bits

    def size(self, count: int) -> int:
        """Bytes of a message with this many cut shares."""
        return count * self._bytes

    def open(self, cut: Sequence[int], missing: Mapping[str, bytes]) -> Vector:
        """The numbers that own cut shares and the peers' add up to, each right to one unit in its last place."""
        modulus, total = 1 << self.bits, list(cut)
        for peer, body in missing.items():
            total = [a + b for a, b in zip(total, self.from_bytes(body, peer), strict=True)]
        sums = ((value + modulus // 2) % modulus - modulus // 2 for value in total)
        return np.array([math.ldexp(value, -self.fraction_bits) for value in sums])

    def to_bytes(self, cut: Sequence[int]) -> bytes:
        return pack(cut, self._bytes)

    def from_bytes(self, data: bytes, peer: str) -> Share:
        """The inverse of `to_bytes`, of a body whose length was checked."""
        values = unpack(data, self._bytes)
        if any(value >> self.bits for value in values):
            raise RemoteProtocolError(
                f"{peer}: expected shares cut to {self.bits} bits, some are wider; is the peer running another version?"
            )
        return values

    @property
    def _bytes(self) -> int:
        return -(-self.bits // 8)


def pack(values: Iterable[int], size: int) -> bytes:
    """Whole numbers as bytes, so many for each."""
    return b"".join(value.to_bytes(size, "little") for value in values)


def unpack(data: bytes, size: int) -> Share:
    """The inverse of `pack`, of a body whose length was checked."""
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


WEIGHTS = OpenedWidth(integer_bits=6, fraction_bits=20)
"""The width of a weight in the units of training: below 64, to 2**-20."""
OPENED_SCORES = OpenedWidth(integer_bits=5, fraction_bits=16)
"""The width of a score, which is shared modulo one period of the sigmoid's series, 64: below 32, to 2**-16."""


def opened_bits(plan: Plan, name: str) -> int:
    """Bits about the peers that this party's opened weights can carry in one run of `shares`, if it deviates."""
    return columns_of(plan, name) * WEIGHTS.bits if plan.opens_weights else 0


def scored_bits(plan: Plan, rows: int) -> int:
    """Bits about the feature parties that this many scores, opened from shares, can carry to the label party."""
    return rows * OPENED_SCORES.bits if plan.is_closed else 0


def columns_of(plan: Plan, name: str) -> int:
    """A party's columns, with the intercept's at the label party."""
    party = plan.party(name)
    return party.features + (1 if plan.intercept and party.role == "label" else 0)
