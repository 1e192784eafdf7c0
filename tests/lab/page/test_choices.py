"""What the page offers is what there is."""

import os
from pathlib import Path

import pytest

from plumbob import datasets
from plumbob.lab.page.drafts import SHAPES, DatasetShape, controls, shape_like, shapes_here
from plumbob.plan import KEYS


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_data_sets_numbers_are_right(shape: DatasetShape) -> None:
    """They are written down, so that a plan can be checked before anything is read; here they are read."""
    if shape.name in ("credit", "mnist-01") and not os.environ.get("PLUMBOB_DATA"):
        pytest.skip("PLUMBOB_DATA is not set: the larger data sets are not here")
    assert datasets.load(shape.name)[0].shape == (shape.rows, shape.columns)


def test_all_data_sets_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once; those that are not on this machine are named, and cannot be chosen."""
    monkeypatch.delenv("PLUMBOB_DATA", raising=False)
    assert {shape.name for shape in SHAPES} == set(datasets.names())
    here = {one["name"]: one["is_here"] for one in shapes_here(None)}
    assert here == {"breast-cancer": True, "digits-01": True, "loans": True, "credit": False, "mnist-01": False}
    (tmp_path / "mnist").mkdir()
    assert {one["name"]: one["is_here"] for one in shapes_here(tmp_path)} == {**here, "mnist-01": True}


def test_every_key_has_a_control() -> None:
    """Every key has a control, except the rows, which are the data's."""
    assert [one["name"] for one in controls()] == [key.name for key in KEYS if key.name != "rows"]


def test_a_runs_data_are_known_by_their_numbers() -> None:
    """A record does not say where its rows came from; other numbers are nobody's."""
    assert shape_like(27_000, 23) == "credit"
    assert shape_like(27_000, 24) == ""
