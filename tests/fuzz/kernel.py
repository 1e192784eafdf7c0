"""The kernel's parsers under libFuzzer: compiles native/tests/fuzz.cpp by clang, with the address sanitizer."""

import os
import shutil
import subprocess
from pathlib import Path

from tools.native import NATIVE, compiled

# How many of the inputs each gets, beside the others: the cheap ones get more.
PARSERS = {"reply": 360, "challenge": 400, "slot-reply": 120, "request": 12, "slot-request": 3, "points": 1}
SANITIZERS = "address"
SOURCES = (
    "tests/fuzz.cpp",
    "lattice.cpp",
    "lattice_portable.cpp",
    "lattice_avx2.cpp",
    "lattice_avx512ifma.cpp",
    "ring.cpp",
    "ristretto.cpp",
    "field25519_portable.cpp",
    "field25519_avx2.cpp",
)
MISSING = (
    "the kernel's parsers are not fuzzed: no clang++ with libFuzzer was found; "
    "install it (on Debian: clang-16 and libclang-rt-16-dev) or name it with CLANGXX"
)


def find_clang() -> str | None:
    """The one that is asked for, or the newest that links libFuzzer."""
    names = [os.environ.get("CLANGXX", "clang++"), *(f"clang++-{version}" for version in range(21, 13, -1))]
    return next((found for name in names if (found := shutil.which(name)) and has_fuzzer(found)), None)


def has_fuzzer(clang: str) -> bool:
    """Debian has the library in a package of its own."""
    program = b'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
    command = [clang, "-x", "c++", "-", f"-fsanitize=fuzzer,{SANITIZERS}", "-o", os.devnull]
    return subprocess.run(command, input=program, capture_output=True).returncode == 0


def built(clang: str, folder: Path) -> Path:
    """Build the fuzzer."""
    options = ("-std=gnu++20", "-O2", "-g", "-include", str(NATIVE / "tests" / "clang.h"))
    instrumented = (*options, f"-fsanitize=fuzzer-no-link,{SANITIZERS}")
    return compiled(clang, SOURCES, folder, instrumented, [f"-fsanitize=fuzzer,{SANITIZERS}"])
