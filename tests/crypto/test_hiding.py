"""What travels shows nothing: fresh randomness, also after a fork, also from the owner of the key.

Two attacks of a key's owner on the learner's features x_i are carried out here. The owner chose the randomness rho_i of
its ciphertexts, so the reply, without its message, is u = prod rho_i**(n x_i) * randomiser, and the owner can take the
n-th root modulo n: prod rho_i**x_i * (the randomiser's root). The mask sits in the message and hides nothing of this.

1. No randomiser: with small primes for rho_i, the root is a fraction whose numerator and denominator are products of
   them (rational reconstruction), and the exponents are the features.
2. One base h with exponents e of any length, and a key whose p - 1 and q - 1 have a large smooth divisor M in common:
   logarithms modulo M are cheap. With rho_i = g**(2**(9 i)) modulo p and 1 modulo q, the reply's logarithms are
   S + e log_p(h) and e log_q(h), S = sum x_i 2**(9 i). One reply with S = 0 shows the ratio of the two logarithms of h,
   every later one S itself. That key is well-formed and passes every check.

Against the shipped randomisers "fails" means: over many replies the share of features read right is that of guessing.
"""

import math
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from plumbob.crypto import (
    KERNEL,
    Encoded,
    EncryptedVector,
    PrivateKey,
    ProofContext,
    PublicKey,
    Randomness,
    Slots,
    admit,
    admit_paillier,
    okamoto_uchiyama,
    paillier,
    profiles,
    prove,
)
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import Limbs, from_ints, to_bytes, to_ints
from plumbob.crypto.packing import centred
from plumbob.crypto.paillier import PaillierPrivateKey, PaillierPublicKey
from tests.crypto.support import integers, seeded

PROFILE = profiles.TEST_ONLY


def ciphertexts(key: PublicKey, data: bytes) -> list[int]:
    """The numbers in a message."""
    size = key.ciphertext_bytes
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def test_equal_plaintexts_give_different_bytes(key: PrivateKey) -> None:
    """One number, encrypted many times by owner and peer and randomised again, never looks the same."""
    own, peer = key.encrypt([5] * 100), key.public.encrypt([5] * 100)
    messages = [own, peer, own.randomised(), peer.randomised(), own.randomised()]
    seen = [value for message in messages for value in ciphertexts(key.public, message.to_bytes())]
    assert len(set(seen)) == len(seen)


def test_nothing_travels_without_randomness(paillier_key: PaillierPrivateKey) -> None:
    """(c - 1) modulo n, which is 0 for a ciphertext without randomness, is never 0 for what has bytes."""
    public = paillier_key.public
    zeros = [0] * 60
    bare = EncryptedVector(public, public.embed(zeros, 8))
    assert all((value - 1) % public.n == 0 for value in to_ints(bare.limbs))
    product = paillier_key.encrypt(zeros) @ integers([[0] * 60] * 60, 4)
    mask = public.random_mask(60, 30)
    for message in (
        paillier_key.encrypt(zeros),
        public.encrypt(zeros),
        bare.randomised(),
        product.randomised(),
        (product + mask).randomised(),
    ):
        assert all((value - 1) % public.n for value in ciphertexts(public, message.to_bytes()))


# After a fork.


@dataclass
class Drawn:
    """What one process made of its randomness."""

    ciphertexts: list[int]
    masks: list[int]
    randomisers: list[int]
    bytes: list[bytes]


def draw(key: PrivateKey) -> Drawn:
    """Everything random that a round draws."""
    public = key.public
    own, peer = to_ints(key.encrypt([0] * 5).limbs), to_ints(public.encrypt([0] * 5).limbs)
    drawn = [public.randomness.draw(16) for _ in range(5)]
    return Drawn(own + peer, public.random_mask(5, 40), to_ints(public.randomisers(5)), drawn)


