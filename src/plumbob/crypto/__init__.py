"""Draws, encodings, points and lattices: the cryptography of `shares` and of alignment, usable on its own.

docs/protocol.md says what each step hides and from whom. Each name is imported when it is asked for: who aligns ids
loads no lattices, and who trains no points.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.crypto import lattice
    from plumbob.crypto.draws import Draws, FirstWords, new_root
    from plumbob.crypto.fixed_point import Encoded, Encoding
    from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness

_OFFERED = {
    "draws": ("Draws", "FirstWords", "new_root"),
    "fixed_point": ("Encoded", "Encoding"),
    "randomness": ("SYSTEM_RANDOMNESS", "Randomness"),
}
_MODULE_OF = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "SYSTEM_RANDOMNESS",
    "Draws",
    "Encoded",
    "Encoding",
    "FirstWords",
    "Randomness",
    "lattice",
    "new_root",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"plumbob.crypto.{_MODULE_OF[name]}"), name)
    if name in __all__:
        return import_module(f"plumbob.crypto.{name}")
    raise AttributeError(f"module 'plumbob.crypto' has no attribute {name!r}")
