"""`plumbob train` as a process that is killed without warning, interrupted, started again: what it then leaves."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from plumbob.cli import INTERRUPTED
from plumbob.errors import ROOM_ADVICE
from plumbob.lab.simulate import Run, checkpoint
from plumbob.protocol.channel import Channel
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.protocol.transcript import Transcript
from plumbob.run_folder import JOURNAL, UNFINISHED, RunFolder
from tests.command_line import CommandLine
from tests.party.processes import PATIENCE, context
from tests.party.test_full_disk import CAN_MOUNT, small_disk
from tests.party.verbs import Circumstances, run_command
from tests.test_cli import assert_marked

METHODS: dict[str, tuple[type, str]] = {
    "send": (Channel, "send"),
    "write": (SqliteJournal, "flush"),
    "save": (Run, "save"),
}
USUAL = "from plumbob.cli import main; main()"

SMALL = ["--features", "2,3", "--batch-size", "16", "--epochs", "4", "--key-bits", "640", "--test-only-keys"]
RUNS = {
    "clear": ["--protocol", "clear"],
    "exchange": ["--protocol", "exchange"],
    "shares": ["--protocol", "shares", "--open", "own", "--epochs", "8"],
    "noise with a budget": ["--protocol", "exchange", "--noise", "sound", "--epsilon", "4", "--row-norm", "1"],
}
MOMENTS = {
    # Before anything was kept; before, and so after, a step was written; in the middle of one; when all was calculated.
    "clear": [("write", 1), ("write", 3), ("save", 1)],
    "exchange": [("write", 3), ("send", 30), ("save", 1)],
    "shares": [("send", 3), ("send", 30), ("save", 1)],
    "noise with a budget": [("send", 30), ("write", 2)],
}
STEPS = 8


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
    return ["--data", *files, "--id", "id", "--label", "y", "--accept-leaks", "--seed", "5"]


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it complained of."""

    returncode: int | None
    stderr: str


def plumbob(*words: str, dies_at: tuple[str, int] | None = None) -> Ended:
    """Run `plumbob WORDS` in its own process to its end; with `dies_at`, to the nth call of that method."""
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=type_words, args=(["plumbob", *words], Path(folder), dies_at), daemon=True)
        process.start()
        process.join(PATIENCE)
        return Ended(process.exitcode, (Path(folder) / "stderr").read_text(encoding="utf-8"))


def type_words(words: list[str], place: Path, dies_at: tuple[str, int] | None) -> None:
    """What the process runs."""
    if dies_at is not None:
        checkpoint.SECONDS_BETWEEN_WRITES = checkpoint.REST = 0.0
        die_at(*dies_at)
    run_command(words, place, Circumstances())


def die_at(moment: str, calls: int) -> None:
    """Every step is written, and this process kills itself at the nth call of the method."""
    owner, name = METHODS[moment]
    method, left = getattr(owner, name), iter(range(calls - 1))

    def deadly(*values: object) -> object:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*values)

    setattr(owner, name, deadly)


@pytest.mark.parametrize("name", RUNS)
def test_killed_at_any_moment(cli: CommandLine, name: str, data: list[str], tmp_path: Path) -> None:
    """Killed again and again, the run ends as one that was left alone, and nothing secret stays behind."""
    command = ["train", *SMALL, *RUNS[name], *data]
    out = tmp_path / "killed"
    for moment in MOMENTS[name]:
        killed = plumbob(*command, "--out", str(out), dies_at=moment)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert RunFolder(out).record().status == "running"
        assert RunFolder(out).record().accepted_leaks
        assert (out / UNFINISHED / JOURNAL).exists()
    ended = plumbob(*command, "--out", str(out))
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"resuming after (step|pass) \d", ended.stderr)
    assert cli(*command, "--out", str(tmp_path / "whole"), "--quiet") == 0
    assert_same(out, tmp_path / "whole", is_noisy="noise" in name)
    assert not list(out.rglob(".*"))


def assert_same(one: Path, other: Path, *, is_noisy: bool) -> None:
    """Weights and sums where no chance is in them; counts, steps and budget always; the same files."""
    assert {file.relative_to(one) for file in one.rglob("*")} == {file.relative_to(other) for file in other.rglob("*")}
    ours, theirs = RunFolder(one).record(), RunFolder(other).record()
    assert ours.is_finished
    assert (ours.steps, ours.rows, ours.seed, ours.plan, ours.notes) == (STEPS, 40, theirs.seed, theirs.plan, [])
    counts = ["messages_sent", "bytes_sent", "noise_draws"]
    # How many messages test the keys of shares is drawn by lot.
    counts = counts[2:] if ours.protocol == "shares" else counts
    for mine, their in zip(ours.parties, theirs.parties, strict=True):
        for count in counts:
            assert getattr(mine, count) == getattr(their, count)
    for name in ("label", "features"):
        here, there = (Transcript.load(run / "parties" / name / "transcript.npz") for run in (one, other))
        assert here.sums.shape == there.sums.shape
        if not is_noisy:
            assert np.array_equal(here.sums, there.sums)
            # The shares' rounding is a matter of chance, in every pass; both are opened to one unit of 2**-20.
            assert np.abs(here.weights - there.weights).max() <= (2.0**-18 if ours.protocol == "shares" else 0.0)
    if not is_noisy and ours.protocol != "shares":
        assert ours.quality == theirs.quality
        assert ours.epochs == theirs.epochs


