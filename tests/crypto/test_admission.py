"""crypto/admission.py: the keys that we use, and at least twenty kinds that we do not."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import gmpy2
import pytest
from gmpy2 import mpz

from plumbob.crypto import (
    ProofContext,
    admit_paillier,
    admit_trusted_okamoto_uchiyama,
    okamoto_uchiyama,
    paillier,
    profiles,
    proof,
    prove,
)
from plumbob.crypto.admission import SMALLEST_FACTOR
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.paillier import PaillierPrivateKey, PaillierPublicKey
from plumbob.crypto.profiles import Profile
from plumbob.errors import KeyRefusedError
from tests.crypto.support import CountingEngine, seeded

CONTEXT = ProofContext(session=b"session 1", prover="bank", verifier="shop")
PROFILE = profiles.TEST_ONLY
BITS = PROFILE.key_bits
ENGINE = PythonEngine()


@dataclass(frozen=True)
class Offer:
    """What a peer hands over for its key, and what the verifier has seen already."""

    key: bytes
    proof: bytes
    known: frozenset[int] = field(default=frozenset())


def accept(offer: Offer, profile: Profile = PROFILE) -> PaillierPublicKey:
    """The verifier's side."""
    return admit_paillier(offer.key, offer.proof, CONTEXT, profile, ENGINE, known=offer.known)


def honest_key(number: int = 0, profile: Profile = PROFILE) -> PaillierPrivateKey:
    """A key as `generate` makes it, different for each number."""
    return paillier.generate(profile, ENGINE, seeded(f"honest {number}"))


def honest(number: int = 0) -> Offer:
    """A key and its proof, both right."""
    key = honest_key(number)
    return Offer(key.public.to_bytes(), prove(key, CONTEXT))


