"""Known data sets by name: one bundled here, two with scikit-learn, two read from a folder.

Values are in the file's own units (MNIST as pixel / 255) and column order, labels are 0/1, no id column, nothing is
standardised. Where a set has no published test part, the split is scikit-learn's `train_test_split` with seed 0.
"""

import csv
import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Labels, Matrix
from plumbob.errors import DataError
from plumbob.extras import named_extras

PARTS = ("train", "test", "all")
CREDIT_FILE = "credit/UCI_Credit_Card.csv.gz"
CREDIT_COLUMNS = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)
LOANS_FILE = Path(__file__).parents[1] / "data_files" / "loans.csv.gz"
LOANS_LABEL = "default payment next month"
LOANS_ROWS = 4_000
LOANS_PARTIES = {"bank": CREDIT_COLUMNS[:5], "processor": CREDIT_COLUMNS[5:]}
"""Who holds which columns in our examples; the bank also holds the label."""
MNIST_COLUMNS = tuple(f"pixel{place}" for place in range(1, 785))


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """One part of a data set with the names of its columns."""

    X: Matrix
    y: Labels
    columns: tuple[str, ...]


def load(name: str, part: str = "train", data_dir: str | Path | None = None) -> tuple[Matrix, Labels]:
    """(X, y) of a data set's part: `train`, `test` or `all`. `data_dir` wins over PLUMBOB_DATA.

    `loans` is a random sample of 4,000 rows of "Default of Credit Card Clients" by I-Cheng Yeh (UCI, 2009,
    doi:10.24432/C55S3H), under CC BY 4.0.
    """
    data = describe(name, part, data_dir)
    return data.X, data.y


def describe(name: str, part: str = "train", data_dir: str | Path | None = None) -> Dataset:
    """The same as `load`, with the names of the columns."""
    if name not in _LOADERS:
        raise DataError(f"no data set {name!r}; there are {', '.join(_LOADERS)}")
    _refuse_unknown_part(part)
    folder = data_dir or os.environ.get("PLUMBOB_DATA")
    whole, is_test = _LOADERS[name](Path(folder) if folder else None)
    rows = _rows_of(part, is_test)
    return Dataset(whole.X[rows], whole.y[rows], whole.columns)


def names() -> tuple[str, ...]:
    """The names of the data sets that can be loaded."""
    return tuple(_LOADERS)


