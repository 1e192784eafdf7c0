"""Which public keys of a peer we use: cheap checks first, then the proof. Ciphertexts have `vector.admit`."""

from collections.abc import Collection
from functools import cache

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.paillier import PublicKey
from plumbob.crypto.profiles import Profile
from plumbob.crypto.proof import ProofContext, verify
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.errors import KeyRefusedError

SMALLEST_FACTOR = 6370


def admit_paillier(
    data: bytes,
    proof: bytes,
    context: ProofContext,
    profile: Profile,
    engine: Engine,
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
