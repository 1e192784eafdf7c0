"""Additively homomorphic encryption of vectors: usable on its own, with numpy and gmpy2 only.

    key = paillier.generate()
    ours = key.encrypt(residuals.encode(v))         # fresh, may be sent
    sums = slots.pack(ours @ features.encode(X))    # integers times ciphertexts
    back = (sums + mask).randomised()               # may be sent again

docs/protocol.md says what each step hides and from whom.
"""

from plumbob.crypto import engines, lattice, paillier, profiles
from plumbob.crypto.admission import admit_paillier
from plumbob.crypto.draws import Draws, FirstWords, new_root
from plumbob.crypto.fixed_point import Encoded, Encoding, sum_bits
from plumbob.crypto.packing import Slots
from plumbob.crypto.paillier import PrivateKey, PublicKey
from plumbob.crypto.proof import ProofContext, prove
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.crypto.vector import EncryptedVector, Sendable, admit

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
