"""What travels shows nothing: fresh randomness, also after a fork, also from the owner of the key.

Two attacks of a key's owner on the learner's features are carried out here, on the cryptography alone; `owners.py` has
their mathematics, and `tests/lab/attacks/keys` the same through the whole protocol. Against the shipped
randomisers "fails" means: over many replies the share of features read right is that of guessing.
"""

import multiprocessing
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

from plumbob.crypto import (
    SYSTEM_RANDOMNESS,
    Encoded,
    EncryptedVector,
    PrivateKey,
    ProofContext,
    PublicKey,
    Sendable,
    Slots,
    admit,
    admit_paillier,
    paillier,
    profiles,
    prove,
)
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import to_ints
from tests.crypto.owners import (
    SMALL_PRIMES,
    BareKey,
    OneBaseFullLengthKey,
    OneBaseKey,
    SmoothKey,
    ciphertexts,
    randomness_root,
    small_prime_exponents,
    with_chosen_randomness,
)
from tests.crypto.support import integers, seeded

PROFILE = profiles.TEST_ONLY


def test_equal_plaintexts_give_different_bytes(key: PrivateKey) -> None:
    """One number, encrypted many times by owner and peer and randomised again, never looks the same."""
    own, peer = key.encrypt([5] * 100), key.public.encrypt([5] * 100)
    messages = [own, peer, own.randomised(), peer.randomised(), own.randomised()]
    seen = [value for message in messages for value in ciphertexts(key.public, message.to_bytes())]
    assert len(set(seen)) == len(seen)


def test_nothing_travels_without_randomness(key: PrivateKey) -> None:
    """(c - 1) modulo n, which is 0 for a ciphertext without randomness, is never 0 for what has bytes."""
    public = key.public
    zeros = [0] * 60
    bare = EncryptedVector(public, public.embed(zeros))
    assert all((value - 1) % public.n == 0 for value in to_ints(bare.limbs))
    product = key.encrypt(zeros) @ integers([[0] * 60] * 60, 4)
    mask = public.random_mask(60, 30)
    for message in (
        key.encrypt(zeros),
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
@pytest.mark.parametrize("tables", ["built before", "built after"])
def test_no_randomness_repeats_after_fork(engine: Engine, tables: str) -> None:
    """Ciphertexts, masks and randomisers of four workers and their parent are all different."""
    key = paillier.generate(PROFILE, engine, SYSTEM_RANDOMNESS)
    if tables == "built before":
        draw(key)
    assert repeats(drawn_in_forks(key)) == 0


@FORKING
def test_randomness_kept_in_memory_would_repeat() -> None:
    """The same test notices a source whose state is copied by the fork."""
    key = paillier.generate(PROFILE, PythonEngine(), seeded("copied"))
    draw(key)
    assert repeats(drawn_in_forks(key)) > 0


# The learner under attack.

ROWS, FEATURE_BITS = 40, 9


def reply(key: PublicKey, request: Sendable, X: Encoded) -> int:
    """What a learner sends back, under a mask that nobody ever sees; how it is randomised is the key's affair."""
    sums = admit(key, request.to_bytes(), len(X.values)) @ X
    slots = Slots.packed(key, len(sums), 64, most=1)
    masked = slots.pack(sums) + key.random_mask(len(sums), slots.masked_bits)
    (ciphertext,) = ciphertexts(key, masked.randomised().to_bytes())
    return ciphertext


def request(owner: PrivateKey, roots: list[int]) -> Sendable:
    """Some plaintexts with chosen randomness."""
    return with_chosen_randomness(owner, [17 * row + 1 for row in range(len(roots))], roots)


def column(rows: int, bits: int, seed: int) -> Encoded:
    """One column of features, uniform over the width."""
    limit = 1 << (bits - 1)
    return integers(np.random.default_rng(seed).integers(1 - limit, limit, (rows, 1)).tolist(), bits)


def right(guesses: list[int], X: Encoded) -> int:
    """How many features were read."""
    return sum(guess == x for guess, x in zip(guesses, X.values[:, 0], strict=True))


# Attack 1: small primes as randomness.


def attack_with_small_primes(owner: PrivateKey, learner: PublicKey, replies: int) -> tuple[float, int]:
    """The share of features read right, and the number of replies of which the attacker is sure."""
    found, sure = 0, 0
    for seed in range(replies):
        X = column(len(SMALL_PRIMES), 4, seed)
        root = randomness_root(owner, reply(learner, request(owner, SMALL_PRIMES), X))
        guesses, is_sure = small_prime_exponents(root, owner.public.n)
        found += right(guesses, X)
        sure += is_sure
    return found / (replies * len(SMALL_PRIMES)), sure


def test_without_fresh_randomness_features_are_read(key: PrivateKey) -> None:
    """A masked sum that was not randomised gives the whole column away, through a perfect mask."""
    public = key.public
    learner = BareKey(public.n, public.profile, public.engine, public.randomness)
    assert attack_with_small_primes(key, learner, replies=5) == (1.0, 5)


def test_the_reply_carries_nothing_of_the_senders_randomness(key: PrivateKey) -> None:
    """The same attacker reads the shipped reply no better than guessing one value in fifteen."""
    share, sure = attack_with_small_primes(key, key.public, replies=30)
    assert share < 2.5 / 15
    assert sure == 0


# Attack 2: a key whose group has cheap logarithms.


@pytest.fixture(scope="module")
def smooth_key() -> SmoothKey:
    """The attacker's key; what it takes to make one is a second of search."""
    return SmoothKey.make(seeded("smooth"), PROFILE, ROWS, FEATURE_BITS)


def features_read(attacker: SmoothKey, learner: PublicKey, replies: int) -> list[int]:
    """How many of each reply's features the attacker reads right."""
    # The first step has no chosen randomness in it: what it shows is the learner's own.
    calibration = reply(learner, request(attacker.private, [1] * ROWS), column(ROWS, FEATURE_BITS, seed=99))
    found = []
    for seed in range(replies):
        X = column(ROWS, FEATURE_BITS, seed)
        answer = reply(learner, request(attacker.private, attacker.roots()), X)
        found.append(right(attacker.features(calibration, answer), X))
    return found


def admitted(attacker: SmoothKey) -> PublicKey:
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
    asked = request(smooth_key.private, smooth_key.roots())
    tenths = np.zeros(10, dtype=int)
    for _ in range(40):
        for side in smooth_key.logarithms(reply(learner, asked, X)):
            tenths[10 * side // smooth_key.order] += 1
    assert tenths.max() <= 20
    assert np.count_nonzero(tenths) == 10
