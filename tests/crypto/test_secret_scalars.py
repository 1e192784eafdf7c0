"""No time depends on a secret scalar: valgrind sees no branch and no address of a multiplication that does."""

import subprocess
from pathlib import Path

import pytest

from plumbob.crypto.ristretto import available_paths
from tools import secret_scalars
from tools.field_bounds import find_compiler

COMPILER = find_compiler()
PATHS = [path for path in ("portable", "avx2") if path in available_paths()]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled once, as the kernel is."""
    if COMPILER is None or not secret_scalars.is_usable():
        pytest.skip("needs a C++ compiler, valgrind and its headers")
    return secret_scalars.compiled(COMPILER, tmp_path_factory.mktemp("secret"))


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Under valgrind, with the tool's exit status."""
    command = ["valgrind", "--quiet", f"--error-exitcode={secret_scalars.REPORTED}", str(program), *words]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_depends_on_a_scalar(program: Path, path: str) -> None:
    """Splitting the scalar, choosing from the table, multiplying and encoding: nothing is reported."""
    finished = run(program, path)
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.parametrize("path", PATHS)
def test_a_branch_on_a_scalar_is_seen(program: Path, path: str) -> None:
    """With one branch on one digit, valgrind reports it."""
    finished = run(program, path, "leaking")
    assert finished.returncode == secret_scalars.REPORTED
    assert "depends on uninitialised value" in finished.stderr
