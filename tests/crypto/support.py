"""What several tests of the cryptography need: reproducible randomness, and properties with few examples."""

import hashlib
from itertools import count

from hypothesis import settings

from plumbob.crypto import Randomness

# Examples cost modular arithmetic, and the first one of a key its tables.
LIGHT = settings(deadline=None, max_examples=25)


def seeded(seed: str) -> Randomness:
    """The same draws in every run: draw number i is SHAKE-256 of the seed and i."""
    draws = count()

    def source(size: int) -> bytes:
        return hashlib.shake_256(f"{seed} {next(draws)}".encode()).digest(size)

    return Randomness(source)