def drawn_in_forks(key: PrivateKey, workers: int = 4) -> list[Drawn]:
    """The same draws in the parent and in forked children of it."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=lambda: results.put(draw(key))) for _ in range(workers)]
    for child in children:
        child.start()
    collected = [results.get() for _ in children]
    for child in children:
        child.join()
    return [*collected, draw(key)]


def repeats(drawn: list[Drawn]) -> int:
    """How many values came more than once."""
    columns = zip(*((part.ciphertexts, part.masks, part.randomisers, part.bytes) for part in drawn), strict=True)
    flat = [list(chain.from_iterable(column)) for column in columns]
    return sum(len(values) - len(set(values)) for values in flat)


FORKING = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@FORKING
@pytest.mark.parametrize("scheme", ["paillier", "okamoto_uchiyama"])
@pytest.mark.parametrize("tables", ["built before", "built after"])
def test_no_randomness_repeats_after_fork(engine: Engine, scheme: str, tables: str) -> None:
    """Ciphertexts, masks and randomisers of four workers and their parent are all different."""
    generate = paillier.generate if scheme == "paillier" else okamoto_uchiyama.generate
    key: PrivateKey = generate(PROFILE, engine, KERNEL)
    if tables == "built before":
        draw(key)
    assert repeats(drawn_in_forks(key)) == 0


@FORKING
def test_randomness_kept_in_memory_would_repeat() -> None:
    """The same test notices a source whose state is copied by the fork."""
    key = paillier.generate(PROFILE, PythonEngine(), seeded("copied"))
    draw(key)
    assert repeats(drawn_in_forks(key)) > 0


# The learner under attack, and what it answers with.

Answer = Callable[[PublicKey, bytes, Encoded], bytes]


def masked_sums(key: PublicKey, request: bytes, X: Encoded) -> EncryptedVector:
    """The learner's sums under a mask that nobody ever sees: uniform modulo n, so the plaintext shows nothing."""
    sums = admit(key, request, len(X.values)) @ X
    slots = Slots.single(key, len(sums), 64)
    return slots.pack(sums) + key.random_mask(len(sums), slots.masked_bits)


def shipped(key: PublicKey, request: bytes, X: Encoded) -> bytes:
    """What a learner does send; how it is randomised is the key's affair."""
    return masked_sums(key, request, X).randomised().to_bytes()


def without_randomness(key: PublicKey, request: bytes, X: Encoded) -> bytes:
    """What no Plumbob code can send: it goes around the types to reach the bytes."""
    return to_bytes(masked_sums(key, request, X).limbs)


def randomness_root(owner: PaillierPrivateKey, reply: bytes) -> int:
    """The owner divides the message out of a reply and takes the n-th root of what is left."""
    n = owner.public.n
    (opened,) = owner.decrypt(admit(owner.public, reply, 1))
    (ciphertext,) = ciphertexts(owner.public, reply)
    return owner.nth_root(int(ciphertext * (1 - opened * n) % n**2 % n))


def chosen_request(owner: PaillierPrivateKey, roots: list[int]) -> bytes:
    """Honest-looking encryptions whose randomness is not random. They are admitted like any other."""
    n = owner.public.n
    chosen = [(1 + (17 * row + 1) * n) * gmpy2.powmod(root, n, n**2) % n**2 for row, root in enumerate(roots)]
    return to_bytes(from_ints(chosen, owner.public.ring.width))


def column(rows: int, bits: int, seed: int) -> Encoded:
    """One column of features, uniform over the width."""
    limit = 1 << (bits - 1)
    return integers(np.random.default_rng(seed).integers(1 - limit, limit, (rows, 1)).tolist(), bits)


# Attack 1: small primes as randomness.

SMALL_PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]


def read_with_small_primes(owner: PaillierPrivateKey, answer: Answer, X: Encoded) -> tuple[list[int], bool]:
    """The features, and whether the attacker can be sure of them: nothing is left after dividing the primes out."""
    reply = answer(owner.public, chosen_request(owner, SMALL_PRIMES), X)
    above, below = as_fraction(randomness_root(owner, reply), owner.public.n)
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


def attack_with_small_primes(owner: PaillierPrivateKey, answer: Answer, replies: int) -> tuple[float, int]:
    """The share of features read right, and the number of replies of which the attacker is sure."""
    right, sure = 0, 0
    for seed in range(replies):
        X = column(len(SMALL_PRIMES), 4, seed)
        guesses, is_sure = read_with_small_primes(owner, answer, X)
        right += sum(guess == x for guess, x in zip(guesses, X.values[:, 0], strict=True))
        sure += is_sure
    return right / (replies * len(SMALL_PRIMES)), sure


