"""Turns the file's shape, or flags, into flat values by the names of the plan's keys."""

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from plumbob.errors import PlanError
from plumbob.plan.keys import cut_short, shown, suggestion
from plumbob.plan.settings import FIELD_NAMES, KEYS, SECTIONS, VERSION, Heuristic, Party

TOP = ("version", "title")
LONGEST_TEXT = 1 << 16  # Characters of a plan's file: with every key and comment it has a quarter of these.
MOST_PARTS = 8  # Of a dotted key, or of a table's name.
QUOTED = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
"""Strings and comments, in which dots are no keys."""
BETWEEN_KEYS = re.compile(r"[=\[\]{},]")
TABLES = {"privacy": "heuristic", "accountability": "auditors"}
"""Sections with a key whose value is a table, and that key."""


def read_text(path: str | Path) -> str:
    """A plan's file, as text."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise PlanError(
            f"{path}: there is no such plan; `plumbob plan new --out {path}` writes one, and between organisations "
            "`plumbob party propose` writes joint.toml"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: the plan cannot be read as text in UTF-8 ({type(error).__name__})") from error


def parse(text: str) -> dict[str, Any]:
    """Parse TOML as nested tables; a file must name its version."""
    _refuse_endless(text)
    try:
        tree = tomllib.loads(text)
    # Besides its own error the parser lets through what Python says of endless numbers and of endless nesting.
    except (ValueError, RecursionError) as error:
        raise PlanError(cut_short(f"not valid TOML: {error}")) from error
    return {"version": None, **tree}


def _refuse_endless(text: str) -> None:
    """Refuse before parsing what takes a parser minutes: a peer's plan, or one in a record, may be made for that."""
    if len(text) > LONGEST_TEXT:
        raise PlanError(
            f"{len(text):,} characters are no plan: expected at most {LONGEST_TEXT:,}; send the plan itself"
        )
    for line in QUOTED.sub("", text).splitlines():
        if any(part.count(".") >= MOST_PARTS for part in BETWEEN_KEYS.split(line)):
            raise PlanError(f"a key has more than {MOST_PARTS} dotted parts: no key of a plan has more than two")


