"""How programs that test the kernel are compiled: each of its files with the flags that CMakeLists.txt gives it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
RELEASE = ("-std=gnu++20", "-O3", "-DNDEBUG", "-g")
FLAGS = {
    "lattice_avx2.cpp": ("-mavx2", "-mfma", "-ffp-contract=off"),
    "lattice_avx512ifma.cpp": ("-mavx512f", "-mavx512bw", "-mavx512ifma", "-mavx512vbmi"),
    "field25519_avx2.cpp": ("-mavx2", "-mtune=haswell"),
    "field25519_avx512ifma.cpp": ("-mavx512f", "-mavx512dq", "-mavx512ifma", "-Wno-maybe-uninitialized"),
}


def find_compiler() -> str | None:
    """The one that is asked for, or the usual one."""
    return shutil.which(os.environ.get("CXX", "c++"))


def compiled(
    compiler: str, sources: Sequence[str], folder: Path, options: Sequence[str] = RELEASE, linking: Sequence[str] = ()
) -> Path:
    """A program of these files of native/, with options for each of them and others to link it."""

    def translated(source: str) -> str:
        made = folder / f"{Path(source).stem}.o"
        command = [compiler, *options, *FLAGS.get(source, ()), "-c", str(NATIVE / source), "-o", str(made)]
        subprocess.run(command, check=True)
        return str(made)

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(translated, sources))
    program = folder / Path(sources[0]).stem
    subprocess.run([compiler, *objects, *linking, "-pthread", "-o", str(program)], check=True)
    return program
