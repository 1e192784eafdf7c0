"""Inner products in slots are exact, row by row."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.crypto.lattice import (
    Register,
    SlotFactors,
    SlotLayout,
    answer_request,
    make_request,
    open_reply,
    pairs,
    sets,
)
from plumbob.crypto.lattice.interface import Answered, Packed, ReplyKeys, SlotValues
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import ERROR_SQUARE, PackedRows
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.errors import CryptoError
from tests.crypto.lattice.reference import ReferenceEngine
from tests.crypto.lattice.support import (
    ENGINE,
    TINY,
    TINY_SLOTS,
    Played,
    admitted,
    make_key,
    play_slots,
    random_pairs,
    to_ints,
)


def drawn(seed: int, terms: int, rows: int, limit: int = 2**23) -> np.ndarray:
    """Numbers of the full width."""
    return np.random.default_rng(seed).integers(-limit + 1, limit, (terms, rows)).astype(np.int32)


def lifted(played: Played, layout: SlotLayout) -> np.ndarray:
    """The shares' sum, as both parties would lift it."""
    modulus = layout.parameters.slot_modulus
    owner, evaluator = pairs.lift(played.opened, modulus, True), pairs.lift(played.answer.share, modulus, False)
    return np.ascontiguousarray(pairs.add(owner, evaluator)[..., 0]).view(np.int64)


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(0, 200), terms=st.integers(1, 20), seed=st.integers(0, 2**32))
def test_slots_are_exact_for_any_shape(rows: int, terms: int, seed: int) -> None:
    """Every inner product is the exact one."""
    layout = SlotLayout(TINY_SLOTS, rows, terms)
    left, right = drawn(seed, terms, rows), drawn(seed + 1, terms, rows)
    played = play_slots(Engine(threads=1), layout, left, right)
    assert (lifted(played, layout) == (left.astype(np.int64) * right).sum(axis=0)).all()
    assert (len(played.request), len(played.answer.reply)) == (layout.request_bytes, layout.reply_bytes)


def test_slots_of_the_offered_set_are_exact() -> None:
    """Slots are exact at full degree, over two blocks, with 16 terms."""
    layout = SlotLayout(sets.SLOTS, 17_000, 16)
    left, right = drawn(1, 16, 17_000), drawn(2, 16, 17_000)
    played = play_slots(Engine(threads=1), layout, left, right)
    assert (lifted(played, layout) == (left.astype(np.int64) * right).sum(axis=0)).all()


