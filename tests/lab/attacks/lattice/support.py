"""Polynomials modulo x**n + 1 and q for attackers, and evaluators that were weakened in one place."""

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import ParameterSet, Small, TestedKey, sets
from plumbob.crypto.lattice.interface import Answered, Packed, ReplyKeys, Residues, SlotValues
from plumbob.crypto.lattice.layout import polynomials
from plumbob.crypto.lattice.products import OwnerKey
from tests.crypto.lattice import reference, residues
from tests.crypto.lattice.reference import ReferenceEngine
from tests.crypto.lattice.residues import forward, multiply

PARAMETERS = sets.insecure_for_tests(64, 3)
SLOTS = sets.insecure_for_tests(64, 6, has_slots=True)
ENGINE = ReferenceEngine()


def coefficients(parameters: ParameterSet, value: Residues) -> list[int]:
    """The coefficients of least size, from transformed order."""
    q = parameters.modulus
    composed = reference._composed(parameters.primes, reference._coefficients(parameters, value))
    return [int(each) - q if int(each) > q // 2 else int(each) for each in composed]


def polynomial(parameters: ParameterSet, numbers: list[int]) -> Residues:
    """The polynomial in transformed order, from coefficients."""
    values = np.array([*numbers, *[0] * (parameters.degree - len(numbers))], dtype=object)
    return np.stack([forward((values % p).astype(np.uint64), p) for p in parameters.primes])


def times(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    """The product of two polynomials."""
    return reference._multiply(parameters, left, right)


def minus(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    """The difference of two polynomials."""
    return reference._subtract(parameters, left, right)


def divided(parameters: ParameterSet, left: Residues, right: Residues) -> Residues:
    """The quotient; no value of `right` may be zero."""
    inverses = [
        np.array([pow(int(value), -1, prime) for value in row], dtype=np.uint64)
        for row, prime in zip(right, parameters.primes, strict=True)
    ]
    rows = zip(left, inverses, parameters.primes, strict=True)
    return np.stack([multiply(value, inverse, prime) for value, inverse, prime in rows])


def received(parameters: ParameterSet, data: bytes, count: int = 1) -> Residues:
    """The polynomials of a reply that is not cut."""
    return ENGINE.unpack(parameters, polynomials(parameters, data, count))


def slots_of(parameters: ParameterSet, numbers: list[int]) -> list[int]:
    """What the slots of a polynomial with these coefficients hold, of least size."""
    values = np.array(numbers, dtype=object)
    rows = np.stack([forward((values % p).astype(np.uint64), p) for p in parameters.slot_primes])
    t = parameters.slot_modulus
    return [
        int(each) - t if int(each) > t // 2 else int(each) for each in reference._composed(parameters.slot_primes, rows)
    ]


def untested(key: OwnerKey, residues: Residues) -> TestedKey:
    """A key that nobody tested: only a weakened evaluator would take it."""
    return TestedKey(key.parameters, key.context, residues, bytes(32))


class WithoutZero(ReferenceEngine):
    """Replies without a fresh encryption of zero."""

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        sent = []
        for block, row in enumerate(values):
            plain = [reference._slots_plaintext(parameters, each) for each in row]
            total = np.zeros_like(plain[0])
            for term, factor in enumerate(plain):
                expanded = reference._uniform(parameters, keys.uniform, block * len(row) + term)
                total = minus(parameters, total, times(parameters, expanded, factor))
            sent.append(residues.pack(total))
        return np.stack(sent), np.zeros((len(values), parameters.degree, 2), dtype=np.uint64)


def private_numbers(rows: int, seed: int = 7) -> Small:
    """What the evaluator hides: one term of small numbers."""
    return np.random.default_rng(seed).integers(-(2**20), 2**20, (1, rows)).astype(np.int32)


def private_matrix(rows: int, columns: int, seed: int = 7) -> NDArray[np.int64]:
    """What the evaluator hides: 13 fraction bits, as whitened columns have."""
    return np.random.default_rng(seed).integers(-(2**15), 2**15, (rows, columns))
