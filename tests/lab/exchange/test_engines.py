"""Both engines of Paillier: the kernel's paths give the reference's residues, for every operation and every shape."""

import multiprocessing
import secrets
from collections.abc import Callable

import gmpy2
import numpy as np
import pytest

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.errors import EngineError
from plumbob.lab.exchange import engines
from plumbob.lab.exchange.engines.interface import Digits, PaillierEngine, Ring
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_ints, width_for

native = pytest.importorskip(
    "plumbob.lab.exchange.engines.native", reason="the kernel was not built here", exc_type=ImportError
)

PATHS: list[str] = native.available_paths()
REFERENCE = PythonEngine()
Operation = Callable[[PaillierEngine], Limbs]


def odd(bits: int) -> int:
    """A root of exactly so many bits. That it is a prime or a product of two does not matter to an engine."""
    return secrets.randbits(bits) | 1 | 1 << (bits - 1)


RINGS = {f"{bits} bits, degree 2": Ring(odd(bits), 2) for bits in (2048, 3072, 1024, 1536, 256, 337, 512, 60, 4096)}
RINGS |= {f"{bits} bits, degree 1": Ring(odd(bits), 1) for bits in (2048, 683, 1024, 320, 61)}
SMALL = RINGS["337 bits, degree 2"]


def make_engine(path: str | None = None, threads: int = 1) -> PaillierEngine:
    """The native engine, behind the interface that all engines have."""
    engine: PaillierEngine = native.NativeEngine(path, threads)
    return engine


@pytest.fixture(params=PATHS)
def engine(request: pytest.FixtureRequest) -> PaillierEngine:
    """Each path of the kernel in turn, on one thread."""
    return make_engine(request.param)


def residues(ring: Ring, count: int) -> Limbs:
    """Random residues, units or not."""
    return from_ints((secrets.randbelow(int(ring.modulus)) for _ in range(count)), ring.width)


def edges(ring: Ring) -> Limbs:
    """Zero, one, the largest residue, and those around the multiples of the root."""
    modulus, root = int(ring.modulus), ring.root
    near_root = [root - 1, root, root + 1, 2 * root, modulus - root, modulus - root + 1, modulus - root - 1]
    values = [0, 1, 2, modulus - 1, modulus - 2, *(value % modulus for value in near_root)]
    return from_ints(values, ring.width)


