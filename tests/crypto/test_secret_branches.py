"""Machine code that valgrind cannot follow: no jump and no address depends on a digit of the scalar."""

import shutil

import pytest

from tools import secret_branches
from tools.native import find_compiler

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
@pytest.mark.skipif(find_compiler() is None or shutil.which("objdump") is None, reason="no compiler or no objdump here")
def test_the_kernel_is_clean() -> None:
    """The multiplication with AVX-512 IFMA, compiled as the kernel is."""
    assert secret_branches.main() == 0
