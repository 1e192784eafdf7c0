"""The GPU's engine equals the Python engine bit for bit: its source emulated here, itself where there is a GPU.

The emulation compiles the kernels with a C++ compiler; a group's lanes are then an array, and everything above that,
carries between lanes included, is what a GPU runs.
"""

import secrets
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from plumbob.crypto import Encoding, Slots, engines, okamoto_uchiyama, paillier, profiles, sum_bits
from plumbob.crypto.engines.cuda import channels, driver, words
from plumbob.crypto.engines.cuda.engine import CudaEngine
from plumbob.crypto.engines.interface import Engine, IntegerMatrix, Ring
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import Limbs, from_ints, to_bytes, to_ints
from plumbob.errors import CryptoError
from tests.crypto.emulated_device import EmulatedDevice
from tests.crypto.support import decrypt_signed

REFERENCE = PythonEngine()
COMPILER = shutil.which("g++") or shutil.which("clang++") or ""


def gpu_is_missing() -> str:
    """Why the GPU's own tests cannot run here, or nothing."""
    try:
        CudaEngine()
    except CryptoError as error:
        return str(error)
    return ""


MISSING = gpu_is_missing()


def odd(bits: int) -> int:
    """A root of exactly so many bits."""
    return secrets.randbits(bits) | 1 | 1 << (bits - 1)


# The rings of a 2048-bit key, general 4096-bit ones, and small ones with few and with many lanes a number; 0 lanes
# stand for channels, wherever a chain of products is long enough for them.
RINGS = {
    "2048 bits squared, 4 lanes": (Ring(odd(2048), 2), 4),
    "2048 bits squared, 32 lanes": (Ring(odd(2048), 2), 32),
    "1024 bits squared, 4 lanes": (Ring(odd(1024), 2), 4),
    "1024 bits squared, 16 lanes": (Ring(odd(1024), 2), 16),
    "4090 bits, 4 lanes": (Ring(odd(4090), 1), 4),
    "337 bits squared, 4 lanes": (Ring(odd(337), 2), 4),
    "337 bits squared, 8 lanes": (Ring(odd(337), 2), 8),
    "61 bits, 4 lanes": (Ring(odd(61), 1), 4),
    # Limbs of ones and of zeros, so that carries run through several lanes.
    "ones, squared, 8 lanes": (Ring((1 << 512) - (1 << 484) - 1, 2), 8),
    "zeros, squared, 4 lanes": (Ring((1 << 511) + 1, 2), 4),
    "2048 bits squared, channels": (Ring(odd(2048), 2), 0),
    "1024 bits squared, channels": (Ring(odd(1024), 2), 0),
    "337 bits squared, channels": (Ring(odd(337), 2), 0),
    "ones, squared, channels": (Ring((1 << 1024) - (1 << 997) - 1, 2), 0),
    "zeros, squared, channels": (Ring((1 << 511) + 1, 2), 0),
}
SMALL = RINGS["337 bits squared, 4 lanes"][0]


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[int]], CudaEngine]:
    """An engine on the emulated device, given the numbers of lanes that it may use, 0 for channels."""
    if not COMPILER:
        pytest.skip("the emulation needs a C++ compiler")
    folder: Path = tmp_path_factory.mktemp("kernels")
    return lambda lanes: CudaEngine(EmulatedDevice(COMPILER, folder, lanes))


@pytest.fixture(params=RINGS.values(), ids=list(RINGS))
def case(request: pytest.FixtureRequest, emulated: Callable[[Sequence[int]], CudaEngine]) -> tuple[Engine, Ring]:
    """Each ring with its engine."""
    ring, lanes = request.param
    return emulated([lanes]), ring


@pytest.fixture
def small(emulated: Callable[[Sequence[int]], CudaEngine]) -> CudaEngine:
    """An engine for small rings."""
    return emulated([4])


def residues(ring: Ring, count: int) -> Limbs:
    """Zero, one, those around the multiples of the root, the largest ones, and random ones."""
    modulus, root = int(ring.modulus), ring.root
    near = [0, 1, 2, root - 1, root, root + 1, modulus - root, modulus - root - 1, modulus - 2, modulus - 1]
    values = [value % modulus for value in near] + [secrets.randbelow(modulus) for _ in range(count)]
    return from_ints(values, ring.width)


