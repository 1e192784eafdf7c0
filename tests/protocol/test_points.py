"""Lists of points: sorted as bytes are, compared in full, whatever somebody makes of their first bytes."""

import hashlib
import random
from collections.abc import Sequence

import numpy as np
import pytest

from plumbob.protocol.points import SortedPoints, shuffle


def strings(seed: str, count: int) -> list[bytes]:
    """Different strings of 32 bytes, as uniform as points."""
    return [hashlib.sha256(f"{seed} {number}".encode()).digest() for number in range(count)]


def listed(points: Sequence[bytes]) -> SortedPoints:
    """These points as a party holds them."""
    return SortedPoints(b"".join(points))


def common(first: SortedPoints, *others: SortedPoints) -> list[bytes]:
    """The points that all have, in the order in which they are found."""
    return [point.tobytes() for point in first.points[first.are_in(*others)]]


def test_sorted_as_bytes_are() -> None:
    """The order is that of Python's bytes, with points that share their first bytes too."""
    points = strings("sorted", 500)
    points += [points[3][:8] + each[8:] for each in points[10:15]]
    random.Random(1).shuffle(points)
    found = listed(points)
    assert found.points.tobytes() == b"".join(sorted(points))
    assert [points[place] for place in found.places] == sorted(points)
    assert not found.is_as_it_came
    assert listed(sorted(points)).is_as_it_came
    assert not listed([*sorted(points), max(points)]).is_as_it_came


@pytest.mark.parametrize("sizes", [(300, 300), (300, 5), (5, 300), (0, 300), (300, 0), (3, 2)])
def test_what_lists_have_in_common(sizes: tuple[int, int]) -> None:
    """Points and their places are those that Python's sets find, and sorted; lists of any length."""
    left, right = (strings("common", 400)[start : start + size] for start, size in zip((0, 1), sizes, strict=True))
    random.Random(2).shuffle(left)
    own, other = listed(left), listed(right)
    found = common(own, other)
    assert found == sorted(set(left) & set(right))
    assert [left[place] for place in own.places[own.are_in(other)]] == found


def test_points_that_share_their_first_bytes_are_told_apart() -> None:
    """Somebody may make points whose first eight bytes are equal: only equal points are common or repeated."""
    points = strings("alike", 200)
    alike = [points[0][:8] + each[8:] for each in points[:6]]
    left, right = alike[:4] + points[100:], alike[2:] + points[50:150]
    assert common(listed(left), listed(right)) == sorted(set(left) & set(right))
    assert listed(left).count_repeats() == 0
    assert listed([*left, alike[1], alike[1], points[120]]).count_repeats() == 3


def test_three_lists() -> None:
    """What all have, not what two have."""
    points = strings("three", 300)
    assert common(*map(listed, (points[:200], points[100:], points[50:150]))) == sorted(points[100:150])


def test_another_order() -> None:
    """A shuffled list holds the same points where the order says."""
    points = strings("order", 40)
    order = np.random.default_rng(3).permutation(40).astype(np.uint32)
    assert shuffle(b"".join(points), order) == b"".join(points[place] for place in order)
