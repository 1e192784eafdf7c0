"""What travels shows nothing: randomisers are uniform, from one source, fresh after a fork, and hide from the owner.

On a toy modulus every n-th residue can be listed. n = 11 * 31 is chosen for its group, 10 times 30, which is not
cyclic: no single base reaches all of it, so a randomiser made of one base is caught however long its exponents are.
Two attacks of a key's owner on the learner's features (`owners.py`) are carried out in `tests/lab/attacks/keys`; the
statistic that the second one would need is here.
"""

import multiprocessing
import os
from collections import Counter
from itertools import chain

import gmpy2
import numpy as np
import pytest
from scipy import stats

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.lab.exchange import engines, paillier, profiles, uniform
from plumbob.lab.exchange.engines.interface import Digits, PaillierEngine, Ring
from plumbob.lab.exchange.engines.python import PowerTable, PythonEngine
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_ints
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey, admit, window_table
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.exchange.proof import ProofContext, admit_paillier, prove
from tests.crypto.support import seeded
from tests.lab.exchange.owners import SmoothKey, ciphertexts, with_chosen_randomness
from tests.lab.exchange.support import integers

PROFILE = profiles.TEST_ONLY
TOY_N = 11 * 31
TOY = Profile(PROFILE.name, TOY_N.bit_length())
NTH_RESIDUES = sorted({pow(rho, TOY_N, TOY_N**2) for rho in range(TOY_N) if gmpy2.gcd(rho, TOY_N) == 1})
SURPRISING = 1e-6  # With seeded draws a test that passes once passes always.


# Uniform.


def p_value(drawn: list[int]) -> float:
    """How likely uniform n-th residues are at least as uneven as these."""
    counts = Counter(drawn)
    assert set(counts) <= set(NTH_RESIDUES)
    return float(stats.chisquare([counts[residue] for residue in NTH_RESIDUES]).pvalue)


def test_randomisers_are_uniform() -> None:
    """Every n-th residue comes equally often, as with the reference rho**n."""
    assert len(NTH_RESIDUES) == 10 * 30
    assert p_value(to_ints(PublicKey(TOY_N, TOY, PythonEngine(), seeded("a")).randomisers(3000))) > SURPRISING
    randomness = seeded("a")
    assert p_value([pow(uniform.unit(randomness, TOY_N), TOY_N, TOY_N**2) for _ in range(3000)]) > SURPRISING


@pytest.mark.parametrize(("bases", "digits", "mask"), [(1, 1, 255), (1, 17, 255), (5, 1, 1)])
def test_fewer_bases_or_shorter_exponents_would_not_be(bases: int, digits: int, mask: int) -> None:
    """The same test refuses powers of one base, however long, and independent bases with exponents of one bit."""
    engine, randomness, ring = PythonEngine(), seeded("one base"), Ring(TOY_N, 2)
    powers = [pow(uniform.unit(randomness, TOY_N), TOY_N, TOY_N**2) for _ in range(bases)]
    one_base = window_table(engine, ring, powers[0], digits)
    table = one_base if bases == 1 else engine.table(ring, from_ints(powers, 1), 1)
    drawn = uniform.digits(randomness, 3000, digits * bases) & np.uint8(mask)
    assert p_value(to_ints(engine.look_up(table, drawn))) < SURPRISING