def test_killed_from_outside(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """The installed program, killed once something was kept, resumes from there."""
    command = ["train", *SMALL, "--protocol", "exchange", *data, "--epochs", "400", "--out", str(tmp_path), "--quiet"]
    with subprocess.Popen([sys.executable, "-c", USUAL, *command]) as process:
        step = wait_for_a_step(tmp_path / UNFINISHED / JOURNAL)
        process.kill()
    ended = plumbob(*[word for word in command if word != "--quiet"])
    assert ended.returncode == 0, ended.stderr
    assert step > 0
    going_on = next(line for line in ended.stderr.splitlines() if line.startswith("resuming after step"))
    assert int(going_on.split()[3]) >= step
    assert cli(*command[:-2], str(tmp_path / "whole"), "--quiet") == 0
    for name in ("label", "features"):
        here, there = (
            Transcript.load(run / "parties" / name / "transcript.npz") for run in (tmp_path, tmp_path / "whole")
        )
        assert np.array_equal(here.sums, there.sums)
        assert np.array_equal(here.weights, there.weights)


def test_a_run_is_on_the_disk_before_its_checkpoint_goes(
    cli: CommandLine, data: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A loss of power after that loses no file of it, and no name of one."""
    out, written, remove = tmp_path / "run", set[int](), shutil.rmtree
    at_the_end: list[set[Path]] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        written.add(os.fstat(handle).st_ino)

    def removed(path: Path) -> None:
        files = [out, *(file for file in out.rglob("*") if UNFINISHED not in file.parts)]
        at_the_end.append({file for file in files if file.stat().st_ino not in written})
        remove(path)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(shutil, "rmtree", removed)
    assert cli("train", *SMALL, *RUNS["clear"], *data, "--out", str(out)) == 0
    assert at_the_end == [set()]
    assert (out / "parties").exists()


def wait_for_a_step(file: Path) -> int:
    """The first step that another process kept."""
    for _ in range(1200):
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            (step,) = database.execute("SELECT MAX(step) FROM results").fetchone()
            if step is not None:
                return int(step)
        time.sleep(0.1)
    raise AssertionError("no step was kept in two minutes")


def test_an_interrupted_run_says_how_to_go_on(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """Ctrl-C names the command; another plan is refused, --new begins anew, and both leave a whole folder."""
    out = tmp_path / "a run"
    command = ["train", *SMALL, "--protocol", "exchange", *data, "--epochs", "100000", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", USUAL, *command, "--new"], stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_a_step(out / UNFINISHED / JOURNAL)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == INTERRUPTED
    assert "to resume from step " in said
    assert f": plumbob train --features 2,3 {' '.join(SMALL[2:])} --protocol exchange --data " in said
    assert said.endswith(f"--out '{out}'\n")
    assert_marked(out, said)
    assert RunFolder(out).record().accepted_leaks
    other = [*command, "--epochs", "2"]
    assert cli(*other) == 1
    assert "an interrupted run with a different plan; restore it to resume" in cli.err
    assert RunFolder(out).record().status.startswith("interrupted at step ")
    assert cli(*other, "--new") == 0
    assert RunFolder(out).record().steps == 4
    assert not (out / UNFINISHED).exists()


def test_a_folder_that_cannot_be_used(cli: CommandLine, data: list[str], tmp_path: Path) -> None:
    """A file in its place, or a folder that others can look into: one sentence, and no run."""
    command = ["train", *SMALL, "--protocol", "clear", *data, "--out", str(tmp_path)]
    (tmp_path / UNFINISHED).touch(mode=0o600)
    assert cli(*command) == 1
    (tmp_path / UNFINISHED).unlink()
    (tmp_path / UNFINISHED).mkdir()
    (tmp_path / UNFINISHED).chmod(0o755)
    assert cli(*command) == 1
    complaints = cli.err.splitlines()
    assert len(complaints) == 2
    assert all(line.startswith("plumbob: ") and UNFINISHED in line for line in complaints)
    assert not (tmp_path / "run.json").exists()


@pytest.mark.skipif(not CAN_MOUNT, reason="needs root to mount a small file system")
def test_a_full_disk(cli: CommandLine, data: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wherever the room ends, it is one sentence; with more room the same command comes to its end."""
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(checkpoint, "REST", 0.0)
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
        assert not (out / UNFINISHED).exists()
    assert all(complaint.startswith("plumbob: ") and complaint.count("\n") == 1 for complaint in complaints)
    assert complaints
    assert all(ROOM_ADVICE in complaint for complaint in complaints)


def test_audit_goes_on_too(data: list[str], tmp_path: Path) -> None:
    """Its training is the same: what a killed audit has trained is not trained again."""
    command = ["audit", *SMALL, *RUNS["exchange"], *data, "--only", "label-sign", "--out", str(tmp_path)]
    killed = plumbob(*command, dies_at=("send", 30))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = plumbob(*command)
    assert ended.returncode in {3, 4}, ended.stderr
    assert "resuming after step" in ended.stderr
    assert RunFolder(tmp_path).record().findings


@pytest.mark.parametrize("verb", ["train", "audit --only label-sign"])
def test_rows_that_are_left_out_are_told(cli: CommandLine, verb: str, data: list[str], tmp_path: Path) -> None:
    """They are told once, like progress, so that --quiet keeps it back; not where all rows are common."""
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
    assert cli.err == ""


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
