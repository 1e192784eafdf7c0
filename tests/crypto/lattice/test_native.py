"""The native engine gives the reference's bytes, on every path that this machine has."""

import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from plumbob.crypto.lattice import Layout, ParameterSet, PrivateMatrix, sets
from plumbob.crypto.lattice import kernel as native
from plumbob.crypto.lattice.interface import ReplyKeys, RequestKeys
from plumbob.crypto.lattice.kernel import Engine
from tests.crypto.lattice.reference import ReferenceEngine
from tests.crypto.lattice.support import (
    BITS,
    EVALUATOR_SEED,
    OWNER_SEED,
    Playing,
    assert_alike,
    make_key,
    matrix_product,
    random_entries,
    random_pairs,
    sines,
    slot_product,
    to_ints,
)

PATHS: list[str] = native.available_paths()
REFERENCE = ReferenceEngine()
DEGREES = (16, 32, 128, 1024, 4096, 16384, 32768)
SHAPES = [(1, 1), (1, 9), (7, 1), (40, 11), (3, 70), (130, 2)]


@pytest.fixture(params=PATHS)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each path of the kernel in turn, on one thread."""
    return make_engine(request.param)


def make_engine(path: str, threads: int = 1) -> Engine:
    """The native engine, behind the interface that all engines have."""
    engine: Engine = native.Engine(path, threads)
    return engine


@pytest.mark.parametrize("degree", DEGREES)
def test_transforms_are_the_reference(engine: Engine, degree: int) -> None:
    """Small polynomials, with their extremes, have the same transform modulo every prime."""
    parameters = sets.insecure_for_tests(degree, 6 if degree <= 16384 else 4)
    generator = np.random.default_rng(degree)
    values = generator.integers(-(2**31), 2**31, (2, degree), dtype=np.int64).astype(np.int32)
    values[1] = np.where(np.arange(degree) % 2, 2**31 - 1, -(2**31))
    assert (engine.transform(parameters, values) == REFERENCE.transform(parameters, values)).all()


@pytest.mark.parametrize("degree", DEGREES)
def test_streams_are_the_reference(engine: Engine, degree: int) -> None:
    """Secrets and uniform polynomials are drawn alike."""
    parameters = sets.insecure_for_tests(degree, 6 if degree <= 16384 else 4)
    assert (engine.secret(parameters, OWNER_SEED) == REFERENCE.secret(parameters, OWNER_SEED)).all()
    assert (engine.uniform(parameters, OWNER_SEED) == REFERENCE.uniform(parameters, OWNER_SEED)).all()


@pytest.mark.parametrize("number", [2516, 3119, 8211])
def test_a_refused_word_moves_all_that_follow(engine: Engine, number: int) -> None:
    """Streams in which a word is not below its prime, which one in ten thousand has, are the reference's everywhere."""
    slots, key = sets.SLOTS, number.to_bytes(32, "little")
    expected = REFERENCE.uniform(slots, key)
    assert (engine.uniform(slots, key) == expected).all()
    secret = engine.secret(slots, OWNER_SEED)
    values = np.zeros((1, slots.degree), dtype=np.int32)
    keys = RequestKeys(secret, key, EVALUATOR_SEED)
    request = engine.encrypt_slots(slots, keys, values, b"")
    assert request == REFERENCE.encrypt_slots(slots, keys, values, b"")
    packed = np.frombuffer(request, dtype=np.uint8).reshape(1, len(slots.primes), -1)
    arguments = (slots, ReplyKeys(key, secret, OWNER_SEED, OWNER_SEED, EVALUATOR_SEED), packed, values[None] + 3, False)
    for ours, theirs in zip(engine.reply_slots(*arguments), REFERENCE.reply_slots(*arguments), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (1, 1), (5, 0), (40, 11), (9000, 2)])
def test_own_products_are_exact(engine: Engine, rows: int, columns: int) -> None:
    """A party's own products wrap as Python's integers say, with the widest entries and shares, on both engines."""
    generator = np.random.default_rng(rows)
    entries = generator.integers(-(2**31), 2**31, (rows, columns)).astype(np.int32)
    entries[:1] = -(2**31)
    weights, residuals = random_pairs(generator, columns, 128), random_pairs(generator, rows, 128)
    scores = entries.astype(object) @ np.array(to_ints(weights), dtype=object)
    sums = entries.T.astype(object) @ np.array(to_ints(residuals), dtype=object)
    for each in (engine, REFERENCE):
        assert each.own_scores(entries, weights).tolist() == [int(total) % 2**64 for total in scores]
        assert to_ints(each.own_sums(entries, residuals)) == [int(total) % 2**128 for total in sums]


