"""Keep `.venv` as the project needs it: `python3 tools/env.py [--locked] [EXTRA ...]`.

Standard library only, because it runs before anything is installed. A stamp inside `.venv` says what was installed and
from which sources, so that the next call has nothing to do. Quiet unless there is something to tell. With --locked
every package has the version and the hash of requirements.lock, or is not installed.
"""

# An older Python must get as far as the message that it is too old.
from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "plumbob-stamp.json"
LOG = VENV / "install.log"
LOCK = ROOT / "requirements.lock"
CORE = "core"
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Stamp:
    """What a complete installation was made of."""

    home: str = ""
    sources: str = ""
    extras: tuple[str, ...] = ()


def main(words: list[str]) -> None:
    """Make `.venv` hold the project and the extras asked for."""
    is_locked, extras = "--locked" in words, [word for word in words if word != "--locked"]
    if sys.version_info < OLDEST_PYTHON:
        stop(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}; try `make PYTHON=python3.11 ...`")
    with only_one_at_a_time():
        found = read_stamp()
        wanted = Stamp(home_of_venv(), digest_of_sources(), tuple(sorted({*found.extras, *extras})))
        if found == wanted:
            return
        say("installing into .venv; the first time takes a minute or two ...")
        if found.home != wanted.home:
            create_venv()
        # An interrupted installation must not look like a complete one.
        STAMP.unlink(missing_ok=True)
        if is_locked:
            install_locked(set(wanted.extras))
            tell_about_the_kernel()
        elif found.home == wanted.home and found.sources == wanted.sources:
            install(*requirements(set(wanted.extras) - set(found.extras)))
        else:
            install("--editable", str(ROOT), *requirements(set(wanted.extras)))
            tell_about_the_kernel()
        STAMP.write_text(json.dumps(asdict(wanted)))


@contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Two calls at once, as in `make -j2 check test`, would install into each other's half-made environment."""
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_stamp() -> Stamp:
    """What the last complete installation was made of; empty if there was none."""
    if not PYTHON.exists() or not STAMP.exists():
        return Stamp()
    fields = json.loads(STAMP.read_text())
    return Stamp(fields["home"], fields["sources"], tuple(fields["extras"]))


def home_of_venv() -> str:
    """The interpreter and the folder: a virtual environment survives a change of neither."""
    return f"{sys.version} in {ROOT}"


def digest_of_sources() -> str:
    """A hash of everything that decides what an installation contains, but for the Python files, which are linked.

    The names of packages count: the links are made for those that are there when it is installed.
    """
    kernel = sorted(path for path in (ROOT / "native").rglob("*") if path.is_file())
    packages = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("__init__.py"))
    digest = hashlib.sha256("\0".join(packages).encode())
    for path in (ROOT / "pyproject.toml", ROOT / "CMakeLists.txt", *kernel):
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def create_venv() -> None:
    """Make an empty environment, with a pip of its own where this Python can give it one."""
    if Path(sys.prefix) == VENV:
        stop("cannot renew .venv from inside it; call `deactivate` first")
    if not has("venv") or not (has("ensurepip") or has("pip")):
        stop("this Python cannot make virtual environments; on Debian: apt-get install python3-venv")
    import venv

    venv.create(VENV, clear=True, symlinks=True, with_pip=has("ensurepip"))


def has(module: str) -> bool:
    """Whether the running Python has a module; Debian keeps ensurepip in a package of its own."""
    return importlib.util.find_spec(module) is not None


def requirements(extras: set[str]) -> list[str]:
    """What pyproject.toml lists under these extras."""
    import tomllib

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return [requirement for extra in sorted(extras) for requirement in listed[extra]]


def install_locked(extras: set[str]) -> None:
    """Every package by its hash, and then the project itself without looking for any."""
    chosen = VENV / "requirements.txt"
    chosen.write_text("".join(f"{line}\n" for line in locked_lines(extras)))
    install("--require-hashes", "--no-deps", "--requirement", str(chosen))
    install("--no-deps", "--editable", str(ROOT))


def locked_lines(extras: set[str]) -> list[str]:
    """The lines of the lock file for the project and these extras."""
    wanted = {CORE, *extras}
    lines = [line.partition("  # ") for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    return [line for line, _, groups in lines if wanted & set(groups.split(", "))]


def install(*what: str) -> None:
    """Run pip and keep what it says in a log, which is shown if it fails."""
    own_pip = [str(PYTHON), "-m", "pip"]
    borrowed_pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    pip = own_pip if has("ensurepip") else borrowed_pip
    # Verbose, because otherwise pip hides why the kernel could not be built when the installation continues without it.
    command = [*pip, "install", "--verbose", "--disable-pip-version-check", *what]
    with LOG.open("w") as log:
        finished = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
    if finished.returncode:
        sys.stderr.write(LOG.read_text()[-8000:])
        stop(f"the installation failed; the end of its log is above, all of it in {LOG.relative_to(ROOT)}")


def tell_about_the_kernel() -> None:
    """Say it once if the Python engine must serve alone."""
    command = [str(PYTHON), "-c", "import plumbob.crypto.engines._kernel"]
    if subprocess.run(command, capture_output=True, cwd=VENV).returncode:
        say(
            f"the native kernel could not be built ({LOG.relative_to(ROOT)} says why); the Python engine serves, slower"
        )


def say(message: str) -> None:
    """Tell the person who called make."""
    print(f"plumbob: {message}", file=sys.stderr, flush=True)


def stop(message: str) -> NoReturn:
    """Give up with a reason."""
    say(message)
    sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
