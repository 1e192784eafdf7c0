"""The readable engine: what each operation means, on gmpy2's integers.

It is the reference that the kernel is tested against, and what serves on processors without AVX2. The time of a
product with a matrix depends on the entries. Nobody measures it: all parties of a study are in one process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.lab.exchange.engines.interface import Digits, PlainEngine, Ring
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_mpz, width_for


@dataclass(frozen=True, repr=False)
class PowerTable:
    """powers[j][v] = bases[j]**v."""

    ring: Ring
    powers: list[list[mpz]]


class PythonEngine(PlainEngine):
    """The reference engine: gmpy2's integers, on one thread."""

    name = "python"

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        others = to_mpz(right)
        if len(others) == 1:
            others = others * len(left)
        modulus = ring.modulus
        return from_ints((a * b % modulus for a, b in zip(to_mpz(left), others, strict=True)), ring.width)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        if exponent == 0:  # Never a secret one; GMP's constant-time power does not take it.
            return from_ints([1] * len(bases), ring.width)
        # powmod_sec is GMP's mpn_sec_powm: no branch and no address depends on the exponent's bits.
        return from_ints((gmpy2.powmod_sec(base, exponent, ring.modulus) for base in to_mpz(bases)), ring.width)

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        rows = to_mpz(bases)
        return from_ints((product_of_powers(ring, rows, column) for column in matrix.T.tolist()), ring.width)

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        rows = to_mpz(values)
        groups = [rows[start : start + slots] for start in range(0, len(rows), slots)]
        return from_ints((pack_one(ring, group, slot_bits) for group in groups), ring.width)

    def table(self, ring: Ring, bases: Limbs, window: int) -> PowerTable:
        return PowerTable(ring, [powers_of(ring, base, 1 << window) for base in to_mpz(bases)])

    def look_up(self, table: PowerTable, digits: Digits) -> Limbs:
        return from_ints((chosen_product(table, row) for row in digits.tolist()), table.ring.width)

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        inverse = gmpy2.invert(second.modulus, first.modulus)
        joined = (
            b + second.modulus * ((a - b) * inverse % first.modulus)
            for a, b in zip(to_mpz(left), to_mpz(right), strict=True)
        )
        return from_ints(joined, width_for(int(first.modulus * second.modulus)))


def product_of_powers(ring: Ring, bases: Sequence[mpz], exponents: Sequence[int]) -> mpz:
    """The product of bases[i]**exponents[i]; those that are negative are inverted together."""
    above, below = mpz(1), mpz(1)
    for base, exponent in zip(bases, exponents, strict=True):
        power = gmpy2.powmod(base, abs(exponent), ring.modulus)
        if exponent < 0:
            below = below * power % ring.modulus
        else:
            above = above * power % ring.modulus
    return above * gmpy2.invert(below, ring.modulus) % ring.modulus


def pack_one(ring: Ring, group: Sequence[mpz], slot_bits: int) -> mpz:
    """Square and multiply from the topmost slot down."""
    packed = group[-1]
    for value in reversed(group[:-1]):
        for _ in range(slot_bits):
            packed = packed * packed % ring.modulus
        packed = packed * value % ring.modulus
    return packed


def powers_of(ring: Ring, base: mpz, count: int) -> list[mpz]:
    """base**0, base**1, ..."""
    powers = [mpz(1)]
    while len(powers) < count:
        powers.append(powers[-1] * base % ring.modulus)
    return powers


def chosen_product(table: PowerTable, digits: Sequence[int]) -> mpz:
    """The product of one power of every base."""
    product = mpz(1)
    modulus = table.ring.modulus
    for powers, digit in zip(table.powers, digits, strict=True):
        product = product * powers[digit] % modulus
    return product