def with_modulus(n: int) -> Offer:
    """A modulus with random roots: all that somebody without right ones can hand over."""
    randomness = seeded("cheat")
    roots = [randomness.unit(n) if n > 2 else 1 for _ in range(11)]
    return Offer(n.to_bytes(BITS // 8, "little"), b"".join(root.to_bytes(BITS // 8, "little") for root in roots))


def with_factors(*factors: int) -> Offer:
    """A modulus with the best roots that its factors allow: right ones modulo every factor that has them."""
    n = math.prod(factors)
    assert n.bit_length() == BITS
    size = BITS // 8
    roots = [best_root(n, factors, challenge(n, index)) for index in range(11)]
    return Offer(n.to_bytes(size, "little"), b"".join(root.to_bytes(size, "little") for root in roots))


def challenge(n: int, index: int) -> int:
    """The verifier's challenge, which everybody can calculate."""
    return proof._challenge(n, BITS, CONTEXT, index)


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
    return int(seeded(seed).prime(bits))


def root_prime(degree: int) -> int:
    """A prime whose power of that degree has exactly BITS bits."""
    return int(gmpy2.next_prime(gmpy2.iroot(mpz(3) << (BITS - 2), degree)[0]))


def times_small(factor: int) -> Offer:
    """factor * prime with exactly BITS bits."""
    start = (3 << (BITS - 2)) // factor
    return with_modulus(int(gmpy2.next_prime(start)) * factor)


def with_cofactor(*factors: int) -> Offer:
    """The factors and one prime more, which brings the product to BITS bits."""
    product = math.prod(factors)
    return with_factors(*factors, int(gmpy2.next_prime((3 << (BITS - 2)) // product)))


def linked_primes(bits: int) -> Offer:
    """n = p q with p dividing q - 1: the n-th powers are not all of the units."""
    return linked_to(random_prime(bits, "linked"))


def linked_to(p: int) -> Offer:
    """n = p q with the next fitting q = 1 modulo p."""
    step = (3 << (BITS - 2)) // (2 * p * p)
    while not gmpy2.is_prime(2 * step * p + 1):
        step += 1
    return with_factors(p, 2 * step * p + 1)


def okamoto_uchiyama_modulus() -> Offer:
    """n = p**2 q with roots that are right modulo p and q."""
    key = okamoto_uchiyama.generate(PROFILE, ENGINE, seeded("ou"))
    p = int(key._p)
    return with_factors(p, p, key.public.n // p**2)


def edited_proof(edit: Callable[[bytes], bytes]) -> Offer:
    """The honest key with a changed proof."""
    offer = honest()
    return replace(offer, proof=edit(offer.proof))


def edited_root(edit: Callable[[int, int], int]) -> Offer:
    """The honest proof with its second root replaced, by a function of that root and n."""
    offer, size = honest(), BITS // 8
    root, n = int.from_bytes(offer.proof[size : 2 * size], "little"), int.from_bytes(offer.key, "little")
    changed = edit(root, n).to_bytes(size, "little")
    return replace(offer, proof=offer.proof[:size] + changed + offer.proof[2 * size :])


def proved_in(context: ProofContext) -> Offer:
    """The honest key with a proof that is valid elsewhere."""
    return Offer(honest_key().public.to_bytes(), prove(honest_key(), context))


def swapped_roots(data: bytes) -> bytes:
    """The first two roots in each other's place."""
    size = BITS // 8
    return data[size : 2 * size] + data[:size] + data[2 * size :]


def known_already() -> Offer:
    """An honest key that the verifier knows: its own, or another peer's."""
    return replace(honest(), known=frozenset({honest_key(1).public.n, honest_key().public.n}))


MALFORMED: dict[str, tuple[Callable[[], Offer], str]] = {
    "no key": (lambda: replace(honest(), key=b""), "expected 96 bytes, got 0"),
    "a byte less": (lambda: replace(honest(), key=honest().key[:-1]), "expected 96 bytes, got 95"),
    "a byte more": (lambda: replace(honest(), key=honest().key + b"\0"), "expected 96 bytes, got 97"),
    "half of the key": (lambda: replace(honest(), key=honest().key[:48]), "expected 96 bytes, got 48"),
    "longer than agreed": (lambda: replace(honest(), key=honest().key + honest(1).key), "expected 96 bytes, got 192"),
    "zero": (lambda: Offer(bytes(BITS // 8), honest().proof), "expected exactly 768 bits, got 0"),
    "one": (lambda: with_modulus(1), "expected exactly 768 bits, got 1"),
    "a bit short": (lambda: with_modulus(random_prime(383) * random_prime(384, "b")), "exactly 768 bits, got 767"),
    "far too short, padded": (lambda: with_modulus(random_prime(128) * random_prime(128, "b")), "got 256"),
    "big-endian": (lambda: replace(honest(), key=honest().key[::-1]), "key: "),
    "even": (lambda: times_small(2), "is even"),
    "a power of two": (lambda: with_modulus(1 << (BITS - 1)), "is even"),
    "factor 3": (lambda: times_small(3), "factor below 6370"),
    "factor 5": (lambda: times_small(5), "factor below 6370"),
    "factor 257": (lambda: times_small(257), "factor below 6370"),
    "factor 6361": (lambda: times_small(6361), "factor below 6370"),
    "factor 6367": (lambda: times_small(6367), "factor below 6370"),
    "all ones": (lambda: with_modulus((1 << BITS) - 1), "factor below 6370"),
    "a prime": (lambda: with_modulus(random_prime(BITS, "whole")), "is prime"),
    "a square": (lambda: with_modulus(random_prime(BITS // 2) ** 2), "perfect power"),
    "a cube": (lambda: with_modulus(root_prime(3) ** 3), "perfect power"),
    "a sixth power": (lambda: with_modulus(root_prime(6) ** 6), "perfect power"),
    "our own, or one seen": (known_already, "in use already"),
    "p divides q - 1": (lambda: linked_primes(256), "does not fit its challenge"),
    "a small p divides q - 1": (lambda: linked_primes(64), "does not fit its challenge"),
    "6373 divides q - 1": (lambda: linked_to(int(gmpy2.next_prime(SMALLEST_FACTOR))), "does not fit its challenge"),
    "Okamoto-Uchiyama's p p q": (okamoto_uchiyama_modulus, "does not fit its challenge"),
    "a square of 6373": (lambda: with_cofactor(6373, 6373), "does not fit its challenge"),
    "p p q with random roots": (
        lambda: with_modulus(int.from_bytes(okamoto_uchiyama_modulus().key, "little")),
        "does not fit its challenge",
    ),
    "three primes, random roots": (
        lambda: with_modulus(random_prime(256) * root_prime(3) * int(gmpy2.next_prime(root_prime(3)))),
        "does not fit its challenge",
    ),
    "forged roots": (lambda: with_modulus(honest_key().public.n), "does not fit its challenge"),
    "no proof": (lambda: edited_proof(lambda data: b""), "key proof: expected 1056 bytes, got 0"),
    "ten roots": (lambda: edited_proof(lambda data: data[: -BITS // 8]), "key proof: expected 1056 bytes, got 960"),
    "a proof too long": (lambda: edited_proof(lambda data: data + b"\0"), "expected 1056 bytes, got 1057"),
    "root 0": (lambda: edited_root(lambda root, n: 0), "root 1 is not a unit"),
    "root n": (lambda: edited_root(lambda root, n: n), "root 1 is not a unit"),
    "a root that divides n": (lambda: edited_root(lambda root, n: int(honest_key()._p)), "root 1 is not a unit"),
    "a root not reduced": (lambda: edited_root(lambda root, n: min(root + n, (1 << BITS) - 1)), "root 1 is not a unit"),
    "a root's negative": (lambda: edited_root(lambda root, n: n - root), "root 1 does not fit"),
    "a challenge as its root": (lambda: edited_root(lambda root, n: challenge(n, 1)), "root 1 does not fit"),
    "roots reordered": (lambda: edited_proof(swapped_roots), "root 0 does not fit"),
    "another session's proof": (lambda: proved_in(replace(CONTEXT, session=b"session 2")), "root 0 does not fit"),
    "another prover's proof": (lambda: proved_in(replace(CONTEXT, prover="broker")), "root 0 does not fit"),
    "a proof for another verifier": (lambda: proved_in(replace(CONTEXT, verifier="broker")), "root 0 does not fit"),
    "our proof sent back": (lambda: proved_in(ProofContext(b"session 1", "shop", "bank")), "root 0 does not fit"),
    "another key's proof": (lambda: replace(honest(), proof=honest(1).proof), "root . (does not fit|is not a unit)"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_keys_are_refused(name: str) -> None:
    """Each kind of malformed key, and of forged, replayed or reordered proof, is refused for its own reason."""
    make, reason = MALFORMED[name]
    with pytest.raises(KeyRefusedError, match=reason):
        accept(make())


def test_malformed_keys_are_many() -> None:
    """The table above has the twenty classes that the specification asks for, and more."""
    assert len(MALFORMED) >= 20


@pytest.mark.parametrize("number", range(96))
def test_honest_keys_pass(number: int) -> None:
    """Whatever `generate` makes is admitted with its proof and without anything to know it by."""
    key = honest_key(number)
    other = honest_key(number + 1000).public.n
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT), known=frozenset({other}))
    assert accept(offer).n == key.public.n


@pytest.mark.parametrize("number", range(4))
def test_honest_keys_of_full_length_pass(number: int) -> None:
    """The same at the default length, which makes one hundred."""
    key = honest_key(number, profiles.STANDARD)
    offer = Offer(key.public.to_bytes(), prove(key, CONTEXT))
    assert accept(offer, profiles.STANDARD).n == key.public.n
    with pytest.raises(KeyRefusedError, match="expected 96 bytes, got 256"):
        accept(offer)


def test_an_admitted_key_encrypts_for_its_owner() -> None:
    """The owner reads what was encrypted under the key that we admitted."""
    owner = honest_key()
    assert owner.decrypt_signed(accept(honest()).encrypt([1, -2])) == [1, -2]


def test_refusals_cost_nothing() -> None:
    """A refused key was never used: no engine was asked for anything."""
    engine = CountingEngine(ENGINE)
    for make, _ in MALFORMED.values():
        offer = make()
        with pytest.raises(KeyRefusedError):
            admit_paillier(offer.key, offer.proof, CONTEXT, PROFILE, engine, known=offer.known)
    assert not engine.calls


def test_refusals_show_no_modulus() -> None:
    """The message of a refusal holds widths and reasons, and never a number of the key's size."""
    for make, _ in MALFORMED.values():
        with pytest.raises(KeyRefusedError) as caught:
            accept(make())
        assert len(str(caught.value)) < 120


@pytest.fixture(scope="module")
def okamoto_uchiyama_offer() -> bytes:
    """An honest Okamoto-Uchiyama key."""
    return okamoto_uchiyama.generate(PROFILE, ENGINE, seeded("trusted")).public.to_bytes()


def test_a_trusted_key_is_taken(okamoto_uchiyama_offer: bytes) -> None:
    """Okamoto-Uchiyama keys come in under a name that says that their owner is trusted."""
    assert admit_trusted_okamoto_uchiyama(okamoto_uchiyama_offer, PROFILE, ENGINE).to_bytes() == okamoto_uchiyama_offer


@pytest.mark.parametrize(
    "name", ["short", "long", "no base", "g 0", "g 1", "g n - 1", "g n", "g not a unit", "even", "seen"]
)
def test_malformed_trusted_keys_are_refused(okamoto_uchiyama_offer: bytes, name: str) -> None:
    """Trust in the owner does not replace the cheap checks."""
    size = BITS // 8
    modulus, n = okamoto_uchiyama_offer[:size], int.from_bytes(okamoto_uchiyama_offer[:size], "little")
    factor = int(okamoto_uchiyama.generate(PROFILE, ENGINE, seeded("trusted"))._p)
    offers = {
        "short": okamoto_uchiyama_offer[:-1],
        "long": okamoto_uchiyama_offer + b"\0",
        "no base": modulus,
        "g 0": modulus + bytes(size),
        "g 1": modulus + (1).to_bytes(size, "little"),
        "g n - 1": modulus + (n - 1).to_bytes(size, "little"),
        "g n": modulus + modulus,
        "g not a unit": modulus + factor.to_bytes(size, "little"),
        "even": (n + 1).to_bytes(size, "little") + okamoto_uchiyama_offer[size:],
        "seen": okamoto_uchiyama_offer,
    }
    with pytest.raises(KeyRefusedError):
        admit_trusted_okamoto_uchiyama(offers[name], PROFILE, ENGINE, known={n} if name == "seen" else ())
