"""What an engine does with polynomials: everything that is slow, nothing about who holds what.

Polynomials modulo q are arrays (primes, degree) of residues in transformed order; on the wire each residue has 50 bits.
Numbers of up to 128 bits are arrays whose last axis holds two 64-bit limbs, the lower one first. All engines give the
same bytes. Keys of streams are 32 bytes.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.sets import ParameterSet

Residues = NDArray[np.uint64]
Pairs = NDArray[np.uint64]
Small = NDArray[np.int32]
Packed = NDArray[np.uint8]
Angles = NDArray[np.uint32]
"""In units of a turn / 2**32, so that sums wrap as angles do."""
Wave = tuple[int, int, int]
AnswerPlaces = NDArray[np.uint32]
"""Of some of a polynomial's coefficients."""


class LatticeEngine(Protocol):
    """Small on purpose: the products of `owner` and `evaluator` are combinations of these."""

    @property
    def name(self) -> str:
        """What the record and the benchmark call it."""

    def secret(self, parameters: ParameterSet, key: bytes) -> Residues:
        """A ternary polynomial, transformed."""

    def public_key(self, parameters: ParameterSet, secret: Residues, uniform: bytes, errors: bytes) -> Packed:
        """-a s + e, with a from the first stream and e from the second."""

    def unpack(self, parameters: ParameterSet, packed: Packed) -> Residues:
        """Polynomials from the wire. ValueError if a residue is not below its prime."""

    def transform(self, parameters: ParameterSet, coefficients: Small) -> Residues:
        """Polynomials (count, degree) with small signed coefficients, as (count, primes, degree)."""

    def encrypt(
        self,
        parameters: ParameterSet,
        secret: Residues,
        keys: tuple[bytes, bytes],
        messages: Pairs,
        bits: int,
        seed: bytes,
    ) -> bytes:
        """The seed, then a s + e + round(q m / 2**bits) for each polynomial m of `messages` (count, degree, 2).

        `keys` are those of the streams of a and of e.
        """

    def encrypt_slots(
        self, parameters: ParameterSet, secret: Residues, keys: tuple[bytes, bytes], values: Small, seed: bytes
    ) -> bytes:
        """The same for polynomials whose slots hold the rows of `values` (count, degree)."""

    def encrypt_wide_slots(
        self, parameters: ParameterSet, secret: Residues, keys: tuple[bytes, bytes], values: Pairs, seed: bytes
    ) -> bytes:
        """The same from numbers (count, degree, 2) below the slot modulus: shares, say."""

    def reply(
        self,
        parameters: ParameterSet,
        uniform: bytes,
        packed: Packed,
        matrix: Residues,
        key: tuple[Residues, bytes],
        streams: tuple[bytes, bytes],
        bits: tuple[int, int],
        answers: AnswerPlaces,
    ) -> tuple[Packed, Pairs]:
        """For each row of `matrix` (replies, requests, primes, degree) one fresh encryption of its product.

        `key` is the owner's b and the stream of its a; `streams` give u and e2; `bits` are the width of a coefficient
        of the reply and of a share. Returns the replies and the evaluator's shares of the coefficients `answers`.
        """

    def reply_slots(
        self,
        parameters: ParameterSet,
        uniform: bytes,
        packed: Packed,
        values: Small,
        key: tuple[Residues, bytes],
        streams: tuple[bytes, bytes],
    ) -> tuple[Packed, Pairs]:
        """For each block of `values` (blocks, terms, degree) one reply: the sum of its terms' products in slots."""

    def reply_turns(
        self,
        parameters: ParameterSet,
        uniform: bytes,
        packed: Packed,
        values: Small,
        key: tuple[Residues, bytes],
        streams: tuple[bytes, bytes],
    ) -> tuple[Packed, Pairs]:
        """Complex products: what was encrypted, real parts and then imaginary ones, times cosines and sines.

        `values` (blocks, terms, degree) hold half of the terms as cosines, then the sines. There is a reply for each
        block and term, (blocks * terms, ...), in the same order of real and imaginary parts.
        """

    def open(
        self, parameters: ParameterSet, secret: Residues, packed: Packed, bits: tuple[int, int], answers: AnswerPlaces
    ) -> Pairs:
        """The owner's shares of the coefficients `answers` of each reply."""

    def open_slots(self, parameters: ParameterSet, secret: Residues, packed: Packed) -> Pairs:
        """The owner's shares of all slots of the replies."""

    def challenge(self, parameters: ParameterSet, key: tuple[Residues, bytes], streams: tuple[bytes, ...]) -> Packed:
        """X0 = b u + e1 + rho and X1 = a u + e2, with u, e1, e2, rho from the four streams."""

    def uniform(self, parameters: ParameterSet, key: bytes) -> Residues:
        """One uniform polynomial, transformed."""

    def combine(self, parameters: ParameterSet, first: Residues, second: Residues, secret: Residues) -> Residues:
        """first + second * secret."""

    def high_bits(self, parameters: ParameterSet, value: Residues, dropped: int) -> bytes:
        """The coefficients in [0, q) without their lowest bits, each in 40 bytes."""

    def waves(self, angles: Angles, waves: Sequence[Wave], dropped: int) -> Small:
        """For each (harmonic, shift, scale) the sines of harmonic * angle + shift, times the scale: (waves, angles).

        A sine has 30 fraction bits, the scale 32 bits with its sign; the product is divided by 2**dropped and rounded.
        """

    def own_scores(self, entries: Small, share: Pairs) -> NDArray[np.uint64]:
        """A matrix (rows, columns) times a vector (columns, 2), modulo 2**64."""

    def own_sums(self, entries: Small, share: Pairs) -> Pairs:
        """The transposed matrix times a vector (rows, 2), modulo 2**128."""
