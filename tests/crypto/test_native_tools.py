"""What tools prove of the kernel's code: digits have bounds, no time or branch shows a secret, none is left behind."""

import shutil
import subprocess
from pathlib import Path

import pytest

from plumbob.crypto.ristretto import available_paths
from tools import field_bounds, secret_branches, secret_timing
from tools.native import compiled, find_compiler

COMPILER = find_compiler()


# No digit of the group's fields overflows, whatever the points are: the kernel's own code run on intervals.


def test_no_digit_overflows(tmp_path: Path) -> None:
    """All three fields are proved, and each says how large its digits become.

    On machines that are one bit narrower the same code overflows, and the proof says where.
    """
    if COMPILER is None:
        pytest.skip("there is no C++ compiler here")
    program = field_bounds.built(COMPILER, tmp_path)
    proved, refuted = (
        subprocess.run([program, *words], capture_output=True, text=True) for words in ([], ["narrower"])
    )
    assert proved.returncode == 0, proved.stdout + proved.stderr
    lines = proved.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["portable", "avx2", "avx512ifma"]
    assert all("digits below" in line for line in lines)
    assert refuted.returncode == 1
    assert "a factor is wider than the instruction reads" in refuted.stdout


# Machine code that valgrind cannot follow: no jump and no address depends on a digit of the scalar.

HONEST = """0000 <f::multiplied(int)>:
   0:\tcall   10 <fill_multiples(int)>
   1:\tmov    $0x40,%edi
   2:\tmovsbl (%r10),%esi
   3:\tmov    %esi,%eax
   4:\tsar    $0x7,%eax
   5:\tneg    %rax
   6:\tvpbroadcastq %rax,%zmm1
   7:\tvmovdqa64 %zmm1,0x40(%rsp)
   8:\tsub    $0x1,%edi
   9:\tjne    2 <f::multiplied(int)+0x2>
   a:\tret
"""
PLANTED = {
    "a jump depends on a digit: 9": ("8:\tsub    $0x1,%edi", "8:\ttest   %eax,%eax"),
    "an address depends on a digit: 7": ("vmovdqa64 %zmm1,0x40(%rsp)", "vmovdqa64 (%rdx,%rax,8),%zmm1"),
    "an address depends on a digit: 8": (
        "7:\tvmovdqa64 %zmm1,0x40(%rsp)\n   8:\tsub    $0x1,%edi",
        "7:\tmov    %rax,%rdi\n   8:\tmov    (%rdi),%ecx",
    ),
    "an unknown function is called: 7": ("vmovdqa64 %zmm1,0x40(%rsp)", "call   20 <memcpy(int)>"),
    "a vector comes back to where it can be branched on: 7": ("vmovdqa64 %zmm1,0x40(%rsp)", "vmovq  %xmm1,%rcx"),
    "no digit is read": ("movsbl (%r10),%esi", "mov    (%r10),%esi"),
}


def test_honest_code_is_clean() -> None:
    """Counting down, and calculating with digits in registers and vectors."""
    assert secret_branches.leaks(secret_branches.instructions(HONEST, "::multiplied(")) == []


@pytest.mark.parametrize("complaint", PLANTED)
def test_planted_leaks_are_seen(complaint: str) -> None:
    """A branch, addresses, a call and a vector that comes back, each with its place."""
    changed = HONEST.replace(*PLANTED[complaint])
    assert changed != HONEST
    found = secret_branches.leaks(secret_branches.instructions(changed, "::multiplied("))
    assert any(line.startswith(complaint) for line in found), found


@pytest.mark.soak
@pytest.mark.skipif(COMPILER is None or shutil.which("objdump") is None, reason="no compiler or no objdump here")
def test_the_kernel_is_clean() -> None:
    """The multiplication with AVX-512 IFMA, compiled as the kernel is."""
    assert secret_branches.main() == 0


# Valgrind sees no branch and no address that depends on a secret, on the curve and in lattices.


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled once, as the kernel is."""
    if COMPILER is None or not secret_timing.is_usable():
        pytest.skip("needs a C++ compiler, valgrind and its headers")
    return secret_timing.built(COMPILER, tmp_path_factory.mktemp("secret"))


@pytest.mark.parametrize("path", [path for path in secret_timing.PATHS if path in available_paths()])
@pytest.mark.soak
@pytest.mark.parametrize("kind", ["curve", "lattice"])
def test_nothing_depends_on_a_secret(timed: Path, kind: str, path: str) -> None:
    """Scalars and points; keys, key tests, encryption, replies, openings, sines: clean, and planted leaks are seen."""
    assert secret_timing.judge(timed, kind, path) == ""


# A scalar, its digits and what was calculated with them are gone from memory after a multiplication.

CORES = ("field25519_portable.cpp", "field25519_avx2.cpp", "field25519_avx512ifma.cpp")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's own files, and one that looks at the memory they used."""
    if COMPILER is None or "avx2" not in available_paths():
        pytest.skip("needs a C++ compiler and a processor with AVX2")
    sources = ("tests/wiped_secrets.cpp", "ristretto.cpp", "ring.cpp", *CORES)
    return compiled(COMPILER, sources, tmp_path_factory.mktemp("wiped"))


@pytest.mark.soak
@pytest.mark.parametrize("path", available_paths())
def test_a_scalar_is_wiped(watched: Path, path: str) -> None:
    """Neither the stack nor a block that was given back holds any of it; what is left on purpose is seen."""
    clean = subprocess.run([watched, path], capture_output=True, text=True)
    assert clean.returncode == 0, clean.stdout
    planted = subprocess.run([watched, path, "planted"], capture_output=True, text=True)
    assert planted.returncode == 1
    assert not planted.stdout.startswith("0 pieces")
    assert "1 words in 3 blocks" in planted.stdout
