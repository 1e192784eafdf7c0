"""Arrays larger than memory: a file without a name, and rows in pieces."""

from pathlib import Path

import numpy as np
import pytest

from plumbob.data import store


def test_a_large_array_is_a_file_without_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its pages belong to a file that nobody can open and that is gone with the array."""
    monkeypatch.setattr(store, "MAPPED_FROM", 8 * 600)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = store.empty(20, 30)
    array[:] = np.arange(600.0).reshape(20, 30)
    assert list(tmp_path.iterdir()) == []
    assert f"{tmp_path}" in mapped_files()
    assert np.array_equal(array[[3, 1], 5], [95.0, 35.0])
    del array
    assert f"{tmp_path}" not in mapped_files()


def test_a_small_array_is_in_memory() -> None:
    """Nothing is written for data that fit."""
    assert store.empty(3, 4).base is None


@pytest.mark.parametrize("mapped_from", [1, 2**20])
def test_stacked_rows_are_those_that_came(monkeypatch: pytest.MonkeyPatch, mapped_from: int) -> None:
    """Rows are stacked as they came, also from views with a stride, fewer than expected, or none."""
    monkeypatch.setattr(store, "MAPPED_FROM", mapped_from)
    wide = np.arange(40.0).reshape(8, 5)[:, :3]
    assert np.array_equal(store.stacked(8, 3, iter([wide[:2], wide[2:]])), wide)
    assert np.array_equal(store.stacked(9, 3, iter([wide])), wide)
    assert store.stacked(0, 3, iter(())).shape == (0, 3)


def mapped_files() -> str:
    """The names of this process's mapped files."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not show what a process has mapped")
    return maps.read_text()


@pytest.mark.parametrize("rows", [0, 1, 6, 7, 8, 20])
def test_pieces_are_all_rows_in_order(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Each row once; no rows are one empty piece."""
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 7)
    pieces = list(store.pieces(rows))
    assert [row for piece in pieces for row in range(rows)[piece]] == list(range(rows))
    assert len(pieces) == max(1, -(-rows // 7))
