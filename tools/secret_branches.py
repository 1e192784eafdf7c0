"""See in the disassembly whether AVX-512 code branches on a secret: `python3 -m tools.secret_branches`.

Valgrind, which `tools.secret_timing` relies on, knows no AVX-512. So the group's core is compiled as in the kernel, and
the function that multiplies by a secret scalar is looked through, instruction by instruction. What it may do:

- load digits of the scalar as signed bytes, and calculate with them;
- jump by what no digit had a part in, and address memory by such numbers alone;
- keep points in vectors: none of them comes back to a general register or decides a jump.

Ends with 1 and the instruction if something else is there, and with 2 if something is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.native import FLAGS, NATIVE, RELEASE, find_compiler

SOURCE, FUNCTION = "field25519_avx512ifma.cpp", "::multiplied("
BEFORE_DIGITS = "fill_multiples"
"""The only function that may be called: it tabulates a point, which is public."""
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
REGISTER = re.compile(r"%(\w+)")
WIDE = re.compile(r"%(?:[xyz]mm|k)\d")
WRITES_NOTHING = ("cmp", "test", "push", "nop", "prefetch")
OVERWRITES = ("mov", "lea", "set", "pop")
FAMILIES = {name: family for family in "abcd" for name in (f"r{family}x", f"e{family}x", f"{family}x", f"{family}l")}
FAMILIES |= {name: family for family in ("si", "di", "bp", "sp") for name in (f"r{family}", f"e{family}", f"{family}l")}


@dataclass(frozen=True)
class Instruction:
    """One line of the disassembly, in AT&T's notation."""

    address: str
    name: str
    operands: tuple[str, ...]

    @property
    def reads_digit(self) -> bool:
        return self.name.startswith("movsb") and "(" in self.operands[0]

    @property
    def is_vector(self) -> bool:
        return any(WIDE.search(operand) for operand in self.operands)

    @property
    def target(self) -> str:
        """Where a jump leads."""
        return self.operands[0].split()[0]

    def __str__(self) -> str:
        return f"{self.address}: {self.name} {','.join(self.operands)}"


def main() -> int:
    """Compile, look through, and say what is wrong."""
    compiler = find_compiler()
    if compiler is None or shutil.which("objdump") is None:
        print("plumbob: a C++ compiler and objdump are needed (on Debian: g++, binutils)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        code = instructions(disassembled(compiler, Path(folder) / "core.o"), FUNCTION)
    wrong = leaks(code)
    print("\n".join(wrong) or f"secret branches: none among {len(code)} instructions, nor an address of a secret")
    return 1 if wrong else 0


def disassembled(compiler: str, made: Path) -> str:
    """The core's machine code as text."""
    subprocess.run([compiler, *RELEASE, *FLAGS[SOURCE], "-c", str(NATIVE / SOURCE), "-o", str(made)], check=True)
    command = ["objdump", "-d", "-C", "--no-show-raw-insn", str(made)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def instructions(text: str, function: str) -> list[Instruction]:
    """Those of one function."""
    bodies = [body for head, _, body in (part.partition(">:\n") for part in text.split("\n\n")) if function in head]
    (body,) = bodies
    return [
        Instruction(match[1], match[2], tuple(re.findall(r"(?:\([^)]*\)|<.*>|[^,(<])+", match[3])))
        for match in map(LINE.match, body.splitlines())
        if match
    ]


def leaks(code: Sequence[Instruction]) -> list[str]:
    """What depends on a digit and must not; along every way through the function, until nothing new is found."""
    places = {each.address: place for place, each in enumerate(code)}
    found: dict[str, None] = {}
    if not any(each.reads_digit for each in code):
        return ["no digit is read: this is not the function that was meant"]
    tainted: dict[int, frozenset[str]] = {0: frozenset()}
    waiting = [0]
    while waiting:
        place = waiting.pop()
        found |= dict.fromkeys(f"{why}: {code[place]}" for why in complaints(code[place], tainted[place]))
        after = _after(code[place], tainted[place])
        for follower in _followers(code, places, place):
            known = tainted.get(follower)
            if known is None or not after <= known:
                tainted[follower] = after | (known or frozenset())
                waiting.append(follower)
    return list(found)


def complaints(each: Instruction, tainted: frozenset[str]) -> Iterator[str]:
    """What one instruction does wrong, by what it knows of a digit."""
    if any(_family(name) in tainted for operand in each.operands for name in _address_registers(operand)):
        yield "an address depends on a digit"
    if each.name.startswith("j") and each.name != "jmp" and "flags" in tainted:
        yield "a jump depends on a digit"
    if each.name.startswith("call") and BEFORE_DIGITS not in each.operands[0]:
        yield "an unknown function is called"
    if each.is_vector and (each.name.startswith(("kortest", "ktest", "vptest")) or _leaves_vectors(each)):
        yield "a vector comes back to where it can be branched on"


def _leaves_vectors(each: Instruction) -> bool:
    last = each.operands[-1]
    return last.startswith("%") and not WIDE.match(last)


def _after(each: Instruction, tainted: frozenset[str]) -> frozenset[str]:
    """Registers, places in memory and flags that a digit had a part in, after an instruction."""
    if each.is_vector or each.name.startswith("j") or not each.operands:
        return tainted
    *sources, last = each.operands
    names = [_place(operand) for operand in each.operands]
    read = names[:-1] if each.name.startswith(OVERWRITES) else names
    is_secret = each.reads_digit or any(name in tainted for name in read)
    is_secret = is_secret or (each.name.startswith(("sbb", "adc", "set", "cmov")) and "flags" in tainted)
    written = set() if each.name.startswith(WRITES_NOTHING) else {_place(last)}
    if not each.name.startswith(("mov", "lea", "push", "pop", "nop", "prefetch")):
        written.add("flags")
    if each.name.startswith("xor") and sources == [last]:
        is_secret = False
    return tainted | written if is_secret else tainted - written


def _followers(code: Sequence[Instruction], places: dict[str, int], place: int) -> Iterator[int]:
    each = code[place]
    if each.name.startswith("j"):
        yield places[each.target]
    if each.name not in ("jmp", "ret") and place + 1 < len(code):
        yield place + 1


def _place(operand: str) -> str:
    """A register by its family, whatever its width; a place in memory as it is written."""
    return operand if "(" in operand else _family(operand.lstrip("%"))


def _address_registers(operand: str) -> list[str]:
    return REGISTER.findall(operand) if "(" in operand else []


def _family(name: str) -> str:
    return FAMILIES.get(name, name.rstrip("dwb"))


if __name__ == "__main__":
    sys.exit(main())
