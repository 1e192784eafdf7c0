"""Uniform units, digits of exponents, and primes: what Paillier draws beside the numbers that everybody draws."""

import gmpy2
import numpy as np
from gmpy2 import mpz

from plumbob.crypto import Randomness
from plumbob.lab.exchange.engines.interface import Digits


def unit(randomness: Randomness, modulus: int) -> int:
    """One number uniform among the units modulo `modulus`."""
    while True:
        value = randomness.below(modulus)
        if gmpy2.gcd(value, modulus) == 1:
            return value


def digits(randomness: Randomness, rows: int, columns: int) -> Digits:
    """A matrix of uniform bytes: exponents, already cut into windows of 8 bits."""
    return np.frombuffer(randomness.draw(rows * columns), dtype=np.uint8).reshape(rows, columns)


def prime(randomness: Randomness, bits: int) -> mpz:
    """A prime of exactly `bits` bits whose two top bits are set, so that the product of two has twice as many."""
    top = 3 << (bits - 2)
    while True:
        candidate = mpz(randomness.of_bits(bits) | top | 1)
        if gmpy2.is_prime(candidate, 40):
            return candidate
