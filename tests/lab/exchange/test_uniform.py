"""What keys of Paillier are drawn from: primes, units and digits, all from one source."""

import os
from collections import Counter

import gmpy2
import pytest
from scipy import stats

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.lab.exchange import paillier, profiles, uniform
from plumbob.lab.exchange.engines.python import PythonEngine
from tests.crypto.support import seeded

SURPRISING = 1e-6  # With seeded draws a test that passes once passes always.


def test_keys_use_the_kernel_by_default() -> None:
    """Keys that were not given a source draw from the kernel."""
    assert paillier.generate(profiles.TEST_ONLY, PythonEngine()).public.randomness is SYSTEM_RANDOMNESS


def test_everything_comes_through_the_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, its encryptions, masks and replies draw nothing beside the source they were given."""
    randomness = seeded("only source")

    def forbidden(size: int) -> bytes:
        raise AssertionError(f"{size} bytes were drawn from the operating system")

    monkeypatch.setattr(os, "urandom", forbidden)
    key = paillier.generate(profiles.TEST_ONLY, PythonEngine(), randomness)
    masked = key.encrypt([1, 2, 3]) + key.public.random_mask(3, 64)
    assert len(masked.randomised()) == 3


def test_units_are_units() -> None:
    """Of the residues modulo 30 only the eight units come, each about as often."""
    randomness = seeded("unit")
    drawn = Counter(uniform.unit(randomness, 30) for _ in range(800))
    assert set(drawn) == {value for value in range(30) if gmpy2.gcd(value, 30) == 1}
    assert stats.chisquare(list(drawn.values())).pvalue > SURPRISING


def test_digits_are_uniform() -> None:
    """Digits of exponents fill their range evenly."""
    digits = uniform.digits(seeded("digits"), 200, 50)
    assert digits.shape == (200, 50)
    drawn = Counter(digits.ravel().tolist())
    assert stats.chisquare([drawn[value] for value in range(256)]).pvalue > SURPRISING
    assert max(drawn) < 256


@pytest.mark.parametrize("bits", [128, 384])
def test_primes_have_their_length(bits: int) -> None:
    """A prime has exactly the bits asked for and its two top bits set, so a product of two never falls short."""
    for prime in (uniform.prime(seeded(f"prime {number}"), bits) for number in range(5)):
        assert gmpy2.is_prime(prime)
        assert prime >> (bits - 2) == 3
