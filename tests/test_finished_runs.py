"""A finished run is replaced only by whoever says so, and only once another is there in its place."""

import shutil
from pathlib import Path

import pytest

from tests.command_line import CommandLine, call

TINY = ["--features", "15,15", "--protocol", "clear", "--epochs", "1", "--data", "breast-cancer", "--accept-leaks"]
VERBS = {"train": ["train", *TINY], "audit": ["audit", "--only", "label-sign", *TINY]}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert call(*VERBS["train"], "--out", str(folder)) == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_a_finished_run_is_not_replaced_unasked(cli: CommandLine, words: list[str], run: Path) -> None:
    """Exit code 1, a sentence that names --new, and every file as it was."""
    before = contents(run)
    assert cli(*words, "--epochs", "2", "--out", str(run)) == 1
    assert f"{run}: this folder holds a finished run; choose another --out, or add --new" in cli.err
    assert contents(run) == before
    assert not (run / "earlier-run").exists()


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_new_replaces_it(cli: CommandLine, words: list[str], run: Path) -> None:
    """--new replaces a run, with nothing of the old one left; without it the new one is refused."""
    before = contents(run)
    assert cli(*words, "--epochs", "2", "--out", str(run)) == 1
    (run / "notes.txt").write_text("mine")
    assert cli(*words, "--epochs", "2", "--out", str(run), "--new") in {0, 3, 4}
    after = contents(run)
    assert after["report.html"] != before["report.html"]
    assert after.get("run.json") != before["run.json"]
    assert not (run / "earlier-run").exists()
    assert after["notes.txt"] == b"mine"


@pytest.mark.parametrize(
    "mistake",
    [["--features", "3,3"], ["--epochs", "-1"], ["--batch-size", "100000"], ["--data", "no-such-set"]],
    ids=["columns", "plan", "batch", "data"],
)
@pytest.mark.parametrize("verb", VERBS)
def test_a_mistake_with_new_touches_nothing(cli: CommandLine, verb: str, mistake: list[str], run: Path) -> None:
    """A run that cannot begin replaces none, and the folder is as safe as before."""
    before = contents(run)
    assert cli(*VERBS[verb], *mistake, "--out", str(run), "--new") in {1, 2}
    assert contents(run) == before
    assert cli(*VERBS[verb], "--out", str(run)) == 1
    assert contents(run) == before


def test_a_leaking_plan_with_new_touches_nothing(cli: CommandLine, run: Path) -> None:
    """Refused before anything is moved, as any plan that leaks is."""
    before = contents(run)
    leaky = ["train", *TINY[:-1], "--protocol", "exchange", "--batch-size", "8", "--set", "key_bits=512"]
    assert cli(*leaky, "--set", "test_only_keys=true", "--out", str(run), "--new") == 1
    assert contents(run) == before
    assert cli(*VERBS["train"], "--out", str(run)) == 1
    assert contents(run) == before


def test_a_record_that_cannot_be_read_is_not_replaced_unasked(cli: CommandLine, run: Path) -> None:
    """It may be a finished run's, of another version."""
    (run / "run.json").write_text((run / "run.json").read_text().replace('"format": 3', '"format": 1'))
    before = contents(run)
    assert cli(*VERBS["train"], "--out", str(run)) == 1
    assert "holds a run whose run.json cannot be read; choose another --out, or add --new" in cli.err
    assert contents(run) == before
    assert cli(*VERBS["train"], "--out", str(run), "--new") == 0
