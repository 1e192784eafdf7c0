"""Streams are ChaCha20's, and what is drawn from them is distributed as the proof says."""

import numpy as np
import pytest

from plumbob.crypto.lattice import LatticeEngine, sets, streams
from plumbob.crypto.lattice.sets import LARGEST_ERROR

KEY = bytes(range(32))


def test_the_stream_is_that_of_the_standard() -> None:
    """The first block is that of RFC 8439, section 2.3.2 with counter 0: computed here from its definition."""
    assert streams.keystream(KEY, 7, 3, 64) == chacha20_block(KEY, (0, 3, 7, 0))
    assert streams.keystream(KEY, 7, 3, 200)[64:128] == chacha20_block(KEY, (1, 3, 7, 0))


def chacha20_block(key: bytes, last: tuple[int, int, int, int]) -> bytes:
    """RFC 8439, section 2.3, word by word."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *np.frombuffer(key, dtype="<u4").tolist(), *last]
    words = list(start)
    columns = [(k, 4 + k, 8 + k, 12 + k) for k in range(4)]
    diagonals = [(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4) for k in range(4)]
    for _ in range(10):
        for a, b, c, d in (*columns, *diagonals):
            for target, other, mixed, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                words[target] = (words[target] + words[other]) & 0xFFFFFFFF
                value = words[mixed] ^ words[target]
                words[mixed] = (value << turn | value >> (32 - turn)) & 0xFFFFFFFF
    return b"".join(((x + y) & 0xFFFFFFFF).to_bytes(4, "little") for x, y in zip(words, start, strict=True))


def test_streams_with_different_names_differ() -> None:
    """Key, index and part all name a stream."""
    names = [(KEY, 0, 0), (KEY, 1, 0), (KEY, 0, 1), (bytes(32), 0, 0), (KEY, 1 << 32, 0)]
    assert len({streams.keystream(*name, 64) for name in names}) == len(names)


def test_refused_words_are_skipped_in_order() -> None:
    """Below a bound that refuses a third of the words, exactly the words below it remain, in their order."""
    bound = 3 << 48
    words = np.frombuffer(streams.keystream(KEY, 0, 0, 8 * 4096), dtype="<u8") & np.uint64((1 << 50) - 1)
    drawn = streams.uniform(KEY, 0, 0, bound, 2000)
    assert (drawn == words[words < bound][:2000]).all()


def test_ternary_values_are_uniform() -> None:
    """Each value takes a third of the draws, within five standard deviations."""
    drawn = streams.ternary(KEY, 0, 300_000)
    for value in (-1, 0, 1):
        assert abs(int((drawn == value).sum()) - 100_000) < 5 * 260


def test_errors_have_their_width_and_their_bound() -> None:
    """Mean 0, variance 10.5, and nothing above 21."""
    drawn = streams.errors(KEY, 0, 300_000)
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.var() - 10.5) < 0.15
    assert int(abs(drawn).max()) <= LARGEST_ERROR


@pytest.mark.parametrize("part", [0, 1])
def test_uniform_polynomials_are_uniform(lattice_engine: LatticeEngine, part: int) -> None:
    """Sixteenths of the range are hit equally often, in every prime."""
    drawn = lattice_engine.uniform(sets.SCORES, KEY)[part]
    counts = np.bincount((drawn >> np.uint64(46)).astype(np.int64), minlength=16)
    assert int(drawn.max()) < sets.SCORES.primes[part]
    assert abs(counts - 256).max() < 6 * 16
