"""A proof that n-th powers permute the units modulo n, without which a mask under n need not hide anything.

The verifier derives 11 challenges from the context; only who knows the factors of a well-formed n has all the n-th
roots. If n has no factor below 6370, a malformed n passes with probability 6370**-11 < 2**-138. The proof says nothing
else about n: neither that it has two factors nor that its group has no small subgroups.
"""

import hashlib
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.paillier import PrivateKey
from plumbob.errors import KeyRefusedError

ROOTS = 11
LABEL = b"plumbob key proof 1"


@dataclass(frozen=True)
class ProofContext:
    """Who proves to whom, and when: a proof is worth nothing anywhere else."""

    session: bytes
    prover: str
    verifier: str


def prove(key: PrivateKey, context: ProofContext) -> bytes:
    """The n-th roots of the context's challenges, each in n's width."""
    public = key.public
    size = public.profile.key_bits // 8
    challenges = (_challenge(public.n, public.profile.key_bits, context, index) for index in range(ROOTS))
    return b"".join(key.nth_root(challenge).to_bytes(size, "little") for challenge in challenges)


def verify(n: int, key_bits: int, proof: bytes, context: ProofContext) -> None:
    """Raises unless `proof` holds; `n` has passed the cheap checks of `admission` already."""
    size = key_bits // 8
    if len(proof) != ROOTS * size:
        raise KeyRefusedError(f"key proof: expected {ROOTS * size} bytes, got {len(proof)}")
    for index in range(ROOTS):
        root = mpz(int.from_bytes(proof[index * size : (index + 1) * size], "little"))
        if not 0 < root < n or gmpy2.gcd(root, n) != 1:
            raise KeyRefusedError(f"key proof: root {index} is not a unit in [1, n)")
        if gmpy2.powmod(root, n, n) != _challenge(n, key_bits, context, index):
            raise KeyRefusedError(f"key proof: root {index} does not fit its challenge: forged, or made for others")


def _challenge(n: int, key_bits: int, context: ProofContext, index: int) -> int:
    """One challenge: reduced from 128 bits more than n has, so that it is uniform modulo n."""
    fields = (
        LABEL,
        context.session,
        context.prover.encode(),
        context.verifier.encode(),
        n.to_bytes(key_bits // 8, "little"),
        index.to_bytes(4, "little"),
    )
    # Length prefixes: two different contexts never hash the same bytes.
    hashed = hashlib.shake_256(b"".join(len(field).to_bytes(8, "little") + field for field in fields))
    return int.from_bytes(hashed.digest((key_bits + 128) // 8), "little") % n
