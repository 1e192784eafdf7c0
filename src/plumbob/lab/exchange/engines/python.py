"""The readable engine: the same algorithms as the native kernel, on gmpy2's integers.

It is the reference that the kernel is tested against, and what serves on processors without AVX2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import gmpy2
import numpy as np
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
        offset = 1 << (bits - 1)
        # Entries are shifted to be non-negative; an all-offset column is what the shift multiplied in everywhere.
        shifted = np.column_stack([matrix + offset, np.full(len(matrix), offset, dtype=np.int64)])
        *sums, excess = combine_unsigned(ring, to_mpz(bases), shifted, bits)
        correction = gmpy2.invert(excess, ring.modulus)
        return from_ints((value * correction % ring.modulus for value in sums), ring.width)

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


def group_size(rows: int, looked_up: int) -> int:
    """Rows per table that make the count of modular products, ceil(rows / g) * (2**g + looked_up), smallest."""
    return min(range(1, 13), key=lambda size: -(-rows // size) * ((1 << size) + looked_up))


def combine_unsigned(ring: Ring, bases: Sequence[mpz], matrix: IntegerMatrix, bits: int) -> list[mpz]:
    """Four Russians: cut the rows into groups, tabulate each group's subset products once, and share that table between
    all columns and all bit planes; then square-and-multiply over the planes.
    """
    rows, columns = matrix.shape
    size = group_size(rows, columns * bits)
    planes = [[mpz(1)] * columns for _ in range(bits)]
    modulus = ring.modulus
    for start in range(0, rows, size):
        subsets = subset_products(ring, bases[start : start + size])
        for plane, indices in zip(planes, subset_indices(matrix[start : start + size], bits), strict=True):
            plane[:] = [value * subsets[index] % modulus for value, index in zip(plane, indices, strict=True)]
    return horner(ring, planes)


def subset_products(ring: Ring, bases: Sequence[mpz]) -> list[mpz]:
    """Entry v is the product of the bases whose bit is set in v."""
    products = [mpz(1)]
    for base in bases:
        products += [product * base % ring.modulus for product in products]
    return products


def subset_indices(block: IntegerMatrix, bits: int) -> list[list[int]]:
    """For each bit plane, lowest first, and each column: which subset of the block's rows has that bit set."""
    weights = 1 << np.arange(len(block), dtype=np.int64)
    return [(weights @ ((block >> bit) & 1)).tolist() for bit in range(bits)]


def horner(ring: Ring, planes: Sequence[Sequence[mpz]]) -> list[mpz]:
    """The product over planes b of planes[b][column]**(2**b)."""
    result = list(planes[-1])
    for plane in reversed(planes[:-1]):
        squares = (value * value % ring.modulus for value in result)
        result = [square * digit % ring.modulus for square, digit in zip(squares, plane, strict=True)]
    return result


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
