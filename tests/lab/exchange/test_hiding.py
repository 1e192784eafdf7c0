"""What travels shows nothing: fresh randomness, also after a fork, also from the owner of the key.

Two attacks of a key's owner on the learner's features (`owners.py`) are carried out in `tests/lab/attacks/keys`; the
statistic that the second one would need is here.
"""

import multiprocessing
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.lab.exchange import engines, paillier, profiles
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import to_ints
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, admit
from plumbob.lab.exchange.proof import ProofContext, admit_paillier, prove
from tests.crypto.support import seeded
from tests.lab.exchange.owners import (
    SmoothKey,
    ciphertexts,
    with_chosen_randomness,
)
from tests.lab.exchange.support import integers

PROFILE = profiles.TEST_ONLY


def test_equal_plaintexts_give_different_bytes(key: PrivateKey) -> None:
    """One number, encrypted many times by owner and peer and randomised again, never looks the same."""
    own, peer = key.encrypt([5] * 20), key.public.encrypt([5] * 20)
    messages = [own, peer, own.randomised(), peer.randomised(), own.randomised()]
    seen = [value for message in messages for value in ciphertexts(key.public, message.to_bytes())]
    assert len(set(seen)) == len(seen)


def test_nothing_travels_without_randomness(key: PrivateKey) -> None:
    """(c - 1) modulo n, which is 0 for a ciphertext without randomness, is never 0 for what has bytes."""
    public = key.public
    zeros = [0] * 20
    bare = EncryptedVector(public, public.embed(zeros))
    assert all((value - 1) % public.n == 0 for value in to_ints(bare.limbs))
    product = key.encrypt(zeros) @ integers([[0] * 20] * 20, 4)
    mask = public.random_mask(20, 30)
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
def test_no_randomness_repeats_after_fork(tables: str) -> None:
    """Ciphertexts, masks and randomisers of four workers and their parent are all different."""
    key = paillier.generate(PROFILE, engines.choose(threads=1), SYSTEM_RANDOMNESS)
    if tables == "built before":
        draw(key)
    assert repeats(drawn_in_forks(key)) == 0


@FORKING
def test_randomness_kept_in_memory_would_repeat() -> None:
    """The same test notices a source whose state is copied by the fork."""
    key = paillier.generate(PROFILE, PythonEngine(), seeded("copied"))
    draw(key)
    assert repeats(drawn_in_forks(key)) > 0


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
