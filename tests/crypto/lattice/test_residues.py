"""Transforms turn products of polynomials into products of values; streams are ChaCha20's, distributed as they should.

Transforms are compared with Kronecker substitution and FLINT.
"""

import flint
import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from plumbob.crypto.lattice import sets
from plumbob.crypto.lattice.sets import LARGEST_ERROR, PRIMES, SLOT_PRIMES, root
from plumbob.errors import CryptoError
from tests.crypto.lattice import residues
from tests.crypto.lattice.residues import forward, inverse, multiply
from tests.crypto.lattice.support import ENGINE

KEY = bytes(range(32))


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


# Streams.


def test_the_stream_is_that_of_the_standard() -> None:
    """The first block is that of RFC 8439, section 2.3.2 with counter 0: computed here from its definition."""
    assert residues.keystream(KEY, 7, 3, 64) == chacha20_block(KEY, (0, 3, 7, 0))
    assert residues.keystream(KEY, 7, 3, 200)[64:128] == chacha20_block(KEY, (1, 3, 7, 0))


def chacha20_block(key: bytes, last: tuple[int, int, int, int]) -> bytes:
    """RFC 8439, section 2.3, word by word."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *np.frombuffer(key, dtype="<u4").tolist(), *last]
    words = list(start)
    columns = [(k, 4 + k, 8 + k, 12 + k) for k in range(4)]
    diagonals = [(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4) for k in range(4)]
    for _ in range(10):
        for a, b, c, d in (*columns, *diagonals):
            for target, other, mixed, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                words[target] = (words[target] + words[other]) & 0xFFFFFFFF
                value = words[mixed] ^ words[target]
                words[mixed] = (value << turn | value >> (32 - turn)) & 0xFFFFFFFF
    return b"".join(((x + y) & 0xFFFFFFFF).to_bytes(4, "little") for x, y in zip(words, start, strict=True))


def test_streams_with_different_names_differ() -> None:
    """Key, index and part all name a stream."""
    names = [(KEY, 0, 0), (KEY, 1, 0), (KEY, 0, 1), (bytes(32), 0, 0), (KEY, 1 << 32, 0)]
    assert len({residues.keystream(*name, 64) for name in names}) == len(names)


def test_refused_words_are_skipped_in_order() -> None:
    """Below a bound that refuses a third of the words, exactly the words below it remain, in their order."""
    bound = 3 << 48
    words = np.frombuffer(residues.keystream(KEY, 0, 0, 8 * 4096), dtype="<u8") & np.uint64((1 << 50) - 1)
    drawn = residues.uniform(KEY, 0, 0, bound, 2000)
    assert (drawn == words[words < bound][:2000]).all()


def test_ternary_values_are_uniform() -> None:
    """Each value takes a third of the draws, within five standard deviations."""
    drawn = residues.ternary(KEY, 0, 300_000)
    for value in (-1, 0, 1):
        assert abs(int((drawn == value).sum()) - 100_000) < 5 * 260


def test_errors_have_their_width_and_their_bound() -> None:
    """Mean 0, variance 10.5, and nothing above 21."""
    drawn = residues.errors(KEY, 0, 300_000)
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.var() - 10.5) < 0.15
    assert int(abs(drawn).max()) <= LARGEST_ERROR


@pytest.mark.parametrize("part", [0, 1])
def test_uniform_polynomials_are_uniform(part: int) -> None:
    """Sixteenths of the range are hit equally often, in every prime."""
    drawn = ENGINE.uniform(sets.SCORES, KEY)[part]
    counts = np.bincount((drawn >> np.uint64(46)).astype(np.int64), minlength=16)
    assert int(drawn.max()) < sets.SCORES.primes[part]
    assert abs(counts - 256).max() < 6 * 16
