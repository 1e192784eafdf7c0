"""Plants faults in a copy of the source, one at a time, and prints which tests notice each.

    python -m tests.mutations [FAULT ...]

A fault of mutations.toml is a change of one line that a reviewer might pass over, with the tests that should notice it.
What stays green while a fault is planted says nothing about it; a fault that nobody notices is a hole in the suite, and
the command then ends with 1. Before the faults, a copy without any is tested by all of these tests, and must be green.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plumbob
from plumbob.crypto import _kernel

ROOT = Path(__file__).resolve().parent.parent
FAULTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["fault"]
# Every Python that starts with the copy on its path imports this: the package is then the copy.
REDIRECT = (
    "import sys\nsys.meta_path[:] = [each for each in sys.meta_path if 'ScikitBuild' not in type(each).__name__]\n"
)


def noticed(fault: dict[str, Any]) -> Iterator[str]:
    """The first red test of each entry of the fault's tests; a fault without a file is none."""
    with tempfile.TemporaryDirectory(prefix="plumbob-fault-") as folder:
        package = Path(folder) / "plumbob"
        shutil.copytree(Path(plumbob.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        compiled = Path(_kernel.__file__).parents[1]
        for extension in compiled.rglob("*.so"):
            shutil.copy(extension, package / extension.relative_to(compiled))
        (Path(folder) / "sitecustomize.py").write_text(REDIRECT)
        if "file" in fault:
            plant(fault, package)
        surroundings = os.environ | {"PYTHONPATH": folder, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider"]
        for tests in fault["tests"]:
            words = [*command, f"tests/{tests}"]
            done = subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True, text=True)
            red = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
            if red is not None:
                yield red[1]
            elif done.returncode:
                raise SystemExit(f"{fault['name']}: {tests}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def plant(fault: dict[str, Any], package: Path) -> None:
    """Put the fault into the copy; the source may have moved on."""
    path = package / fault["file"]
    text = path.read_text(encoding="utf-8")
    if text.count(fault["line"]) != 1:
        raise SystemExit(
            f"{fault['name']}: expected its line once in {fault['file']}, not {text.count(fault['line'])} times"
        )
    path.write_text(text.replace(fault["line"], fault["instead"]), encoding="utf-8")


def main() -> int:
    """Print a line for each fault, with how many of its tests noticed; 1 if none did, or if there was no fault."""
    parser = argparse.ArgumentParser(description="plant faults, and say which tests notice each")
    parser.add_argument("faults", nargs="*", help="the beginning of a fault's name; default: all")
    chosen = tuple(parser.parse_args().faults)
    faults = [fault for fault in FAULTS if not chosen or fault["name"].startswith(chosen)]
    everything = sorted({tests for fault in faults for tests in fault["tests"]})
    if red := list(noticed({"name": "no fault", "tests": everything})):
        raise SystemExit(f"without a fault, red: {', '.join(red)}")
    missed = 0
    for fault in faults:
        red = list(noticed(fault))
        missed += not red
        line = f"{fault['name']:50} {len(red)} of {len(fault['tests'])}  {', '.join(red) or 'NOBODY'}"
        print(line, flush=True)  # noqa: T201  # This is a script.
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