PRODUCTS: dict[str, Playing] = {
    **{
        f"{direction}, {rows} x {columns}, degree {degree}": matrix_product(direction, rows, columns, degree=degree)
        for direction in BITS
        for rows, columns in SHAPES
        for degree in (16, 64, 256)
    },
    # Rings of every width, up to 128 bits in and 104 out, round alike.
    **{
        f"{bits} bits": matrix_product("gradients", 90, 5, bits=bits)
        for bits in ((128, 104), (120, 96), (97, 88), (104, 1), (128, 17))
    },
    **{
        f"slots, {rows} x {terms}, {kind}": slot_product(rows, terms, kind)
        for rows, terms in ((1, 1), (64, 3), (65, 5))
        for kind in ("small x small", "wide x wide")
    },
    **{
        f"turns, {rows} x {terms}, {kind}": slot_product(rows, terms, kind, is_turn=True)
        for rows, terms in ((1, 2), (65, 4), (200, 2))
        for kind in ("small x small", "wide x small", "small x wide", "wide x wide")
    },
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_products_are_the_reference(engine: Engine, product: Playing) -> None:
    """Keys, tests, requests, replies and shares are the same bytes, for matrices and slots of any shape and width."""
    assert_alike(product(engine), product(REFERENCE))


@pytest.mark.parametrize("degree", [16, 256])
def test_parts_are_the_reference(engine: Engine, degree: int) -> None:
    """Sums over some of a request's polynomials, and replies from any place in the streams on, are the same bytes."""
    parameters = sets.insecure_for_tests(degree, 3)
    layout = Layout(parameters, "gradients", 3 * degree, 5, 2, 104, 88)
    matrix = PrivateMatrix(REFERENCE, layout, random_entries(np.random.default_rng(degree), layout.rows, 5))
    [placed] = layout.place(random_pairs(np.random.default_rng(1), layout.rows, 104))
    keys = RequestKeys(engine.secret(parameters, OWNER_SEED), OWNER_SEED, EVALUATOR_SEED, first=2**32 - 2)
    request = engine.encrypt(parameters, keys, placed, 104, b"")
    assert request == REFERENCE.encrypt(parameters, keys, placed, 104, b"")
    packed = np.frombuffer(request, dtype=np.uint8).reshape(layout.requests, 3, -1)
    sums = engine.add_up(matrix, OWNER_SEED, keys.first, packed)
    np.testing.assert_array_equal(sums, REFERENCE.add_up(matrix, OWNER_SEED, keys.first, packed))
    reply_keys = ReplyKeys(OWNER_SEED, keys.secret, OWNER_SEED, OWNER_SEED, EVALUATOR_SEED, first=7)
    for ours, theirs in zip(
        engine.hide(layout, reply_keys, sums), REFERENCE.hide(layout, reply_keys, sums), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("parameters", [sets.SCORES, sets.GRADIENTS, sets.SLOTS], ids=lambda each: str(each.number))
def test_keys_of_every_set_are_the_reference(engine: Engine, parameters: ParameterSet) -> None:
    """Public keys, and what their tests compare, are the same bytes at full degree."""
    ours, theirs = make_key(engine, parameters), make_key(REFERENCE, parameters)
    assert ours.public == theirs.public
    assert engine.high_bits(parameters, ours.secret, 26) == REFERENCE.high_bits(parameters, theirs.secret, 26)


def test_sines_are_the_reference(engine: Engine) -> None:
    """Sines and cosines are the same bits, at the edges of the quadrants and elsewhere."""
    edges = [(quarter << 30) + step & 0xFFFFFFFF for quarter in range(4) for step in (-2, -1, 0, 1, 2)]
    drawn = np.random.default_rng(3).integers(0, 2**32, 5000)
    turns = np.concatenate([edges, drawn]).astype(np.uint32)
    for ours, theirs in zip(sines(engine, turns), sines(REFERENCE, turns), strict=True):
        assert (ours == theirs).all()
    waves = [(1, 0, 2**31 - 1), (15, 1 << 30, -(2**31)), (7, 12345, 1), (3, 0, 0)]
    for dropped in (0, 1, 30, 40):
        assert (engine.waves(turns, waves, dropped) == REFERENCE.waves(turns, waves, dropped)).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "product", [matrix_product("gradients", 700, 40, degree=256), slot_product(200, 5, "small x small")]
)
def test_threads_do_not_change_bytes(path: str, product: Playing) -> None:
    """Two threads give the bytes of one, for products and for slots."""
    assert_alike(product(make_engine(path, 1)), product(make_engine(path, 2)))


def test_repeated_transforms_are_transforms() -> None:
    """What the benchmark times is the transform that products use, and residues out of range are refused."""
    parameters, small = sets.insecure_for_tests(64, 2), np.arange(64, dtype=np.int32)[None]
    engine = native.Engine(threads=1)
    values = np.repeat(small.astype(np.uint64), 2, axis=0)
    engine.repeat_transform(parameters, values, 1)
    assert (values == engine.transform(parameters, small)[0]).all()
    for wrong in (parameters.primes[1], 2**63, 2**64 - 1):
        values[1, 63] = wrong
        with pytest.raises(ValueError, match="expected residues below their primes"):
            engine.repeat_transform(parameters, values, 1)


def test_a_long_call_can_be_interrupted() -> None:
    """A signal ends it between two polynomials: it takes less than half the time of the whole call."""
    engine = native.Engine("portable", 1)
    secret = engine.secret(sets.SLOTS, bytes(32))
    values = np.zeros((80, sets.SLOTS.degree), dtype=np.int32)

    def call() -> float:
        started = time.process_time()
        with suppress(InterruptedError):
            engine.encrypt_slots(sets.SLOTS, RequestKeys(secret, bytes(32), bytes(32)), values, b"")
        return time.process_time() - started

    whole = call()
    usual = signal.signal(signal.SIGPROF, _interrupt)
    try:
        signal.setitimer(signal.ITIMER_PROF, whole / 20)
        assert call() < whole / 2
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, usual)


def _interrupt(_number: int, _frame: object) -> None:
    raise InterruptedError
