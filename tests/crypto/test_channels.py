"""The bases of small primes in which the GPU multiplies leave the room that channels.cu counts on."""

import math

import gmpy2
import pytest

from plumbob.crypto.engines.cuda import channels, words

SERVED = [limbs for limbs in words.LIMBS if channels.bases_for(limbs) is not None]


def test_keys_of_2048_bits_are_served() -> None:
    """Their ciphertexts and their primes, and the primes of 3072-bit keys; longer numbers go to lanes."""
    assert SERVED == [16, 32, 48, 64]


@pytest.mark.parametrize("limbs", SERVED)
def test_bases_are_large_enough(limbs: int) -> None:
    """All primes are different ones just below 2**30, and both products leave the room for halves that grow."""
    bases = channels.bases_for(limbs)
    assert bases is not None
    primes = [*bases.first, *bases.second]
    assert len(set(primes)) == 2 * bases.shape.channels
    assert all(gmpy2.is_prime(prime) and (1 << 30) - channels.SPREAD <= prime < 1 << 30 for prime in primes)
    needed = 4 * 4 * (bases.shape.channels + 1) << (32 * limbs)
    assert min(math.prod(bases.first), math.prod(bases.second)) >= needed


def test_sums_fit_their_words() -> None:
    """Of two bytes in 32 bits, and of all that is told in units of 2**6, for as many channels as there can be."""
    most = channels.WARP_CHANNELS * channels.MOST_WARPS
    highest = int(2.22 * (1 << 30)) >> 24
    assert most * (3 * 255 + highest) * 255 * 257 < 1 << 32
    assert most * 2.22 * (1 << 24) < 1 << 32
