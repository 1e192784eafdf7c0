"""Paillier's cryptosystem: sums and integer multiples of plaintexts modulo n, on ciphertexts modulo n**2.

Encryption is (1 + m n) r with r an n-th power. The owner draws r modulo p**2 and q**2; everybody else from tables of
independent n-th powers (`PublicKey.randomisers`). A key carries the engine and the randomness that it works with. Key
classes print nothing of what they hold.

`EncryptedVector` calculates and cannot be serialised. `Sendable` can: its ciphertexts were freshly randomised by the
last thing that was done to them, and anything calculated from one is an `EncryptedVector` again. What comes from
outside enters through `admit` only, so every vector holds units in range and a secret key never meets anything else.
"""

from collections.abc import Collection, Sequence
from functools import cached_property

import gmpy2
import numpy as np
from gmpy2 import mpz

from plumbob.crypto.fixed_point import Encoded
from plumbob.crypto.randomness import SYSTEM_RANDOMNESS, Randomness
from plumbob.errors import CiphertextRefusedError, CryptoError
from plumbob.lab.exchange import engines, uniform
from plumbob.lab.exchange.engines.interface import Integers, PaillierEngine, PreparedPowers, Ring
from plumbob.lab.exchange.limbs import Limbs, from_bytes, from_ints, is_less, to_bytes, to_ints, to_mpz
from plumbob.lab.exchange.profiles import STANDARD, Profile

WINDOW = 8  # Bits of an exponent's digit: one random byte.
SPARE_BITS = 128  # Exponents are this much longer than the group's order, so that they are uniform modulo it.
FEWEST_BASES = 272  # For a distance of 2**-56 from uniform over all n-th residues, whatever n is.
FEW = 16  # Numbers that are multiplied one after the other.
Plain = Sequence[int]