class RecordingEngine(PythonEngine):
    """Keeps what tables are made of and what is looked up in them."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.digits: list[Digits] = []

    def table(self, ring: Ring, bases: Limbs, window: int) -> PowerTable:
        self.bases += to_ints(bases)
        return super().table(ring, bases, window)

    def look_up(self, table: PowerTable, digits: Digits) -> Limbs:
        self.digits.append(digits)
        return super().look_up(table, digits)


def test_bases_are_independent_and_exponents_full() -> None:
    """Every base is an n-th power of its own, drawn once; every randomiser uses all of them with fresh whole digits."""
    private = paillier.generate(PROFILE, PythonEngine(), seeded("recorded"))
    engine = RecordingEngine()
    key = PublicKey(private.public.n, PROFILE, engine, seeded("recorded bases"))
    key.randomisers(20)
    key.randomisers(20)
    assert len(set(engine.bases)) == len(engine.bases) == key._bases
    assert all(is_nth_residue(private, base) for base in engine.bases)
    digits = np.concatenate(engine.digits)
    assert digits.shape == (40, len(engine.bases))
    assert len(np.unique(digits, axis=0)) == 40
    assert stats.chisquare(np.bincount(digits.ravel(), minlength=256)).pvalue > SURPRISING


@pytest.mark.parametrize("profile", [profiles.STANDARD, profiles.LONG_TERM])
def test_bases_are_as_many_as_the_proof_needs(profile: Profile) -> None:
    """At least 272 independent bases, and 128 bits more than the key has."""
    key = PublicKey((1 << profile.key_bits) - 1, profile, PythonEngine())
    assert key._bases >= 272
    assert key._bases * 8 >= profile.key_bits + 128


def is_nth_residue(key: PrivateKey, value: int) -> bool:
    """Whether this is an n-th residue, by the factors: its parts of order p and of order q are trivial."""
    return all(gmpy2.powmod(value, prime - 1, prime**2) == 1 for prime in (key._p, key._q))


def test_randomness_of_owner_and_peer_encrypts_zero(key: PrivateKey) -> None:
    """Randomisers and the owner's fast randomness are n-th residues, all different, none of them 1."""
    drawn = [*to_ints(key.public.randomisers(50)), *to_ints(key.encrypt([0] * 50).limbs)]
    assert key.decrypt(EncryptedVector(key.public, from_ints(drawn, key.public.ring.width))) == [0] * 100
    assert all(is_nth_residue(key, value) for value in drawn)
    assert len({*drawn, 1}) == 101


def test_own_base_powers_are_uniform(engine: PaillierEngine) -> None:
    """Digits, lowest first, look up the power that they spell, and powers spread evenly over the base's group."""
    ring = Ring(int(uniform.prime(seeded("ring"), 256)), 1)
    digits = uniform.digits(seeded("window"), 5, 9)
    exponents = [sum(int(digit) << (8 * place) for place, digit in enumerate(row)) for row in digits]
    found = to_ints(engine.look_up(window_table(engine, ring, 3, 9), digits))
    assert found == [pow(3, exponent, ring.root) for exponent in exponents]
    toy, base = Ring(101, 2), pow(2, 101, 101**2)  # 2 generates the units modulo 101.
    table = window_table(PythonEngine(), toy, base, 17)
    drawn = Counter(to_ints(PythonEngine().look_up(table, uniform.digits(seeded("own"), 8000, 17))))
    assert len(drawn) == 100
    assert stats.chisquare(list(drawn.values())).pvalue > SURPRISING


def test_units_digits_and_primes_are_as_asked_for() -> None:
    """Units of 30 come equally often, digits fill a byte, primes have their length and their two top bits set."""
    randomness = seeded("unit")
    units = Counter(uniform.unit(randomness, 30) for _ in range(800))
    assert set(units) == {value for value in range(30) if gmpy2.gcd(value, 30) == 1}
    assert stats.chisquare(list(units.values())).pvalue > SURPRISING
    digits = Counter(uniform.digits(seeded("digits"), 200, 50).ravel().tolist())
    assert stats.chisquare([digits[value] for value in range(256)]).pvalue > SURPRISING
    for bits in (128, 384):
        for prime in (uniform.prime(seeded(f"prime {number}"), bits) for number in range(5)):
            assert gmpy2.is_prime(prime)
            assert prime >> (bits - 2) == 3


