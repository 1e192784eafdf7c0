"""Additively homomorphic encryption of vectors: usable on its own, with numpy and gmpy2 only.

    key = paillier.generate()
    ours = key.encrypt(residuals.encode(v))         # fresh, may be sent
    sums = slots.pack(ours @ features.encode(X))    # integers times ciphertexts
    back = (sums + mask).randomised()               # may be sent again

docs/protocol.md says what each step hides and from whom. Each name is imported when it is asked for: a party whose
protocol has lattices loads no Paillier.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbob.crypto import engines, lattice, paillier, profiles
    from plumbob.crypto.draws import Draws, FirstWords, new_root
    from plumbob.crypto.fixed_point import Encoded, Encoding, sum_bits
    from plumbob.crypto.packing import Slots
    from plumbob.crypto.paillier import EncryptedVector, PrivateKey, PublicKey, Sendable, admit
    from plumbob.crypto.proof import ProofContext, admit_paillier, prove
    from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness

_OFFERED = {
    "draws": ("Draws", "FirstWords", "new_root"),
    "fixed_point": ("Encoded", "Encoding", "sum_bits"),
    "packing": ("Slots",),
    "paillier": ("EncryptedVector", "PrivateKey", "PublicKey", "Sendable", "admit"),
    "proof": ("ProofContext", "admit_paillier", "prove"),
    "randomness": ("SYSTEM_RANDOMNESS", "Randomness"),
}
_MODULE_OF = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "SYSTEM_RANDOMNESS",
    "Draws",
    "Encoded",
    "Encoding",
    "EncryptedVector",
    "FirstWords",
    "PrivateKey",
    "ProofContext",
    "PublicKey",
    "Randomness",
    "Sendable",
    "Slots",
    "admit",
    "admit_paillier",
    "engines",
    "lattice",
    "new_root",
    "paillier",
    "profiles",
    "prove",
    "sum_bits",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"plumbob.crypto.{_MODULE_OF[name]}"), name)
    if name in __all__:
        return import_module(f"plumbob.crypto.{name}")
    raise AttributeError(f"module 'plumbob.crypto' has no attribute {name!r}")
