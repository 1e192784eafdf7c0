"""Write requirements.lock: every package that development and CI install, with its version and the hash of its file.

    .venv/bin/python tools/lock.py

Made with CPython 3.11 on Linux, x86-64, and used there by `python3 tools/env.py --locked ...`. It names no index: where
packages come from is the machine's own setting, and the hashes say whether they are the right ones. tests/test_lock.py
keeps it in step with pyproject.toml.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
EXTRAS = ("test", "export", "jobs", "lab", "ray", "docs", "wheel", "dev")
CORE = "core"
HEAD = "# Written by tools/lock.py; after each package, what needs it. CPython 3.11, Linux, x86-64.\n"


def main() -> None:
    """Resolve all extras together, so that one version of each package serves them all."""
    wanted = direct_requirements()
    found = resolved([text for texts in wanted.values() for text in texts])
    groups = {group: closure(texts, found) for group, texts in wanted.items()}
    LOCK.write_text(HEAD + "".join(_line(name, found[name], groups) for name in sorted(found)), encoding="utf-8")


def direct_requirements() -> dict[str, list[str]]:
    """What pyproject.toml asks for itself and under each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {CORE: project["dependencies"], **{extra: project["optional-dependencies"][extra] for extra in EXTRAS}}


def resolved(requirements: list[str]) -> dict[str, dict[str, Any]]:
    """What pip would install, by name; nothing is installed."""
    report = ROOT / ".venv" / "lock-report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--only-binary"]
    subprocess.run([*command, ":all:", "--report", str(report), *requirements], check=True)
    items = json.loads(report.read_text())["install"]
    return {canonicalize_name(item["metadata"]["name"]): item for item in items}


def closure(requirements: list[str], found: dict[str, dict[str, Any]]) -> set[str]:
    """The names of these and of everything that they need here."""
    names: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        extras = requirement.extras or {""}
        name = canonicalize_name(requirement.name)
        if name in names and extras == {""}:
            continue
        names.add(name)
        for text in found[name]["metadata"].get("requires_dist", []):
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(inner)
    return names


def _line(name: str, item: dict[str, Any], groups: dict[str, set[str]]) -> str:
    used_by = ", ".join(group for group, names in groups.items() if name in names)
    digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
    return f"{name}=={item['metadata']['version']} --hash=sha256:{digest}  # {used_by}\n"


if __name__ == "__main__":
    main()
