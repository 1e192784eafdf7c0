"""See whether time depends on a secret scalar: `python3 -m tools.secret_scalars portable|avx2 [--leaking]`.

Compiles native/tests/secret_scalars.cpp with the engines that valgrind can follow, and runs it there: the scalar is
called undefined, and valgrind reports every branch and every address that depends on it. With --leaking there is such a
branch, and it must be reported. Ends with 1 if something is.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.field_bounds import find_compiler

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
# As CMakeLists.txt has them: what is looked at must be what the compiler makes of the kernel.
ENGINES = {"field25519_portable.cpp": [], "field25519_avx2.cpp": ["-mavx2", "-mtune=haswell"]}
FLAGS = ["-std=gnu++20", "-O3", "-DNDEBUG", "-g"]
REPORTED = 1


def main(words: list[str]) -> int:
    """Compile, run under valgrind, and pass on what it says."""
    compiler = find_compiler()
    if compiler is None or not is_usable():
        print("plumbob: a C++ compiler, valgrind and its headers are needed", file=sys.stderr)
        return 2
    engine = "avx2" if "avx2" in words else "portable"
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(compiler, Path(folder))
        command = ["valgrind", "--quiet", f"--error-exitcode={REPORTED}", str(program), engine]
        return subprocess.run([*command, *(["leaking"] if "--leaking" in words else [])]).returncode


def is_usable() -> bool:
    """Whether valgrind and its headers are here."""
    return shutil.which("valgrind") is not None and Path("/usr/include/valgrind/memcheck.h").exists()


def compiled(compiler: str, folder: Path) -> Path:
    """Each engine with its own flags, and the program with none."""
    objects = []
    for name, flags in ENGINES.items():
        made = folder / f"{name}.o"
        subprocess.run([compiler, *FLAGS, *flags, "-c", str(NATIVE / name), "-o", str(made)], check=True)
        objects.append(str(made))
    program = folder / "secret_scalars"
    source = NATIVE / "tests" / "secret_scalars.cpp"
    subprocess.run([compiler, *FLAGS, str(source), *objects, "-o", str(program)], check=True)
    return program


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
