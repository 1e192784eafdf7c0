"""See whether time depends on a secret: `python3 -m tools.secret_timing`, which `make sanitize` calls.

Compiles native/tests/secret_timing.cpp with the cores that valgrind can follow, and runs it there: scalars of the
group, lattice keys, draws, tables and shares are called undefined, and valgrind reports every branch and every address
that depends on them. A branch and a look-up that do are planted as well, and must be reported. Ends with 1 if something
is reported that should not be, or the reverse, and with 2 if something is missing.
"""

import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

from tools.native import RELEASE, compiled, find_compiler

KINDS, PATHS = ("curve", "lattice"), ("portable", "avx2")
PLANTED = {"branch": "jump or move depends on uninitialised", "address": "Use of uninitialised value"}
"""What valgrind says of each."""
SOURCES = (
    "tests/secret_timing.cpp",
    "field25519_portable.cpp",
    "field25519_avx2.cpp",
    "lattice.cpp",
    "lattice_portable.cpp",
    "lattice_avx2.cpp",
)
REPORTED = 1


def main() -> int:
    """Compile, run under valgrind, and pass on what it says."""
    compiler = find_compiler()
    if compiler is None or not is_usable():
        print(
            "plumbob: a C++ compiler, valgrind and its headers are needed (on Debian: g++, valgrind)", file=sys.stderr
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        program = built(compiler, Path(folder))
        wrong = [complaint for kind, path in product(KINDS, PATHS) if (complaint := judge(program, kind, path))]
    print("\n".join(wrong) or "secret timing: no branch and no address depends on a secret, and planted ones are seen")
    return 1 if wrong else 0


def is_usable() -> bool:
    """Whether valgrind and its headers are here."""
    return shutil.which("valgrind") is not None and Path("/usr/include/valgrind/memcheck.h").exists()


def built(compiler: str, folder: Path) -> Path:
    """As the kernel is, but that it tells valgrind what is public."""
    return compiled(compiler, SOURCES, folder, (*RELEASE, "-DPLUMBOB_SECRETS_ARE_UNDEFINED"))


def judge(program: Path, kind: str, path: str) -> str:
    """What is wrong with one core's work; nothing if it keeps its secrets and planted leaks are seen."""
    quiet = run(program, kind, path)
    if quiet.returncode != 0 or quiet.stderr:
        return f"{kind} {path}:\n{quiet.stdout}{quiet.stderr}"
    planted = {how: run(program, kind, path, how) for how in PLANTED}
    missed = [how for how, ended in planted.items() if ended.returncode != REPORTED or PLANTED[how] not in ended.stderr]
    return f"{kind} {path}: a planted {' and a planted '.join(missed)} was not seen" if missed else ""


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Under valgrind."""
    command = ["valgrind", "--quiet", f"--error-exitcode={REPORTED}", str(program), *words]
    return subprocess.run(command, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
