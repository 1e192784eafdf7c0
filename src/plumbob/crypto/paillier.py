"""Paillier's cryptosystem: sums and integer multiples of plaintexts modulo n, on ciphertexts modulo n**2.

Encryption is (1 + m n) r with r an n-th power. The owner draws r modulo p**2 and q**2; everybody else from tables of
independent n-th powers (`keys.PublicKey.randomisers`).
"""

from functools import cached_property

import gmpy2
from gmpy2 import mpz

from plumbob.crypto import engines
from plumbob.crypto.engines.interface import Engine, Integers, Ring
from plumbob.crypto.keys import SLACK_BITS, OwnBase, PrivateKey, PublicKey
from plumbob.crypto.limbs import Limbs, to_ints
from plumbob.crypto.profiles import STANDARD, Profile
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.errors import CryptoError


class PaillierPublicKey(PublicKey):
    """n, with the engine and the randomness to use it. A peer's n comes in through `admission` only."""

    def __init__(self, n: int, profile: Profile, engine: Engine, randomness: Randomness = SYSTEM_RANDOMNESS) -> None:
        super().__init__(n, profile, engine, randomness)
        self.ring = Ring(n, 2)

    @property
    def capacity_bits(self) -> int:
        return self.profile.key_bits - 2

    @property
    def reply_bits(self) -> int:
        return self.profile.key_bits - 1 - SLACK_BITS

    @property
    def whole_reply(self) -> int:
        return 1 << self.profile.key_bits

    def random_mask(self, count: int, bits: int) -> list[int]:
        """Uniform modulo n: perfect, whatever the helper sent."""
        if bits > self.reply_bits:
            raise CryptoError(f"expected sums of at most {self.reply_bits} bits to mask, got {bits}")
        return self.randomness.many_below(self.n, count)

    def embed(self, values: Integers, bits: int) -> Limbs:
        return self.engine.embed(self.ring, values)

    def to_bytes(self) -> bytes:
        return self.n.to_bytes(self.profile.key_bits // 8, "little")


class PaillierPrivateKey(PrivateKey):
    """The factors of n."""

    public: PaillierPublicKey

    def __init__(self, p: int, q: int, public: PaillierPublicKey) -> None:
        super().__init__(public, (Ring(p, 2), Ring(q, 2)))
        self._p, self._q = mpz(p), mpz(q)

    @property
    def factors(self) -> tuple[int, int]:
        return int(self._p), int(self._q)

    def _open(self, ciphertexts: Limbs) -> list[int]:
        """c**(p-1) = 1 + (p-1) q m p modulo p**2, and (p-1) q m = -q m modulo p; likewise modulo q."""
        engine = self.public.engine
        left, right = engine.logarithms(self._rings, ciphertexts, self._scales)
        return to_ints(engine.join(*self._primes, left, right))

    def nth_root(self, value: int) -> int:
        """The n-th root modulo n, which only the owner can take; key proofs consist of these."""
        left, right = (
            gmpy2.powmod_sec(value % prime, gmpy2.invert(self.public.n, prime - 1), prime)
            for prime in (self._p, self._q)
        )
        return self._combine_residues(left, right)

    def _combine_residues(self, left: mpz, right: mpz) -> int:
        """The number below n that is `left` modulo p and `right` modulo q."""
        return int(right + self._q * ((left - right) * self._q_inverse % self._p))

    @cached_property
    def _primes(self) -> tuple[Ring, Ring]:
        return Ring(int(self._p), 1), Ring(int(self._q), 1)

    @cached_property
    def _scales(self) -> tuple[int, int]:
        return int(gmpy2.invert(-self._q, self._p)), int(gmpy2.invert(-self._p, self._q))

    @cached_property
    def _q_inverse(self) -> mpz:
        return gmpy2.invert(self._q, self._p)

    @cached_property
    def _own_bases(self) -> list[OwnBase]:
        key = self.public
        # An n-th power modulo p**2 is a p-th power: p - 1 of them, and q cannot be told from the result.
        bases = [gmpy2.powmod_sec(key.randomness.unit(ring.root), ring.root, ring.modulus) for ring in self._rings]
        bits = key.profile.key_bits // 2
        return [OwnBase(key.engine, ring, int(base), bits) for ring, base in zip(self._rings, bases, strict=True)]


def generate(
    profile: Profile = STANDARD, engine: Engine | None = None, randomness: Randomness = SYSTEM_RANDOMNESS
) -> PaillierPrivateKey:
    """A new key; both primes have the same length, so n-th powers permute the units modulo n."""
    while True:
        p, q = (randomness.prime(profile.key_bits // 2) for _ in range(2))
        if p != q:
            public = PaillierPublicKey(int(p * q), profile, engine or engines.choose(), randomness)
            return PaillierPrivateKey(int(p), int(q), public)
