"""Prove that no digit of the group's three fields overflows: `python3 -m tools.field_bounds [--narrower]`.

Compiles native/tests/field_bounds.cpp, which runs the code of native/edwards.h and of the fields, the very same that
the kernel is made of, on intervals instead of words, and prints what each field meets at most. With --narrower the
machines have one bit less and the proof must fail: it would notice. Ends with 1 if it fails.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.native import NATIVE, find_compiler

SOURCE = NATIVE / "tests" / "field_bounds.cpp"


def main(words: list[str]) -> int:
    """Compile, run, and pass on what it says."""
    compiler = find_compiler()
    if compiler is None:
        print("plumbob: no C++ compiler found; install g++ or set CXX", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        program = built(compiler, Path(folder))
        finished = subprocess.run([program, *(["narrower"] if "--narrower" in words else [])])
    return finished.returncode


def built(compiler: str, folder: Path) -> Path:
    """The compiled program; with the word `narrower` it proves the same of smaller machines."""
    program = folder / "field_bounds"
    subprocess.run([compiler, "-std=gnu++20", "-O0", str(SOURCE), "-o", str(program)], check=True)
    return program


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
