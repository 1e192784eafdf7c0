"""Data sets by name: sizes, units, splits, and what is said when one is not there."""

import os
import urllib.error
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from plumbob import datasets
from plumbob.errors import DataError

needs_data = pytest.mark.skipif(
    "PLUMBOB_DATA" not in os.environ, reason="PLUMBOB_DATA is not set: the real MNIST and credit files are not tested"
)


@pytest.mark.parametrize(
    ("name", "train", "test", "columns"), [("breast-cancer", 455, 114, 30), ("digits-01", 288, 72, 64)]
)
def test_bundled_sets_have_their_documented_parts(name: str, train: int, test: int, columns: int) -> None:
    """Train and test are 80 / 20, float64 and 0/1, and together they are all."""
    parts = {part: datasets.load(name, part) for part in datasets.PARTS}
    assert [len(parts[part][1]) for part in datasets.PARTS] == [train, test, train + test]
    for X, y in parts.values():
        assert X.dtype == np.float64
        assert X.shape == (len(y), columns)
        assert set(np.unique(y)) == {0, 1}
    rows = {X.tobytes() for part in ("train", "test") for X in parts[part][0]}
    assert rows == {X.tobytes() for X in parts["all"][0]}


def test_the_split_is_that_of_scikit_learn() -> None:
    """Users who split the same data themselves with seed 0 get the same test rows."""
    X, y = load_breast_cancer(return_X_y=True)
    _, expected, _, labels = train_test_split(X, y, test_size=0.2, random_state=0)
    found, found_labels = datasets.load("breast-cancer", "test")
    assert sorted(map(bytes, found)) == sorted(map(bytes, expected))
    assert found_labels.sum() == labels.sum()


def test_columns_have_names() -> None:
    """The described set has one name a column."""
    data = datasets.describe("breast-cancer")
    assert data.columns[0] == "mean radius"
    assert len(data.columns) == data.X.shape[1]


@pytest.mark.parametrize(("name", "part", "words"), [("iris", "train", "breast-cancer"), ("credit", "half", "test")])
def test_unknown_names_are_refused(name: str, part: str, words: str) -> None:
    """An unknown set or part is refused with those that exist."""
    with pytest.raises(DataError, match=words):
        datasets.load(name, part)


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    """A named folder is not silently replaced by a download."""
    for name in ("credit", "mnist-01"):
        with pytest.raises(DataError, match="no such file"):
            datasets.load(name, data_dir=tmp_path)


def test_without_a_network_the_message_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither folder nor network: the error names the variable and the option."""

    def unreachable(*_arguments: Any, **_options: Any) -> None:
        raise urllib.error.URLError("no route")

    monkeypatch.delenv("PLUMBOB_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(DataError, match=r"PLUMBOB_DATA or --data-dir"):
        datasets.load("credit")


@needs_data
def test_credit_is_as_published() -> None:
    """27,000 / 3,000 rows of 23 columns in their own units."""
    train, test = datasets.load("credit", "train"), datasets.load("credit", "test")
    assert (train[0].shape, test[0].shape) == ((27_000, 23), (3_000, 23))
    whole = datasets.describe("credit", "all")
    assert whole.X[:, 0].mean() == pytest.approx(167_484.3227, abs=1e-3)
    assert whole.columns[:2] == ("LIMIT_BAL", "SEX")
    assert int(whole.y.sum()) == 6_636


@needs_data
def test_mnist_is_as_published() -> None:
    """The published parts of zeros and ones, as pixel / 255."""
    X, y = datasets.load("mnist-01", "train")
    assert (X.shape, int((y == 0).sum())) == ((12_665, 784), 5_923)
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert np.allclose(np.rint(X * 255), X * 255)
    X, y = datasets.load("mnist-01", "test")
    assert (X.shape, int((y == 0).sum())) == ((2_115, 784), 980)