def test_without_fresh_randomness_features_are_read(paillier_key: PaillierPrivateKey) -> None:
    """A masked sum that was not randomised gives the whole column away, through a perfect mask."""
    assert attack_with_small_primes(paillier_key, without_randomness, replies=5) == (1.0, 5)


def test_the_reply_carries_nothing_of_the_senders_randomness(paillier_key: PaillierPrivateKey) -> None:
    """The same attacker reads the shipped reply no better than guessing one value in fifteen."""
    share, sure = attack_with_small_primes(paillier_key, shipped, replies=30)
    assert share < 2.5 / 15
    assert sure == 0


# Attack 2: a key whose group has cheap logarithms.

ROWS, FEATURE_BITS = 40, 9
SMOOTH_PRIMES = [prime for prime in range(1 << 14, 1 << 16) if gmpy2.is_prime(prime)]


@dataclass
class SmoothKey:
    """A well-formed key with p - 1 = 2 a M and q - 1 = 2 b M, where M is a product of small primes."""

    private: PaillierPrivateKey
    small: list[int]

    @classmethod
    def make(cls, randomness: Randomness) -> "SmoothKey":
        small: list[int] = []
        while gmpy2.bit_length(math.prod(small)) <= ROWS * FEATURE_BITS:
            small = list({*small, SMOOTH_PRIMES[randomness.below(len(SMOOTH_PRIMES))]})
        p, q = (prime_above(math.prod(small), randomness) for _ in range(2))
        assert p != q
        public = PaillierPublicKey(p * q, PROFILE, PythonEngine(), randomness)
        return cls(PaillierPrivateKey(p, q, public), small)

    @cached_property
    def order(self) -> int:
        """M."""
        return math.prod(self.small)

    @cached_property
    def factors(self) -> tuple[int, int]:
        return int(self.private._p), int(self.private._q)

    @cached_property
    def generators(self) -> tuple[int, int]:
        """An element modulo each prime whose order is a multiple of M."""
        return tuple(self._generator(prime) for prime in self.factors)  # type: ignore[return-value]  # Two primes.

    def _generator(self, prime: int) -> int:
        return next(g for g in range(2, 1000) if all(pow(g, (prime - 1) // small, prime) != 1 for small in self.small))

    def logarithms(self, value: int) -> tuple[int, int]:
        """To the generators modulo p and q, modulo M: one small prime at a time (Pohlig-Hellman)."""
        first, second = (self._logarithm(value, side) for side in range(2))
        return first, second

    def _logarithm(self, value: int, side: int) -> int:
        prime = self.factors[side]
        result, modulus = 0, 1
        for small in self.small:
            digit = self._digits(side, small)(pow(value, (prime - 1) // small, prime))
            result += modulus * ((digit - result) * pow(modulus, -1, small) % small)
            modulus *= small
        return result

    def _digits(self, side: int, small: int) -> Callable[[int], int]:
        """Baby steps and giant steps in the subgroup of one small prime's order."""
        prime = self.factors[side]
        base = mpz(pow(self.generators[side], (prime - 1) // small, prime))
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

    def roots(self) -> list[int]:
        """Randomness that spells the features: g**(2**(9 i)) modulo p, 1 modulo q."""
        p, q = self.factors
        lifted = q * pow(q, -1, p)
        values = (pow(self.generators[0], 1 << (FEATURE_BITS * row), p) for row in range(ROWS))
        return [(1 + (value - 1) * lifted) % (p * q) for value in values]


def prime_above(order: int, randomness: Randomness) -> int:
    """A prime of half the key's length, its two top bits set, that is 1 modulo `order`."""
    bits = PROFILE.key_bits // 2
    lowest, highest = (3 << (bits - 2)) // (2 * order) + 1, (1 << bits) // (2 * order) - 1
    while True:
        candidate = 2 * order * (lowest + randomness.below(highest - lowest)) + 1
        if gmpy2.is_prime(candidate):
            return candidate


class OneBaseKey(PaillierPublicKey):
    """A build that randomises with powers of one secret base, as fast libraries do."""

    exponent_bits = PROFILE.key_bits // 2

    @cached_property
    def base(self) -> int:
        return int(gmpy2.powmod(self.randomness.unit(self.n), self.n, self.ring.modulus))

    def randomisers(self, count: int) -> Limbs:
        exponents = [self.randomness.of_bits(self.exponent_bits) for _ in range(count)]
        return from_ints(
            (gmpy2.powmod(self.base, exponent, self.ring.modulus) for exponent in exponents), self.ring.width
        )


class OneBaseFullLengthKey(OneBaseKey):
    """The same with exponents longer than the group's order, which does not help."""

    exponent_bits = PROFILE.key_bits + 128


@pytest.fixture(scope="module")
def smooth_key() -> SmoothKey:
    """The attacker's key; what it takes to make one is a second of search."""
    return SmoothKey.make(seeded("smooth"))


def features_read(attacker: SmoothKey, learner: PublicKey, replies: int) -> list[int]:
    """For each reply, how many of its features the attacker reads right."""
    order = attacker.order

    def logarithms(roots: list[int], X: Encoded) -> tuple[int, int]:
        return attacker.logarithms(
            randomness_root(attacker.private, shipped(learner, chosen_request(attacker.private, roots), X))
        )

    # The first step has no chosen randomness in it: what it shows is the learner's own.
    first, second = logarithms([1] * ROWS, column(ROWS, FEATURE_BITS, seed=99))
    ratio = first * pow(second, -1, order) % order
    found = []
    for seed in range(replies):
        X = column(ROWS, FEATURE_BITS, seed)
        left, right = logarithms(attacker.roots(), X)
        guesses = signed_digits(centred(left - ratio * right, order))
        found.append(sum(guess == x for guess, x in zip(guesses, X.values[:, 0], strict=True)))
    return found


def signed_digits(value: int) -> list[int]:
    """The features that a sum of shifted features holds."""
    digits = []
    for _ in range(ROWS):
        digits.append(centred(value, 1 << FEATURE_BITS))
        value = (value - digits[-1]) >> FEATURE_BITS
    return digits


def admitted(attacker: SmoothKey) -> PaillierPublicKey:
    """The attacker's key as the learner takes it: with a valid proof."""
    context = ProofContext(b"session", "attacker", "learner")
    data, proof = attacker.private.public.to_bytes(), prove(attacker.private, context)
    return admit_paillier(data, proof, context, PROFILE, PythonEngine(), randomness=seeded("learner"))


@pytest.mark.parametrize("weak", [OneBaseKey, OneBaseFullLengthKey], ids=["half-length", "full-length"])
def test_one_base_is_read_by_a_smooth_key(smooth_key: SmoothKey, weak: type[OneBaseKey]) -> None:
    """A build with one base gives 40 features a reply to an owner whose p - 1 is smooth, however long exponents are."""
    learner = weak(admitted(smooth_key).n, PROFILE, PythonEngine(), seeded("learner"))
    assert features_read(smooth_key, learner, replies=3) == [ROWS] * 3


def test_independent_bases_are_not_read_by_a_smooth_key(smooth_key: SmoothKey) -> None:
    """From the shipped replies the same owner reads one feature in 511, as anybody could by guessing."""
    found = features_read(smooth_key, admitted(smooth_key), replies=25)
    assert sum(found) <= 10  # Of 1000; guessing gives 2.
    assert max(found) <= 3


def test_replies_have_uniform_logarithms(smooth_key: SmoothKey) -> None:
    """Replies to the same request and features have logarithms that spread evenly, so no statistic helps the owner."""
    learner, X = admitted(smooth_key), column(ROWS, FEATURE_BITS, 1)
    request = chosen_request(smooth_key.private, smooth_key.roots())
    tenths = np.zeros(10, dtype=int)
    for _ in range(40):
        for side in smooth_key.logarithms(randomness_root(smooth_key.private, shipped(learner, request, X))):
            tenths[10 * side // smooth_key.order] += 1
    assert tenths.max() <= 20
    assert np.count_nonzero(tenths) == 10
