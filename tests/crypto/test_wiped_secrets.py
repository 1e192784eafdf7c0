"""A secret scalar, its digits and what was calculated with them are gone from memory after a multiplication."""

import subprocess
from pathlib import Path

import pytest

from plumbob.crypto.ristretto import available_paths
from tools.native import compiled, find_compiler

COMPILER = find_compiler()
CORES = ("field25519_portable.cpp", "field25519_avx2.cpp", "field25519_avx512ifma.cpp")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's own files, and one that looks at the memory they used."""
    if COMPILER is None or "avx2" not in available_paths():
        pytest.skip("needs a C++ compiler and a processor with AVX2")
    sources = ("tests/wiped_secrets.cpp", "ristretto.cpp", "ring.cpp", *CORES)
    return compiled(COMPILER, sources, tmp_path_factory.mktemp("wiped"))


@pytest.mark.soak
@pytest.mark.parametrize("path", available_paths())
def test_a_scalar_is_wiped(program: Path, path: str) -> None:
    """Neither the stack nor a block that was given back holds any of it; what is left on purpose is seen."""
    clean = subprocess.run([program, path], capture_output=True, text=True)
    assert clean.returncode == 0, clean.stdout
    planted = subprocess.run([program, path, "planted"], capture_output=True, text=True)
    assert planted.returncode == 1
    assert not planted.stdout.startswith("0 pieces")
    assert "1 words in 3 blocks" in planted.stdout
