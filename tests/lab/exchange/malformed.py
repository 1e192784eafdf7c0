"""Keys and ciphertexts that no honest party sends, each with the words by which it is refused.

Keys are forged for a given proof's context, because a proof is worth nothing anywhere else.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import gmpy2
from gmpy2 import mpz

from plumbob.lab.exchange import paillier, profiles, proof, uniform
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.paillier import PrivateKey
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.exchange.proof import ProofContext, prove
from tests.crypto.support import seeded

PROFILE = profiles.TEST_ONLY
BITS = PROFILE.key_bits
SIZE = BITS // 8
ENGINE = PythonEngine()


@dataclass(frozen=True)
class Offer:
    """What a peer hands over for its key, and what the verifier has seen already."""

    key: bytes
    proof: bytes
    known: frozenset[int] = field(default=frozenset())


@cache
def honest_key(number: int = 0, profile: Profile = PROFILE) -> PrivateKey:
    """A key as `generate` makes it, different for each number."""
    return paillier.generate(profile, ENGINE, seeded(f"honest {number}"))


@dataclass(frozen=True)
class Forger:
    """Somebody who makes offers for one session and one verifier."""

    context: ProofContext

    def honest(self, number: int = 0) -> Offer:
        """A key and its proof, both right."""
        return self.proved_in(self.context, number)

    def proved_in(self, context: ProofContext, number: int = 0) -> Offer:
        """An honest key with a proof that may be valid elsewhere."""
        return Offer(honest_key(number).public.to_bytes(), prove(honest_key(number), context))

    def with_modulus(self, n: int) -> Offer:
        """A modulus with random roots: all that somebody without right ones can hand over."""
        randomness = seeded("cheat")
        return offer_of(n, [uniform.unit(randomness, n) if n > 2 else 1 for _ in range(proof.ROOTS)])

    def with_factors(self, *factors: int) -> Offer:
        """A modulus with the best roots that its factors allow: right ones modulo every factor that has them."""
        n = math.prod(factors)
        assert n.bit_length() == BITS
        return offer_of(n, [best_root(n, factors, self.challenge(n, index)) for index in range(proof.ROOTS)])

    def challenge(self, n: int, index: int) -> int:
        """The verifier's challenge, which everybody can calculate."""
        return proof._challenge(n, BITS, self.context, index)

    def times_small(self, factor: int) -> Offer:
        """A number factor * prime with exactly BITS bits."""
        start = (3 << (BITS - 2)) // factor
        return self.with_modulus(int(gmpy2.next_prime(start)) * factor)

    def with_cofactor(self, *factors: int) -> Offer:
        """The factors and one prime more, which brings the product to BITS bits."""
        product = math.prod(factors)
        return self.with_factors(*factors, int(gmpy2.next_prime((3 << (BITS - 2)) // product)))

    def linked_to(self, p: int) -> Offer:
        """n = p q with p dividing q - 1: the n-th powers are not all of the units."""
        return self.with_factors(*linked_primes(p))

    def edited_proof(self, edit: Callable[[bytes], bytes]) -> Offer:
        """The honest key with a changed proof."""
        offer = self.honest()
        return replace(offer, proof=edit(offer.proof))

    def edited_root(self, edit: Callable[[int, int], int]) -> Offer:
        """The honest proof with its second root replaced, by a function of that root and n."""
        offer = self.honest()
        root, n = int.from_bytes(offer.proof[SIZE : 2 * SIZE], "little"), int.from_bytes(offer.key, "little")
        changed = edit(root, n).to_bytes(SIZE, "little")
        return replace(offer, proof=offer.proof[:SIZE] + changed + offer.proof[2 * SIZE :])

    def known_already(self) -> Offer:
        """An honest key that the verifier knows: its own, or another peer's."""
        return replace(self.honest(), known=frozenset({honest_key(1).public.n, honest_key().public.n}))

    def sent_back(self) -> Offer:
        """A proof of the verifier's own, in its own words."""
        return self.proved_in(ProofContext(self.context.session, self.context.verifier, self.context.prover))


def offer_of(n: int, roots: list[int]) -> Offer:
    """The offer of a key, in the widths of an honest one."""
    return Offer(n.to_bytes(SIZE, "little"), b"".join(root.to_bytes(SIZE, "little") for root in roots))


def best_root(n: int, factors: tuple[int, ...], value: int) -> int:
    """A number whose n-th power is `value` modulo each different prime factor that allows it."""
    root, modulus = mpz(0), mpz(1)
    for prime in sorted(set(factors)):
        right = gmpy2.gcd(n, prime - 1) == 1
        part = gmpy2.powmod(value, gmpy2.invert(n, prime - 1), prime) if right else mpz(2)
        root += modulus * ((part - root) * gmpy2.invert(modulus, prime) % prime)
        modulus *= prime
    return int(root)


def random_prime(bits: int, seed: str = "prime") -> int:
    """The same prime for the same seed."""
    return int(uniform.prime(seeded(seed), bits))


def root_prime(degree: int) -> int:
    """A prime whose power of that degree has exactly BITS bits."""
    return int(gmpy2.next_prime(gmpy2.iroot(mpz(3) << (BITS - 2), degree)[0]))


@cache
def linked_primes(p: int) -> tuple[int, int]:
    """p and the next fitting q = 1 modulo p."""
    step = (3 << (BITS - 2)) // (2 * p * p)
    while not gmpy2.is_prime(2 * step * p + 1):
        step += 1
    return p, 2 * step * p + 1


def square_factors() -> tuple[int, int, int]:
    """The factors of n = p**2 q."""
    p = root_prime(3)
    return p, p, int(gmpy2.next_prime(p))


def swapped_roots(data: bytes) -> bytes:
    """The first two roots in each other's place."""
    return data[SIZE : 2 * SIZE] + data[:SIZE] + data[2 * SIZE :]


KEYS: dict[str, tuple[Callable[[Forger], Offer], str]] = {
    "no key": (lambda forger: replace(forger.honest(), key=b""), "expected 96 bytes, got 0"),
    "a byte less": (lambda forger: replace(forger.honest(), key=forger.honest().key[:-1]), "expected 96 bytes, got 95"),
    "longer than agreed": (
        lambda forger: replace(forger.honest(), key=forger.honest().key + forger.honest(1).key),
        "expected 96 bytes, got 192",
    ),
    "zero": (lambda forger: Offer(bytes(SIZE), forger.honest().proof), "expected exactly 768 bits, got 0"),
    "a bit short": (
        lambda forger: forger.with_modulus(random_prime(383) * random_prime(384, "b")),
        "exactly 768 bits, got 767",
    ),
    "even": (lambda forger: forger.times_small(2), "is even"),
    "factor 3": (lambda forger: forger.times_small(3), "factor below 6370"),
    "factor 6367": (lambda forger: forger.times_small(6367), "factor below 6370"),
    "all ones": (lambda forger: forger.with_modulus((1 << BITS) - 1), "factor below 6370"),
    "a prime": (lambda forger: forger.with_modulus(random_prime(BITS, "whole")), "is prime"),
    "a square": (lambda forger: forger.with_modulus(random_prime(BITS // 2) ** 2), "perfect power"),
    "our own, or one seen": (Forger.known_already, "in use already"),
    "p divides q - 1": (lambda forger: forger.linked_to(random_prime(256, "linked")), "does not fit its challenge"),
    "6373 divides q - 1": (
        lambda forger: forger.linked_to(int(gmpy2.next_prime(proof.SMALLEST_FACTOR))),
        "does not fit its challenge",
    ),
    "p p q": (
        lambda forger: forger.with_factors(*square_factors()),
        "does not fit its challenge",
    ),
    "a square of 6373": (lambda forger: forger.with_cofactor(6373, 6373), "does not fit its challenge"),
    "forged roots": (lambda forger: forger.with_modulus(honest_key().public.n), "does not fit its challenge"),
    "no proof": (lambda forger: forger.edited_proof(lambda data: b""), "key proof: expected 1056 bytes, got 0"),
    "a proof too long": (
        lambda forger: forger.edited_proof(lambda data: data + b"\0"),
        "expected 1056 bytes, got 1057",
    ),
    "root 0": (lambda forger: forger.edited_root(lambda root, n: 0), "root 1 is not a unit"),
    "a root that divides n": (
        lambda forger: forger.edited_root(lambda root, n: int(honest_key()._p)),
        "root 1 is not a unit",
    ),
    "a root's negative": (lambda forger: forger.edited_root(lambda root, n: n - root), "root 1 does not fit"),
    "a challenge as its root": (
        lambda forger: forger.edited_root(lambda root, n: forger.challenge(n, 1)),
        "root 1 does not fit",
    ),
    "roots reordered": (lambda forger: forger.edited_proof(swapped_roots), "root 0 does not fit"),
    "another session's proof": (
        lambda forger: forger.proved_in(replace(forger.context, session=b"session 2")),
        "root 0 does not fit",
    ),
    "another prover's proof": (
        lambda forger: forger.proved_in(replace(forger.context, prover="broker")),
        "root 0 does not fit",
    ),
    "a proof for another verifier": (
        lambda forger: forger.proved_in(replace(forger.context, verifier="broker")),
        "root 0 does not fit",
    ),
    "our proof sent back": (Forger.sent_back, "root 0 does not fit"),
    "another key's proof": (
        lambda forger: replace(forger.honest(), proof=forger.honest(1).proof),
        "root . (does not fit|is not a unit)",
    ),
}


# What a peer may send instead of ciphertexts; each entry makes the bytes from a key and honest bytes.
Malformed = Callable[[PrivateKey, bytes], bytes]


def first_replaced(value: Callable[[PrivateKey], int]) -> Malformed:
    """Honest bytes with another number in the place of the first ciphertext."""

    def make(key: PrivateKey, honest: bytes) -> bytes:
        size = key.public.ciphertext_bytes
        return value(key).to_bytes(size, "little") + honest[size:]

    return make


def last_replaced(value: Callable[[PrivateKey], int]) -> Malformed:
    """The same for the last, so that a check of the first alone is noticed."""

    def make(key: PrivateKey, honest: bytes) -> bytes:
        size = key.public.ciphertext_bytes
        return honest[:-size] + value(key).to_bytes(size, "little")

    return make


def modulus(key: PrivateKey) -> int:
    """The bound of a ciphertext."""
    return int(key.public.ring.modulus)


def prime(key: PrivateKey) -> int:
    """A secret factor of n, which a test may know."""
    return int(vars(key)["_p"])


CIPHERTEXTS: dict[str, Malformed] = {
    "zero": first_replaced(lambda key: 0),
    "zero at the end": last_replaced(lambda key: 0),
    "p squared": first_replaced(lambda key: prime(key) ** 2),
    "a multiple of p at the end": last_replaced(lambda key: modulus(key) - prime(key)),
    "the modulus": first_replaced(modulus),
    "above the modulus": last_replaced(lambda key: modulus(key) + 1),
    "all ones": first_replaced(lambda key: 256**key.public.ciphertext_bytes - 1),
    "nothing": lambda key, honest: b"",
    "a byte less": lambda key, honest: honest[:-1],
    "a byte more": lambda key, honest: honest + b"\0",
    "one more": lambda key, honest: honest + honest[: key.public.ciphertext_bytes],
    "only zeros": lambda key, honest: bytes(len(honest)),
    # Multiples of n open to something about the factors.
    "n": first_replaced(lambda key: key.public.n),
    "the largest multiple of n": last_replaced(lambda key: key.public.n * (key.public.n - 1)),
    "n squared": first_replaced(lambda key: key.public.n**2),
}
