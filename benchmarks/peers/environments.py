"""Each peer in a virtual environment of its own, with the running Python or another one that this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from catalogue import Environment


class DidNotInstallError(Exception):
    """Why a peer is not measured: one line for the table."""


def ensure(environment: Environment, folder: Path) -> Path:
    """The environment's Python; installed on the first call, found again on the next ones."""
    home = folder / environment.name
    if works(home, environment):
        return python_of(home)
    reasons = [attempt(environment, home, python) for python in candidates(environment)]
    if works(home, environment):
        return python_of(home)
    raise DidNotInstallError(next((reason for reason in reversed(reasons) if reason), "no suitable Python here"))


def attempt(environment: Environment, home: Path, python: str) -> str:
    """Install with one Python, unless an earlier one did; the reason where it fails, else nothing."""
    if works(home, environment):
        return ""
    shutil.rmtree(home, ignore_errors=True)
    commands = [[python, "-m", "venv", str(home)]]
    commands += [
        [str(python_of(home)), "-m", "pip", "install", "-q", "--prefer-binary", *step] for step in environment.steps
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return last_error(done.stderr)
    done = subprocess.run([str(python_of(home)), "-c", environment.probe], capture_output=True, text=True)
    return last_error(done.stderr) if done.returncode else ""


def works(home: Path, environment: Environment) -> bool:
    if not python_of(home).exists():
        return False
    return subprocess.run([str(python_of(home)), "-c", environment.probe], capture_output=True).returncode == 0


def python_of(home: Path) -> Path:
    return home / "bin" / "python"


def candidates(environment: Environment) -> Iterator[str]:
    """The running Python first, then those that the peer may need."""
    yield sys.executable
    for version in environment.pythons:
        found = find_python(version)
        if found:
            yield found


def find_python(version: str) -> str | None:
    """`pythonX.Y` on the path, or among pyenv's, whose shims exist even where they refuse to run."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = [shutil.which(f"python{version}"), *map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))]
    return next((place for place in places if place and runs(place)), None)


def runs(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and "WARNING" not in line]
    errors = [line for line in lines if line.lower().startswith("error") or "Error:" in line]
    return (errors or lines or ["no message"])[-1][:160].replace("|", "/")
