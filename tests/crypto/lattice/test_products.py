"""Products are right for every shape, within one unit; what is too large is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from plumbob.crypto.lattice import (
    Layout,
    OwnerKey,
    Pairs,
    PrivateMatrix,
    make_request,
    open_reply,
    pairs,
    products,
    sets,
)
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import ENTRY_BITS, Direction
from plumbob.crypto.lattice.sets import LARGEST_ERROR
from plumbob.errors import CryptoError, KeyRefusedError
from tests.crypto.lattice import residues
from tests.crypto.lattice.reference import ReferenceEngine
from tests.crypto.lattice.support import (
    ENGINE,
    TINY,
    TINY_WIDE,
    answered,
    context,
    make_key,
    play,
    random_entries,
    random_pairs,
    to_ints,
    worst_error,
)

BITS = {"scores": (51, 32), "gradients": (104, 88)}
SETS = {"scores": TINY, "gradients": TINY_WIDE}


def layout_for(direction: Direction, rows: int, columns: int) -> Layout:
    """The usual widths, on a test set."""
    return Layout.choose(SETS[direction], direction, rows, columns, *BITS[direction])


@settings(max_examples=60, deadline=None)
@given(
    direction=st.sampled_from(["scores", "gradients"]),
    rows=st.integers(0, 300),
    columns=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
def test_products_are_right_for_any_shape(direction: Direction, rows: int, columns: int, seed: int) -> None:
    """Rows and columns from none to many polynomials, full-width numbers: within one unit and a half."""
    layout = layout_for(direction, rows, columns)
    generator = np.random.default_rng(seed)
    entries = random_entries(generator, rows, columns)
    values = random_pairs(generator, layout.inputs, layout.input_bits)
    played = play(Engine(threads=1), layout, entries, values)
    assert played.total.shape == (layout.outputs, 2)
    assert worst_error(layout, entries, values, played.total) < 1.5
    assert len(played.request) == layout.request_bytes
    assert len(played.answer.reply) == layout.reply_bytes


@pytest.mark.parametrize("group", [1, 3, 7, 32, 33, 63, 64])
@pytest.mark.parametrize("direction", ["scores", "gradients"])
def test_every_group_width_is_right(direction: Direction, group: int) -> None:
    """Answers never collide, for groups that divide the degree and for those that do not."""
    layout = Layout(SETS[direction], direction, 70, 66, group, *BITS[direction])
    generator = np.random.default_rng(group)
    entries, values = random_entries(generator, 70, 66), random_pairs(generator, layout.inputs, layout.input_bits)
    played = play(Engine(threads=1), layout, entries, values)
    assert worst_error(layout, entries, values, played.total) < 1.5


@pytest.mark.parametrize(
    ("direction", "parameters", "rows", "columns"),
    [
        ("scores", sets.SCORES, 5000, 12),
        ("scores", sets.SCORES_OPENED, 3000, 40),
        ("scores", sets.SCORES_OPENED_WIDE, 3000, 4),
        ("gradients", sets.GRADIENTS, 9000, 12),
        ("gradients", sets.GRADIENTS_OPENED, 20000, 3),
    ],
)
def test_products_of_offered_sets_are_right(
    direction: Direction, parameters: sets.ParameterSet, rows: int, columns: int
) -> None:
    """Products at full degree, with full-width numbers, are right within one unit and a half."""
    layout = Layout.choose(parameters, direction, rows, columns, *BITS[direction])
    generator = np.random.default_rng(rows)
    entries, values = random_entries(generator, rows, columns), random_pairs(generator, layout.inputs, 128)
    values = pairs.reduce(values, layout.input_bits)
    played = play(Engine(threads=1), layout, entries, values)
    assert worst_error(layout, entries, values, played.total) < 1.5
    assert layout.failure_chance < 2**-60


@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("direction", ["scores", "gradients"])
def test_empty_products_are_zero(direction: Direction, rows: int, columns: int) -> None:
    """Without rows or columns nothing but a seed is sent, and every share is zero."""
    layout = layout_for(direction, rows, columns)
    values = random_pairs(np.random.default_rng(0), layout.inputs, layout.input_bits)
    played = play(ENGINE, layout, np.zeros((rows, columns), dtype=np.int64), values)
    assert (len(played.request), len(played.answer.reply)) == (32, 0)
    assert not played.total.any()


def test_the_worst_noise_stays_below_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every error at its bound and every entry at its largest, the product is right within one unit and a half."""
    monkeypatch.setattr(residues, "errors", lambda key, index, count: np.full(count, LARGEST_ERROR, dtype=np.int64))
    rows, columns = 60, 3
    layout = Layout.choose(TINY_WIDE, "gradients", rows, columns, 128, 104)
    assert layout.worst_noise * 64 <= layout.parameters.modulus >> layout.output_bits
    entries = np.full((rows, columns), -(1 << (ENTRY_BITS - 1)), dtype=np.int64)
    values = random_pairs(np.random.default_rng(3), rows, 128)
    played = play(ReferenceEngine(), layout, entries, values)
    assert worst_error(layout, entries, values, played.total) < 1.5


def test_noise_of_many_rows_adds_up_by_its_squares() -> None:
    """Errors as they are drawn, times the largest entries of any signs, stay below the bound for many rows."""
    rows = 1 << 16
    layout = Layout(sets.GRADIENTS, "gradients", rows, 1, 1, 128, 104)
    assert layout.worst_noise < LARGEST_ERROR * rows << (ENTRY_BITS - 1)
    signs = np.random.default_rng(5).choice([-1, 1], rows)
    for index in range(20):
        drawn = residues.errors(bytes(32), index, rows)
        for kept in (drawn.sum(), drawn @ signs):
            assert abs(int(kept)) << (ENTRY_BITS - 1) < layout.worst_noise