def test_everything_comes_through_the_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key and its work draw nothing beside the source they were given, which is the kernel where none was."""
    assert paillier.generate(PROFILE, PythonEngine()).public.randomness is SYSTEM_RANDOMNESS
    randomness = seeded("only source")

    def forbidden(size: int) -> bytes:
        raise AssertionError(f"{size} bytes were drawn from the operating system")

    monkeypatch.setattr(os, "urandom", forbidden)
    key = paillier.generate(PROFILE, PythonEngine(), randomness)
    masked = key.encrypt([1, 2, 3]) + key.public.random_mask(3, 64)
    assert len(masked.randomised()) == 3


# On its way.


def test_nothing_travels_without_fresh_randomness(key: PrivateKey) -> None:
    """(c - 1) modulo n, 0 for a ciphertext without randomness, is never 0 for what has bytes, and none comes twice."""
    public, zeros = key.public, [0] * 20
    bare = EncryptedVector(public, public.embed(zeros))
    assert all((value - 1) % public.n == 0 for value in to_ints(bare.limbs))
    product = key.encrypt(zeros) @ integers([[0] * 20] * 20, 4)
    masked = (product + public.random_mask(20, 30)).randomised()
    own, peer = key.encrypt(zeros), public.encrypt(zeros)
    messages = (own, peer, own.randomised(), peer.randomised(), bare.randomised(), product.randomised(), masked)
    seen = [value for message in messages for value in ciphertexts(public, message.to_bytes())]
    assert all((value - 1) % public.n for value in seen)
    assert len(set(seen)) == len(seen)


def draw(key: PrivateKey) -> list[list[object]]:
    """Everything random that a round draws: ciphertexts, masks, randomisers, bytes."""
    public = key.public
    drawn = [*to_ints(key.encrypt([0] * 5).limbs), *to_ints(public.encrypt([0] * 5).limbs)]
    masks, randomisers = public.random_mask(5, 40), to_ints(public.randomisers(5))
    return [list(drawn), list(masks), list(randomisers), [public.randomness.draw(16) for _ in range(5)]]


def repeats_in_forks(key: PrivateKey, workers: int = 4) -> int:
    """How many values came more than once in the parent and in forked children of it."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=lambda: results.put(draw(key))) for _ in range(workers)]
    for child in children:
        child.start()
    collected = [*(results.get() for _ in children), draw(key)]
    for child in children:
        child.join()
    columns = [list(chain.from_iterable(column)) for column in zip(*collected, strict=True)]
    return sum(len(values) - len(set(values)) for values in columns)


FORKING = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@FORKING
@pytest.mark.parametrize("has_tables", [True, False], ids=["built before", "built after"])
def test_no_randomness_repeats_after_fork(has_tables: bool) -> None:
    """Ciphertexts, masks and randomisers of four workers and their parent are all different."""
    key = paillier.generate(PROFILE, engines.choose(threads=1), SYSTEM_RANDOMNESS)
    if has_tables:
        draw(key)
    assert repeats_in_forks(key) == 0


@FORKING
def test_randomness_kept_in_memory_would_repeat() -> None:
    """The same test notices a source whose state is copied by the fork."""
    key = paillier.generate(PROFILE, PythonEngine(), seeded("copied"))
    draw(key)
    assert repeats_in_forks(key) > 0


# A key whose group has cheap logarithms.

ROWS, FEATURE_BITS = 12, 9


def test_replies_have_uniform_logarithms() -> None:
    """Replies to the same request and features have logarithms that spread evenly, so no statistic helps the owner."""
    smooth, context = SmoothKey.make(seeded("smooth"), PROFILE, ROWS, FEATURE_BITS), ProofContext(b"session", "a", "b")
    data, proof = smooth.private.public.to_bytes(), prove(smooth.private, context)
    learner = admit_paillier(data, proof, context, PROFILE, PythonEngine(), randomness=seeded("learner"))
    limit = 1 << (FEATURE_BITS - 1)
    X = integers(np.random.default_rng(1).integers(1 - limit, limit, (ROWS, 1)).tolist(), FEATURE_BITS)
    asked = with_chosen_randomness(smooth.private, [17 * row + 1 for row in range(ROWS)], smooth.roots())
    sums = admit(learner, asked.to_bytes(), ROWS) @ X
    tenths = np.zeros(10, dtype=int)
    for _ in range(40):
        # Under a mask that nobody ever sees.
        reply = (sums + learner.random_mask(1, 64)).randomised()
        for side in smooth.logarithms(*ciphertexts(learner, reply.to_bytes())):
            tenths[10 * side // smooth.order] += 1
    assert tenths.max() <= 20
    assert np.count_nonzero(tenths) == 10
