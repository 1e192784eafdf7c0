"""The group ristretto255 as RFC 9496 has it: on every path of the kernel, and as libsodium has it."""

import hashlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.crypto import _kernel
from plumbob.crypto.ristretto import (
    GENERATOR,
    IDENTITY,
    ORDER,
    RistrettoGroup,
    available_paths,
    uniform_strings,
)
from plumbob.errors import CryptoError
from tests.crypto.point_oracles import FIELD, SodiumGroup

SODIUM = SodiumGroup()
PATHS = available_paths()
Group = RistrettoGroup | SodiumGroup

# RFC 9496, appendix A: multiples of the generator, invalid encodings, sentences whose hashes are mapped to points, and
# four inputs that are mapped to the same one.
MULTIPLES, INVALID, HASHED, SAME, SAME_OUTPUT = json.loads(
    Path(__file__).with_name("rfc9496.json").read_text()
).values()

# Both halves are mapped to the identity.
NOTHING = bytes(64)


def groups() -> list[Group]:
    """Every path of the kernel on this machine, on one thread, and the oracle."""
    return [*(RistrettoGroup(path, 1) for path in PATHS), SODIUM]


@pytest.fixture(params=groups(), ids=lambda group: group.name)
def group(request: pytest.FixtureRequest) -> Group:
    """Each path of the kernel, and the oracle, in turn."""
    found: Group = request.param
    return found


def random_uniform(seed: str, count: int) -> bytes:
    """Reproducible strings of 64 bytes each."""
    return hashlib.shake_256(seed.encode()).digest(64 * count)


def random_points(seed: str, count: int) -> bytes:
    """Reproducible points, made by the fastest engine here."""
    return RistrettoGroup(threads=1).times_hashed(random_uniform(seed, count))


def random_scalar(seed: str) -> int:
    """A reproducible scalar from the whole range."""
    return 1 + int.from_bytes(hashlib.shake_256(seed.encode()).digest(48), "little") % (ORDER - 1)


def split(points: bytes, size: int = 32) -> list[bytes]:
    """The points one by one."""
    return [points[start : start + size] for start in range(0, len(points), size)]


def encoded_factors(factors: Sequence[int]) -> bytes:
    """The factors as `PointSum.add` wants them."""
    return b"".join(factor.to_bytes(16, "little", signed=True) for factor in factors)


def test_multiples_of_the_generator(group: Group) -> None:
    """The first fifteen are those of RFC 9496, by multiplying and by adding; no multiple but the order's is nothing."""
    points = bytes.fromhex("".join(MULTIPLES[1:]))
    assert [group.times(GENERATOR, k).hex() for k in range(1, 16)] == MULTIPLES[1:]
    assert group.add(points[:-32], GENERATOR * 14) == points[32:]
    negative = group.times(GENERATOR, ORDER - 1)
    assert group.add(GENERATOR, negative) == IDENTITY
    assert group.times(negative, ORDER - 1) == GENERATOR


@pytest.mark.parametrize("encoded", [*INVALID, MULTIPLES[0]])
def test_what_is_no_point_is_refused(group: Group, encoded: str) -> None:
    """RFC 9496's invalid encodings and the identity are refused by every function, which says where they stand."""
    good, bad = bytes.fromhex("".join(MULTIPLES[1:12])), bytes.fromhex(encoded)
    for place in (0, 3, 11):
        points = good[: 32 * place] + bad + good[32 * place :]
        calls: list[Callable[[], object]] = [
            partial(group.times, points, 7),
            partial(group.add, points, GENERATOR * 12),
            partial(group.add, GENERATOR * 12, points),
            partial(group.new_sum().add, points, bytes(16 * 12)),
        ]
        for call in calls:
            with pytest.raises(CryptoError, match=rf"point {place} .* not the canonical encoding"):
                call()


def test_the_highest_bit_makes_no_second_encoding(group: Group) -> None:
    """A point with its highest bit set is no point: an element has one encoding."""
    for point in split(bytes.fromhex("".join(MULTIPLES[1:]))):
        other = point[:-1] + bytes([point[-1] | 0x80])
        for call in (partial(group.times, other, 3), partial(group.add, GENERATOR, other)):
            with pytest.raises(CryptoError, match=r"point 0 "):
                call()