def test_a_layout_whose_noise_could_show_is_refused() -> None:
    """Too many output bits for a set, or for its number of rows, are refused before anything is sent."""
    with pytest.raises(CryptoError, match="use fewer output bits"):
        Layout.choose(sets.GRADIENTS, "gradients", 1_000_000, 12, 128, 112)
    with pytest.raises(CryptoError, match="no more out than in"):
        Layout.choose(sets.GRADIENTS, "gradients", 10, 1, 80, 81)
    with pytest.raises(CryptoError, match="output bits"):
        Layout.choose(sets.SCORES, "scores", 10, 1, 100, 80)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (1, 2000), (27_000, 12), (12_665, 392), (1_000_000, 20), (1_000_000, 2000)]
)
def test_a_layout_sends_no_more_than_any_other(rows: int, columns: int) -> None:
    """The chosen group is the best of all, and a pass over a million rows is still accepted."""
    cases: list[tuple[Direction, sets.ParameterSet]] = [("scores", sets.SCORES), ("gradients", sets.GRADIENTS)]
    for direction, parameters in cases:
        chosen = Layout.choose(parameters, direction, rows, columns, *BITS[direction])
        for group in (1, 2, 3, 4, 8, 16, 64, 512, columns):
            other = Layout(parameters, direction, rows, columns, group, *BITS[direction])
            assert chosen.total_bytes <= other.total_bytes


def test_our_own_mistakes_are_said() -> None:
    """Wrong shapes, entries that are too large, a short local key, and a key of another set are refused."""
    layout = layout_for("scores", 20, 3)
    with pytest.raises(CryptoError, match="expected a matrix of 20 x 3"):
        PrivateMatrix(ENGINE, layout, np.ones((3, 20), dtype=np.int64))
    with pytest.raises(CryptoError, match="use fewer fraction bits"):
        PrivateMatrix(ENGINE, layout, np.full((20, 3), 1 << 20, dtype=np.int64))
    with pytest.raises(CryptoError, match="expected 3 numbers"):
        make_request(make_key(ENGINE, TINY), 1, layout, np.zeros((4, 2), dtype=np.uint64))
    with pytest.raises(CryptoError, match="draw it from the kernel"):
        OwnerKey(ENGINE, TINY, context(), b"short")
    with pytest.raises(KeyRefusedError, match="use its own"):
        make_request(make_key(ENGINE, TINY_WIDE), 1, layout, np.zeros((3, 2), dtype=np.uint64))


def test_shares_look_uniform() -> None:
    """Each share alone hits the quarters of its ring equally often, whatever the product is."""
    layout = layout_for("scores", 2000, 3)
    played = play(Engine(threads=1), layout, np.zeros((2000, 3), dtype=np.int64), np.zeros((3, 2), dtype=np.uint64))
    for share in (played.opened, played.answer.share):
        quarters = np.bincount([value >> 30 for value in to_ints(share)], minlength=4)
        assert abs(quarters - 500).max() < 6 * 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("direction", "rows", "columns"), [("scores", 1_000_000, 2), ("gradients", 2, 1_000_000)])
def test_a_hundred_million_outputs_are_within_a_unit(direction: Direction, rows: int, columns: int) -> None:
    """No exception among 10**8 outputs at full degree: a million at a time, again and again."""
    engine, parameters = Engine(), sets.SCORES if direction == "scores" else sets.GRADIENTS
    layout = Layout.choose(parameters, direction, rows, columns, *BITS[direction])
    for number in range(10**8 // (10 * layout.outputs)):
        generator = np.random.default_rng(number)
        entries = generator.integers(-(2**20), 2**20, (rows, columns))
        matrix = PrivateMatrix(engine, layout, entries)
        for again in range(10):
            # Entries of 21 bits and two numbers of 40: an exact product fits 62 bits.
            values = generator.integers(0, 2**40, 2)
            right = entries @ values if direction == "scores" else values @ entries
            key = make_key(engine, layout.parameters, number=100 * number + again)
            answer = answered(matrix, key, make_request(key, 1, layout, pairs.from_integers(values)))
            total = pairs.reduce(pairs.add(open_reply(key, layout, answer.reply), answer.share), layout.output_bits)
            assert largest_error(layout, total, right) < 1.5


def largest_error(layout: Layout, total: Pairs, right: NDArray[np.int64]) -> float:
    """How far outputs are from exact products, in units of the last bit, around the ring."""
    unit, ring = 2.0 ** (layout.input_bits - layout.output_bits), 2.0**layout.output_bits
    found = total[:, 0].astype(np.float64) + np.ldexp(total[:, 1].astype(np.float64), 64)
    return float(np.abs((found - right / unit + ring / 2) % ring - ring / 2).max())


@pytest.mark.parametrize("direction", ["scores", "gradients"])
def test_a_large_matrix_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch, direction: Direction) -> None:
    """Whether it is kept transformed or not is a matter of memory alone."""
    layout = layout_for(direction, 70, 9)
    generator = np.random.default_rng(8)
    entries, values = random_entries(generator, 70, 9), random_pairs(generator, layout.inputs, layout.input_bits)
    kept = play(Engine(threads=1), layout, entries, values)
    monkeypatch.setattr(products, "LARGE_MATRIX", 0)
    monkeypatch.setattr(products, "PART_BYTES", 1)
    again = play(Engine(threads=1), layout, entries, values)
    assert again.answer.reply == kept.answer.reply
    assert (again.total == kept.total).all()
