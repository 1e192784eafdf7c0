"""The plain installation: what only some verbs need is loaded by those verbs alone, and its absence names its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

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


WITHOUT_AN_EXTRA = (
    (("train", "--data", "loans", "--features", "9,9", "--out", "out"), "gmpy2", "gmpy2"),
    (("train", "--data", "breast-cancer", "--features", "15,15", "--out", "out"), "sklearn", "sklearn"),
    (("paper", "attacks", "--quick", "--out", "out"), "flint", "flint"),
    (("lab",), "starlette", "starlette"),
    (("check", "--from-fate", "job.yaml"), "yaml", "PyYAML"),
)


@pytest.mark.parametrize(("words", "absent", "name"), WITHOUT_AN_EXTRA, ids=lambda given: str(given))
def test_an_absent_extra_is_one_sentence(tmp_path: Path, words: tuple[str, ...], absent: str, name: str) -> None:
    """A verb that needs what is not installed says what to install, and leaves nothing behind."""
    (tmp_path / "job.yaml").write_text("dag: {}\n")
    # In a process of its own: what needs the package may be loaded here already, and `lab` would then begin to serve.
    program = f"import sys; sys.modules[{absent!r}] = None; from plumbob.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert (ended.returncode, (tmp_path / "out").exists()) == (1, False)
    assert f"needs {name}" in ended.stderr
    assert "[lab]" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_python_says_what_the_estimator_needs() -> None:
    """The same sentence as an error of ours."""
    program = (
        "import sys; sys.modules['sklearn'] = None; import plumbob\n"
        "try:\n    plumbob.VerticalLogisticRegression\nexcept plumbob.PlumbobError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("plumbob.VerticalLogisticRegression needs sklearn, which the plain installation leaves out")
