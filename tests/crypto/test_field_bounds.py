"""No digit of the group's fields overflows, whatever the points are: the kernel's own code run on intervals."""

import subprocess
import sys

import pytest

from tools.native import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler here")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """The tool, as a person calls it."""
    return subprocess.run([sys.executable, "-m", "tools.field_bounds", *options], capture_output=True, text=True)


def test_no_digit_overflows() -> None:
    """All three fields are proved, and each says how large its digits become."""
    finished = run()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = finished.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["portable", "avx2", "avx512ifma"]
    assert all("digits below" in line for line in lines)


def test_an_overflow_is_seen() -> None:
    """On machines that are one bit narrower the same code overflows, and the proof says where."""
    finished = run("--narrower")
    assert finished.returncode == 1
    assert "a factor is wider than the instruction reads" in finished.stdout
