"""Lists of points on disk: compared and sorted as Python's own sets and lists are, however they are split."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from plumbob.protocol import point_lists
from plumbob.protocol.point_lists import PointList, PointParts, Scratch, in_common, kept, shuffled


def strings(name: str, count: int) -> list[bytes]:
    """Reproducible, of 32 bytes, as even as encodings are."""
    drawn = hashlib.shake_256(name.encode()).digest(32 * count)
    return [bytes([drawn[at] & 0xFE]) + drawn[at + 1 : at + 32] for at in range(0, len(drawn), 32)]


@pytest.fixture(params=["one part", "256 parts"])
def scratch(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scratch]:
    """Lists in memory, and the same lists split over a file a few points at a time."""
    if request.param == "256 parts":
        monkeypatch.setattr(point_lists, "SMALL", 99)
        monkeypatch.setattr(point_lists, "READ_AT_ONCE", 100)
    with Scratch(tmp_path) as files:
        yield files


def listed(scratch: Scratch, points: Sequence[bytes]) -> PointList:
    """A list in chunks of 7."""
    return kept(scratch, [b"".join(points)], 7)


def test_chunks_come_back_as_they_were(scratch: Scratch) -> None:
    """Pieces of any length become chunks of one length, and what was hashed is all of them."""
    points = strings("chunks", 30)
    found = kept(scratch, [b"".join(points[:1]), b"".join(points[1:20]), b"".join(points[20:])], 7)
    assert list(found) == [b"".join(points[at : at + 7]) for at in range(0, 30, 7)]
    assert (len(found), found.chunk(5)) == (30, b"")
    assert found.digest() == hashlib.sha256(b"".join(points)).digest()


def test_sorted_as_bytes_are(scratch: Scratch) -> None:
    """Part after part gives the whole list sorted, with points that share their first bytes too."""
    points = strings("sorted", 500)
    points += [points[3][:8] + each[8:] for each in points[10:15]]
    random.Random(1).shuffle(points)
    assert b"".join(PointParts(listed(scratch, points), scratch).sorted_points()) == b"".join(sorted(points))
    assert listed(scratch, sorted(points)).is_sorted()
    assert not listed(scratch, points).is_sorted()
    assert not listed(scratch, [*sorted(points), max(points)]).is_sorted()


@pytest.mark.parametrize("sizes", [(300, 300), (300, 5), (5, 300), (0, 300), (300, 0), (3, 2)])
def test_what_lists_have_in_common(sizes: tuple[int, int], scratch: Scratch) -> None:
    """Points and their places are those that Python's sets find, and sorted; lists of any length."""
    left, right = (strings("common", 400)[start : start + size] for start, size in zip((0, 1), sizes, strict=True))
    random.Random(2).shuffle(left)
    parts = [PointParts(listed(scratch, points), scratch) for points in (left, right)]
    records = list(in_common(*parts))
    found = [point.tobytes() for part in records for point in part["point"]]
    assert found == sorted(set(left) & set(right))
    assert [left[place] for part in records for place in part["place"]] == found


def test_points_that_share_their_first_bytes_are_told_apart(scratch: Scratch) -> None:
    """Somebody may make points whose first eight bytes are equal: only equal points are common or repeated."""
    points = strings("alike", 200)
    alike = [points[0][:8] + each[8:] for each in points[:6]]
    left, right = alike[:4] + points[100:], alike[2:] + points[50:150]
    parts = [PointParts(listed(scratch, each), scratch) for each in (left, right)]
    found = [point.tobytes() for part in in_common(*parts) for point in part["point"]]
    assert found == sorted(set(left) & set(right))
    assert parts[0].repeated() == 0
    assert PointParts(listed(scratch, [*left, alike[1], alike[1], points[120]]), scratch).repeated() == 3


def test_three_lists(scratch: Scratch) -> None:
    """What all have, not what two have."""
    points = strings("three", 300)
    lists = points[:200], points[100:], points[50:150]
    found = in_common(*(PointParts(listed(scratch, each), scratch) for each in lists))
    assert b"".join(part["point"].tobytes() for part in found) == b"".join(sorted(points[100:150]))


def test_another_order(scratch: Scratch) -> None:
    """A shuffled list holds the same points where the order says."""
    points = strings("order", 40)
    order = np.random.default_rng(3).permutation(40).astype(np.uint32)
    whole = PointList(scratch.file())
    for chunk in listed(scratch, points):
        whole.append(b"between" * 3)
        whole.spans.pop()
        whole.count = sum(size for _, size in whole.spans) // 32
        whole.append(chunk)
    found = shuffled(whole, order, 7, scratch)
    assert b"".join(found) == b"".join(points[place] for place in order)


def test_scratch_leaves_nothing(tmp_path: Path) -> None:
    """No list can be found in the folder, neither while it is used nor afterwards."""
    with Scratch(tmp_path) as files:
        points = strings("nothing", 10)
        assert b"".join(listed(files, points)) == b"".join(points)
        assert not list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
