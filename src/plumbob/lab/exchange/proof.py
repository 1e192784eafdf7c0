"""Which public keys of a peer we use: cheap checks first, then a proof that n-th powers permute the units modulo n.

Without that a mask under n need not hide anything. Ciphertexts have `paillier.admit`.

The verifier derives 11 challenges from the context; only who knows the factors of a well-formed n has all the n-th
roots. If n has no factor below 6370, a malformed n passes with probability 6370**-11 < 2**-138. The proof says nothing
else about n: neither that it has two factors nor that its group has no small subgroups.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.errors import KeyRefusedError
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey
from plumbob.lab.exchange.profiles import Profile

SMALLEST_FACTOR = 6370
ROOTS = 11
LABEL = b"plumbob key proof 1"


@dataclass(frozen=True)
class ProofContext:
    """Who proves to whom, and when: a proof is worth nothing anywhere else."""

    session: bytes
    prover: str
    verifier: str


def admit_paillier(
    data: bytes,
    proof: bytes,
    context: ProofContext,
    profile: Profile,
    engine: PaillierEngine,
    *,
    known: Collection[int] = (),
    randomness: Randomness = SYSTEM_RANDOMNESS,
) -> PublicKey:
    """Admit a peer's Paillier key. `known` holds moduli that it must not repeat: ours, and those of other peers."""
    n = _modulus(data, profile, known)
    verify(n, profile.key_bits, proof, context)
    return PublicKey(n, profile, engine, randomness)


def _modulus(data: bytes, profile: Profile, known: Collection[int]) -> int:
    if len(data) * 8 != profile.key_bits:
        raise KeyRefusedError(f"key: expected {profile.key_bits // 8} bytes, got {len(data)}")
    n = int.from_bytes(data, "little")
    if n.bit_length() != profile.key_bits:
        raise KeyRefusedError(f"key: expected exactly {profile.key_bits} bits, got {n.bit_length()}")
    if n % 2 == 0:
        raise KeyRefusedError("key: the modulus is even; expected a product of large primes")
    if n in known:
        raise KeyRefusedError("key: this modulus is in use already; every party makes its own")
    if gmpy2.gcd(n, _small_primes()) != 1:
        raise KeyRefusedError(f"key: the modulus has a factor below {SMALLEST_FACTOR}")
    if gmpy2.is_prime(n):
        raise KeyRefusedError("key: the modulus is prime; expected a product of large primes")
    if gmpy2.is_power(n):
        raise KeyRefusedError("key: the modulus is a perfect power; expected a product of different primes")
    return n


@cache
def _small_primes() -> mpz:
    """The product of the primes below SMALLEST_FACTOR."""
    return gmpy2.primorial(SMALLEST_FACTOR - 1)


def prove(key: PrivateKey, context: ProofContext) -> bytes:
    """The n-th roots of the context's challenges, each in n's width."""
    public = key.public
    size = public.profile.key_bits // 8
    challenges = (_challenge(public.n, public.profile.key_bits, context, index) for index in range(ROOTS))
    return b"".join(key.nth_root(challenge).to_bytes(size, "little") for challenge in challenges)


def verify(n: int, key_bits: int, proof: bytes, context: ProofContext) -> None:
    """Raises unless `proof` holds; `n` has passed the cheap checks already."""
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
