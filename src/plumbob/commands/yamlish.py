"""As much of YAML as job files use: nested mappings and lists by indentation, plain and quoted scalars, JSON inline.

Anchors, tags, block texts and documents in one file are refused with their line.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

ENTRY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s#:'"\[\]{},&*!|>-][^#:]*?)\s*:(?:\s+(?P<value>.*))?$""")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True)
class Line:
    """A line that is not empty, without its indentation and comment."""

    number: int
    indent: int
    text: str


def parse_yaml(text: str) -> Any:
    """Mappings as dict, lists as list. Raises ValueError with the line that it does not understand."""
    lines = [line for number, raw in enumerate(text.splitlines(), 1) if (line := _line(number, raw)) is not None]
    if not lines:
        return {}
    value, rest = _block(lines, lines[0].indent)
    if rest:
        raise ValueError(f"line {rest[0].number}: unexpected indentation")
    return value


def _line(number: int, raw: str) -> Line | None:
    text = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
    if not text.strip() or text.strip() == "---":
        return None
    if "\t" in text[: len(text) - len(text.lstrip())]:
        raise ValueError(f"line {number}: indented with a tab")
    return Line(number, len(text) - len(text.lstrip()), text.strip())


def _block(lines: list[Line], indent: int) -> tuple[Any, list[Line]]:
    is_list = lines[0].text.startswith("- ") or lines[0].text == "-"
    return _list(lines, indent) if is_list else _mapping(lines, indent)


def _mapping(lines: list[Line], indent: int) -> tuple[dict[str, Any], list[Line]]:
    found: dict[str, Any] = {}
    while lines and lines[0].indent == indent and not lines[0].text.startswith("- "):
        first, lines = lines[0], lines[1:]
        match = ENTRY.match(first.text)
        if match is None:
            raise ValueError(f"line {first.number}: expected `name: value`")
        key, value = match["key"].strip("\"'"), match["value"]
        if value:
            found[key] = _scalar(value, first.number)
        elif lines and (lines[0].indent > indent or (lines[0].indent == indent and lines[0].text.startswith("- "))):
            found[key], lines = _block(lines, lines[0].indent)
        else:
            found[key] = None
    return found, lines


def _list(lines: list[Line], indent: int) -> tuple[list[Any], list[Line]]:
    found: list[Any] = []
    while lines and lines[0].indent == indent and (lines[0].text.startswith("- ") or lines[0].text == "-"):
        first, lines = lines[0], lines[1:]
        inner = first.text[1:].lstrip()
        if ENTRY.match(inner):
            # `- name: value` begins a mapping whose other entries stand below the name.
            offset = indent + len(first.text) - len(inner)
            value, lines = _mapping([Line(first.number, offset, inner), *lines], offset)
            found.append(value)
        elif inner:
            found.append(_scalar(inner, first.number))
        elif lines and lines[0].indent > indent:
            value, lines = _block(lines, lines[0].indent)
            found.append(value)
        else:
            found.append(None)
    return found, lines


def _scalar(text: str, number: int) -> Any:
    if text[0] in "&*!|>":
        raise ValueError(f"line {number}: {text[0]} is not understood here")
    if text[0] in "[{":
        try:
            return json.loads(text)
        except ValueError:
            return _flow(text, number)
    if text[0] in "\"'" and text[-1] == text[0] and len(text) > 1:
        return text[1:-1]
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _flow(text: str, number: int) -> Any:
    """[guest, host] and {method: zeros}: inline, without quotes, one level deep."""
    closing = {"[": "]", "{": "}"}[text[0]]
    inner = text[1:-1]
    if not text.endswith(closing) or any(mark in inner for mark in "[]{}"):
        raise ValueError(f"line {number}: expected one level between {text[0]} and {closing}")
    items = [item.strip() for item in inner.split(",") if item.strip()]
    if closing == "]":
        return [_scalar(item, number) for item in items]
    pairs = (item.partition(":") for item in items)
    return {key.strip().strip("\"'"): _scalar(value.strip() or "~", number) for key, _, value in pairs}
