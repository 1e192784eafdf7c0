"""Paillier without its randomness: the same messages, masks and plaintexts, and nothing that takes time.

An active attack is acted out in a run of its own. What it reaches depends on plaintexts, widths, slots and refusals,
never on the n-th power that hides a ciphertext from outsiders. Here that power is 1, so a ciphertext is 1 + m n,
products are sums of m, and decrypting is a division. Everything else of the run is as in any other: keys of the plan's
length and their proofs, every message and every check. It hides nothing from anybody, and serves Paillier only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gmpy2 import mpz

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.lab.exchange import engines
from plumbob.lab.exchange.engines.interface import Digits, Integers, PaillierEngine, PreparedPowers, Ring
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_mpz, width_for


@dataclass(frozen=True)
class _Ones:
    """Stands in place of a table of powers."""

    ring: Ring


class UnhiddenEngine:
    """An engine that calculates on ciphertexts of the form 1 + m n, and leaves everything else to a real one."""

    name = "unhidden"

    def __init__(self, real: PaillierEngine | None = None) -> None:
        self._real = real or engines.choose()

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        first, second = messages(ring, left), messages(ring, right)
        if first is None or second is None:
            return self._real.multiply(ring, left, right)
        others = second * len(first) if len(second) == 1 else second
        return ciphertexts(ring, [one + other for one, other in zip(first, others, strict=True)])

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        return self._real.embed(ring, values)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        if ring.degree == 2 and exponent == ring.root:
            # n-th powers are what would hide.
            return ones(ring, len(bases))
        found = messages(ring, bases)
        if found is None:
            return self._real.power(ring, bases, exponent)
        return ciphertexts(ring, [value * exponent for value in found])

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        found = messages(ring, bases)
        if found is None:
            return self._real.combine(ring, bases, matrix, bits)
        columns = (column.tolist() for column in matrix.T)
        return ciphertexts(ring, [sum(map(mpz.__mul__, found, map(mpz, column)), mpz(0)) for column in columns])

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        found = messages(ring, values)
        if found is None:
            return self._real.pack(ring, values, slots, slot_bits)
        groups = [found[start : start + slots] for start in range(0, len(found), slots)]
        return ciphertexts(
            ring, [sum((one << place * slot_bits for place, one in enumerate(group)), mpz(0)) for group in groups]
        )

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        """A table of the powers that hide ciphertexts, which are 1 here; proofs use no table."""
        return _Ones(ring)

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        return ones(table.ring, len(digits))

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        if is_one(left) and is_one(right):
            return from_ints([1] * len(left), width_for(int(first.modulus * second.modulus)))
        return self._real.join(first, second, left, right)

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        """(1 + m n)**(p - 1) = 1 + (p - 1) m n modulo p**2: no power has to be taken."""
        found = []
        for ring, scale in zip(rings, scales, strict=True):
            hidden = messages(ring, from_ints((value % ring.modulus for value in to_mpz(values)), ring.width))
            if hidden is None:
                return self._real.logarithms(rings, values, scales)
            prime = mpz(ring.root)
            found.append(from_ints((value * (prime - 1) * scale % prime for value in hidden), width_for(ring.root)))
        return found


def messages(ring: Ring, values: Limbs) -> list[mpz] | None:
    """The m of each 1 + m n; None if one of them has another form."""
    if ring.degree != 2:
        return None
    root = mpz(ring.root)
    divided = [divmod(value - 1, root) for value in to_mpz(values)]
    return None if any(rest for _, rest in divided) else [whole for whole, _ in divided]


def ones(ring: Ring, count: int) -> Limbs:
    """Ones in place of random factors, which hide nothing."""
    return from_ints([1] * count, ring.width)


def is_one(values: Limbs) -> bool:
    """Whether every value is 1."""
    return bool((values[:, 0] == 1).all()) and not values[:, 1:].any()


def ciphertexts(ring: Ring, found: Sequence[mpz]) -> Limbs:
    """The ciphertexts 1 + m n of each m."""
    root = mpz(ring.root)
    return from_ints((1 + value % root * root for value in found), ring.width)
