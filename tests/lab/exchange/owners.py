"""What the owner of a key can do beyond the protocol, and the weakened keys on which it succeeds.

A learner's masked sums go back to the owner, who chose the randomness rho_i of the ciphertexts they were made from. It
divides the message out of the reply, prod rho_i**(n x_i) * randomiser, and takes the n-th root modulo n:
prod rho_i**x_i * (the randomiser's root). The mask sits in the message and hides nothing of this.

1. No randomiser: with small primes for rho_i, the root is a fraction whose numerator and denominator are products of
   them (rational reconstruction), and the exponents are the features.
2. One base h with exponents e of any length, and a key whose p - 1 and q - 1 have a large smooth divisor M in common:
   logarithms modulo M are cheap. With rho_i = g**(2**(w i)) modulo p and 1 modulo q, the reply's logarithms are
   S + e log_p(h) and e log_q(h), S = sum x_i 2**(w i). One reply with S = 0 shows the ratio of the two logarithms of h,
   every later one S itself. That key is well-formed and passes every check.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import gmpy2
from gmpy2 import mpz

from plumbob.crypto import Randomness
from plumbob.lab.exchange import uniform
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import Limbs, from_ints
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey, Sendable
from plumbob.lab.exchange.profiles import Profile


def ciphertexts(key: PublicKey, data: bytes) -> list[int]:
    """The numbers in a message."""
    size = key.ciphertext_bytes
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def with_chosen_randomness(owner: PrivateKey, plaintexts: Sequence[int], roots: Sequence[int]) -> Sendable:
    """Honest-looking encryptions whose randomness is not random. They are admitted like any other."""
    n = owner.public.n
    chosen = (
        (1 + plaintext % n * n) * gmpy2.powmod(root, n, n**2) % n**2
        for plaintext, root in zip(plaintexts, roots, strict=True)
    )
    return Sendable(owner.public, from_ints(chosen, owner.public.ring.width))


def randomness_root(owner: PrivateKey, ciphertext: int) -> int:
    """The owner divides the message out of a reply and takes the n-th root of what is left."""
    n = owner.public.n
    vector = Sendable(owner.public, from_ints([ciphertext], owner.public.ring.width))
    (opened,) = owner.decrypt(vector)
    return owner.nth_root(int(ciphertext * (1 - opened * n) % n**2 % n))


# Small primes as randomness.

SMALL_PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]


def small_prime_exponents(root: int, n: int) -> tuple[list[int], bool]:
    """The features, and whether the attacker can be sure of them: nothing is left after dividing the primes out."""
    above, below = as_fraction(root, n)
    exponents = []
    for prime in SMALL_PRIMES:
        above, up = gmpy2.remove(above, prime)
        below, down = gmpy2.remove(below, prime)
        exponents.append(int(up) - int(down))
    return exponents, above == below == 1


def as_fraction(value: int, modulus: int) -> tuple[mpz, mpz]:
    """Numerator and denominator below sqrt(modulus) with value = numerator / denominator."""
    bound = gmpy2.isqrt(modulus)
    (last, rest), (before, now) = (mpz(modulus), mpz(value)), (mpz(0), mpz(1))
    while rest > bound:
        quotient = last // rest
        last, rest = rest, last - quotient * rest
        before, now = now, before - quotient * now
    return (rest, now) if now > 0 else (rest, -now)


# Groups with cheap logarithms.


@dataclass(frozen=True)
class SmoothGroup:
    """The units modulo a prime, as far as the small primes go that divide its order."""

    prime: int
    small: tuple[int, ...]

    @cached_property
    def generator(self) -> int:
        """An element whose order is a multiple of all of them."""
        cofactors = [(self.prime - 1) // small for small in self.small]
        return next(g for g in range(2, 1000) if all(pow(g, cofactor, self.prime) != 1 for cofactor in cofactors))

    def logarithm(self, value: int) -> int:
        """The logarithm to the generator, modulo the product of the small primes: one at a time (Pohlig-Hellman)."""
        result, modulus = 0, 1
        for small in self.small:
            digit = self._finder(small)(pow(value, (self.prime - 1) // small, self.prime))
            result += modulus * ((digit - result) * pow(modulus, -1, small) % small)
            modulus *= small
        return result

    def _finder(self, small: int) -> Callable[[int], int]:
        return _finder(int(self.generator), small, self.prime)


@cache
def _finder(generator: int, small: int, prime: int) -> Callable[[int], int]:
    """Baby steps and giant steps in the subgroup of one small prime's order."""
    base = mpz(pow(generator, (prime - 1) // small, prime))
    steps = int(gmpy2.isqrt(small)) + 1
    baby, power = {}, mpz(1)
    for step in range(steps):
        baby[power] = step
        power = power * base % prime
    giant = gmpy2.invert(power, prime)

    def find(value: int) -> int:
        rest = mpz(value)
        for step in range(steps + 1):
            if rest in baby:
                return step * steps + baby[rest]
            rest = rest * giant % prime
        raise AssertionError("every element of the subgroup has a logarithm")

    return find


def distinct_primes(bits: int, randomness: Randomness) -> Iterator[int]:
    """Random primes of that length, each once."""
    seen: set[int] = set()
    while True:
        prime = int(uniform.prime(randomness, bits))
        if prime not in seen:
            seen.add(prime)
            yield prime


def signed_digits(value: int, width: int, count: int) -> list[int]:
    """The features that a sum of features, each shifted by `width` more, holds."""
    digits = []
    for _ in range(count):
        digits.append(centred(value, 1 << width))
        value = (value - digits[-1]) >> width
    return digits


@dataclass
class SmoothKey:
    """A well-formed key with p - 1 = 2 a M and q - 1 = 2 b M, where M is a product of small primes.

    M has room for `rows` features of `width` bits, sign included.
    """

    private: PrivateKey
    groups: tuple[SmoothGroup, SmoothGroup]
    rows: int
    width: int

    @classmethod
    def make(cls, randomness: Randomness, profile: Profile, rows: int, width: int) -> "SmoothKey":
        small: list[int] = []
        for prime in distinct_primes(15, randomness):
            small.append(prime)
            if math.prod(small).bit_length() > rows * width:
                break
        half = profile.key_bits // 2
        p, q = (prime_between(3 << (half - 2), 1 << half, math.prod(small), randomness) for _ in range(2))
        assert p != q
        public = PublicKey(p * q, profile, PythonEngine(), randomness)
        groups = SmoothGroup(p, tuple(small)), SmoothGroup(q, tuple(small))
        return cls(PrivateKey(p, q, public), groups, rows, width)

    @property
    def order(self) -> int:
        """The order M of the group."""
        return math.prod(self.groups[0].small)

    @property
    def primes(self) -> tuple[int, int]:
        return self.groups[0].prime, self.groups[1].prime

    def roots(self) -> list[int]:
        """Randomness that spells the features: g**(2**(width i)) modulo p, 1 modulo q."""
        p, q = self.primes
        lifted = q * pow(q, -1, p)
        values = (pow(self.groups[0].generator, 1 << (self.width * row), p) for row in range(self.rows))
        return [(1 + (value - 1) * lifted) % (p * q) for value in values]

    def logarithms(self, ciphertext: int) -> tuple[int, int]:
        """The logarithms of a reply's randomness, modulo p and modulo q."""
        root = randomness_root(self.private, ciphertext)
        return self.groups[0].logarithm(root), self.groups[1].logarithm(root)

    def features(self, calibration: int, reply: int) -> list[int]:
        """What a reply to `roots` shows, beside one that had no chosen randomness in it: the learner's own base."""
        (first, second), (left, right) = self.logarithms(calibration), self.logarithms(reply)
        # A base whose logarithm has no inverse tells nothing; this happens once in a thousand keys.
        ratio = first * pow(second, -1, self.order) % self.order if math.gcd(second, self.order) == 1 else 0
        return signed_digits(centred(left - ratio * right, self.order), self.width, self.rows)


def prime_between(lowest: int, highest: int, order: int, randomness: Randomness) -> int:
    """A prime in that range that is 1 modulo 2 * order."""
    first, last = lowest // (2 * order) + 1, highest // (2 * order) - 1
    while True:
        candidate = 2 * order * (first + randomness.below(last - first)) + 1
        if gmpy2.is_prime(candidate):
            return candidate


# Weakened keys, as a learner might hold them. No code of the package has a way to any of them.


class BareKey(PublicKey):
    """A build that adds no randomness to what goes back."""

    def randomisers(self, count: int) -> Limbs:
        return from_ints([1] * count, self.ring.width)


class OneBaseKey(PublicKey):
    """A build that randomises with powers of one secret base, as fast libraries do."""

    @property
    def exponent_bits(self) -> int:
        return self.profile.key_bits // 2

    @cached_property
    def base(self) -> int:
        return int(gmpy2.powmod(uniform.unit(self.randomness, self.n), self.n, self.ring.modulus))

    def randomisers(self, count: int) -> Limbs:
        exponents = [self.randomness.of_bits(self.exponent_bits) for _ in range(count)]
        return from_ints(
            (gmpy2.powmod(self.base, exponent, self.ring.modulus) for exponent in exponents), self.ring.width
        )


class OneBaseFullLengthKey(OneBaseKey):
    """The same with exponents longer than the group's order, which does not help."""

    @property
    def exponent_bits(self) -> int:
        return self.profile.key_bits + 128


class ShortMaskKey(PublicKey):
    """A build whose masks are 80 bits longer than an honest sum, and no longer."""

    spare_bits = 80

    def random_mask(self, count: int, bits: int) -> list[int]:
        return [self.randomness.of_bits(bits + self.spare_bits) for _ in range(count)]
