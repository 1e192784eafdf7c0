"""A part of a request or of a reply, made by itself, has the bytes that it has in the whole."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice import Layout, PrivateMatrix, pairs
from plumbob.crypto.lattice.interface import Answered, Packed, ReplyKeys, RequestKeys
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.sets import ParameterSet
from tests.crypto.lattice.support import ENGINE, TINY, TINY_SLOTS, TINY_WIDE, random_entries, random_pairs

STREAMS = [bytes([number]) * 32 for number in range(6)]
CUTS = [slice(0, 1), slice(1, 4), slice(4, 5)]
"""Ways to cut five polynomials, or blocks of rows, into parts."""
COUNT = CUTS[-1].stop


def request_keys(engine: Engine, parameters: ParameterSet) -> RequestKeys:
    """The keys of one request."""
    return RequestKeys(engine.secret(parameters, STREAMS[0]), STREAMS[1], STREAMS[2])


def reply_keys(engine: Engine, parameters: ParameterSet) -> ReplyKeys:
    """The keys of the reply to that request."""
    return ReplyKeys(STREAMS[1], engine.uniform(parameters, STREAMS[3]), STREAMS[3], STREAMS[4], STREAMS[5])


def joined(parts: list[Answered]) -> Answered:
    """Replies and shares, one part after the other."""
    replies, shares = zip(*parts, strict=True)
    return np.concatenate(replies), np.concatenate(shares)


def assert_same(parts: list[Answered], whole: Answered) -> None:
    """Replies and shares, byte by byte."""
    for part, expected in zip(joined(parts), whole, strict=True):
        np.testing.assert_array_equal(part, expected)


def packed(parameters: ParameterSet, request: bytes) -> Packed:
    """A request's polynomials."""
    return np.frombuffer(request, dtype=np.uint8).reshape(-1, len(parameters.primes), parameters.degree * 50 // 8)


@pytest.mark.parametrize("is_turn", [False, True])
def test_replies_in_slots_are_made_in_parts(is_turn: bool) -> None:
    """Blocks of rows, each with its terms: inner products, and complex ones."""
    terms, slots = 2, TINY_SLOTS
    generator = np.random.default_rng(2)
    values = generator.integers(-(2**20), 2**20, (2, COUNT, terms, 64)).astype(np.int32)
    request = ENGINE.encrypt_slots(slots, request_keys(ENGINE, slots), values[0].reshape(-1, 64), b"")
    polynomials = packed(slots, request)

    def reply(part: slice) -> Answered:
        keys = replace(reply_keys(ENGINE, slots), first=part.start)
        asked = polynomials[part.start * terms : part.stop * terms]
        return ENGINE.reply_slots(slots, keys, asked, values[1][part], is_turn)

    assert_same([reply(part) for part in CUTS], reply(slice(0, COUNT)))


def matrix_of(engine: Engine, layout: Layout, entries: NDArray[np.int64], part: slice) -> PrivateMatrix:
    """Some of a matrix' blocks of rows."""
    rows = entries[part.start * layout.rows_per_block : part.stop * layout.rows_per_block]
    return PrivateMatrix(engine, replace(layout, rows=len(rows)), rows)


def test_scores_are_made_in_parts() -> None:
    """Each block of rows has its reply."""
    layout = Layout(TINY, "scores", 64 // 3 * COUNT - 4, 5, 3, 51, 32)
    generator = np.random.default_rng(3)
    entries = random_entries(generator, layout.rows, layout.columns)
    [placed] = layout.place(random_pairs(generator, layout.columns, 51))
    keys = request_keys(ENGINE, TINY)
    polynomials = packed(TINY, ENGINE.encrypt(TINY, keys, placed, layout.input_bits, b""))

    def reply(part: slice) -> Answered:
        keys = replace(reply_keys(ENGINE, TINY), first=part.start)
        return ENGINE.reply(matrix_of(ENGINE, layout, entries, part), keys, polynomials)

    assert layout.replies == COUNT
    assert_same([reply(part) for part in CUTS], reply(slice(0, COUNT)))


def test_gradients_are_added_up_in_parts() -> None:
    """Blocks of rows are polynomials of the request: their sums, added up and hidden, are the reply."""
    layout = Layout(TINY_WIDE, "gradients", 64 // 3 * COUNT - 4, 5, 3, 104, 88)
    generator = np.random.default_rng(4)
    entries = random_entries(generator, layout.rows, layout.columns)
    [placed] = layout.place(pairs.reduce(random_pairs(generator, layout.rows, 128), 104))
    request = ENGINE.encrypt(TINY_WIDE, request_keys(ENGINE, TINY_WIDE), placed, 104, b"")
    polynomials, keys = packed(TINY_WIDE, request), reply_keys(ENGINE, TINY_WIDE)
    sums = [
        ENGINE.add_up(matrix_of(ENGINE, layout, entries, part), keys.uniform, part.start, polynomials[part])
        for part in CUTS
    ]
    primes = np.array(TINY_WIDE.primes, dtype=np.uint64)[:, None]
    total = sum(sums[1:], sums[0]) % primes
    whole = ENGINE.reply(matrix_of(ENGINE, layout, entries, slice(0, COUNT)), keys, polynomials)
    assert layout.requests == COUNT
    assert_same([ENGINE.hide(layout, keys, total)], whole)
