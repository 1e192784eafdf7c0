"""The native engine equals the Python engine bit for bit, on every path that this machine has."""

import multiprocessing
import secrets
from collections.abc import Callable

import gmpy2
import numpy as np
import pytest

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.lab.exchange.engines.interface import Digits, PaillierEngine, Ring
from plumbob.lab.exchange.engines.python import PythonEngine
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_ints, width_for

native = pytest.importorskip(
    "plumbob.lab.exchange.engines.native", reason="the kernel was not built here", exc_type=ImportError
)

PATHS: list[str] = native.available_paths()
REFERENCE = PythonEngine()


def odd(bits: int) -> int:
    """A root of exactly so many bits. That it is a prime or a product of two does not matter to an engine."""
    return secrets.randbits(bits) | 1 | 1 << (bits - 1)


SQUARED = (2048, 3072, 1024, 1536, 256, 337, 512, 60)
PLAIN = (2048, 683, 1024, 320, 61)
RINGS = {f"{bits} bits, degree 2": Ring(odd(bits), 2) for bits in SQUARED}
RINGS |= {f"{bits} bits, degree 1": Ring(odd(bits), 1) for bits in PLAIN}
SMALL = RINGS["337 bits, degree 2"]


def make_engine(path: str | None = None, threads: int = 1) -> PaillierEngine:
    """The native engine, behind the interface that all engines have."""
    engine: PaillierEngine = native.NativeEngine(path, threads)
    return engine


@pytest.fixture(params=PATHS)
def engine(request: pytest.FixtureRequest) -> PaillierEngine:
    """Each path of the kernel in turn, on one thread."""
    return make_engine(request.param)


@pytest.fixture(params=RINGS.values(), ids=list(RINGS))
def ring(request: pytest.FixtureRequest) -> Ring:
    """Each ring in turn."""
    value: Ring = request.param
    return value


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


def random_digits(rows: int, columns: int, window: int) -> Digits:
    """Digits below 2**window."""
    drawn = np.frombuffer(secrets.token_bytes(rows * columns), dtype=np.uint8).reshape(rows, columns)
    return np.right_shift(drawn, np.uint8(8 - window))


def assert_same(left: Limbs, right: Limbs) -> None:
    """Bit for bit, and in the form that messages are made of."""
    assert left.dtype == right.dtype == np.uint64
    assert left.flags.c_contiguous
    np.testing.assert_array_equal(left, right)


def test_multiply_equals_python(engine: PaillierEngine, ring: Ring) -> None:
    """Products are exact for every pair of edge values and for random ones."""
    rims = edges(ring)
    left = np.concatenate([np.repeat(rims, len(rims), axis=0), residues(ring, 5)])
    right = np.concatenate([np.tile(rims, (len(rims), 1)), residues(ring, 5)])
    assert_same(engine.multiply(ring, left, right), REFERENCE.multiply(ring, left, right))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 9])
def test_multiply_broadcasts_one_row(engine: PaillierEngine, count: int) -> None:
    """A single row on the right meets every row on the left, however many lanes are filled."""
    left, right = residues(SMALL, count), residues(SMALL, 1)
    assert_same(engine.multiply(SMALL, left, right), REFERENCE.multiply(SMALL, left, right))


def test_power_equals_python(engine: PaillierEngine, ring: Ring) -> None:
    """Powers are exact for edge values and random ones."""
    bases = np.concatenate([edges(ring), residues(ring, 1)])
    exponent = secrets.randbits(64) | 1 << 64
    assert_same(engine.power(ring, bases, exponent), REFERENCE.power(ring, bases, exponent))


@pytest.mark.parametrize("exponent", [0, 1, 2, 31, 32, 2**64 - 1, 2**64, 2**200 + 1])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_power_takes_any_exponent(engine: PaillierEngine, count: int, exponent: int) -> None:
    """Exponents of every length agree with Python's pow, zero included."""
    bases = residues(SMALL, count)
    expected = [pow(base, exponent, int(SMALL.modulus)) for base in to_ints(bases)]
    assert to_ints(engine.power(SMALL, bases, exponent)) == expected


def test_combine_equals_python(engine: PaillierEngine, ring: Ring) -> None:
    """The product of ciphertexts and a matrix is exact, extreme entries included."""
    bases, matrix = units(ring, 11), entries(11, 3, 6)
    assert_same(engine.combine(ring, bases, matrix, 6), REFERENCE.combine(ring, bases, matrix, 6))