def fewest(degree: int, rows: int, terms: int, is_turn: bool) -> int:
    """The fewest polynomials over every way to cut rows into blocks, each with its own number of terms."""
    best = [0]
    for count in range(1, rows + 1):
        blocks = (PackedRows(degree, 0, 1, terms, k, is_turn) for k in range(1, (terms // 2 if is_turn else terms) + 1))
        best.append(min(one.requests + one.replies + best[max(0, count - one.height)] for one in blocks))
    return best[rows]


@pytest.mark.parametrize("is_turn", [False, True])
@pytest.mark.parametrize("terms", [2, 16])
def test_no_other_placing_has_fewer_polynomials(terms: int, is_turn: bool) -> None:
    """Tried for numbers of rows up to three blocks, against all placings there are."""
    for rows in range(0, 200, 3):
        layout = SlotLayout(TINY_SLOTS, rows, terms, is_turn)
        assert layout.requests + layout.replies == fewest(64, rows, terms, is_turn)


@given(rows=st.integers(0, 200), turns=st.integers(1, 8), is_turn=st.booleans())
def test_every_number_stands_in_one_slot_and_the_others_hold_zero(rows: int, turns: int, is_turn: bool) -> None:
    """What is placed is all numbers once; those of a row that are added up stand in slots of this row alone."""
    layout = SlotLayout(TINY_SLOTS, rows, 2 * turns, is_turn)
    numbers = np.arange(1, 2 * turns * rows + 1, dtype=np.int32).reshape(2 * turns, rows)
    placed = layout.place(numbers)
    found = np.concatenate([part[part != 0] for part in placed]) if placed else np.zeros(0)
    assert sorted(found) == list(range(1, 2 * turns * rows + 1))
    if not is_turn:
        sums = [np.stack([part.sum(axis=1), 0 * part.sum(axis=1)], axis=-1).astype(np.uint64) for part in placed]
        np.testing.assert_array_equal(layout.take(sums)[:, 0], numbers.sum(axis=0))


class WatchedEngine(ReferenceEngine):
    """Keeps the keys that replies are made with."""

    def __init__(self) -> None:
        self.used: list[ReplyKeys] = []

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        self.used.append(keys)
        return super().reply_slots(parameters, keys, packed, values, is_turn)


def test_parts_of_a_product_share_no_stream() -> None:
    """With one u for two parts, their replies' difference would give numbers away: each has streams of its own."""
    engine, layout = WatchedEngine(), SlotLayout(TINY_SLOTS, 70, 4)
    equal = np.ones((4, 70), dtype=np.int32)
    play_slots(engine, layout, equal, equal)
    first, second = engine.used
    assert first.a == second.a
    streams = [stream for keys in engine.used for stream in (keys.uniform, keys.secret, keys.errors)]
    assert len(set(streams)) == 6


def test_a_reply_adds_up_no_more_products_than_there_are_terms() -> None:
    """The noise of a coefficient only falls: none is rounded wrongly more often than without packing."""
    degree, modulus = sets.SLOTS.degree, sets.SLOTS.slot_modulus
    noise = 1.5 * modulus * math.sqrt(ERROR_SQUARE * degree * 16)
    for rows in (1, 455, 5000, 10_616, 27_000, 131_072):
        for is_turn in (False, True):
            layout = SlotLayout(sets.SLOTS, rows, 16, is_turn)
            assert all(part.products <= 16 for part in layout.parts)
            most = layout.replies * degree * noise * modulus / sets.SLOTS.modulus
            assert layout.failure_chance(0.0) <= most < layout.replies * degree * 2.0**-72


def test_the_failure_bound_is_that_of_the_page() -> None:
    """Twenty passes fail with probability below 2**-47 over 27,000 rows, and below 2**-42 over a million."""
    assert 20 * SlotLayout(sets.SLOTS, 27_000, 16).failure_chance(2**41) < 2**-47
    assert 20 * SlotLayout(sets.SLOTS, 1_000_000, 16).failure_chance(2**41) < 2**-42


def test_our_own_mistakes_in_slots_are_said() -> None:
    """Numbers that are too large, other shapes, and sets without slots are refused."""
    key, layout = make_key(ENGINE, TINY_SLOTS), SlotLayout(TINY_SLOTS, 4, 1)
    with pytest.raises(CryptoError, match="use fewer fraction bits"):
        make_request(key, 1, layout, np.full((1, 4), 2**23, dtype=np.int32))
    with pytest.raises(CryptoError, match="expected numbers of shape"):
        make_request(key, 1, layout, np.zeros((4, 1), dtype=np.int32))
    with pytest.raises(CryptoError, match="has no slots"):
        SlotLayout(TINY, 4, 1)
    with pytest.raises(CryptoError, match="as many sines as cosines"):
        SlotLayout(TINY_SLOTS, 4, 3, is_turn=True)


@settings(max_examples=20, deadline=None)
@given(rows=st.integers(1, 150), turns=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_turns_are_complex_products(rows: int, turns: int, seed: int) -> None:
    """Real and imaginary parts, cosines and sines: every complex product is exact, and kept by itself."""
    layout = SlotLayout(TINY_SLOTS, rows, 2 * turns, is_turn=True)
    left, right = drawn(seed, 2 * turns, rows), drawn(seed + 1, 2 * turns, rows)
    played = play_slots(Engine(threads=1), layout, left, right)
    (x, y), (c, s) = left.astype(np.int64).reshape(2, turns, rows), right.astype(np.int64).reshape(2, turns, rows)
    assert (lifted(played, layout) == np.concatenate([x * c - y * s, x * s + y * c])).all()
    assert len(played.answer.reply) == layout.reply_bytes == layout.request_bytes - 32


@pytest.mark.parametrize("is_turn", [False, True])
def test_numbers_as_wide_as_the_modulus_are_multiplied_exactly(is_turn: bool) -> None:
    """Shares modulo t times small numbers, and times shares, modulo t."""
    layout, modulus = SlotLayout(TINY_SLOTS, 90, 4, is_turn=is_turn), TINY_SLOTS.slot_modulus
    numbers = [value % modulus for value in to_ints(random_pairs(np.random.default_rng(5), 4 * 90, 128))]
    numbers[:3] = [0, 1, modulus - 1]
    wide = np.array(numbers, dtype=object).reshape(4, 90)
    left = np.array([[value & (2**64 - 1), value >> 64] for value in numbers], dtype=np.uint64).reshape(4, 90, 2)
    small = drawn(6, 4, 90)
    for right, factors in ((small, small.astype(object)), (left[::-1], wide[::-1])):
        played = play_slots(Engine(threads=1), layout, left, right)
        x, y, c, s = wide[:2], wide[2:], factors[:2], factors[2:]
        exact = np.concatenate([x * c - y * s, x * s + y * c]) if is_turn else (wide * factors).sum(axis=0)[None]
        total = pairs.add_modulo(played.opened, played.answer.share, modulus).reshape(-1, 2)
        assert to_ints(total) == [int(value) % modulus for value in exact.ravel()]


def test_one_request_serves_several_evaluators() -> None:
    """Each multiplies it with its own numbers and its own randomness, and the owner opens every reply by itself."""
    engine, layout = Engine(threads=1), SlotLayout(TINY_SLOTS, 70, 2, is_turn=True)
    key = make_key(engine, TINY_SLOTS)
    left, right = drawn(1, 2, 70), drawn(2, 2, 70)
    request, factors = make_request(key, 1, layout, left), SlotFactors(engine, layout, right)
    answers = [answer_request(factors, admitted(key), 1, request, bytes([own]) * 32, Register()) for own in range(2)]
    assert answers[0].reply != answers[1].reply
    (x, y), (c, s) = left.astype(np.int64), right.astype(np.int64)
    for answer in answers:
        played = Played(request, answer, open_reply(key, layout, answer.reply))
        assert (lifted(played, layout) == np.stack([x * c - y * s, x * s + y * c])).all()