def test_hashes_are_mapped_as_the_standard_says(group: Group) -> None:
    """RFC 9496's inputs of the one-way map have its outputs, together and with a scalar."""
    uniform = b"".join(hashlib.sha512(sentence.encode()).digest() for sentence in HASHED)
    points = bytes.fromhex("".join(HASHED.values()))
    assert group.times_hashed(uniform) == points
    assert group.times_hashed(uniform, 1) == points
    scalar = random_scalar("hashed")
    assert group.times_hashed(uniform, scalar) == group.times(points, scalar)
    assert {group.times_hashed(bytes.fromhex(text)).hex() for text in SAME} == {SAME_OUTPUT}


@pytest.mark.parametrize("beginning", [0, 19, 128])
def test_texts_are_hashed_where_they_lie(beginning: int) -> None:
    """Each text's hash is that of the beginning and the text, wherever the text lies in the buffer."""
    data, start = random_uniform("texts", 20), random_uniform("beginning", 5)[:beginning]
    starts = np.arange(1030, dtype=np.int64)
    ends = starts + starts % 250
    expected = b"".join(hashlib.sha512(start + data[a:b]).digest() for a, b in zip(starts, ends, strict=True))
    for buffer in (data, bytearray(data), memoryview(data)):
        assert uniform_strings(start, (buffer, starts, ends)) == expected


def test_a_hash_of_nothing_is_refused(group: Group) -> None:
    """Uniform bytes whose element is the identity, as nobody finds them in a hash, are named and not multiplied."""
    uniform = random_uniform("beside", 9)
    for place in (0, 4, 9):
        with_one = uniform[: 64 * place] + NOTHING + uniform[64 * place :]
        for scalar in (1, 5):
            with pytest.raises(CryptoError, match=rf"point {place} "):
                group.times_hashed(with_one, scalar)


def edge_numbers() -> list[int]:
    """Numbers around the field's size and powers of two, with and without the highest bit."""
    near = [0, 1, 2, 3, FIELD - 2, FIELD - 1, FIELD, FIELD + 1, FIELD + 2, 2**255 - 1, 2**254, 2**51, 2**204 - 1]
    return [number + top for number in near for top in (0, 2**255)]


def test_engines_agree_at_the_edges(group: Group) -> None:
    """Numbers near the field's size, with sign bits: mapped alike, and as encodings refused or multiplied alike."""
    scalar = random_scalar("edges")
    for number in edge_numbers():
        encoded = number.to_bytes(32, "little")
        other = hashlib.sha256(encoded).digest()
        for uniform in (encoded + other, other + encoded):
            assert group.times_hashed(uniform, scalar) == SODIUM.times_hashed(uniform, scalar)
        assert outcome(group, encoded, scalar) == outcome(SODIUM, encoded, scalar)


def outcome(group: Group, point: bytes, scalar: int) -> str:
    """The multiple, or why there is none."""
    try:
        return group.times(point, scalar).hex()
    except CryptoError as error:
        return str(error)