def units(ring: Ring, count: int) -> Limbs:
    """Random units, -1 among them."""
    chosen = [int(ring.modulus) - 1]
    while len(chosen) < count:
        value = secrets.randbelow(int(ring.modulus))
        if gmpy2.gcd(value, ring.root) == 1:
            chosen.append(value)
    return from_ints(chosen[:count], ring.width)


def entries(rows: int, columns: int, bits: int) -> IntegerMatrix:
    """A random matrix that has the lowest and the highest entry."""
    limit = 1 << (bits - 1)
    values = [secrets.randbelow(2 * limit) - limit for _ in range(rows * columns)]
    values[:2] = [-limit, limit - 1][: len(values)]
    return np.array(values, dtype=np.int64).reshape(rows, columns)


def assert_same(ours: Limbs, theirs: Limbs) -> None:
    """Bit for bit, once it is looked at."""
    np.testing.assert_array_equal(np.asarray(ours), theirs)
    assert np.asarray(ours).dtype == np.uint64


def test_multiply_equals_python(case: tuple[Engine, Ring]) -> None:
    """Products are exact for every pair of edge values and for random ones."""
    engine, ring = case
    rims = residues(ring, 2)
    left, right = np.repeat(rims, len(rims), axis=0), np.tile(rims, (len(rims), 1))
    assert_same(engine.multiply(ring, left, right), REFERENCE.multiply(ring, left, right))
    assert_same(engine.multiply(ring, left, right[5:6]), REFERENCE.multiply(ring, left, right[5:6]))


