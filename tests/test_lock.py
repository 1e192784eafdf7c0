"""The lock file is in step with pyproject.toml, has a hash for every package, and names no place to fetch from."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import env, lock

LINE = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>\S+) --hash=sha256:[0-9a-f]{64}  # (?P<groups>[a-z, ]+)")


def locked() -> dict[str, tuple[str, set[str]]]:
    """The version and the groups of each package."""
    lines = lock.LOCK.read_text(encoding="utf-8").splitlines()[1:]
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if match is None]
    return {found["name"]: (found["version"], set(found["groups"].split(", "))) for found in matches if found}


@pytest.mark.parametrize("group", [lock.CORE, *lock.EXTRAS])
def test_every_direct_requirement_is_locked(group: str) -> None:
    """Each is locked in a version that pyproject.toml allows, under the group that asks for it."""
    found = locked()
    for text in lock.direct_requirements()[group]:
        requirement = Requirement(text)
        version, groups = found[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), text
        assert group in groups


def test_it_names_no_index() -> None:
    """No address and no option but the hashes."""
    text = lock.LOCK.read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text


def test_an_environment_takes_what_it_was_asked_for(tmp_path: Path) -> None:
    """The packages of the project and of these extras, and no others."""
    lines = env.locked_lines({"lab"})
    names = {line.split("==")[0] for line in lines}
    assert {"numpy", "starlette"} <= names
    assert not names & {"ray", "mypy", "pytest"}
