"""Finished pieces of work, one file each, so that a second call continues where the first one ended.

A file holds the settings that it came from: if one of them changed, it is not used again.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbob import __version__

NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True)
class ResultStore:
    """A folder of results."""

    folder: Path

    def get_or_run(self, name: str, settings: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stored result of these settings, or else the work's, which is stored."""
        stored = self.result(name, settings)
        if stored is not None:
            return stored
        result = work()
        self._keep(name, settings, result)
        return result

    def result(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is stored under this name, if it came from exactly these settings."""
        try:
            stored = json.loads(self._file(name).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(stored, dict) or stored.get("settings") != _comparable(settings):
            return None
        found: dict[str, Any] = stored["result"]
        return found

    def _keep(self, name: str, settings: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"settings": _comparable(settings), "result": result}, indent=1, allow_nan=False)
        # Whole or not at all, whenever it is interrupted.
        unfinished = self._file(name).with_suffix(".part")
        unfinished.write_text(content, encoding="utf-8")
        os.replace(unfinished, self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder / f"{NOT_IN_NAMES.sub('-', name)}.json"


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As they are after a way through JSON, with the version that did the work."""
    found: dict[str, Any] = json.loads(json.dumps({**settings, "plumbob": __version__}))
    return found