class PublicKey:
    """n: encrypts, and randomises what goes back to the key's owner so that it hides from the owner too.

    A peer's n comes in through `proof.admit_paillier` only.
    """

    def __init__(
        self, n: int, profile: Profile, engine: PaillierEngine, randomness: Randomness = SYSTEM_RANDOMNESS
    ) -> None:
        self.n = n
        self.ring = Ring(n, 2)
        self.profile = profile
        self.engine = engine
        self.randomness = randomness

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.profile.name}, {self.profile.key_bits} bits)"

    def random_mask(self, count: int, bits: int) -> list[int]:
        """A mask for sums of `bits` bits, sign included. Uniform modulo n: perfect, whatever the helper sent."""
        if bits > self.profile.reply_bits:
            raise CryptoError(f"expected sums of at most {self.profile.reply_bits} bits to mask, got {bits}")
        return self.randomness.many_below(self.n, count)

    def embed(self, values: Integers) -> Limbs:
        """Ciphertexts that hide nothing yet: `randomised` must follow before any leaves."""
        return self.engine.embed(self.ring, values)

    def to_bytes(self) -> bytes:
        """The public key in as many bytes as its profile says."""
        return self.n.to_bytes(self.profile.key_bits // 8, "little")

    @property
    def ciphertext_bytes(self) -> int:
        return self.ring.width * 8

    def prepare(self) -> None:
        """Draw the bases now rather than at the first use."""
        _ = self._table

    def encrypt(self, values: Encoded | Plain) -> "Sendable":
        """Encrypt under this key without owning it."""
        return EncryptedVector(self, self.embed(plaintexts(values))).randomised()

    def randomisers(self, count: int) -> Limbs:
        """Encryptions of 0, statistically uniform for every admitted n: products of powers of independent n-th powers.

        One base, or short exponents, would be read by an owner whose p - 1 is smooth.
        """
        digits = uniform.digits(self.randomness, count, self._bases)
        return self.engine.look_up(self._table, digits)

    @cached_property
    def _bases(self) -> int:
        """How many bases: their exponents have 128 bits more than n together, and never fewer than the proof needs."""
        return max(FEWEST_BASES, -(-(self.profile.key_bits + SPARE_BITS) // WINDOW))

    @cached_property
    def _table(self) -> PreparedPowers:
        roots = from_ints((uniform.unit(self.randomness, self.n) for _ in range(self._bases)), self.ring.width)
        return self.engine.table(self.ring, self.engine.power(self.ring, roots, self.n), WINDOW)


class PrivateKey:
    """Encrypts fast, through the factors that only it knows, and decrypts."""

    def __init__(self, p: int, q: int, public: PublicKey) -> None:
        self.public = public
        self._rings = Ring(p, 2), Ring(q, 2)
        self._p, self._q = mpz(p), mpz(q)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public.profile.name}, {self.public.profile.key_bits} bits)"

    def prepare(self) -> None:
        """Draw the bases now rather than at the first use."""
        _ = self._own_bases

    def encrypt(self, values: Encoded | Plain) -> "Sendable":
        """Encrypt under the party's own key, with full-length fresh randomness drawn modulo the two factors."""
        key = self.public
        plain = plaintexts(values)
        drawn = [
            key.engine.look_up(table, uniform.digits(key.randomness, len(plain), self._own_digits))
            for table in self._own_bases
        ]
        fresh = key.engine.join(*self._rings, *drawn)
        return Sendable(key, key.engine.multiply(key.ring, key.embed(plain), fresh))

    def decrypt(self, vector: "EncryptedVector") -> list[int]:
        """The plaintexts in [0, n)."""
        if vector.key.n != self.public.n:
            raise CryptoError("expected ciphertexts under this key; these belong to another one")
        return self._open(vector.limbs)

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

    @property
    def _own_digits(self) -> int:
        """Digits of an exponent modulo the order of a factor's group."""
        return -(-(self.public.profile.key_bits // 2 + SPARE_BITS) // WINDOW)

    @cached_property
    def _own_bases(self) -> list[PreparedPowers]:
        """For each factor the powers of one base: uniform ones are the owner's randomness, hidden from others only.

        base**(256**j) are tabulated once, so an exponentiation has no squarings.
        """
        key = self.public
        # An n-th power modulo p**2 is a p-th power: p - 1 of them, and q cannot be told from the result.
        bases = [
            gmpy2.powmod_sec(uniform.unit(key.randomness, ring.root), ring.root, ring.modulus) for ring in self._rings
        ]
        pairs = zip(self._rings, bases, strict=True)
        return [window_table(key.engine, ring, int(base), self._own_digits) for ring, base in pairs]


def window_table(engine: PaillierEngine, ring: Ring, base: int, digits: int) -> PreparedPowers:
    """The table for powers of one base whose exponents are cut into digits, lowest first."""
    powers = [mpz(base)]
    while len(powers) < digits:
        powers.append(gmpy2.powmod(powers[-1], 1 << WINDOW, ring.modulus))
    return engine.table(ring, from_ints(powers, ring.width), WINDOW)


def plaintexts(values: Encoded | Plain) -> Integers:
    """What is to be encrypted, encoded or not, as plain integers."""
    return values.values if isinstance(values, Encoded) else values


def generate(
    profile: Profile = STANDARD, engine: PaillierEngine | None = None, randomness: Randomness = SYSTEM_RANDOMNESS
) -> PrivateKey:
    """A new key; both primes have the same length, so n-th powers permute the units modulo n."""
    while True:
        p, q = (uniform.prime(randomness, profile.key_bits // 2) for _ in range(2))
        if p != q:
            public = PublicKey(int(p * q), profile, engine or engines.choose(), randomness)
            return PrivateKey(int(p), int(q), public)


# Vectors of ciphertexts, and the one kind of them that may leave.


class EncryptedVector:
    """Ciphertexts under one public key; `+`, `-`, `*` and `@` mean what they mean for the plaintexts."""

    def __init__(self, key: PublicKey, limbs: Limbs) -> None:
        self.key = key
        self._limbs = limbs

    def __len__(self) -> int:
        return len(self._limbs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} ciphertexts)"

    @property
    def limbs(self) -> Limbs:
        """The ciphertexts as an engine takes them."""
        return self._limbs

    def __getitem__(self, rows: slice) -> "EncryptedVector":
        return EncryptedVector(self.key, self._limbs[rows])

    def __add__(self, other: "EncryptedVector | Plain") -> "EncryptedVector":
        self._refuse_mismatch(other)
        right = other.limbs if isinstance(other, EncryptedVector) else self.key.embed(other)
        return EncryptedVector(self.key, self.key.engine.multiply(self.key.ring, self._limbs, right))

    def __neg__(self) -> "EncryptedVector":
        inverses = (gmpy2.invert(value, self.key.ring.modulus) for value in to_mpz(self._limbs))
        return EncryptedVector(self.key, from_ints(inverses, self.key.ring.width))

    def __sub__(self, other: "EncryptedVector | Plain") -> "EncryptedVector":
        return self + (-other if isinstance(other, EncryptedVector) else [-value for value in other])

    def __mul__(self, factor: int) -> "EncryptedVector":
        """Every plaintext times one integer."""
        positive = EncryptedVector(self.key, self.key.engine.power(self.key.ring, self._limbs, abs(factor)))
        return positive if factor >= 0 else -positive

    def __matmul__(self, matrix: Encoded) -> "EncryptedVector":
        """This vector times an integer matrix of public width, one ciphertext per column."""
        if matrix.values.ndim != 2 or len(matrix.values) != len(self):
            raise CryptoError(f"expected a matrix with {len(self)} rows, got shape {matrix.values.shape}")
        sums = self.key.engine.combine(self.key.ring, self._limbs, matrix.values, matrix.bits)
        return EncryptedVector(self.key, sums)

    def randomised(self) -> "Sendable":
        """The same plaintexts under fresh randomness that hides the old one, also from the key's owner."""
        fresh = self.key.randomisers(len(self))
        return Sendable(self.key, self.key.engine.multiply(self.key.ring, self._limbs, fresh))

    def _refuse_mismatch(self, other: "EncryptedVector | Plain") -> None:
        if len(other) != len(self):
            raise CryptoError(f"expected {len(self)} values to add, got {len(other)}")
        if isinstance(other, EncryptedVector) and other.key.n != self.key.n:
            raise CryptoError("expected ciphertexts under the same key; these belong to two different keys")


class Sendable(EncryptedVector):
    """Freshly randomised ciphertexts: the only ones with bytes. Made by `randomised` and by a key's `encrypt`."""

    def to_bytes(self) -> bytes:
        """The ciphertexts one after the other, little-endian, each of the same width."""
        return to_bytes(self._limbs)


def admit(key: PublicKey, data: bytes, count: int, sent: Collection[bytes] = ()) -> EncryptedVector:
    """Admit a peer's ciphertexts once they are proved to be such. `sent` holds ciphertexts that must not come back.

    Decrypting 0, or any multiple of n's factors, gives a secret key away, hence the checks come before everything.
    """
    size = key.ciphertext_bytes
    if len(data) != count * size:
        raise CiphertextRefusedError(f"expected {count} ciphertexts of {size} bytes, got {len(data)} bytes")
    if any(data[start : start + size] in sent for start in range(0, len(data), size)):
        raise CiphertextRefusedError("a ciphertext that we sent came back unchanged; expected a masked, fresh one")
    limbs = np.ascontiguousarray(from_bytes(data, key.ring.width))
    _refuse_outside_group(key, limbs)
    return EncryptedVector(key, limbs)


def _refuse_outside_group(key: PublicKey, limbs: Limbs) -> None:
    modulus = from_ints([key.ring.modulus], key.ring.width)[0]
    if not (limbs.any(axis=1) & is_less(limbs, modulus)).all():
        raise CiphertextRefusedError("a ciphertext is 0 or not reduced; expected 1 <= c < modulus")
    # A product is a unit if and only if every factor is: one gcd serves for all.
    if gmpy2.gcd(_product(key, limbs), key.n) != 1:
        raise CiphertextRefusedError("a ciphertext shares a factor with the key; expected units only")


def _product(key: PublicKey, limbs: Limbs) -> mpz:
    """The product of all rows, through the engine's packing without a shift, which multiplies many at once."""
    while len(limbs) > FEW:
        limbs = key.engine.pack(key.ring, limbs, FEW, 0)
    product = mpz(1)
    for value in to_mpz(limbs):
        product = product * value % key.n
    return product
