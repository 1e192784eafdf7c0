"""Transforms turn products of polynomials into products of values: against Kronecker substitution and FLINT."""

import flint
import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from plumbob.crypto.lattice.sets import PRIMES, SLOT_PRIMES
from plumbob.crypto.lattice.transform import forward, inverse, multiply, root
from plumbob.errors import CryptoError


def kronecker(left: list[int], right: list[int], prime: int) -> list[int]:
    """The product modulo x**n + 1 and a prime, as one product of large integers."""
    degree, width = len(left), 128
    total = _joined(left, width) * _joined(right, width)
    digits = [int(gmpy2.f_mod_2exp(total >> (width * k), width)) for k in range(2 * degree)]
    return [(digits[k] - digits[degree + k]) % prime for k in range(degree)]


def _joined(values: list[int], width: int) -> mpz:
    return mpz(int.from_bytes(b"".join(value.to_bytes(width // 8, "little") for value in values), "little"))


def by_flint(left: list[int], right: list[int], prime: int) -> list[int]:
    """The same product by FLINT."""
    degree = len(left)
    product = flint.nmod_poly(left, prime) * flint.nmod_poly(right, prime)
    digits = [int(product[k]) for k in range(2 * degree)]
    return [(digits[k] - digits[degree + k]) % prime for k in range(degree)]


def drawn(prime: int, degree: int, seed: int) -> list[int]:
    """Uniform residues, with the largest among them."""
    values = np.random.default_rng(seed).integers(0, prime, degree, dtype=np.uint64)
    values[0], values[-1] = prime - 1, prime - 1
    return [int(value) for value in values]


@pytest.mark.parametrize("prime", [PRIMES[0], PRIMES[-1], SLOT_PRIMES[1]])
@pytest.mark.parametrize("degree", [16, 64, 1024, 16384])
def test_products_of_values_are_products_of_polynomials(prime: int, degree: int) -> None:
    """Transform, multiply value by value, transform back: the product modulo x**degree + 1."""
    left, right = drawn(prime, degree, 1), drawn(prime, degree, 2)
    first, second = (forward(np.array(each, dtype=np.uint64), prime) for each in (left, right))
    product = inverse(multiply(first, second, prime), prime)
    assert product.tolist() == kronecker(left, right, prime) == by_flint(left, right, prime)


@pytest.mark.parametrize("prime", PRIMES)
def test_products_of_residues_are_exact(prime: int) -> None:
    """The estimated quotient never spoils a product, at the ends of the range and inside."""
    edges = [0, 1, 2, prime // 2, prime // 2 + 1, prime - 2, prime - 1]
    left = np.array([*edges, *drawn(prime, 5000, 3)], dtype=np.uint64)
    right = np.array([*reversed(edges), *drawn(prime, 5000, 4)], dtype=np.uint64)
    right[: len(edges)] = prime - 1
    expected = [int(a) * int(b) % prime for a, b in zip(left, right, strict=True)]
    assert multiply(left, right, prime).tolist() == expected


def test_a_prime_without_a_root_is_refused() -> None:
    """Without a root of x**degree + 1 there is no transform."""
    with pytest.raises(CryptoError, match="use a prime that is 1 modulo"):
        root(1125899906842597, 64)
