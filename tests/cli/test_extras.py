"""The plain installation: what only some verbs need is loaded by those verbs alone, and its absence names its extra."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plumbob.cli import app
from plumbob.errors import PlumbobError
from tests.party.processes import PATIENCE
from tests.party.test_imports import Witness, packages_of_extras

# Each is a package or a module of its own, which no other room imports when it is loaded itself.
ASKED_FOR = (
    "plumbob.lab.page",
    "plumbob.lab.paper",
    "plumbob.crypto.lattice.workers",
    "plumbob.crypto.lattice.cluster",
    "plumbob.jobs",
)
TRAIN = ("train", "--data", "breast-cancer", "--features", "15,15", "--epochs", "1", "--quiet")
# pyarrow and scikit-learn bring these along where they are installed.
BROUGHT_ALONG = {"joblib", "pandas", "polars"}


def test_what_nobody_asked_for_is_not_loaded(tmp_path: Path) -> None:
    """While `train` runs, lab, paper, cluster and job readers stay on the disk, and so do the extras' packages."""
    folder = tmp_path / "imports"
    folder.mkdir()
    witness = Witness(folder)
    words = (*TRAIN, "--protocol", "clear", "--out", str(tmp_path / "run"))
    process = witness.start("train", *words)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complaint
    imported = witness.imported("train")
    assert "plumbob.lab.simulate" in imported
    assert {name for name in imported if name.startswith(ASKED_FOR)} == set()
    assert {name.partition(".")[0] for name in imported} & (packages_of_extras() - BROUGHT_ALONG) == set()


@pytest.mark.parametrize(
    ("extra", "absent", "words"),
    [
        ("lab", "starlette", ("lab",)),
        ("jobs", "yaml", ("check", "--from-fate", "job.yaml")),
    ],
    ids=["lab", "jobs"],
)
def test_an_absent_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, absent: str, words: tuple[str, ...]
) -> None:
    """Whoever asks for what is not installed reads which extra to install."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text("dag: {}\n")
    # As if it were not installed; our module that imports it may be there already.
    monkeypatch.setitem(sys.modules, absent, None)
    ended = CliRunner().invoke(app, list(words))
    assert isinstance(ended.exception, PlumbobError)
    assert f".[{extra}]" in str(ended.exception)
