"""The lock files are in step with pyproject.toml, have hashes for every package, and name no place to fetch from."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PACKAGE = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.M)
COMMENT = re.compile(r"^ *#.*\n|^\n", re.M)


def extras_of(variable: str) -> list[str]:
    """The extras that the Makefile installs under this name."""
    found = re.search(rf"^{variable} := (.*)$", MAKEFILE, re.M)
    assert found is not None
    return found[1].split()


LOCKS = {
    "requirements.lock": [*extras_of("DEMO"), "build"],
    "requirements-dev.lock": [*extras_of("DEVELOPMENT"), "build"],
}


def versions_in(lock: str) -> dict[str, str]:
    """Each package's version; a line that is neither a package with its hashes nor a comment is a mistake."""
    text = COMMENT.sub("", (ROOT / lock).read_text(encoding="utf-8"))
    assert PACKAGE.sub("", text) == ""
    return {found["name"]: found["version"] for found in PACKAGE.finditer(text)}


def requirements_for(extras: list[str]) -> list[str]:
    """What pyproject.toml asks for itself and under these extras."""
    project = PROJECT["project"]
    return [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_direct_requirement_is_locked(lock: str) -> None:
    """Each is locked, with hashes, in a version that pyproject.toml allows; so is what builds the kernel."""
    found = versions_in(lock)
    for text in [*requirements_for(LOCKS[lock]), *PROJECT["build-system"]["requires"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)], prereleases=True), text


def test_both_have_the_same_versions() -> None:
    """What the demo runs with is what the tests ran with."""
    demo, development = (versions_in(lock) for lock in LOCKS)
    assert demo.items() <= development.items()


@pytest.mark.parametrize("lock", LOCKS)
def test_it_names_no_index(lock: str) -> None:
    """No address and no option but the hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text
