"""Okamoto-Uchiyama's cryptosystem: products at half of Paillier's cost, for peers who trust each other's keys.

n = p**2 q, encryption g**m r with r an n-th power, plaintexts modulo the secret p. Nobody can prove a key of this kind
well-formed, and a mask cannot be uniform modulo a secret: masks are 128 bits longer than what they hide, answers are
centred, and a plaintext that no honest peer could have sent is refused, because what wraps around p shows p.
"""

from functools import cached_property

import gmpy2
import numpy as np
from gmpy2 import mpz

from plumbob.crypto import engines
from plumbob.crypto.engines.interface import Engine, Integers, PreparedPowers, Ring, unbounded
from plumbob.crypto.keys import WINDOW, OwnBase, PrivateKey, PublicKey, window_table
from plumbob.crypto.limbs import Limbs, from_ints, to_mpz
from plumbob.crypto.profiles import STANDARD, Profile
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.errors import CiphertextRefusedError, CryptoError, EncodingError

MASK_BITS = 128  # A mask is this much longer than the sum it hides.
GAP_BITS = 64  # A plaintext that wrapped around p passes the width check with probability 2**-64.


class OkamotoUchiyamaPublicKey(PublicKey):
    """n and g, with the engine and the randomness to use them."""

    def __init__(
        self, n: int, g: int, profile: Profile, engine: Engine, randomness: Randomness = SYSTEM_RANDOMNESS
    ) -> None:
        super().__init__(n, profile, engine, randomness)
        self.g = g
        self.ring = Ring(n, 1)
        self._message_tables: dict[int, PreparedPowers] = {}

    @property
    def capacity_bits(self) -> int:
        return prime_bits(self.profile) - 2 - GAP_BITS

    @property
    def reply_bits(self) -> int:
        return self.capacity_bits - MASK_BITS - 1

    @property
    def whole_reply(self) -> int:
        return 1 << (self.capacity_bits + 1)

    def random_mask(self, count: int, bits: int) -> list[int]:
        """Statistical: hides a sum of `bits` bits up to 2**-128."""
        if bits > self.reply_bits:
            raise CryptoError(f"expected sums of at most {self.reply_bits} bits to mask, got {bits}")
        return [self.randomness.of_bits(bits + MASK_BITS) for _ in range(count)]

    def embed(self, values: Integers, bits: int) -> Limbs:
        """g**m for abs(m) < 2**bits: m is shifted to be positive, and the shift divided out again."""
        offset, plain = 1 << bits, unbounded(values)
        if any(abs(value) >= offset for value in plain):
            raise EncodingError(f"a plaintext does not fit {bits} bits, which is what this key or encoding carries")
        size = bits // WINDOW + 1
        shifted = b"".join((value + offset).to_bytes(size, "little") for value in plain)
        digits = np.frombuffer(shifted, dtype=np.uint8).reshape(-1, size)
        powers = self.engine.look_up(self._message_table(size), digits)
        back = from_ints([gmpy2.powmod(self.g, -offset, self.ring.modulus)], self.ring.width)
        return self.engine.multiply(self.ring, powers, back)

    def to_bytes(self) -> bytes:
        size = self.profile.key_bits // 8
        return self.n.to_bytes(size, "little") + self.g.to_bytes(size, "little")

    def _message_table(self, digits: int) -> PreparedPowers:
        """Powers of g for messages of that many digits; a run has only two such widths, residuals and masks."""
        if digits not in self._message_tables:
            self._message_tables[digits] = window_table(self.engine, self.ring, self.g, digits)
        return self._message_tables[digits]


class OkamotoUchiyamaPrivateKey(PrivateKey):
    """The factors of n = p**2 q."""

    public: OkamotoUchiyamaPublicKey

    def __init__(self, p: int, q: int, public: OkamotoUchiyamaPublicKey) -> None:
        super().__init__(public, (Ring(p, 2), Ring(q, 1)))
        self._p = mpz(p)

    @property
    def factors(self) -> tuple[int, int]:
        return int(self._p), self._rings[1].root

    def _open(self, ciphertexts: Limbs) -> list[int]:
        """The logarithm of c**(p-1) modulo p**2, divided by that of g; what is too wide is refused."""
        values = [self._centre(value) for value in self._logarithms(ciphertexts, self._scale)]
        if any(abs(value) >> self.public.capacity_bits for value in values):
            raise CiphertextRefusedError("a plaintext is wider than any honest sum; it is discarded")
        return values

    def _centre(self, value: mpz) -> int:
        return int(value - self._p if value > self._p // 2 else value)

    def _logarithms(self, ciphertexts: Limbs, scale: int) -> list[mpz]:
        return to_mpz(self.public.engine.logarithms(self._rings[:1], ciphertexts, [scale])[0])

    @cached_property
    def _scale(self) -> int:
        of_g = self._logarithms(from_ints([self.public.g], self.public.ring.width), 1)[0]
        return int(gmpy2.invert(of_g, self._p))

    @cached_property
    def _own_bases(self) -> list[OwnBase]:
        key = self.public
        square, prime = self._rings
        # Powers of g itself: they take in all that g**m shows beside m. With any other base, a quarter of the keys
        # leaves the Jacobi symbol of g**m, which is the parity of m, in every ciphertext.
        bases = [gmpy2.powmod_sec(key.g % square.modulus, square.root, square.modulus), mpz(key.g % prime.root)]
        bits = prime_bits(key.profile)
        return [OwnBase(key.engine, ring, int(base), bits) for ring, base in zip(self._rings, bases, strict=True)]


def prime_bits(profile: Profile) -> int:
    """Bits of p, a third of n's."""
    return -(-profile.key_bits // 3)


def generate(
    profile: Profile = STANDARD, engine: Engine | None = None, randomness: Randomness = SYSTEM_RANDOMNESS
) -> OkamotoUchiyamaPrivateKey:
    """A new key; g generates the part of order p modulo p**2."""
    p, q = _primes(profile, randomness)
    n = int(p * p * q)
    while True:
        g = randomness.unit(n)
        if gmpy2.powmod_sec(g % (p * p), p - 1, p * p) != 1:
            public = OkamotoUchiyamaPublicKey(n, g, profile, engine or engines.choose(), randomness)
            return OkamotoUchiyamaPrivateKey(int(p), int(q), public)


def _primes(profile: Profile, randomness: Randomness) -> tuple[mpz, mpz]:
    bits = prime_bits(profile)
    while True:
        p, q = randomness.prime(bits), randomness.prime(profile.key_bits - 2 * bits)
        if p != q and (p * p * q).bit_length() == profile.key_bits:
            return p, q
