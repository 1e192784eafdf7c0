"""A job file as a tree of tables, lists and values: never executed, never larger or deeper than a job can be."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbob.errors import PlanError

LARGEST_FILE = 8 * 2**20
LARGEST_YAML = 2**18
MOST_VALUES = 200_000
"""Most values, repetitions by aliases included, so that a short file cannot stand for an endless one."""
DEEPEST = 60


def load(path: Path) -> Any:
    """The tree of a JSON or YAML file; None for a program or a notebook, of which nothing is read.

    YAML's values are texts, as they stand in the file: the fields of a component say what is a number.
    """
    text = _text(path)
    if path.suffix.lower() == ".py":
        return None
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        tree = _yaml(text, path)
    _measure(tree, path)
    is_notebook = isinstance(tree, Mapping) and isinstance(tree.get("cells"), list)
    return None if is_notebook else tree


def _text(path: Path) -> str:
    # A pipe or a device could hang, or never end.
    if path.exists() and not path.is_file():
        raise PlanError(f"{path}: this is no file; name one job file")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise PlanError(f"{path}: there is no such file; check the name and the folder") from error
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: the job file cannot be read ({type(error).__name__})") from error
    if len(content) > LARGEST_FILE:
        raise PlanError(f"{path}: this is more than a job file has; the limit is {LARGEST_FILE:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: the file is not text in UTF-8; send the job as the system wrote it") from error


def _yaml(text: str, path: Path) -> Any:
    if len(text) > LARGEST_YAML:
        raise PlanError(
            f"{path}: not valid JSON, and more than the {LARGEST_YAML:,} characters that a job in YAML may have"
        )
    try:
        import yaml
    except ImportError:
        raise PlanError(
            f"{path}: reading YAML needs PyYAML, which is not installed; run: "
            "pip install '.[lab]' in Plumbob's source folder, or send the "
            "job as JSON"
        ) from None

    try:
        documents = [document for document in yaml.load_all(text, yaml.BaseLoader) if document != ""]
    except RecursionError:
        raise PlanError(f"{path}: nested deeper than {DEEPEST}: not a job file") from None
    # A key that is itself a table is a TypeError, a letter that no text has a ValueError.
    except (yaml.YAMLError, ValueError, TypeError) as error:
        words = " ".join(str(error).split())[:120] or type(error).__name__
        raise PlanError(f"{path}: neither JSON nor YAML ({words}); send the file as the system wrote it") from error
    return documents[0] if len(documents) == 1 else documents


def _measure(tree: Any, path: Path) -> None:
    """Refuse what is too large or too deep to be a job, and tables that are merged from others."""
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
            if "<<" in value:
                raise PlanError(f"{path}: a merge key `<<`, which no job file needs; write each table out")
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
