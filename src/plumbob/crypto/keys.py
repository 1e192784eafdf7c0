"""What Paillier and Okamoto-Uchiyama keys have in common.

A key carries the engine and the randomness it works with. Key classes print nothing of what they hold.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.engines.interface import Engine, Integers, PreparedPowers, Ring
from plumbob.crypto.fixed_point import Encoded
from plumbob.crypto.limbs import Limbs, from_ints
from plumbob.crypto.profiles import Profile
from plumbob.crypto.randomness import Randomness
from plumbob.crypto.vector import EncryptedVector, Sendable
from plumbob.errors import CryptoError

WINDOW = 8  # Bits of an exponent's digit: one random byte.
SPARE_BITS = 128  # Exponents are this much longer than the group's order, so that they are uniform modulo it.
FEWEST_BASES = 272  # For a distance of 2**-56 from uniform over all n-th residues, whatever n is.
COUNTER, COUNTERS = struct.Struct("<Q"), struct.Struct("<QQ")
SLACK_BITS = 100  # A masked sum wraps around n with probability 2**-100 at most.


class PublicKey(ABC):
    """Encrypts, and randomises what goes back to the key's owner so that it hides from the owner too."""

    def __init__(self, n: int, profile: Profile, engine: Engine, randomness: Randomness) -> None:
        self.n = n
        self.profile = profile
        self.engine = engine
        self.randomness = randomness
        self.randomisations = 0  # How many were made, for the receipt.

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.profile.name}, {self.profile.key_bits} bits)"

    ring: Ring

    @property
    @abstractmethod
    def capacity_bits(self) -> int:
        """Any plaintext with abs(m) < 2**capacity_bits decrypts to itself."""

    @property
    @abstractmethod
    def reply_bits(self) -> int:
        """The widest sum, sign included, that `random_mask` hides and that comes back right."""

    @property
    @abstractmethod
    def whole_reply(self) -> int:
        """A power of two that cuts nothing off a plaintext: a reply is handed back whole (the paper's form)."""

    @abstractmethod
    def random_mask(self, count: int, bits: int) -> list[int]:
        """Masks for sums of `bits` bits, sign included."""

    @abstractmethod
    def embed(self, values: Integers, bits: int) -> Limbs:
        """Ciphertexts without randomness of integers with abs(m) < 2**bits (Paillier: of any residues)."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The public key in fixed width."""

    @property
    def ciphertext_bytes(self) -> int:
        return self.ring.width * 8

    def prepare(self) -> None:
        """Draw the bases now, that would otherwise be drawn at the first use."""
        _ = self._table

    def counters(self) -> bytes:
        """What was counted so far, in a form that `restore_counters` takes up again."""
        return COUNTER.pack(self.randomisations)

    def restore_counters(self, data: bytes) -> bytes:
        """Takes its own from the front and returns the rest."""
        (self.randomisations,) = COUNTER.unpack_from(data)
        return data[COUNTER.size :]

    def encrypt(self, values: Encoded | Sequence[int]) -> Sendable:
        """Under this key, by somebody who does not own it."""
        return EncryptedVector(self, self.embed(*plaintexts(values, self.capacity_bits))).randomised()

    def randomisers(self, count: int) -> Limbs:
        """Encryptions of 0, statistically uniform for every admitted n: products of powers of independent n-th powers.

        One base, or short exponents, would be read by an owner whose p - 1 is smooth.
        """
        self.randomisations += count
        digits = self.randomness.digits(count, self._bases)
        return self.engine.look_up(self._table, digits)

    @cached_property
    def _bases(self) -> int:
        """Together their exponents have 128 bits more than n, and they are never fewer than the proof needs."""
        return max(FEWEST_BASES, -(-(self.profile.key_bits + SPARE_BITS) // WINDOW))

    @cached_property
    def _table(self) -> PreparedPowers:
        roots = from_ints((self.randomness.unit(self.n) for _ in range(self._bases)), self.ring.width)
        return self.engine.table(self.ring, self.engine.power(self.ring, roots, self.n), WINDOW)


class PrivateKey(ABC):
    """Encrypts fast, through the factors that only it knows, and decrypts."""

    def __init__(self, public: PublicKey, rings: tuple[Ring, Ring]) -> None:
        self.public = public
        self._rings = rings
        self.encryptions = 0  # How many were made, for the receipt.
        self.decryptions = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public.profile.name}, {self.public.profile.key_bits} bits)"

    def prepare(self) -> None:
        """Draw the bases now, that would otherwise be drawn at the first use."""
        _ = self._own_bases

    def counters(self) -> bytes:
        """As a public key's."""
        return COUNTERS.pack(self.encryptions, self.decryptions) + self.public.counters()

    def restore_counters(self, data: bytes) -> bytes:
        """As a public key's."""
        self.encryptions, self.decryptions = COUNTERS.unpack_from(data)
        return self.public.restore_counters(data[COUNTERS.size :])

    def encrypt(self, values: Encoded | Sequence[int]) -> Sendable:
        """Under one's own key, with full-length fresh randomness drawn modulo the two factors."""
        key = self.public
        plain, bits = plaintexts(values, key.capacity_bits)
        # Randomness comes first: an engine that works beside us is busy with it while the messages are embedded.
        drawn = [base.draw(key.randomness, len(plain)) for base in self._own_bases]
        fresh = key.engine.join(*self._rings, *drawn)
        message = key.embed(plain, bits)
        self.encryptions += len(message)
        return Sendable(key, key.engine.multiply(key.ring, message, fresh))

    def decrypt(self, vector: EncryptedVector) -> list[int]:
        """The plaintexts as they are handed on: Paillier in [0, n), Okamoto-Uchiyama centred."""
        if vector.key.n != self.public.n:
            raise CryptoError("expected ciphertexts under this key; these belong to another one")
        self.decryptions += len(vector)
        return self._open(vector.limbs)

    @property
    @abstractmethod
    def factors(self) -> tuple[int, int]:
        """The two primes, for an owner that keeps its key longer than a session."""

    @abstractmethod
    def _open(self, ciphertexts: Limbs) -> list[int]:
        """Decrypt admitted ciphertexts."""

    @property
    @abstractmethod
    def _own_bases(self) -> "Sequence[OwnBase]":
        """Where the owner's randomness comes from, one for each factor."""


class OwnBase:
    """Uniform powers of one base modulo a secret prime or its square: the owner's randomness, hidden from others only.

    The base's powers base**(256**j) are tabulated once, so an exponentiation has no squarings.
    """

    def __init__(self, engine: Engine, ring: Ring, base: int, exponent_bits: int) -> None:
        self._engine = engine
        self._digits = -(-(exponent_bits + SPARE_BITS) // WINDOW)
        self._table = window_table(engine, ring, base, self._digits)

    def draw(self, randomness: Randomness, count: int) -> Limbs:
        return self._engine.look_up(self._table, randomness.digits(count, self._digits))


def window_table(engine: Engine, ring: Ring, base: int, digits: int) -> PreparedPowers:
    """For powers of one base whose exponents are cut into digits, lowest first."""
    powers = [mpz(base)]
    while len(powers) < digits:
        powers.append(gmpy2.powmod(powers[-1], 1 << WINDOW, ring.modulus))
    return engine.table(ring, from_ints(powers, ring.width), WINDOW)


def plaintexts(values: Encoded | Sequence[int], capacity_bits: int) -> tuple[Integers, int]:
    """Plain integers and the public width that holds them."""
    if isinstance(values, Encoded):
        return values.values, values.bits
    return values, capacity_bits