def units(ring: Ring, count: int) -> Limbs:
    """Random units, with 1 and -1 and the units next to the root among them."""
    modulus = int(ring.modulus)
    chosen = [1, modulus - 1, (ring.root + 1) % modulus, (ring.root - 1) % modulus][: count // 2]
    while len(chosen) < count:
        value = secrets.randbelow(modulus)
        if gmpy2.gcd(value, ring.root) == 1:
            chosen.append(value)
    return from_ints(chosen, ring.width)


def entries(rows: int, columns: int, bits: int) -> IntegerMatrix:
    """A random matrix that has the lowest and the highest entry."""
    limit = 1 << (bits - 1)
    values = [secrets.randbelow(2 * limit) - limit for _ in range(rows * columns)]
    values[:2] = [-limit, limit - 1][: len(values)]
    return np.array(values, dtype=np.int64).reshape(rows, columns)


def digits_of(rows: int, columns: int, window: int) -> Digits:
    """Digits below 2**window, with rows of the lowest and of the highest at the end."""
    drawn = np.frombuffer(secrets.token_bytes(rows * columns), dtype=np.uint8).reshape(rows, columns)
    drawn = np.right_shift(drawn, np.uint8(8 - window))
    return np.concatenate([drawn, np.zeros_like(drawn[:1]), np.full_like(drawn[:1], (1 << window) - 1)])


def assert_same(left: Limbs, right: Limbs) -> None:
    """Bit for bit, and in the form that messages are made of."""
    assert left.dtype == right.dtype == np.uint64
    assert left.flags.c_contiguous
    np.testing.assert_array_equal(left, right)


# The same operation on every path, as the reference does it.


def multiply(ring: Ring, count: int, others: int | None = None) -> Operation:
    """Products of random residues and of every pair of edges; with `others` 1, one row meets all."""
    rims = edges(ring)
    left = np.concatenate([np.repeat(rims, len(rims), axis=0), residues(ring, count)])
    right = np.concatenate([np.tile(rims, (len(rims), 1)), residues(ring, count)])
    if others == 1:
        left, right = residues(ring, count), residues(ring, 1)
    return lambda engine: engine.multiply(ring, left, right)


def power(ring: Ring, count: int, exponent: int) -> Operation:
    """Powers of edges and random residues."""
    bases = np.concatenate([edges(ring), residues(ring, count)])
    return lambda engine: engine.power(ring, bases, exponent)


def combine(ring: Ring, rows: int, columns: int, bits: int) -> Operation:
    """Products of units with the entries of a random matrix."""
    bases, matrix = units(ring, rows), entries(rows, columns, bits)
    return lambda engine: engine.combine(ring, bases, matrix, bits)


def pack(ring: Ring, rows: int, slots: int, slot_bits: int) -> Operation:
    """Several residues in one."""
    values = residues(ring, rows)
    return lambda engine: engine.pack(ring, values, slots, slot_bits)


def look_up(ring: Ring, rows: int, bases: int, window: int) -> Operation:
    """Products of tabulated powers."""
    factors, digits = residues(ring, bases), digits_of(rows, bases, window)
    return lambda engine: engine.look_up(engine.table(ring, factors, window), digits)


def join(first_bits: int, second_bits: int, degree: int) -> Operation:
    """Chinese remainders for two moduli of these lengths."""
    first = Ring(int(gmpy2.next_prime(odd(first_bits))), 2)
    second = Ring(int(gmpy2.next_prime(odd(second_bits))), 1 if degree == 1 else 2)
    left, right = np.concatenate([edges(first), residues(first, 12)]), residues(second, 12)
    return lambda engine: engine.join(first, second, left, np.concatenate([right, edges(second)]))


IN_EVERY_RING: dict[str, Callable[[Ring], Operation]] = {
    "multiply": lambda ring: multiply(ring, 5),
    "power": lambda ring: power(ring, 1, secrets.randbits(64) | 1 << 64),
    "combine": lambda ring: combine(ring, 11, 3, 6),
    "pack": lambda ring: pack(ring, 16, 3, 9),
    "look_up": lambda ring: look_up(ring, 3, 10, 4),
}


@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize("operation", IN_EVERY_RING)
def test_every_ring(engine: PaillierEngine, operation: str, ring: Ring) -> None:
    """Each operation is exact for edge values and random ones, with roots of every length that is taken."""
    assert ring.width == width_for(int(ring.modulus))
    calculate = IN_EVERY_RING[operation](ring)
    assert_same(calculate(engine), calculate(REFERENCE))


SHAPES: list[tuple[Callable[..., Operation], tuple[int, ...]]] = [
    *((multiply, (count, 1)) for count in (0, 1, 2, 3, 4, 5, 8, 9)),
    *(
        (power, (count, exponent))
        for count in (1, 3, 9)
        for exponent in (0, 1, 2, 31, 32, 2**64 - 1, 2**64, 2**200 + 1)
    ),
    *((combine, shape) for shape in ((1, 1, 1), (1, 1, 7), (1, 5, 3), (2, 1, 40), (5, 0, 4), (7, 2, 1), (13, 9, 2))),
    *((combine, shape) for shape in ((37, 3, 19), (61, 17, 5), (0, 3, 4))),
    *((combine, (5, 3, bits)) for bits in (*range(1, 41, 3), 62, 63)),
    *((pack, shape) for shape in ((1, 1, 5), (1, 4, 5), (7, 7, 1), (9, 1, 3), (20, 2, 0), (33, 4, 40))),
    *((look_up, (*shape, window)) for shape in ((1, 1), (1, 40), (2, 7), (5, 33), (9, 2)) for window in (1, 5, 8)),
]


@pytest.mark.parametrize(("operation", "shape"), SHAPES)
def test_every_shape(engine: PaillierEngine, operation: Callable[..., Operation], shape: tuple[int, ...]) -> None:
    """No shape is special: none, one or many rows and columns, full lanes or not, any width, any exponent."""
    calculate = operation(SMALL, *shape)
    assert_same(calculate(engine), calculate(REFERENCE))


@pytest.mark.parametrize("sizes", [(256, 256, 2), (1024, 1024, 2), (300, 200, 2), (200, 330, 1)])
def test_join(engine: PaillierEngine, sizes: tuple[int, int, int]) -> None:
    """Chinese remainders agree for equal and unequal moduli, the larger one first or second."""
    calculate = join(*sizes)
    assert_same(calculate(engine), calculate(REFERENCE))


@pytest.mark.parametrize("exponent", [0, 1, 31, 2**64, 2**200 + 1])
def test_the_reference_is_pythons_pow(exponent: int) -> None:
    """Powers, and products with columns of one entry, are those of Python's own integers."""
    bases, modulus = units(SMALL, 5), int(SMALL.modulus)
    assert to_ints(REFERENCE.power(SMALL, bases, exponent)) == [pow(base, exponent, modulus) for base in to_ints(bases)]
    product = 1
    for base in to_ints(bases):
        product = product * base % modulus
    limit = 1 << 8
    matrix = np.array([[-limit, limit - 1, 0]] * 5, dtype=np.int64)
    expected = [pow(product, entry, modulus) for entry in (-limit, limit - 1, 0)]
    assert to_ints(REFERENCE.combine(SMALL, bases, matrix, 9)) == expected


def test_combine_goes_through_several_chunks(engine: PaillierEngine) -> None:
    """Tables that do not fit the cache together are used one after the other, with the same result."""
    ring = RINGS["3072 bits, degree 2"]
    bases, matrix, sample = units(ring, 200), entries(200, 150, 20), [0, 77, 149]
    assert_same(engine.combine(ring, bases, matrix, 20)[sample], REFERENCE.combine(ring, bases, matrix[:, sample], 20))


def test_count_of_products_depends_on_shapes_only(engine: PaillierEngine) -> None:
    """A sparse matrix costs exactly what a dense one costs, so that time does not tell them apart."""
    bases = units(SMALL, 20)
    sparse = np.zeros((20, 6), dtype=np.int64)
    sparse[3, 2] = 1
    counts = set()
    for matrix in (np.zeros_like(sparse), sparse, entries(20, 6, 9)):
        before = native._paillier.multiplications()
        engine.combine(SMALL, bases, matrix, 9)
        counts.add(native._paillier.multiplications() - before)
    assert len(counts) == 1
    assert counts.pop() > 0


# Threads and processes.

# Each large enough that the kernel does divide it among threads.
LARGE = {
    "multiply": lambda: multiply(SMALL, 130),
    "power": lambda: power(SMALL, 130, 2**100 - 3),
    "combine": lambda: combine(SMALL, 40, 23, 9),
    "pack": lambda: pack(SMALL, 130, 3, 20),
    "look_up": lambda: look_up(SMALL, 19, 40, 5),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("operation", LARGE)
def test_threads_do_not_change_results(path: str, operation: str) -> None:
    """One, two and three threads give the same bits."""
    calculate = LARGE[operation]()
    one, two, three = (calculate(make_engine(path, threads)) for threads in (1, 2, 3))
    assert_same(one, two)
    assert_same(one, three)


def test_works_after_fork() -> None:
    """A child of a process that has used threads calculates too: no pool of threads is kept across the fork."""
    many = residues(SMALL, 500)
    expected = to_ints(make_engine(threads=2).multiply(SMALL, many, many))
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(to_ints(make_engine(threads=2).multiply(SMALL, many, many))))
    child.start()
    assert queue.get() == expected
    child.join(timeout=120)


# What is refused.


def test_refuses_wrong_shapes(engine: PaillierEngine) -> None:
    """Arrays that do not fit each other or the ring are refused, never read beyond their end."""
    good, wide = residues(SMALL, 3), np.zeros((3, SMALL.width + 1), dtype=np.uint64)
    matrix = np.zeros((3, 2), dtype=np.int64)
    table = engine.table(SMALL, good, 4)
    even, tiny, long = (Ring(root, 2) for root in (1 << 64, 3, odd(4160)))
    calls: tuple[Callable[[], object], ...] = (
        lambda: engine.multiply(SMALL, wide, wide),
        lambda: engine.multiply(SMALL, good, good[:2]),
        lambda: engine.multiply(SMALL, good, good[:0]),
        lambda: engine.power(SMALL, wide, 3),
        lambda: engine.power(SMALL, good, -1),
        lambda: engine.combine(SMALL, good[:2], matrix, 4),
        lambda: engine.combine(SMALL, good, matrix + 8, 4),
        lambda: engine.combine(SMALL, good, matrix - 9, 4),
        lambda: engine.combine(SMALL, good, matrix, 0),
        lambda: engine.combine(SMALL, good, matrix, 64),
        lambda: engine.pack(SMALL, wide, 2, 3),
        lambda: engine.pack(SMALL, good, 0, 3),
        lambda: engine.table(SMALL, good, 9),
        lambda: engine.table(SMALL, good, 0),
        lambda: engine.look_up(table, np.zeros((2, 4), dtype=np.uint8)),
        lambda: engine.look_up(table, np.full((2, 3), 16, dtype=np.uint8)),
        lambda: engine.join(SMALL, Ring(SMALL.root - 2, 2), good, wide),
        *(lambda ring=ring: engine.multiply(ring, *[from_ints([1], ring.width)] * 2) for ring in (even, tiny, long)),
    )
    for call in calls:
        with pytest.raises(ValueError, match="expected"):
            call()


def test_refuses_unknown_paths_engines_and_no_threads() -> None:
    """A path that the machine lacks, a name of no engine and a number of threads below one are refused at once."""
    with pytest.raises(ValueError, match="expected a path"):
        native.NativeEngine("avx1024")
    with pytest.raises(ValueError, match="at least one thread"):
        native.NativeEngine(threads=0)
    with pytest.raises(EngineError, match="expected one of auto, native, python"):
        engines.choose("abacus")
