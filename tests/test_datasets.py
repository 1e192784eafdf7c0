"""Data sets by name: sizes, units, splits, and what is said when one is not there."""

import csv
import gzip
import hashlib
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from plumbob.errors import DataError
from plumbob.lab import datasets
from tests.command_line import CommandLine

needs_data = pytest.mark.skipif(
    "PLUMBOB_DATA" not in os.environ, reason="PLUMBOB_DATA is not set: the real MNIST and credit files are not tested"
)

ROOT = Path(__file__).parents[1]
LOANS = files("plumbob") / "data_files" / "loans.csv.gz"


@pytest.mark.parametrize(
    ("name", "train", "test", "columns"),
    [("breast-cancer", 455, 114, 30), ("digits-01", 288, 72, 64), ("loans", 3_200, 800, 23)],
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


def test_a_larger_data_set_without_a_folder_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched: the message names what must be set, and what the folder must hold."""
    monkeypatch.delenv("PLUMBOB_DATA", raising=False)
    for name, file in (("credit", "credit"), ("mnist-01", "mnist/")):
        with pytest.raises(DataError, match=rf"PLUMBOB_DATA or --data-dir .*{file}"):
            datasets.load(name)


@needs_data
def test_credit_is_as_published() -> None:
    """27,000 / 3,000 rows of 23 columns in their own units."""
    train, test = datasets.load("credit", "train"), datasets.load("credit", "test")
    assert (train[0].shape, test[0].shape) == ((27_000, 23), (3_000, 23))
    whole = datasets.describe("credit", "all")
    assert whole.X[:, 0].mean() == pytest.approx(167_484.3227, abs=1e-3)
    assert whole.columns[:2] == ("LIMIT_BAL", "SEX")
    assert int(whole.y.sum()) == 6_636


def test_loans_are_as_they_were_drawn() -> None:
    """The bundled rows never change unseen: figures in the documentation rest on them."""
    content = gzip.decompress(LOANS.read_bytes())
    assert hashlib.sha256(content).hexdigest() == "e39bd5bef572a672cc2a9260b9bbf0c89a90a695013ad084a9b9f84e2cf655a8"
    whole = datasets.describe("loans", "all")
    assert int(whole.y.sum()) == 881
    assert [int(datasets.load("loans", part)[1].sum()) for part in ("train", "test")] == [680, 201]
    header, *rows = csv.reader(content.decode().splitlines())
    assert (header[0], *header[1:-1], header[-1]) == ("ID", *whole.columns, "default payment next month")
    assert np.array_equal(np.array(rows, dtype=float)[:, 1:-1], whole.X)


def test_the_split_of_loans_is_that_of_scikit_learn() -> None:
    """The test rows of loans are those of seed 0, as for the other bundled sets."""
    whole = datasets.describe("loans", "all")
    _, expected = train_test_split(whole.X, test_size=0.2, random_state=0)
    assert sorted(map(bytes, datasets.load("loans", "test")[0])) == sorted(map(bytes, expected))


def test_loans_are_small_and_name_their_author() -> None:
    """Their licence asks for the author, the source, the licence and what was changed."""
    assert len(LOANS.read_bytes()) < 150_000
    beside = (files("plumbob") / "data_files" / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    for words in ("Yeh, I. (2009)", "https://doi.org/10.24432/C55S3H", "CC BY 4.0", "licenses/by/4.0", "Changes:"):
        assert words in beside
    assert all(words in str(datasets.load.__doc__) for words in ("Yeh", "10.24432/C55S3H", "CC BY 4.0"))


@needs_data
def test_the_bundled_loans_can_be_drawn_again(tmp_path: Path) -> None:
    """The script in the repository writes the bundled rows, byte for byte, from the published file."""
    again = tmp_path / "loans.csv.gz"
    subprocess.run([sys.executable, ROOT / "tools" / "loans.py", again], check=True, capture_output=True)
    # Builds of zlib compress differently; what they compress is the same.
    assert gzip.decompress(again.read_bytes()) == gzip.decompress(LOANS.read_bytes())
    assert again.read_bytes()[:10] == LOANS.read_bytes()[:10]


def test_without_the_published_file_the_script_says_how_it_is_called(tmp_path: Path) -> None:
    """Without the published file the script writes nothing and says how it is called."""
    environment = {name: value for name, value in os.environ.items() if name != "PLUMBOB_DATA"}
    command = [sys.executable, str(ROOT / "tools" / "loans.py"), str(tmp_path / "loans.csv.gz")]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "PLUMBOB_DATA=FOLDER" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", datasets.PARTS)
def test_tables_of_both_parties_hold_the_data_set(tmp_path: Path, part: str) -> None:
    """Joined by their ids, in their order, the two files are what `load` gives."""
    written = datasets.write_tables("loans", tmp_path / "new" / "folder", part)
    assert {party: file.name for party, file in written.items()} == {"bank": "bank.csv", "processor": "processor.csv"}
    bank, processor = (list(csv.reader(file.read_text().splitlines())) for file in written.values())
    columns = datasets.describe("loans").columns
    assert bank[0] == ["id", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "default"]
    assert processor[0] == ["id", *columns[5:]]
    ids = [row[0] for row in bank[1:]]
    assert ids == [row[0] for row in processor[1:]]
    assert len(set(ids)) == len(ids)
    X, y = datasets.load("loans", part)
    joined = [own[1:-1] + others[1:] for own, others in zip(bank[1:], processor[1:], strict=True)]
    assert np.array_equal(np.array(joined, dtype=float), X)
    assert [int(row[-1]) for row in bank[1:]] == y.tolist()


def test_columns_have_their_usual_owners() -> None:
    """`loans` is cut up as in our examples, other sets as in the paper: the label party has the smaller half."""
    assert datasets.usual_split("loans") == {"bank": 5, "processor": 18}
    assert datasets.usual_split("breast-cancer") == {"label": 15, "features": 15}
    with pytest.raises(DataError, match="no data set 'loan'"):
        datasets.usual_split("loan")


def test_tables_replace_no_other_file(tmp_path: Path) -> None:
    """Written twice they are the same files; somebody's own bank.csv stays, and nothing is written beside it."""
    assert datasets.write_tables("loans", tmp_path / "own") == datasets.write_tables("loans", tmp_path / "own")
    (tmp_path / "processor.csv").write_text("id,secret\n")
    with pytest.raises(DataError, match=r"processor\.csv: there is another file"):
        datasets.write_tables("loans", tmp_path)
    assert (tmp_path / "processor.csv").read_text() == "id,secret\n"
    assert not (tmp_path / "bank.csv").exists()


@pytest.mark.parametrize(("name", "part", "words"), [("credit", "all", "expected loans"), ("loans", "half", "train")])
def test_tables_that_do_not_exist_are_refused(tmp_path: Path, name: str, part: str, words: str) -> None:
    """Only some sets have parties; nothing is written for others."""
    with pytest.raises(DataError, match=words):
        datasets.write_tables(name, tmp_path, part)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_trains_on_loans_by_name_and_from_tables(cli: CommandLine, tmp_path: Path) -> None:
    """Without a plan the columns belong to whom our examples give them; both ways have the same quality on the same 800
    clients, and the processor's columns help the bank.
    """
    parts = {part: datasets.write_tables("loans", tmp_path / part, part) for part in ("train", "test")}
    training = [word for party, file in parts["train"].items() for word in ("--data", f"{party}={file}")]
    test = [word for party, file in parts["test"].items() for word in ("--test", f"{party}={file}")]
    # In the clear, because that is quick and exact.
    keys = [
        "--protocol",
        "clear",
        "--set",
        "scale=whitened",
        "--set",
        "batches=full",
        "--set",
        "learning_rate=0",
        "--set",
        "seed=1",
    ]
    keys.append("--accept-leaks")
    by_name = cli.answer("train", "--data", "loans", *keys, "--out", str(tmp_path / "named"))
    assert [party["name"] for party in by_name["parties"]] == ["bank", "processor"]
    # Of files, numbers are put into bins unless that is refused.
    named = ["--id", "id", "--label", "default", "--bins", "0", "--out", str(tmp_path / "files")]
    from_files = cli.answer("train", *training, *test, *keys, *named)
    assert (by_name["rows"], by_name["test_rows"]) == (3_200, 800)
    quality = by_name["quality"]["test part"]
    assert from_files["quality"]["test part"]["joint"]["auc"] == pytest.approx(quality["joint"]["auc"], abs=1e-3)
    assert quality["joint"]["auc"] > quality["local-only"]["auc"] + 0.03


@needs_data
def test_mnist_is_as_published() -> None:
    """The published parts of zeros and ones, as pixel / 255."""
    X, y = datasets.load("mnist-01", "train")
    assert (X.shape, int((y == 0).sum())) == ((12_665, 784), 5_923)
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert np.allclose(np.rint(X * 255), X * 255)
    X, y = datasets.load("mnist-01", "test")
    assert (X.shape, int((y == 0).sum())) == ((2_115, 784), 980)


def test_flags_about_columns_need_files(cli: CommandLine) -> None:
    """A bundled data set has no column to drop or to weight by, and says so instead of leaving the flag out."""
    assert cli("train", "--features", "5,18", "--data", "loans", "--weight", "w") == 1
    assert "--data loans: a bundled data set is taken as it is" in cli.err