def flatten(tree: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Flatten `{"parties": {...}, "model": {...}, ...}` to (values by flat name, mistakes)."""
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for name, content in tree.items():
        if name in TOP:
            values[name] = content
        elif name not in SECTIONS:
            mistakes += _gone_with(name, content) or [_unknown(name, "", (*SECTIONS, *TOP))]
        elif not isinstance(content, Mapping):
            mistakes.append(f"{name}: expected a table [{name}], got {shown(content)}")
        elif name == "parties":
            values["parties"] = _read_parties(content, mistakes)
        else:
            values.update(_read_section(name, content, mistakes))
    values["version"] = _read_version(values.get("version", VERSION), mistakes)
    return values, [*mistakes, *_unusable(values)]


def _read_version(version: object, mistakes: list[str]) -> int:
    if version is None:
        mistakes.append(f"version: the file names none; write version = {VERSION} at its top if it is a plan of today")
    elif type(version) is not int or version != VERSION:
        mistakes.append(
            f"version: expected {VERSION}, got {shown(version)}; a later plan needs a later version of plumbob, an "
            "earlier one is drafted again with `plumbob plan new`"
        )
    return VERSION


def _read_section(section: str, content: Mapping[str, Any], mistakes: list[str]) -> dict[str, Any]:
    known = {key.in_file: key.name for key in KEYS if key.section == section}
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name in known:
            values[known[name]] = value
        elif name == TABLES.get(section):
            values[name] = value
        else:
            mistakes.append(_unknown(name, section, (*known, TABLES[section]) if section in TABLES else tuple(known)))
    return values


def read_auditors(content: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Each party's auditor; neither the order nor the spaces of a fingerprint read aloud make another plan."""
    plain = {
        name: value.replace(" ", "").lower() if isinstance(value, str) else value for name, value in content.items()
    }
    return tuple(sorted(plain.items()))


def read_heuristic(content: Mapping[str, Any], mistakes: list[str]) -> Heuristic:
    """The numbers of the paper's noise formula."""
    names = [item.name for item in fields(Heuristic)]
    mistakes.extend(_unknown(name, "privacy.heuristic", names) for name in content if name not in names)
    return Heuristic(**{name: value for name, value in content.items() if name in names})


def _read_parties(content: Mapping[str, Any], mistakes: list[str]) -> tuple[Party, ...]:
    parties = []
    for name, entry in content.items():
        path = f"parties.{one_key(name)}"
        if not isinstance(entry, Mapping):
            mistakes.append(f'{path}: expected {{ role = "features", features = 12 }}, got {shown(entry)}')
            continue
        known = ("role", "features")
        mistakes.extend(_unknown(key, path, known) for key in entry if key not in known)
        role = entry.get("role", "")
        if role in ("label", "features") and "features" not in entry:
            mistakes.append(f"{path}: say how many columns it has, features = ...")
        parties.append(Party(name, role, entry.get("features", 1 if role == "features" else 0)))
    return tuple(parties)


def named_parties(features: Sequence[int], with_arbiter: bool) -> tuple[Party, ...]:
    """Parties called `label`, `features`, `features-2`, ... and, where needed, `arbiter`."""
    names = ["label", "features", *(f"features-{number}" for number in range(2, len(features)))]
    roles = ["label"] + ["features"] * (len(features) - 1)
    parties = [Party(*item) for item in zip(names, roles, features, strict=False)]
    return (*parties, Party("arbiter", "arbiter")) if with_arbiter else tuple(parties)


def one_key(name: str) -> str:
    """A key's name for a message: a peer's may hold ends of lines."""
    return name if name.isprintable() else shown(name)


def _unknown(name: str, section: str, known: Sequence[str]) -> str:
    name = one_key(name)
    path = f"{section}.{name}" if section else name
    if found := _gone(name, section):
        return f"{path}: {found}"
    elsewhere = [key for key in KEYS if name == key.in_file and key.section != section]
    if elsewhere:
        return f"{path}: unknown key; it belongs in [{elsewhere[0].section}]"
    return f"{path}: unknown key{suggestion(name, known) or _far_suggestion(name)}"


def _gone_with(section: str, content: object) -> list[str]:
    """A line for each key of a section that is gone, where something is known about the key."""
    inside = content if isinstance(content, Mapping) else {}
    found = {name: _gone(name, section) for name in inside}
    return [f"{section}.{name}: {words}" for name, words in found.items() if words]


def _gone(name: str, section: str) -> str | None:
    from plumbob.retired import gone  # Late: most plans have no such key.

    place = "parties.NAME" if section.startswith("parties.") else section
    return gone(f"plan [{place}] {name}" if place else f"plan {name}", "key")


def _unknown_flag(name: str, known: Sequence[str]) -> str:
    from plumbob.retired import gone_from_plan  # As above.

    return f"{name}: {gone_from_plan(name) or f'unknown key{suggestion(name, known)}'}"


def unknown_flags(changes: Mapping[str, Any]) -> list[str]:
    """A line for each name that is no key of the plan."""
    known = (*FIELD_NAMES, "features")
    unknown = [name for name in changes if name not in known]
    return [*(_unknown_flag(name, known) for name in unknown), *_unusable(changes)]


def _unusable(values: Mapping[str, Any]) -> list[str]:
    """Values that only another system's job may have."""
    also = {key.name: key.also for key in KEYS if key.also}
    return [
        f"{key.path}: {shown(values[key.name])} is another system's, which only `check --from-...` judges; write "
        f'"{key.default}"'
        for key in KEYS
        if values.get(key.name) in also.get(key.name, ())
    ]


def _far_suggestion(name: str) -> str:
    paths = {key.in_file: key.path for key in KEYS}
    close = difflib.get_close_matches(name, list(paths), n=1)
    return f'; did you mean "{paths[close[0]]}"?' if close else ""
