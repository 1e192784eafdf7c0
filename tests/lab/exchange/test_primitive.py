"""The primitive: v @ X, a helper that learns nothing of X, a learner that gets no bit too many."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from plumbob.crypto import Encoded, Encoding
from plumbob.errors import CiphertextRefusedError
from plumbob.lab.exchange import engines, paillier, profiles
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey
from plumbob.lab.exchange.primitive import Helper, Learner
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.simulate.memory_link import linked_pair
from plumbob.net import Link
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind, Message
from tests.protocol.support import uniformity

FEATURES, VALUES = Encoding(8, 3), Encoding(10, 2)
ROWS, COLUMNS, SLOT_BITS = 6, 5, 40


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    """A short key."""
    return paillier.generate(profiles.TEST_ONLY, engines.choose(threads=1))


@dataclass
class Pair:
    """A helper and a learner, and the bare end between them through which a test speaks for the learner."""

    helper: Helper
    learner: Learner
    slots: Slots
    to_helper: Link


def paired(key: PrivateKey, make: Callable[..., Slots] = Slots.packed) -> Pair:
    """Both ends, connected."""
    here, there = linked_pair()
    slots = make(profiles.TEST_ONLY, COLUMNS, SLOT_BITS)
    to_learner, to_helper = Channel("learner", here, 1.0), Channel("helper", there, 1.0)
    return Pair(Helper(to_learner, key, slots), Learner(to_helper, key.public, slots), slots, there)


def single(profile: Profile, columns: int, slot_bits: int) -> Slots:
    """One sum in a reply, so that none is cut off at a byte that it shares."""
    return Slots.cut(columns, slot_bits, 1)


def operands() -> tuple[Encoded, Encoded]:
    """A vector and a matrix with the largest entries of both signs in them."""
    generator = np.random.default_rng(1)
    vector = generator.integers(-(2**12) + 1, 2**12, ROWS)
    matrix = generator.integers(-(2**11) + 1, 2**11, (ROWS, COLUMNS))
    vector[0], matrix[0, 0], matrix[0, 1] = -(2**12) + 1, 2**11 - 1, -(2**11) + 1
    return Encoded(vector, VALUES), Encoded(matrix, FEATURES)


def asked(learner: Learner, slots: Slots, step: int, matrix: Encoded) -> list[int]:
    """The learner's mask, once it has asked for the honest sums."""
    return learner.ask(step, slots.pack(learner.lent(step, ROWS) @ matrix))


def test_the_helper_sees_uniform_numbers(key: PrivateKey) -> None:
    """What it decrypts has no trace of the sums: the lower bytes pass for uniform even where every sum is 0."""
    pair = paired(key, single)
    vector, _ = operands()
    nothing = Encoded(np.zeros((ROWS, COLUMNS), dtype=np.int64), FEATURES)
    opened: list[int] = []
    for step in range(1, 9):
        pair.helper.lend(step, key.encrypt(vector))
        asked(pair.learner, pair.slots, step, nothing)
        opened += pair.helper.open(step)
    assert len(set(opened)) == len(opened)
    assert uniformity(b"".join((value % 2**640).to_bytes(80, "little") for value in opened)) > 1e-7


@pytest.mark.parametrize(
    "answer",
    [
        lambda lent, size: lent[:size],
        lambda lent, size: bytes(size),
        lambda lent, size: b"\xff" * size,
    ],
    ids=["our own ciphertext", "zero", "not reduced"],
)
def test_a_helper_never_decrypts_what_is_no_masked_sum(
    monkeypatch: pytest.MonkeyPatch, key: PrivateKey, answer: Callable[[bytes, int], bytes]
) -> None:
    """Our own ciphertext sent back, 0, or a number out of range is refused before the secret key is touched."""
    pair, (vector, _) = paired(key), operands()
    lent = key.encrypt(vector)
    pair.helper.lend(1, lent)
    size = pair.slots.replies * key.public.ciphertext_bytes
    pair.to_helper.send(Message(Kind.MASKED_SUMS, 1, 0, answer(lent.to_bytes(), size)).encode())
    decrypted: list[EncryptedVector] = []
    monkeypatch.setattr(PrivateKey, "decrypt", lambda self, vector: decrypted.append(vector))
    with pytest.raises(CiphertextRefusedError, match=r"^learner: "):
        pair.helper.open(1)
    assert decrypted == []
