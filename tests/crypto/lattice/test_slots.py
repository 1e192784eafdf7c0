"""Inner products in slots are exact, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.crypto.lattice import LatticeEngine, Register, SlotEvaluator, SlotLayout, SlotOwner, choose, pairs, sets
from plumbob.errors import CiphertextRefusedError, CryptoError
from tests.crypto.lattice.support import EVALUATOR_SEED, TINY, TINY_SLOTS, Played, admitted, make_key, play_slots


def drawn(seed: int, terms: int, rows: int, limit: int = 2**23) -> np.ndarray:
    """Numbers of the full width."""
    return np.random.default_rng(seed).integers(-limit + 1, limit, (terms, rows)).astype(np.int32)


def lifted(played: Played, layout: SlotLayout) -> np.ndarray:
    """The shares' sum, as both parties would lift it."""
    modulus = layout.parameters.slot_modulus
    owner, evaluator = pairs.lift(played.opened, modulus, True), pairs.lift(played.answer.share, modulus, False)
    return pairs.to_integers(pairs.add(owner, evaluator), 128)


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(0, 200), terms=st.integers(1, 20), seed=st.integers(0, 2**32))
def test_slots_are_exact_for_any_shape(rows: int, terms: int, seed: int) -> None:
    """Every inner product is the exact one."""
    layout = SlotLayout(TINY_SLOTS, rows, terms)
    left, right = drawn(seed, terms, rows), drawn(seed + 1, terms, rows)
    played = play_slots(choose(threads=1), layout, left, right)
    assert (lifted(played, layout) == (left.astype(np.int64) * right).sum(axis=0)).all()
    assert (len(played.request), len(played.answer.reply)) == (32 + layout.request_bytes, layout.reply_bytes)


def test_slots_of_the_offered_set_are_exact() -> None:
    """At full degree, over two blocks, with 16 terms."""
    layout = SlotLayout(sets.SLOTS, 17_000, 16)
    left, right = drawn(1, 16, 17_000), drawn(2, 16, 17_000)
    played = play_slots(choose(threads=1), layout, left, right)
    assert (lifted(played, layout) == (left.astype(np.int64) * right).sum(axis=0)).all()


def test_the_failure_bound_is_that_of_the_page() -> None:
    """Twenty passes fail with probability below 2**-47 over 27,000 rows, and below 2**-42 over a million."""
    assert 20 * SlotLayout(sets.SLOTS, 27_000, 16).failure_chance(2**41) < 2**-47
    assert 20 * SlotLayout(sets.SLOTS, 1_000_000, 16).failure_chance(2**41) < 2**-42


def test_malformed_slots_are_refused(lattice_engine: LatticeEngine) -> None:
    """Wrong lengths and residues out of range, in requests and in replies."""
    layout, key = SlotLayout(TINY_SLOTS, 10, 2), make_key(lattice_engine, TINY_SLOTS, "sigmoid")
    owner, values = SlotOwner(key, layout), drawn(1, 2, 10)
    request = owner.request(values)

    def answer(data: bytes) -> bytes:
        evaluator = SlotEvaluator(lattice_engine, layout, admitted(key), EVALUATOR_SEED, Register())
        return evaluator.reply(data, values).reply

    reply = answer(request)
    for wrong in (request[:-1], request + b"0", request[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            answer(wrong)
    for wrong in (reply[:-1], reply + b"0", reply[:-13] + b"\xff" * 13):
        with pytest.raises(CiphertextRefusedError, match="expected"):
            owner.open(wrong)


def test_our_own_mistakes_in_slots_are_said(lattice_engine: LatticeEngine) -> None:
    """Numbers that are too large, other shapes, and sets without slots are refused."""
    owner = SlotOwner(make_key(lattice_engine, TINY_SLOTS), SlotLayout(TINY_SLOTS, 4, 1))
    with pytest.raises(CryptoError, match="use fewer fraction bits"):
        owner.request(np.full((1, 4), 2**23, dtype=np.int32))
    with pytest.raises(CryptoError, match="expected numbers of shape"):
        owner.request(np.zeros((4, 1), dtype=np.int32))
    with pytest.raises(CryptoError, match="has no slots"):
        SlotLayout(TINY, 4, 1)


def test_other_numbers_for_the_same_request_are_refused(lattice_engine: LatticeEngine) -> None:
    """An evaluator that would answer one request with two sets of numbers stops instead."""
    layout, key = SlotLayout(TINY_SLOTS, 10, 2), make_key(lattice_engine, TINY_SLOTS, "sigmoid")
    evaluator = SlotEvaluator(lattice_engine, layout, admitted(key), EVALUATOR_SEED, Register())
    request = SlotOwner(key, layout).request(drawn(1, 2, 10))
    first = evaluator.reply(request, drawn(2, 2, 10)).reply
    assert evaluator.reply(request, drawn(2, 2, 10)).reply == first
    with pytest.raises(CiphertextRefusedError, match="a second, different request"):
        evaluator.reply(request, drawn(3, 2, 10))
