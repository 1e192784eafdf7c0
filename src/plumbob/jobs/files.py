"""A job file as a tree, whatever it holds: never executed, never larger or deeper than it may be."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbob.errors import PlanError

LARGEST_FILE = 8 * 2**20
LARGEST_YAML = 2**18
DEEPEST_BRACKETS = 200
"""Most brackets within each other: the YAML parser takes seconds over more. Those in texts count too."""
MOST_VALUES = 200_000
"""Most values, repetitions by aliases included, so that a short file cannot stand for an endless one."""
DEEPEST = 60
LONGEST_NUMBER = 100
MERGE = "tag:yaml.org,2002:merge"
DOCUMENTS = {".md": "Markdown", ".rst": "reStructuredText", ".html": "HTML", ".txt": "text", ".po": "a translation"}
PROGRAMS = {
    ".py": "Python",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".js": "JavaScript",
    ".java": "Java",
    ".go": "Go",
    ".sh": "shell",
}
NOTEBOOK = "a notebook"


@dataclass(frozen=True)
class File:
    """The contents of a file: a tree, or a word for what else it is."""

    path: Path
    tree: Any = None
    other: str = ""
    """The kind of file, where it is no data."""

    @property
    def is_program(self) -> bool:
        """Whether whoever runs this file can make it print the job that it builds."""
        return self.other in (NOTEBOOK, "a program in Python")


def load(path: Path) -> File:
    """Read a file by the end of its name and by its first bytes."""
    text = _text(path)
    ending = path.suffix.lower()
    if ending in DOCUMENTS:
        return File(path, other=f"a documentation page ({DOCUMENTS[ending]})")
    if ending in PROGRAMS:
        return File(path, other=f"a program in {PROGRAMS[ending]}")
    tree = _json(text, path) if text.lstrip().startswith(("{", "[")) else _yaml(text, path)
    _measure(tree, path)
    if isinstance(tree, Mapping) and isinstance(tree.get("cells"), list):
        return File(path, other=NOTEBOOK)
    return File(path, tree=tree)


def _text(path: Path) -> str:
    content = _bytes(path)
    if len(content) > LARGEST_FILE:
        raise PlanError(f"{path}: this is more than a job file has; the limit is {LARGEST_FILE:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: the file is not text in UTF-8; send the job as the system wrote it") from error


def _bytes(path: Path) -> bytes:
    """At most one byte more than a job may have; a pipe or a device is refused unopened, so that it cannot hang."""
    try:
        _refuse_other_kinds(path, os.stat(path).st_mode)
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            # What the name stands for may have changed since.
            _refuse_other_kinds(path, os.fstat(file.fileno()).st_mode)
            return file.read(LARGEST_FILE + 1)
    except PlanError:
        raise
    except FileNotFoundError as error:
        raise PlanError(f"{path}: there is no such file; check the name and the folder") from error
    except PermissionError as error:
        raise PlanError(f"{path}: you may not read this file; ask its owner") from error
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: the job file cannot be read ({type(error).__name__})") from error


def _refuse_other_kinds(path: Path, mode: int) -> None:
    kinds = {
        stat.S_IFDIR: "a folder; name one job file in it",
        stat.S_IFIFO: "a pipe; save what comes out of it to a file first",
        stat.S_IFCHR: "a device; name a job file",
        stat.S_IFBLK: "a device; name a job file",
        stat.S_IFSOCK: "a socket; name a job file",
    }
    if (kind := kinds.get(stat.S_IFMT(mode))) is not None:
        raise PlanError(f"{path}: this is {kind}")


def _json(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if not _is_flow_yaml(text):
            raise PlanError(
                f"{path}: not valid JSON ({_short(error)}); send the file as the system wrote it"
            ) from error
    return _yaml(text, path)


def _is_flow_yaml(text: str) -> bool:
    """Whether a text is YAML like `{a: 1}`, which people write; a long one is a broken JSON file."""
    return len(text) < 10_000 and text.count("[") + text.count("{") < DEEPEST


def _yaml(text: str, path: Path) -> Any:
    if len(text) > LARGEST_YAML:
        raise PlanError(f"{path}: {len(text):,} characters is more YAML than a job has; the limit is {LARGEST_YAML:,}")
    if _bracket_depth(text) > DEEPEST_BRACKETS:
        raise PlanError(
            f"{path}: neither JSON nor YAML (brackets nested deeper than {DEEPEST_BRACKETS}): not a job file"
        )
    try:
        import yaml
    except ImportError:
        raise PlanError(
            f"{path}: reading YAML needs PyYAML, which is not installed; run: "
            "pip install '.[jobs]' in Plumbob's source folder, or send the "
            "job as JSON"
        ) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML comes without types.
        """The safe loader, which makes plain values only; what would take minutes to read is refused."""

        def flatten_mapping(self, node: Any) -> None:
            """Merged tables in merged tables double with every line."""
            if any(key.tag == MERGE for key, _ in node.value):
                raise ValueError("a merge key `<<`, which no job file needs")

        def construct_yaml_int(self, node: Any) -> int:
            return int(super().construct_yaml_int(_refuse_long_number(node)))

        def construct_yaml_float(self, node: Any) -> float:
            return float(super().construct_yaml_float(_refuse_long_number(node)))

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_yaml_float)
    try:
        documents = [document for document in yaml.load_all(text, Loader) if document is not None]  # Safe.
    # The parser lets through what Python says of odd dates and numbers, and of keys that cannot be keys.
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, AttributeError, RecursionError, LookupError) as error:
        raise PlanError(
            f"{path}: neither JSON nor YAML ({_short(error)}); send the file as the system wrote it"
        ) from error
    return documents[0] if len(documents) == 1 else documents


def _bracket_depth(text: str) -> int:
    depth = deepest = 0
    for letter in text:
        if letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth = max(0, depth - 1)
    return deepest


def _refuse_long_number(node: Any) -> Any:
    if len(str(node.value)) > LONGEST_NUMBER:
        raise ValueError("a number of more than 100 digits")
    return node


def _measure(tree: Any, path: Path) -> None:
    """Refuse what is too large or too deep to be a job."""
    waiting: list[tuple[Any, int]] = [(tree, 0)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if count > MOST_VALUES or depth > DEEPEST:
            raise PlanError(
                f"{path}: more than {MOST_VALUES:,} values, or nested deeper than {DEEPEST}: not a job file"
            )
        if isinstance(value, Mapping):
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += [(inner, depth + 1) for inner in value]


def _short(error: Exception) -> str:
    words = " ".join(str(error).split())
    words = "".join(letter if letter.isprintable() else "?" for letter in words)
    return words[:120] or type(error).__name__