@pytest.mark.parametrize(
    ("rows", "columns", "bits"),
    [
        (1, 1, 1),
        (1, 1, 7),
        (1, 5, 3),
        (2, 1, 40),
        (5, 0, 4),
        (7, 2, 1),
        (13, 9, 2),
        (37, 3, 19),
        (61, 17, 5),
        (0, 3, 4),
    ],
)
def test_combine_takes_any_shape(engine: PaillierEngine, rows: int, columns: int, bits: int) -> None:
    """No shape is special: single rows, single columns, one bit, or more of each than fit a group or a vector."""
    bases, matrix = units(SMALL, rows), entries(rows, columns, bits)
    assert_same(engine.combine(SMALL, bases, matrix, bits), REFERENCE.combine(SMALL, bases, matrix, bits))


@pytest.mark.parametrize("bits", [*range(1, 41, 3), 62, 63])
def test_combine_takes_any_width(engine: PaillierEngine, bits: int) -> None:
    """All-lowest, all-highest and all-zero columns come out right at every width."""
    bases, limit = units(SMALL, 5), 1 << (bits - 1)
    matrix = np.array([[-limit, limit - 1, 0]] * 5, dtype=np.int64)
    product = gmpy2.mpz(1)
    for base in to_ints(bases):
        product = product * base % SMALL.modulus
    expected = [gmpy2.powmod(product, exponent, SMALL.modulus) for exponent in (-limit, limit - 1, 0)]
    assert to_ints(engine.combine(SMALL, bases, matrix, bits)) == expected


def test_combine_goes_through_several_chunks(engine: PaillierEngine) -> None:
    """Tables that do not fit the cache together are used one after the other, with the same result."""
    ring = RINGS["3072 bits, degree 2"]
    bases, matrix = units(ring, 200), entries(200, 150, 20)
    sample = [0, 77, 149]
    combined = engine.combine(ring, bases, matrix, 20)[sample]
    assert_same(combined, REFERENCE.combine(ring, bases, matrix[:, sample], 20))


def test_count_of_products_depends_on_shapes_only(engine: PaillierEngine) -> None:
    """A sparse matrix costs exactly what a dense one costs, so that time does not tell them apart."""
    bases = units(SMALL, 20)
    sparse = np.zeros((20, 6), dtype=np.int64)
    sparse[3, 2] = 1
    dense = entries(20, 6, 9)
    counts = set()
    for matrix in (np.zeros_like(dense), sparse, dense):
        before = native._paillier.multiplications()
        engine.combine(SMALL, bases, matrix, 9)
        counts.add(native._paillier.multiplications() - before)
    assert len(counts) == 1
    assert counts.pop() > 0


def test_pack_equals_python(engine: PaillierEngine, ring: Ring) -> None:
    """Packing is exact, with a last result of fewer slots."""
    values = np.concatenate([edges(ring), residues(ring, 4)])
    assert_same(engine.pack(ring, values, 3, 9), REFERENCE.pack(ring, values, 3, 9))


@pytest.mark.parametrize(
    ("rows", "slots", "slot_bits"), [(1, 1, 5), (1, 4, 5), (7, 7, 1), (9, 1, 3), (20, 2, 0), (33, 4, 40)]
)
def test_pack_takes_any_shape(engine: PaillierEngine, rows: int, slots: int, slot_bits: int) -> None:
    """One output or many, full or not, agree with the reference."""
    values = residues(SMALL, rows)
    assert_same(engine.pack(SMALL, values, slots, slot_bits), REFERENCE.pack(SMALL, values, slots, slot_bits))


def test_look_up_equals_python(engine: PaillierEngine, ring: Ring) -> None:
    """Products of tabulated powers are exact, digits 0 and 2**window - 1 included."""
    bases = np.concatenate([edges(ring)[:4], residues(ring, 6)])
    digits = random_digits(3, 10, 4)
    digits = np.concatenate([digits, np.zeros_like(digits[:1]), np.full_like(digits[:1], 15)])
    ours, theirs = engine.table(ring, bases, 4), REFERENCE.table(ring, bases, 4)
    assert_same(engine.look_up(ours, digits), REFERENCE.look_up(theirs, digits))


@pytest.mark.parametrize("window", [1, 5, 8])
@pytest.mark.parametrize(("rows", "bases"), [(0, 3), (1, 1), (1, 40), (2, 7), (5, 33), (9, 2), (20, 5)])
def test_look_up_takes_any_shape(engine: PaillierEngine, rows: int, bases: int, window: int) -> None:
    """However a row's factors are divided among lanes, the product is the same."""
    factors = residues(SMALL, bases)
    digits = random_digits(rows, bases, window)
    ours, theirs = engine.table(SMALL, factors, window), REFERENCE.table(SMALL, factors, window)
    assert_same(engine.look_up(ours, digits), REFERENCE.look_up(theirs, digits))