def usual_split(name: str, data_dir: str | Path | None = None) -> dict[str, int]:
    """Columns by party, where nobody says how many: `loans` as in our examples, others as the paper halves them.

    The paper gives the label party the first half, the smaller one where they cannot be equal.
    """
    if name == "loans":
        return {party: len(columns) for party, columns in LOANS_PARTIES.items()}
    columns = len(describe(name, data_dir=data_dir).columns)
    return {"label": columns // 2, "features": columns - columns // 2}


def write_tables(name: str, folder: str | Path, part: str = "all") -> dict[str, Path]:
    """Write a CSV file for each party of a data set, for tutorials; returns the files by party.

    Of `loans`: `bank.csv` (`id`, five columns, the label `default`) and `processor.csv` (`id`, 18 columns).
    """
    if name != "loans":
        raise DataError(f"the columns of {name!r} belong to no parties; expected loans")
    _refuse_unknown_part(part)
    with gzip.open(LOANS_FILE, "rt", encoding="ascii", newline="") as file:
        clients = list(csv.DictReader(file))
    rows = np.flatnonzero(_rows_of(part, _loans_test_rows()))
    files = {}
    for party, columns in LOANS_PARTIES.items():
        titles = {"ID": "id", **{column: column for column in columns}}
        if party == "bank":
            titles[LOANS_LABEL] = "default"
        lines = [titles.values(), *([clients[row][column] for column in titles] for row in rows)]
        files[Path(folder) / f"{party}.csv"] = "".join(f"{','.join(cells)}\n" for cells in lines).encode()
    _write_new(files)
    return dict(zip(LOANS_PARTIES, files, strict=True))


def _write_new(files: dict[Path, bytes]) -> None:
    """Write new files only: one of the same name may be somebody's own, and then nothing is written."""
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise DataError(f"{path}: there is another file of this name; name a new folder, or move the file away")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _refuse_unknown_part(part: str) -> None:
    if part not in PARTS:
        raise DataError(f"no part {part!r}; there are {', '.join(PARTS)}")


def _rows_of(part: str, is_test: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.full(len(is_test), True) if part == "all" else is_test == (part == "test")


def _loans(_folder: Path | None) -> tuple[Dataset, NDArray[np.bool_]]:
    """A random sample of "Default of Credit Card Clients" that tools/loans.py drew.

    Yeh, I. (2009). Default of Credit Card Clients [Dataset]. UCI Machine Learning Repository.
    https://doi.org/10.24432/C55S3H. Licence: CC BY 4.0. More is said in data_files/ATTRIBUTION.txt.
    """
    return _credit_table(LOANS_FILE), _loans_test_rows()


def _loans_test_rows() -> NDArray[np.bool_]:
    return _drawn_test_rows(LOANS_ROWS, LOANS_ROWS // 5)


def _breast_cancer(_folder: Path | None) -> tuple[Dataset, NDArray[np.bool_]]:
    with named_extras("breast-cancer"):
        from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    columns = tuple(str(name) for name in found.feature_names)
    whole = Dataset(found.data.astype(np.float64), found.target.astype(np.int8), columns)
    return whole, _drawn_test_rows(len(whole.y), -(-len(whole.y) // 5))


def _digits(_folder: Path | None) -> tuple[Dataset, NDArray[np.bool_]]:
    with named_extras("digits-01"):
        from sklearn.datasets import load_digits

    found = load_digits()
    is_01 = found.target <= 1
    whole = Dataset(
        found.data[is_01].astype(np.float64), found.target[is_01].astype(np.int8), tuple(found.feature_names)
    )
    return whole, _drawn_test_rows(len(whole.y), -(-len(whole.y) // 5))


def _credit(folder: Path | None) -> tuple[Dataset, NDArray[np.bool_]]:
    whole = _credit_table(_existing(_named(folder, "credit") / CREDIT_FILE))
    _require_counts("credit", whole, rows=30_000, positives=6_636)
    return whole, _drawn_test_rows(30_000, 3_000)


def _credit_table(path: Path) -> Dataset:
    """The table of credit clients: an id, the columns, the label."""
    with gzip.open(path, "rt") as file:
        cells = np.loadtxt(file, delimiter=",", skiprows=1)
    return Dataset(cells[:, 1:-1], cells[:, -1].astype(np.int8), CREDIT_COLUMNS)


def _mnist(folder: Path | None) -> tuple[Dataset, NDArray[np.bool_]]:
    place, parts = _named(folder, "mnist-01"), ("train", "t10k")
    pixels = np.concatenate([_idx(place / f"mnist/{part}-images-idx3-ubyte.gz") for part in parts])
    digits = np.concatenate([_idx(place / f"mnist/{part}-labels-idx1-ubyte.gz") for part in parts])
    rows = np.flatnonzero(digits <= 1)
    X = pixels[rows].reshape(len(rows), 784).astype(np.float64) / 255.0
    whole = Dataset(X, digits[rows].astype(np.int8), MNIST_COLUMNS)
    _require_counts("mnist-01", whole, rows=14_780, positives=7_877)
    # The 60,000 published training images come first.
    return whole, rows >= 60_000


def _idx(path: Path) -> NDArray[np.uint8]:
    """An IDX file of bytes: two zeros, type 8, the number of dimensions, each as a big-endian word, then the data."""
    with gzip.open(_existing(path)) as file:
        content = file.read()
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">u4", n_dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape.astype(int))


def _drawn_test_rows(n_rows: int, n_test: int) -> NDArray[np.bool_]:
    """The rows that `train_test_split(..., test_size=n_test, random_state=0)` puts into the test part."""
    is_test = np.zeros(n_rows, dtype=bool)
    # The old generator, because scikit-learn draws with it and its stream never changes.
    is_test[np.random.RandomState(0).permutation(n_rows)[:n_test]] = True
    return is_test


def _named(folder: Path | None, name: str) -> Path:
    """The folder of the larger data sets; DataError where nobody named one."""
    if folder is None:
        file = "mnist/" if name == "mnist-01" else CREDIT_FILE
        raise DataError(f"{name} is not in the package; set PLUMBOB_DATA or --data-dir to a folder that holds {file}")
    return folder


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; PLUMBOB_DATA or --data-dir must hold credit/ and mnist/")
    return path


def _require_counts(name: str, data: Dataset, rows: int, positives: int) -> None:
    found = (len(data.y), int((data.y == 1).sum()), data.X.shape[1])
    if found != (rows, positives, len(data.columns)):
        expected = (rows, positives, len(data.columns))
        raise DataError(f"{name}: expected (rows, positives, columns) {expected}, got {found}: another version?")


_LOADERS: dict[str, Callable[[Path | None], tuple[Dataset, NDArray[np.bool_]]]] = {
    "loans": _loans,
    "breast-cancer": _breast_cancer,
    "digits-01": _digits,
    "mnist-01": _mnist,
    "credit": _credit,
}
