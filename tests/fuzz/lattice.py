"""What turns a peer's bytes into lattice requests, replies, keys and messages of the key test.

Each takes the exact bytes that the public shape asks for, or raises a PlumbobError, on test sets of degree 16.
"""

from functools import cache

import numpy as np

from plumbob.crypto.lattice import (
    Answer,
    KeyProof,
    KeyTest,
    Layout,
    OwnerKey,
    PrivateMatrix,
    Register,
    SlotFactors,
    SlotLayout,
    TestedKey,
    answer_request,
    make_request,
    open_reply,
    pairs,
    sets,
)
from plumbob.crypto.lattice.kernel import Engine
from tests.crypto.lattice.support import EVALUATOR_SEED, admitted, make_key

ENGINE = Engine(threads=1)
PLAIN, SLOTS = sets.insecure_for_tests(16, 2), sets.insecure_for_tests(16, 6, has_slots=True)
LAYOUT, SLOT_LAYOUT = Layout.choose(PLAIN, "scores", 9, 2, 51, 32), SlotLayout(SLOTS, 9, 2)
FACTORS = np.arange(18, dtype=np.int32).reshape(2, 9)
SIGMA, NONCE = bytes(32), bytes(range(32))


@cache
def key() -> OwnerKey:
    """The key of the owner of vectors."""
    return make_key(ENGINE, PLAIN)


@cache
def slot_key() -> OwnerKey:
    """The key of the owner of slots."""
    return make_key(ENGINE, SLOTS, "sigmoid")


@cache
def admitted_keys() -> tuple[TestedKey, TestedKey]:
    """Both keys, as their evaluators have them."""
    return admitted(key()), admitted(slot_key())


@cache
def matrix() -> PrivateMatrix:
    """What is multiplied with a vector."""
    return PrivateMatrix(ENGINE, LAYOUT, np.arange(18).reshape(9, 2))


def take_request(data: bytes) -> Answer:
    """A reply of the right length, whatever was encrypted."""
    answer = answer_request(matrix(), admitted_keys()[0], 1, data, EVALUATOR_SEED, Register())
    if len(answer.reply) != LAYOUT.reply_bytes or answer.share.shape != (9, 2):
        raise AssertionError("an answer of another shape")
    return answer


def take_reply(data: bytes) -> None:
    """Shares below their ring, whatever came back."""
    share = open_reply(key(), LAYOUT, data)
    if (pairs.reduce(share, LAYOUT.output_bits) != share).any():
        raise AssertionError("a share outside its ring")


def take_slot_request(data: bytes) -> Answer:
    """Take a request for slots."""
    factors = SlotFactors(ENGINE, SLOT_LAYOUT, FACTORS)
    answer = answer_request(factors, admitted_keys()[1], 1, data, EVALUATOR_SEED, Register())
    if len(answer.reply) != SLOT_LAYOUT.reply_bytes or answer.share.shape != (9, 2):
        raise AssertionError("an answer of another shape")
    return answer


def take_slot_reply(data: bytes) -> None:
    """Shares below the slot modulus."""
    share = open_reply(slot_key(), SLOT_LAYOUT, data)
    if any(int(low) + (int(high) << 64) >= SLOTS.slot_modulus for low, high in share):
        raise AssertionError("a share outside its ring")


def take_public_key(data: bytes) -> None:
    """Take a public key: only a canonical polynomial gets a challenge."""
    if len(KeyTest(ENGINE, PLAIN, key().context, data, SIGMA).challenge()) != 2 * PLAIN.polynomial_bytes:
        raise AssertionError("a challenge of another length")


def take_challenge(data: bytes) -> None:
    """Take a challenge: nothing is revealed unless sigma gives this very one."""
    proof = KeyProof(key(), key().public, NONCE)
    proof.commit(data)
    if proof.reveal(SIGMA) == NONCE and data != challenge():
        raise AssertionError("a challenge of somebody's choice was decrypted")


@cache
def challenge() -> bytes:
    """The honest challenge."""
    return KeyTest(ENGINE, PLAIN, key().context, key().public, SIGMA).challenge()


@cache
def request() -> bytes:
    """An honest request."""
    return make_request(key(), 1, LAYOUT, pairs.from_integers(np.array([1, -2])))


@cache
def slot_request() -> bytes:
    """An honest request for slots."""
    return make_request(slot_key(), 1, SLOT_LAYOUT, FACTORS)