def test_engines_agree_on_which_strings_are_points(group: Group) -> None:
    """Of random even strings half are points; every engine takes the same ones."""
    generator = random.Random(5)
    strings = [(2 * generator.randrange(FIELD // 2)).to_bytes(32, "little") for _ in range(120)]
    found = [outcome(group, string, 11) for string in strings]
    assert found == [outcome(SODIUM, string, 11) for string in strings]
    assert 0 < sum(" " in each for each in found) < 120


def test_small_and_special_scalars(group: Group) -> None:
    """Scalars whose digits are all extreme give what the reference gives."""
    point = random_points("special", 1)
    nibbles = [int(digit * 62, 16) for digit in "1789f"]
    for scalar in [1, 2, 7, 8, 9, 15, 16, ORDER - 1, ORDER - 2, (ORDER + 1) // 2, 2**252, 2**252 - 1, *nibbles]:
        assert group.times(point, scalar) == SODIUM.times(point, scalar), hex(scalar)


@pytest.mark.parametrize("scalar", [0, -1, ORDER, ORDER + 1, 2**255, 2**256])
def test_what_is_no_scalar_is_refused(group: Group, scalar: int) -> None:
    """Only numbers from 1 to the order - 1 are: zero would publish nothing, others have two forms."""
    for call in (group.times, group.times_hashed):
        with pytest.raises(CryptoError, match="scalar is outside the range"):
            call(GENERATOR * 2, scalar)


def test_any_number_of_points() -> None:
    """However many there are, in lanes and batches that they fill or not: each point is multiplied for itself."""
    scalar, uniform = random_scalar("counts"), random_uniform("counts", 1030)
    reference = RistrettoGroup("portable", 1)
    points = reference.times_hashed(uniform)
    multiples = reference.times(points, scalar)
    for path, count in product(PATHS, [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 127, 129, 255, 257, 511, 513, 1030]):
        group = RistrettoGroup(path, 1)
        assert group.times(points[: 32 * count], scalar) == multiples[: 32 * count]
        assert group.times_hashed(uniform[: 64 * count]) == points[: 32 * count]
        assert group.times_hashed(uniform[: 64 * count], scalar) == multiples[: 32 * count]


@settings(max_examples=15, deadline=None)
@given(st.binary(min_size=64, max_size=64), st.integers(1, ORDER - 1), st.integers(1, ORDER - 1))
def test_engines_agree_bit_for_bit(uniform: bytes, scalar: int, other: int) -> None:
    """Hashing, multiplying and adding give the same bytes on every engine; scalars commute, distribute and cancel."""
    answers: set[tuple[str, ...]] = set()
    for group in groups():
        try:
            point = group.times_hashed(uniform)
        except CryptoError as error:
            answers.add((str(error),))
            continue
        one, two = group.times(point, scalar), group.times(point, other)
        assert group.times(one, other) == group.times(two, scalar)
        assert group.times(one, pow(scalar, -1, ORDER)) == point
        total = group.add(one, two)
        both = (scalar + other) % ORDER
        assert total == (group.times(point, both) if both else IDENTITY)
        answers.add((point.hex(), one.hex(), total.hex()))
    assert len(answers) == 1


EXTREME_FACTORS = [0, 1, -1, 127, 128, 129, -127, -128, -129, 255, 256, 2**127 - 1, -(2**127), 2**126, -(2**126)]
EXTREME_FACTORS += [int("7f" * 16, 16), int("7f80" * 8, 16), int("80" * 15, 16), -int("80" * 15, 16), 2**120 - 1]


def test_combinations_are_naive_sums(group: Group) -> None:
    """A combination with extreme and random factors is the sum of single products."""
    generator = random.Random(7)
    factors = EXTREME_FACTORS + [generator.randrange(-(2**127), 2**127) for _ in range(20)]
    points = random_points("combined", len(factors))
    total = IDENTITY
    for point, factor in zip(split(points), factors, strict=True):
        if factor:
            product = group.times(point, factor % ORDER)
            total = product if total == IDENTITY else group.add(total, product)
        sum_of_one = group.new_sum()
        sum_of_one.add(point, encoded_factors([factor]))
        assert sum_of_one.total() == (product if factor else IDENTITY), factor
    whole = group.new_sum()
    whole.add(points, encoded_factors(factors))
    assert whole.total() == total


def test_a_sum_grows_from_chunk_to_chunk(group: Group) -> None:
    """Chunks of any size, empty ones too, add up to the same; the total can be asked for in between."""
    points = random_points("chunks", 40)
    factors = random_uniform("factors", 10)
    expected = []
    for until in (0, 13, 14, 40):
        whole = SODIUM.new_sum()
        whole.add(points[: 32 * until], factors[: 16 * until])
        expected.append(whole.total())
    grown, found = group.new_sum(), [group.new_sum().total()]
    for start, end in ((0, 13), (13, 14), (14, 14), (14, 40)):
        grown.add(points[32 * start : 32 * end], factors[16 * start : 16 * end])
        found.append(grown.total())
    assert [found[0], found[1], found[2], found[4]] == expected
    assert found[3] == found[2]


def test_equal_points_and_opposites_in_a_sum(group: Group) -> None:
    """The same point many times, its negative, and sums that vanish on the way: additions have no exceptions."""
    point = random_points("equal", 1)
    negative = group.times(point, ORDER - 1)
    doubled = group.new_sum()
    doubled.add(point * 30, encoded_factors([3] * 30))
    assert doubled.total() == group.times(point, 90)
    vanished = group.new_sum()
    vanished.add(point + negative, encoded_factors([12345, 12345]))
    assert vanished.total() == IDENTITY
    vanished.add(point + negative, encoded_factors([2**100, 2**100 - 1]))
    assert vanished.total() == point


def test_a_spoilt_sum_gives_nothing(group: Group) -> None:
    """After a point was refused, nobody knows what is in the sum: it is refused as well, and a new one is not."""
    spoilt = group.new_sum()
    spoilt.add(GENERATOR, encoded_factors([5]))
    with pytest.raises(CryptoError, match=r"point 1 "):
        spoilt.add(GENERATOR + IDENTITY, encoded_factors([5, 6]))
    spoilt.add(GENERATOR, encoded_factors([5]))
    with pytest.raises(CryptoError, match="start a new one"):
        spoilt.total()
    assert group.new_sum().total() == IDENTITY


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("count", [1, 9, 700, 2500])
def test_threads_do_not_change_points(path: str, count: int) -> None:
    """One thread, two or seven: the same bytes, the same sums, and the same point is named."""
    points, factors, scalar = random_points("threads", count), random_uniform("f", count)[: 16 * count], 987654321
    bad = points + GENERATOR * 3 + IDENTITY + GENERATOR * 1500 + IDENTITY
    found = set()
    for threads in (1, 2, 7):
        group = RistrettoGroup(path, threads)
        whole = group.new_sum()
        for start in range(0, count, 1100):
            whole.add(points[32 * start : 32 * (start + 1100)], factors[16 * start : 16 * (start + 1100)])
        hashed = group.times_hashed(random_uniform("threads", count), scalar)
        assert hashed == group.times(points, scalar)
        with pytest.raises(CryptoError, match=rf"point {count + 3} "):
            group.times(bad, scalar)
        found.add((hashed, group.add(points, points), whole.total()))
    assert len(found) == 1


def test_threads_do_not_change_what_is_shared() -> None:
    """Several Python threads use one group and one sum at the same time: nothing is lost."""
    points, factors = random_points("shared", 600), random_uniform("shared factors", 600)[: 16 * 600]
    group = RistrettoGroup(threads=2)
    expected, whole = group.times(points, 77), group.new_sum()
    answers: list[bytes] = []

    def work() -> None:
        whole.add(points, factors)
        answers.append(group.times(points, 77))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 4
    single = group.new_sum()
    for _ in range(4):
        single.add(points, factors)
    assert whole.total() == single.total()


def test_sizes_are_checked(group: Group) -> None:
    """A cut-off point, a factor too few, or more points left than right is refused with what was expected."""
    with pytest.raises(CryptoError, match="expected a multiple of 32"):
        group.times(GENERATOR[:-1], 3)
    with pytest.raises(CryptoError, match="expected a multiple of 64"):
        group.times_hashed(GENERATOR * 3)
    with pytest.raises(CryptoError, match="as many points right as left"):
        group.add(GENERATOR * 2, GENERATOR)
    with pytest.raises(CryptoError, match="a factor of 16 bytes for each point"):
        group.new_sum().add(GENERATOR * 2, bytes(16))


def test_the_kernel_refuses_what_is_no_scalar_itself() -> None:
    """Bytes that are zero, or not below the order, never reach the multiplication."""
    for number in (0, ORDER, ORDER + 1, 2**252 + 2**251, 2**256 - 1):
        with pytest.raises(ValueError, match="from 1 to the group's order - 1"):
            _kernel.ristretto_times(PATHS[0], GENERATOR, number.to_bytes(32, "little"), 1)


def test_a_long_call_can_be_interrupted() -> None:
    """Ctrl-C ends a multiplication that would take minutes, whatever thread works, and the process with it."""
    program = (
        "import os, signal, threading\n"
        "from plumbob.crypto.ristretto import GENERATOR, RistrettoGroup\n"
        "try:\n"
        "    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    RistrettoGroup('portable', 2).times(GENERATOR * 8_000_000, 5)\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert finished.stdout == "ended\n"
