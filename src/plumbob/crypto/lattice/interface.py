"""What an engine does with polynomials: everything that is slow, nothing about who holds what.

Polynomials modulo q are arrays (primes, degree) of residues in transformed order; on the wire each residue has 50 bits.
Numbers of up to 128 bits are arrays whose last axis holds two 64-bit limbs, the lower one first. All engines give the
same bytes. Keys of streams are 32 bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.errors import EngineError

if TYPE_CHECKING:  # Both are made of the arrays that are named here.
    from plumbob.crypto.lattice.layout import Layout
    from plumbob.crypto.lattice.products import PrivateMatrix

NAMES = ("auto", "native", "python", "ray")
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


class LatticeEngine(Protocol):
    """Small on purpose: the products of `crypto.lattice.products` are combinations of these."""

    @property
    def name(self) -> str:
        """The engine's name in records and benchmarks."""

    def secret(self, parameters: ParameterSet, key: bytes) -> Residues:
        """A random ternary polynomial, transformed."""

    def public_key(self, parameters: ParameterSet, secret: Residues, uniform: bytes, errors: bytes) -> Packed:
        """-a s + e, with a from the first stream and e from the second."""

    def unpack(self, parameters: ParameterSet, packed: Packed) -> Residues:
        """Unpack polynomials from the wire. ValueError if a residue is not below its prime."""

    def transform(self, parameters: ParameterSet, coefficients: Small) -> Residues:
        """Polynomials (count, degree) with small signed coefficients, as (count, primes, degree)."""

    def encrypt(self, parameters: ParameterSet, keys: RequestKeys, messages: Pairs, bits: int, seed: bytes) -> bytes:
        """The seed, then a s + e + round(q m / 2**bits) for each polynomial m of `messages` (count, degree, 2)."""

    def encrypt_slots(self, parameters: ParameterSet, keys: RequestKeys, values: SlotValues, seed: bytes) -> bytes:
        """The same as `encrypt`, for polynomials whose slots hold the rows of `values` (count, degree)."""

    def reply(self, matrix: "PrivateMatrix", keys: ReplyKeys, packed: Packed) -> Answered:
        """For each row of the placed matrix one fresh encryption of its product with the request.

        The evaluator's shares are those of the coefficients that are answers.
        """

    def add_up(self, matrix: "PrivateMatrix", uniform: bytes, first: int, packed: Packed) -> Residues:
        """What some of a request's polynomials, from the place `first` on, add to the replies, before it is hidden.

        That is the sums of c0 Z and of a Z for each row of the placed matrix: (replies, 2, primes, degree).
        """

    def hide(self, layout: "Layout", keys: ReplyKeys, sums: Residues) -> Answered:
        """What `reply` returns, from the sums over a whole request."""

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        """For each block of `values` (blocks, terms, degree) one reply: the sum of its terms' products in slots.

        Where they turn, complex products: on both sides the first half of the terms are real parts, the second
        imaginary ones. There is a reply for each block and term then, (blocks * terms, ...), in the same order.
        """

    def open(self, layout: "Layout", secret: Residues, packed: Packed) -> Pairs:
        """The owner's shares of those coefficients of each reply that are answers."""

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


def choose(name: str = "auto", threads: int | None = None) -> LatticeEngine:
    """The engine of that name, on `threads` threads (None: every core)."""
    if name not in NAMES:
        raise EngineError(f"lattice engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "python":
        return _reference_engine()
    if name == "ray":
        from plumbob.crypto.lattice.cluster import RayLatticeEngine  # It is made of products, which engines calculate.

        return RayLatticeEngine(choose("auto", threads))
    try:
        from plumbob.crypto.lattice.native import NativeLatticeEngine  # Only here may the compiled kernel be needed.
    except ImportError:
        if name == "native":
            raise EngineError(
                "lattice engine 'native' was not built here: install a C++ compiler and reinstall; or use 'python'"
            ) from None
        return _reference_engine()
    return NativeLatticeEngine(threads=threads)


def _reference_engine() -> LatticeEngine:
    from plumbob.crypto.lattice.reference import ReferenceEngine  # Where the kernel is, nobody needs it.

    return ReferenceEngine()
