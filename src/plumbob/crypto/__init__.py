"""Draws, encodings, points and lattices: the cryptography of `shares` and of alignment, usable on its own.

docs/protocol.md says what each step hides and from whom. Lattices (`crypto.lattice`) and points (`crypto.ristretto`)
are packages and modules of their own: who aligns ids loads no lattices, and who trains no points.
"""

from plumbob.crypto.draws import Draws, FirstWords, new_root
from plumbob.crypto.fixed_point import Encoded, Encoding
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness

__all__ = [
    "SYSTEM_RANDOMNESS",
    "Draws",
    "Encoded",
    "Encoding",
    "FirstWords",
    "Randomness",
    "new_root",
]
