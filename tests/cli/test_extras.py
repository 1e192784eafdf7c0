"""The plain installation: what only some verbs need is loaded by those verbs alone, and its absence names its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import call
from tests.party.processes import PATIENCE
from tests.party.test_imports import Witness, packages_of_extras

# Each is a package or a module of its own, which no other room imports when it is loaded itself.
ASKED_FOR = (
    "plumbob.lab.page",
    "plumbob.lab.paper",
    "plumbob.crypto.lattice.cluster",
    "plumbob.jobs",
)
TRAIN = ("train", "--data", "breast-cancer", "--features", "15,15", "--epochs", "1", "--quiet")
# What a study itself needs, the charts of its report among it, and what pyarrow and scikit-learn bring along.
BROUGHT_ALONG = {"flint", "gmpy2", "joblib", "matplotlib", "pandas", "polars", "sklearn"}


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
        ("lab", "yaml", ("check", "--from-fate", "job.yaml")),
    ],
    ids=["lab", "jobs"],
)
def test_an_absent_extra_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    extra: str,
    absent: str,
    words: tuple[str, ...],
) -> None:
    """Whoever asks for what is not installed reads which extra to install."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text("dag: {}\n")
    # As if it were not installed; our module that imports it may be there already.
    monkeypatch.setitem(sys.modules, absent, None)
    assert call(*words) == 1
    assert f".[{extra}]" in capsys.readouterr().err


WITHOUT_AN_EXTRA = (
    (("train", "--data", "loans", "--features", "9,9"), "gmpy2"),
    (("train", "--data", "breast-cancer", "--features", "15,15"), "sklearn"),
    (("paper", "attacks", "--quick"), "flint"),
)


@pytest.mark.parametrize(("words", "absent"), WITHOUT_AN_EXTRA, ids=lambda given: str(given))
def test_a_study_without_the_extra_is_one_sentence(tmp_path: Path, words: tuple[str, ...], absent: str) -> None:
    """A verb of the lab says what to install, and leaves nothing behind."""
    program = f"import sys; sys.modules[{absent!r}] = None; from plumbob.cli import main; main()"
    out = tmp_path / "out"
    ended = subprocess.run(
        [sys.executable, "-c", program, *words, "--out", str(out)], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, out.exists()) == (1, False)
    assert f"needs {absent}" in ended.stderr
    assert "plumbob[lab]" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_python_says_what_the_estimator_needs() -> None:
    """The same sentence as an error of ours."""
    program = (
        "import sys; sys.modules['sklearn'] = None; import plumbob\n"
        "try:\n    plumbob.VerticalLogisticRegression\nexcept plumbob.PlumbobError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("plumbob.VerticalLogisticRegression needs sklearn, which the plain installation leaves out")
