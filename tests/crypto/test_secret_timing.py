"""No time depends on a secret: valgrind sees no branch and no address that does, on the curve and in lattices."""

from pathlib import Path

import pytest

from plumbob.crypto.ristretto import available_paths
from tools import secret_timing
from tools.native import find_compiler

COMPILER = find_compiler()
PATHS = [path for path in secret_timing.PATHS if path in available_paths()]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled once, as the kernel is."""
    if COMPILER is None or not secret_timing.is_usable():
        pytest.skip("needs a C++ compiler, valgrind and its headers")
    return secret_timing.built(COMPILER, tmp_path_factory.mktemp("secret"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.soak
@pytest.mark.parametrize("kind", ["curve", "lattice"])
def test_nothing_depends_on_a_secret(program: Path, kind: str, path: str) -> None:
    """Scalars and points; keys, key tests, encryption, replies, openings, sines: clean, and planted leaks are seen."""
    assert secret_timing.judge(program, kind, path) == ""