@pytest.mark.parametrize(
    ("first_bits", "second_bits", "degree"), [(256, 256, 2), (1024, 1024, 2), (300, 200, 2), (200, 330, 1)]
)
def test_join_equals_python(engine: PaillierEngine, first_bits: int, second_bits: int, degree: int) -> None:
    """Chinese remainders agree for equal and unequal moduli, the larger one first or second."""
    first = Ring(int(gmpy2.next_prime(odd(first_bits))), 2)
    second = Ring(int(gmpy2.next_prime(odd(second_bits))), 1 if degree == 1 else 2)
    left = np.concatenate([edges(first), residues(first, 12)])
    right = np.concatenate([residues(second, 12), edges(second)])
    assert_same(engine.join(first, second, left, right), REFERENCE.join(first, second, left, right))


Operation = Callable[[PaillierEngine], Limbs]


def operations() -> dict[str, Operation]:
    """Each large enough that the kernel does divide it among threads."""
    bases, many, matrix, digits = units(SMALL, 40), residues(SMALL, 130), entries(40, 23, 9), random_digits(19, 40, 5)
    return {
        "multiply": lambda engine: engine.multiply(SMALL, many, many[::-1]),
        "power": lambda engine: engine.power(SMALL, many, 2**100 - 3),
        "combine": lambda engine: engine.combine(SMALL, bases, matrix, 9),
        "pack": lambda engine: engine.pack(SMALL, many, 3, 20),
        "look_up": lambda engine: engine.look_up(engine.table(SMALL, bases, 5), digits),
    }


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("operation", operations().values(), ids=list(operations()))
def test_threads_do_not_change_results(path: str, operation: Operation) -> None:
    """One, two and three threads give the same bits."""
    one, two, three = (operation(make_engine(path, threads)) for threads in (1, 2, 3))
    assert_same(one, two)
    assert_same(one, three)


def multiply_in_child(queue: "multiprocessing.Queue[list[int]]", many: Limbs) -> None:
    """What the forked process does."""
    queue.put(to_ints(make_engine(threads=2).multiply(SMALL, many, many)))


def test_works_after_fork() -> None:
    """A child of a process that has used threads calculates too: no pool of threads is kept across the fork."""
    many = residues(SMALL, 500)
    expected = to_ints(make_engine(threads=2).multiply(SMALL, many, many))
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    child = context.Process(target=multiply_in_child, args=(queue, many))
    child.start()
    assert queue.get(timeout=120) == expected
    child.join(timeout=120)


def test_refuses_wrong_shapes(engine: PaillierEngine) -> None:
    """Arrays that do not fit each other or the ring are refused, never read beyond their end."""
    good, wide = residues(SMALL, 3), np.zeros((3, SMALL.width + 1), dtype=np.uint64)
    matrix = np.zeros((3, 2), dtype=np.int64)
    table = engine.table(SMALL, good, 4)
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
    )
    for call in calls:
        with pytest.raises(ValueError, match="expected"):
            call()


def test_refuses_rings_it_cannot_hold() -> None:
    """Even roots, tiny ones and those above 4096 bits are refused."""
    for root in (1 << 64, 3, odd(4160)):
        ring = Ring(root, 2)
        one = from_ints([1], ring.width)
        with pytest.raises(ValueError, match="expected"):
            make_engine().multiply(ring, one, one)


def test_residues_that_are_not_reduced_do_no_harm(engine: PaillierEngine, ring: Ring) -> None:
    """The contract asks for reduced residues; others give some residue, in the right shape, and no crash."""
    full = np.full((9, ring.width), 2**64 - 1, dtype=np.uint64)
    assert engine.multiply(ring, full, full).shape == full.shape
    assert engine.power(ring, full, 5).shape == full.shape


def test_refuses_unknown_paths_and_no_threads() -> None:
    """A path that the machine lacks and a number of threads below one are refused at once."""
    with pytest.raises(ValueError, match="expected a path"):
        native.NativeEngine("avx1024")
    with pytest.raises(ValueError, match="at least one thread"):
        native.NativeEngine(threads=0)


def test_largest_ring_has_room() -> None:
    """A root of 4096 bits, the largest that is taken, gives exact products on every path."""
    ring = Ring(odd(4096), 2)
    values = np.concatenate([edges(ring), residues(ring, 3)])
    assert ring.width == width_for(int(ring.modulus))
    for path in PATHS:
        engine = make_engine(path)
        assert_same(engine.multiply(ring, values, values), REFERENCE.multiply(ring, values, values))
        assert_same(engine.power(ring, values, 77), REFERENCE.power(ring, values, 77))