def test_embed_equals_python(case: tuple[Engine, Ring]) -> None:
    """Messages become 1 + m n, for the smallest and the largest of them too; only where the root is squared."""
    engine, ring = case
    values = [0, 1, -1, ring.root - 1, ring.root // 2, secrets.randbelow(ring.root), 3 * ring.root + 5]
    if ring.degree == 1:
        with pytest.raises(ValueError, match="squared"):
            engine.embed(ring, values)
    else:
        assert_same(engine.embed(ring, values), REFERENCE.embed(ring, values))


def test_embed_equals_python_for_64_bits(case: tuple[Engine, Ring]) -> None:
    """Messages that come as an array become the same, the least and the largest of 64 bits included."""
    engine, ring = case
    least, largest = -(1 << 63), (1 << 63) - 1
    edges = [0, 1, -1, least, least + 1, largest, 1 << 32, -(1 << 32), (1 << 32) - 1, 1 - (1 << 32), 1 << 31]
    values = np.array(edges + [secrets.randbelow(1 << 64) + least for _ in range(5)], dtype=np.int64)
    if ring.degree == 2:
        expected = REFERENCE.embed(ring, values.tolist())
        for array in (values, np.repeat(values, 2)[::2]):
            assert_same(engine.embed(ring, array), expected)
        assert_same(REFERENCE.embed(ring, values), expected)


@pytest.mark.parametrize("root", [17, (1 << 31) - 1, (1 << 63) - 25, (1 << 63) + 1, (1 << 64) - 1])
def test_embed_takes_short_roots(small: CudaEngine, root: int) -> None:
    """Messages of 64 bits are reduced where the root is shorter, or hardly longer, than they are."""
    ring, values = Ring(root, 2), np.array([0, -1, -(1 << 63), (1 << 63) - 1, 1 << 62, -5], dtype=np.int64)
    assert_same(small.embed(ring, values), REFERENCE.embed(ring, values.tolist()))


def test_power_and_pack_equal_python(case: tuple[Engine, Ring]) -> None:
    """Squarings and powers are exact for edge values and random ones."""
    engine, ring = case
    values, exponent = residues(ring, 1), secrets.randbits(31) | 1 << 31
    assert_same(engine.power(ring, values, exponent), REFERENCE.power(ring, values, exponent))
    assert_same(engine.pack(ring, values, 3, 17), REFERENCE.pack(ring, values, 3, 17))


def test_combine_equals_python(case: tuple[Engine, Ring]) -> None:
    """The product of ciphertexts and a matrix is exact, extreme entries included."""
    engine, ring = case
    bases, matrix = units(ring, 7), entries(7, 3, 5)
    assert_same(engine.combine(ring, bases, matrix, 5), REFERENCE.combine(ring, bases, matrix, 5))


def test_look_up_equals_python(case: tuple[Engine, Ring]) -> None:
    """Products of tabulated powers are exact, digits 0 and 2**window - 1 included."""
    engine, ring = case
    bases = np.concatenate([units(ring, 4), residues(ring, 0)[1:3]])  # No zero: it would hide the others.
    digits = np.array([[secrets.randbelow(8) for _ in bases] for _ in range(3)] + [[0] * 6, [7] * 6], dtype=np.uint8)
    ours, theirs = engine.table(ring, bases, 3), REFERENCE.table(ring, bases, 3)
    assert_same(engine.look_up(ours, digits), REFERENCE.look_up(theirs, digits))


@pytest.mark.parametrize(
    ("rows", "columns", "bits"),
    [(1, 1, 1), (1, 5, 3), (5, 0, 4), (0, 3, 4), (13, 9, 2), (37, 3, 19), (4, 2, 31), (4, 2, 32), (2, 1, 63)],
)
def test_combine_takes_any_shape(small: CudaEngine, rows: int, columns: int, bits: int) -> None:
    """No shape is special: none of something, one of it, or more than a table has rows."""
    bases, matrix = units(SMALL, rows), entries(rows, columns, bits)
    assert_same(small.combine(SMALL, bases, matrix, bits), REFERENCE.combine(SMALL, bases, matrix, bits))


@pytest.mark.parametrize(("rows", "columns", "bits"), [(1, 1, 1), (5, 0, 4), (0, 3, 4), (13, 9, 2), (37, 3, 7)])
def test_combine_takes_any_shape_in_channels(
    emulated: Callable[[Sequence[int]], CudaEngine], rows: int, columns: int, bits: int
) -> None:
    """So it is where products are made by tensor cores; and no table is made there that has no room."""
    engine, ring = emulated([0, 4]), Ring(odd(300), 2)
    bases, matrix = units(ring, rows), entries(rows, columns, bits)
    assert_same(engine.combine(ring, bases, matrix, bits), REFERENCE.combine(ring, bases, matrix, bits))
    device = engine._device
    assert isinstance(device, EmulatedDevice)
    assert "multiply_entries" not in [name for name, _ in device.launches]
    device.largest_table = 1
    assert_same(engine.combine(ring, bases, matrix, bits), REFERENCE.combine(ring, bases, matrix, bits))
    assert "multiply_entries" in [name for name, _ in device.launches] or not rows * columns


def test_logarithms_in_channels_equal_python(emulated: Callable[[Sequence[int]], CudaEngine]) -> None:
    """More ciphertexts than a block has numbers, each prime's after the other's, with secret exponents."""
    engine, rings = emulated([0, 4]), [Ring(int(gmpy2.next_prime(odd(size))), 2) for size in (256, 250)]
    values = units(Ring(rings[0].root * rings[1].root, 2), 7)
    scales = [secrets.randbelow(ring.root) for ring in rings]
    theirs = REFERENCE.logarithms(rings, values, scales)
    for one, other in zip(engine.logarithms(rings, values, scales), theirs, strict=True):
        assert_same(one, other)
    device = engine._device
    assert isinstance(device, EmulatedDevice)
    assert "raise_channels" in [name for name, _ in device.launches]


def test_a_root_that_shares_a_prime_with_the_channels_gets_lanes(
    emulated: Callable[[Sequence[int]], CudaEngine],
) -> None:
    """Channels divide by the root modulo each of their primes; where they cannot, the result is the same."""
    engine, ring = emulated([0, 4]), Ring(channels.primes_below()[3] * odd(300), 2)
    values = residues(ring, 2)
    assert_same(engine.pack(ring, values, 2, 30), REFERENCE.pack(ring, values, 2, 30))
    assert engine._ring(ring).channels is None


def test_combine_does_without_gmp(small: CudaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own inverse gives the same."""
    monkeypatch.setattr(words, "large", int)
    bases, matrix = units(SMALL, 3), entries(3, 2, 20)
    assert_same(small.combine(SMALL, bases, matrix, 20), REFERENCE.combine(SMALL, bases, matrix, 20))


@pytest.mark.parametrize(("rows", "bases", "window"), [(0, 3, 4), (1, 1, 1), (1, 40, 5), (5, 33, 8), (20, 5, 2)])
def test_look_up_takes_any_shape(small: CudaEngine, rows: int, bases: int, window: int) -> None:
    """However a row's factors are divided among groups, the product is the same."""
    factors = units(SMALL, bases)
    drawn = np.frombuffer(secrets.token_bytes(rows * bases), dtype=np.uint8).reshape(rows, bases)
    digits = np.right_shift(drawn, np.uint8(8 - window))
    ours, theirs = small.table(SMALL, factors, window), REFERENCE.table(SMALL, factors, window)
    assert_same(small.look_up(ours, digits), REFERENCE.look_up(theirs, digits))


@pytest.mark.parametrize(("tables", "most_parts"), [(1, 1), (72, 72), (136, 136), (29, 2), (29, 1), (40, 13), (9, 9)])
def test_parts_make_the_shortest_chain(tables: int, most_parts: int) -> None:
    """No other length of a part ends sooner; there are never more parts than allowed, and each has a table."""
    chosen = driver.part_length(tables, most_parts)
    chains = {length: length + driver.fold_steps(-(-tables // length)) for length in range(1, tables + 1)}
    assert chains[chosen] == min(chain for length, chain in chains.items() if -(-tables // length) <= most_parts)
    assert -(-tables // chosen) <= most_parts


def test_merged_tables_give_the_same(emulated: Callable[[Sequence[int]], CudaEngine]) -> None:
    """Where there is room, two bases share a table, and look-ups come out as before."""
    engine, ring = emulated([4]), Ring(odd(61), 1)
    device = engine._device
    assert isinstance(device, EmulatedDevice)
    device.largest_table = 1 << 24
    bases = units(ring, 4)
    digits = np.frombuffer(secrets.token_bytes(200 * 4), dtype=np.uint8).reshape(200, 4)
    table = engine.table(ring, bases, 8)
    assert table.is_merged
    assert_same(engine.look_up(table, digits), REFERENCE.look_up(REFERENCE.table(ring, bases, 8), digits))


@pytest.mark.parametrize("exponent", [0, 1, 15, 16, 2**64, 2**200 + 1])
def test_power_takes_any_exponent(small: CudaEngine, exponent: int) -> None:
    """Exponents of every length agree with Python's pow, zero included."""
    bases = residues(SMALL, 1)
    expected = [pow(base, exponent, int(SMALL.modulus)) for base in to_ints(bases)]
    assert to_ints(small.power(SMALL, bases, exponent)) == expected


@pytest.mark.parametrize("bits", [(256, 256), (300, 200), (200, 330)])
@pytest.mark.parametrize("degrees", [(2, 2), (2, 1), (1, 1)])
def test_join_equals_python(small: CudaEngine, bits: tuple[int, int], degrees: tuple[int, int]) -> None:
    """Chinese remainders agree for equal and unequal moduli, the larger one first or second, squared or not."""
    first, second = (
        Ring(int(gmpy2.next_prime(odd(size))), 2 if degree == 2 else 1)
        for size, degree in zip(bits, degrees, strict=True)
    )
    left, right = residues(first, 2), residues(second, 2)[::-1]
    assert_same(small.join(first, second, left, right), REFERENCE.join(first, second, left, right))


def test_logarithms_equal_python(small: CudaEngine) -> None:
    """Both halves of a decryption, wide ciphertexts reduced first, also where the primes' lengths differ much."""
    for bits in ((256, 250), (256, 600)):
        rings = [Ring(int(gmpy2.next_prime(odd(size))), 2) for size in bits]
        values = units(Ring(rings[0].root * rings[1].root, 2), 3)
        scales = [secrets.randbelow(ring.root) for ring in rings]
        theirs = REFERENCE.logarithms(rings, values, scales)
        for one, other in zip(small.logarithms(rings, values, scales), theirs, strict=True):
            assert_same(one, other)


def test_many_powers_are_raised_in_pieces(small: CudaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tables of all rows would not fit together, the result is the same."""
    monkeypatch.setattr(driver, "SCRATCH_BYTES", 1 << 13)
    values, rings = residues(SMALL, 3), [Ring(int(gmpy2.next_prime(odd(200))), 2) for _ in range(2)]
    assert len(driver.pieces(small._ring(SMALL), values)) > 2
    assert_same(small.power(SMALL, values, 99), REFERENCE.power(SMALL, values, 99))
    chosen = units(Ring(rings[0].root * rings[1].root, 2), 6)
    for ours, theirs in zip(
        small.logarithms(rings, chosen, [3, 5]), REFERENCE.logarithms(rings, chosen, [3, 5]), strict=True
    ):
        assert_same(ours, theirs)


def test_launches_depend_on_shapes_only(emulated: Callable[[Sequence[int]], CudaEngine]) -> None:
    """A sparse matrix starts exactly the kernels that a dense one does, on as many threads."""
    bases, dense = units(SMALL, 20), entries(20, 6, 9)
    sparse = np.zeros_like(dense)
    sparse[3, 2] = 1
    for lanes in ([4], [0, 4]):
        launches, ring = [], Ring(SMALL.root, 2)
        for matrix in (np.zeros_like(dense), sparse, dense):
            engine = emulated(lanes)
            engine.combine(ring, bases, matrix, 9)
            device = engine._device
            assert isinstance(device, EmulatedDevice)
            launches.append(device.launches)
        assert launches[0] == launches[1] == launches[2]
        assert launches[0]


def test_nothing_small_is_launched_after_the_large_products(small: CudaEngine) -> None:
    """What the host inverts meanwhile is there before the device is full of work."""
    device = small._device
    assert isinstance(device, EmulatedDevice)
    small.combine(SMALL, units(SMALL, 40), entries(40, 6, 9), 9)
    names = [name for name, _ in device.launches]
    assert names.index("start_subsets") < names.index("fold_powers") < names.index("multiply_entries")
    assert names[-2:] == ["fold_powers", "leave_rows"]


@pytest.mark.parametrize("scheme", [paillier, okamoto_uchiyama])
def test_a_round_comes_out_right(emulated: Callable[[Sequence[int]], CudaEngine], scheme: object) -> None:
    """Encrypt, multiply, pack, mask, randomise, decrypt: the sums, with keys whose every product was emulated."""
    engine = emulated([4, 16])
    generate = paillier.generate if scheme is paillier else okamoto_uchiyama.generate
    key = generate(profiles.insecure_for_tests(512 if scheme is paillier else 960), engine)
    residuals, features = Encoding(6, 2), Encoding(5, 2)
    generator = np.random.default_rng()
    vector = residuals.encode(generator.uniform(-3, 3, 4))
    matrix = features.encode(generator.uniform(-3, 3, (4, 5)))
    slots = Slots.packed(key.public, 5, sum_bits(4, features, residuals))
    packed = slots.pack(key.encrypt(vector) @ matrix)
    mask = key.public.random_mask(len(packed), slots.masked_bits)
    opened = slots.truncate(key.decrypt((packed + mask).randomised()))
    assert slots.unpack(opened, mask) == (vector.values @ matrix.values).tolist()


def test_results_stay_on_the_device_until_they_are_looked_at(small: CudaEngine) -> None:
    """What an operation returns goes into the next one as it is, in slices too, and is limbs for everybody else."""
    values = residues(SMALL, 3)
    product = small.multiply(SMALL, values, values)
    assert type(product).__name__ == "DeviceLimbs"
    again = small.multiply(SMALL, product[2:5], product[2:5])
    expected = REFERENCE.power(SMALL, values[2:5], 4)
    assert to_ints(again) == to_ints(expected)
    assert to_bytes(again) == to_bytes(expected)
    assert len(again) == 3
    assert again.shape == expected.shape


def test_no_rows_are_no_rows(small: CudaEngine) -> None:
    """Nothing goes in and nothing comes out, in the right width."""
    none = from_ints([], SMALL.width)
    for result in (small.multiply(SMALL, none, none), small.power(SMALL, none, 5), small.pack(SMALL, none, 2, 3)):
        assert np.asarray(result).shape == (0, SMALL.width)


def test_refuses_wrong_shapes(small: CudaEngine) -> None:
    """Arrays that do not fit each other or the ring are refused, never read beyond their end."""
    good, wide = residues(SMALL, 0)[:3], np.zeros((3, SMALL.width + 1), dtype=np.uint64)
    matrix = np.zeros((3, 2), dtype=np.int64)
    table = small.table(SMALL, good, 4)
    calls: tuple[Callable[[], object], ...] = (
        lambda: small.multiply(SMALL, wide, wide),
        lambda: small.multiply(SMALL, good, good[:2]),
        lambda: small.multiply(SMALL, good, good[:0]),
        lambda: small.power(SMALL, wide, 3),
        lambda: small.power(SMALL, good, -1),
        lambda: small.combine(SMALL, good[:2], matrix, 4),
        lambda: small.combine(SMALL, good, matrix + 8, 4),
        lambda: small.combine(SMALL, good, matrix, 64),
        lambda: small.combine(SMALL, good, matrix, 0),
        lambda: small.pack(SMALL, wide, 2, 3),
        lambda: small.pack(SMALL, good, 0, 3),
        lambda: small.table(SMALL, good, 9),
        lambda: small.look_up(table, np.zeros((2, 4), dtype=np.uint8)),
        lambda: small.look_up(table, np.full((2, 3), 16, dtype=np.uint8)),
        lambda: small.look_up(small.table(SMALL, good, 8), np.full((2, 3), 256, dtype=np.int64)),
        lambda: small.join(SMALL, Ring(SMALL.root - 2, 2), good, wide),
    )
    for call in calls:
        with pytest.raises(ValueError, match="expected"):
            call()


@pytest.mark.parametrize("root", [1 << 64, 3, (1 << 4096) - 1])
def test_refuses_rings_it_cannot_hold(root: int) -> None:
    """Even roots, tiny ones and those that leave sums no room are refused."""
    with pytest.raises(ValueError, match="expected"):
        words.limbs_for(root)


def test_a_root_without_room_gets_more_limbs() -> None:
    """Where sums of products could overflow, the next larger shape is taken."""
    assert words.limbs_for((1 << 2047) + 1) == 64
    assert words.limbs_for((1 << 2048) - 1) == 96


def test_a_full_gpu_is_named(small: CudaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the GPU has no memory left, the error says so and what to do."""

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("Out of memory allocating 4,563,402,752 bytes")

    monkeypatch.setattr(small._driver, "_integers", refuse)
    with pytest.raises(CryptoError, match=r"(?s)memory is full.*smaller batch_size"):
        small.multiply(SMALL, residues(SMALL, 1), residues(SMALL, 1))


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CuPy the engine is refused in a sentence that names the extra."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "plumbob.crypto.engines.cuda.cupy_device", raising=False)
    with pytest.raises(CryptoError, match=r"plumbob\[cuda\]"):
        engines.choose("cuda")


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is a GPU")
@pytest.mark.parametrize("items", [3, 3000])
def test_the_gpu_equals_python(items: int) -> None:
    """On a real GPU: few numbers, which get many lanes each, and many, which get few."""
    engine, ring = CudaEngine(), Ring(odd(2048), 2)
    bases, matrix = units(ring, 40), entries(40, 5, 16)
    many = np.resize(residues(ring, 30), (items, ring.width))
    assert_same(engine.multiply(ring, many, many[::-1]), REFERENCE.multiply(ring, many, many[::-1]))
    assert_same(engine.combine(ring, bases, matrix, 16), REFERENCE.combine(ring, bases, matrix, 16))
    assert_same(engine.pack(ring, many[:30], 4, 20), REFERENCE.pack(ring, many[:30], 4, 20))
    key = paillier.generate(profiles.STANDARD, engine)
    assert decrypt_signed(key, key.encrypt([-5, 0, 7] * (items // 3))) == [-5, 0, 7] * (items // 3)
