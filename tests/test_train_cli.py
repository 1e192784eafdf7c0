"""`plumbob train` as a process that is interrupted, or has no room: what it then leaves, and what it tells."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plumbob.cli import INTERRUPTED
from plumbob.errors import ROOM_ADVICE
from plumbob.run_folder import RunFolder
from tests.command_line import CommandLine
from tests.party.test_full_disk import CAN_MOUNT, small_disk
from tests.test_cli import assert_marked

USUAL = "from plumbob.cli import main; main()"

SMALL = [
    "--features",
    "2,3",
    "--batch-size",
    "16",
    "--epochs",
    "4",
    "--set",
    "key_bits=640",
    "--set",
    "test_only_keys=true",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two small files, always the same, as the command line names them."""
    folder, generator = tmp_path_factory.mktemp("data"), np.random.default_rng(20)
    X = generator.normal(size=(40, 5))
    y = (X @ np.linspace(-1.0, 1.0, 5) + generator.normal(size=40) > 0).astype(int)
    ids = [f"p{row}" for row in range(40)]
    bank = [f"{name},{a},{b},{label}" for name, (a, b), label in zip(ids, X[:, :2].tolist(), y, strict=True)]
    fund = [f"{name},{','.join(map(str, row))}" for name, row in zip(ids, X[:, 2:].tolist(), strict=True)]
    (folder / "bank.csv").write_text("\n".join(["id,a,b,y", *bank]))
    (folder / "fund.csv").write_text("\n".join(["id,c,d,e", *fund]))
    files = [f"label={folder / 'bank.csv'}", f"features={folder / 'fund.csv'}"]
    return ["--data", *files, "--id", "id", "--label", "y", "--accept-leaks", "--set", "seed=5"]


def test_an_interrupted_run_says_so_and_begins_again(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """Ctrl-C leaves a record with how far it came; the same folder then takes another run, without --new."""
    command = ["train", *SMALL, "--protocol", "exchange", *data, "--out", str(tmp_path)]
    long = [*command, "--epochs", "100000"]
    with subprocess.Popen([sys.executable, "-c", USUAL, *long], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "step" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == INTERRUPTED
    assert_marked(tmp_path, said)
    assert RunFolder(tmp_path).record().accepted_leaks
    assert cli(*command, "--epochs", "2", "--quiet") == 0
    assert RunFolder(tmp_path).record().steps == 4
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.skipif(not CAN_MOUNT, reason="needs root to mount a small file system")
def test_a_full_disk(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """Wherever the room ends, it is one sentence; with more room the same command comes to its end."""
    out = tmp_path / "out"
    command = ["train", *SMALL, "--protocol", "clear", *data, "--epochs", "10", "--out", str(out), "--quiet"]
    complaints = []
    with small_disk(out) as disk:
        for pages in range(4, 400, 8):
            disk.grow(pages)
            if cli(*command) == 0:
                break
            complaints.append(cli.err)
        assert RunFolder(out).record().is_finished
    assert all(complaint.startswith("plumbob: ") and complaint.count("\n") == 1 for complaint in complaints)
    assert complaints
    assert all(ROOM_ADVICE in complaint for complaint in complaints)


@pytest.mark.parametrize("verb", ["train", "audit --only label-sign"])
def test_rows_that_are_left_out_are_told(cli: CommandLine, verb: str, data: list[str], tmp_path: Path) -> None:
    """They are told once, under --quiet too; not where all rows are common."""
    command = [*verb.split(), *SMALL, "--protocol", "clear", *data, "--epochs", "1", "--out", str(tmp_path / "run")]
    assert cli(*command) in {0, 3, 4}
    assert "in common" not in cli.err
    fund = Path(data[2].removeprefix("features="))
    (tmp_path / "fund.csv").write_text("\n".join(fund.read_text().splitlines()[:-1]))
    command[command.index(data[2])] = f"features={tmp_path / 'fund.csv'}"
    command.append("--new")
    assert cli(*command) in {0, 3, 4}
    printed = cli.read()
    assert printed.err.count("39 rows in common (label 40, features 39); the others are left out\n") == 1
    assert "in common" not in printed.out
    assert cli(*command, "--quiet", "--json") in {0, 3, 4}
    assert cli.err == "39 rows in common (label 40, features 39); the others are left out\n"


def test_rows_that_cannot_be_predicted_are_told(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """A row that one party lacks has no score, and the answer says how many have one."""
    run, fund = tmp_path / "run", Path(data[2].removeprefix("features="))
    assert cli("train", *SMALL, "--protocol", "clear", *data, "--out", str(run)) == 0
    (tmp_path / "fund.csv").write_text("\n".join(fund.read_text().splitlines()[:-2]))
    given = [data[1], f"features={tmp_path / 'fund.csv'}", "--id", "id", "--out", str(tmp_path / "scores.csv")]
    cli.read()
    assert cli("predict", str(run), "--data", *given) == 0
    assert "38 rows in common (label 40, features 38); the others are left out" in cli.out
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 1 + 38
