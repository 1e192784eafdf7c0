"""A small world for the lattice tests: keys that are tested, products of any shape, and what they should give."""

import atexit
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import (
    MOST_TESTS,
    Answer,
    Factors,
    KeyContext,
    KeyProof,
    KeyTest,
    Layout,
    OwnerKey,
    Pairs,
    ParameterSet,
    PrivateMatrix,
    Register,
    SlotFactors,
    SlotLayout,
    Small,
    TestedKey,
    answer_request,
    make_request,
    open_reply,
    pairs,
    sets,
)
from plumbob.crypto.lattice.angles import QUARTER
from plumbob.crypto.lattice.interface import Angles, SlotValues
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import Direction

TINY = sets.insecure_for_tests(64, 2)
TINY_WIDE = sets.insecure_for_tests(64, 3)
TINY_SLOTS = sets.insecure_for_tests(64, 6, has_slots=True)
ENGINE = Engine(threads=1)
atexit.register(ENGINE._prepared.clear)  # The kernel complains of what is left when Python ends.
OWNER_SEED, EVALUATOR_SEED = bytes(range(32)), bytes(range(32, 64))


def context(kind: str = "scores", number: int = 1) -> KeyContext:
    """One product of a run between two parties."""
    return KeyContext(b"session", "bank", "shop", kind, number)


def make_key(engine: Engine, parameters: ParameterSet, kind: str = "scores", number: int = 1) -> OwnerKey:
    """A key from a fixed seed: tests compare bytes."""
    return OwnerKey(engine, parameters, context(kind, number), OWNER_SEED)


def admitted(key: OwnerKey) -> TestedKey:
    """The key as its evaluator has it after the test."""
    public = key.public
    for attempt in range(MOST_TESTS):
        test = KeyTest(key.engine, key.parameters, key.context, public, bytes([attempt]) * 32)
        proof = KeyProof(key, public, bytes(32))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return test.finish(nonce)
    raise AssertionError("an honest key never passed its test")


def answered(
    factors: Factors, key: OwnerKey, request: bytes, number: int = 1, register: Register | None = None
) -> Answer:
    """An evaluator's answer with its usual seed; a register of its own unless one is given."""
    kept = Register() if register is None else register
    return answer_request(factors, admitted(key), number, request, EVALUATOR_SEED, kept)


@dataclass
class Played:
    """One product, with everything that was sent and kept."""

    request: bytes
    answer: Answer
    opened: Pairs

    @property
    def total(self) -> Pairs:
        return pairs.add(self.opened, self.answer.share)


def play(engine: Engine, layout: Layout, entries: NDArray[np.int64], values: Pairs) -> Played:
    """A product with a private matrix."""
    key = make_key(engine, layout.parameters, layout.direction)
    request = make_request(key, 1, layout, values)
    answer = answered(PrivateMatrix(engine, layout, entries), key, request)
    return Played(request, answer, open_reply(key, layout, answer.reply))


def play_slots(engine: Engine, layout: SlotLayout, left: SlotValues, right: SlotValues) -> Played:
    """Inner products, or complex ones, row by row."""
    key = make_key(engine, layout.parameters, "sigmoid")
    request = make_request(key, 1, layout, left)
    answer = answered(SlotFactors(engine, layout, right), key, request)
    return Played(request, answer, open_reply(key, layout, answer.reply))


BITS: dict[Direction, tuple[int, int]] = {"scores": (51, 32), "gradients": (104, 88)}
"""The usual bits of an input and of an output."""
Playing = Callable[[Engine], Played]


def matrix_product(
    direction: Direction, rows: int, columns: int, *, degree: int = 64, bits: tuple[int, int] | None = None
) -> Playing:
    """A product of this shape with a random matrix, the same on each engine."""
    parameters = sets.insecure_for_tests(degree, 2 if direction == "scores" else 3)
    layout = Layout.choose(parameters, direction, rows, columns, *(bits or BITS[direction]))
    generator = np.random.default_rng(rows * 1000 + columns)
    entries, values = (
        random_entries(generator, rows, columns),
        random_pairs(generator, layout.inputs, layout.input_bits),
    )
    return lambda engine: play(engine, layout, entries, values)


def slot_product(rows: int, terms: int, kind: str, *, is_turn: bool = False) -> Playing:
    """A product in slots: `kind` says of each side whether its numbers are small, or as wide as the modulus."""
    layout, generator = SlotLayout(TINY_SLOTS, rows, terms, is_turn), np.random.default_rng(rows)
    sides = [
        random_pairs(generator, terms * rows, 107).reshape(terms, rows, 2)
        if side == "wide"
        else generator.integers(-(2**23) + 1, 2**23, (terms, rows)).astype(np.int32)
        for side in kind.split(" x ")
    ]
    return lambda engine: play_slots(engine, layout, sides[0], sides[1])


def assert_alike(ours: Played, theirs: Played) -> None:
    """Request, reply and both shares are the same bytes."""
    assert (ours.request, ours.answer.reply) == (theirs.request, theirs.answer.reply)
    np.testing.assert_array_equal(ours.answer.share, theirs.answer.share)
    np.testing.assert_array_equal(ours.opened, theirs.opened)


def random_pairs(generator: np.random.Generator, count: int, bits: int) -> Pairs:
    """Pairs that are uniform modulo 2**bits."""
    return pairs.reduce(generator.integers(0, 2**64, (count, 2), dtype=np.uint64), bits)


def random_entries(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.int64]:
    """Random entries of the full width."""
    return generator.integers(-(2**20), 2**20, (rows, columns))


def to_ints(values: Pairs) -> list[int]:
    """Pairs as Python's own integers."""
    return [int(low) + (int(high) << 64) for low, high in values]


def exact(layout: Layout, entries: NDArray[np.int64], values: Pairs) -> list[int]:
    """The exact product modulo 2**input_bits."""
    matrix = entries if layout.direction == "scores" else entries.T
    numbers = np.array(to_ints(values), dtype=object)
    return [int(total) % (1 << layout.input_bits) for total in matrix.astype(object) @ numbers]


def worst_error(layout: Layout, entries: NDArray[np.int64], values: Pairs, total: Pairs) -> float:
    """The largest distance from the exact product, in units of the output."""
    dropped, whole = layout.input_bits - layout.output_bits, 1 << layout.input_bits
    worst = 0.0
    for got, right in zip(to_ints(total), exact(layout, entries, values), strict=True):
        distance = ((got << dropped) - right) % whole
        worst = max(worst, min(distance, whole - distance) / (1 << dropped))
    return worst


def signed(values: Pairs, bits: int = 128) -> list[int]:
    """Pairs modulo 2**bits as the whole numbers of least size."""
    half = 1 << (bits - 1)
    return [(value + half) % (1 << bits) - half for value in to_ints(values)]


def to_floats(values: Pairs, bits: int, fraction_bits: int) -> NDArray[np.float64]:
    """Signed numbers as floating point, divided by 2**fraction_bits."""
    numbers = [value / 2**fraction_bits for value in signed(values.reshape(-1, 2), bits)]
    return np.array(numbers).reshape(values.shape[:-1])


def sines(engine: Engine, turns: Angles) -> tuple[Small, Small]:
    """Sines and cosines, with 30 fraction bits."""
    sine, cosine = engine.waves(turns, [(1, 0, 1), (1, QUARTER, 1)], 0)
    return sine, cosine
