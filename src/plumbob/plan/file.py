"""A plan's file: its text read as flat values by the names of the plan's keys, and written, hashed and marked.

By short marks of their values two plans are told apart key by key, and no plan has to be sent for it.
"""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from plumbob.errors import PlanError
from plumbob.plan.common import VERSION, Common, Heuristic, Party
from plumbob.plan.keys import SECTIONS, SettingKey, cut_short, keys_of, shown, suggestion

TOP = ("version", "title")
LONGEST_TEXT = 1 << 16  # Characters of a plan's file: with every key and comment it has a quarter of these.
MOST_PARTS = 8  # Of a dotted key, or of a table's name.
QUOTED = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
"""Strings and comments, in which dots are no keys."""
BETWEEN_KEYS = re.compile(r"[=\[\]{},]")
AUDITORS = ("accountability", "auditors")
HEURISTIC = ("privacy", "heuristic")
"""Keys whose value is a table, with their sections; only a study has the second."""
HASH_PREFIX = "plumbob plan {version}\n"
MARK_DIGITS = 4
# What a plan says besides its keys, first.
NAMED = {"version": "version", "parties": "parties", "auditors": "accountability.auditors"}
MARKED = keys_of(Common)
PATHS = (*NAMED.values(), *(key.path for key in MARKED))


# Reading.


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


def has_only(tree: Mapping[str, Any], keys: Sequence[SettingKey]) -> bool:
    """Whether a file names none but these keys, so that nobody has to look further to understand it."""
    return all(
        name in (*TOP, "parties") or (isinstance(content, Mapping) and content.keys() <= _known(name, keys).keys())
        for name, content in tree.items()
    )


def _known(section: str, keys: Sequence[SettingKey]) -> dict[str, str]:
    """The names that a section's keys have in the file, with their flat names."""
    is_study = any(key.is_study for key in keys)
    tables = [name for place, name in (AUDITORS, *([HEURISTIC] if is_study else [])) if place == section]
    return {key.in_file: key.name for key in keys if key.section == section} | {name: name for name in tables}


def flatten(tree: Mapping[str, Any], keys: Sequence[SettingKey]) -> tuple[dict[str, Any], list[str]]:
    """Flatten `{"parties": {...}, "model": {...}, ...}` to (values by flat name, mistakes)."""
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for section, content in tree.items():
        if section in TOP:
            values[section] = content
        elif section not in SECTIONS:
            mistakes += _gone_with(section, content) or [_unknown(section, "", (*SECTIONS, *TOP), keys)]
        elif not isinstance(content, Mapping):
            mistakes.append(f"{section}: expected a table [{section}], got {shown(content)}")
        elif section == "parties":
            values["parties"] = _read_parties(content, keys, mistakes)
        else:
            known = _known(section, keys)
            values.update({known[name]: value for name, value in content.items() if name in known})
            mistakes += [_unknown(name, section, tuple(known), keys) for name in content if name not in known]
    values["version"] = _read_version(values.get("version", VERSION), mistakes)
    return values, [*mistakes, *_unusable(values, keys)]


def _read_version(version: object, mistakes: list[str]) -> int:
    if version is None:
        mistakes.append(f"version: the file names none; write version = {VERSION} at its top if it is a plan of today")
    elif type(version) is not int or version != VERSION:
        mistakes.append(
            f"version: expected {VERSION}, got {shown(version)}; a later plan needs a later version of plumbob, an "
            "earlier one is drafted again with `plumbob plan new`"
        )
    return VERSION


def read_auditors(content: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Each party's auditor; neither the order nor the spaces of a fingerprint read aloud make another plan."""
    plain = {
        name: value.replace(" ", "").lower() if isinstance(value, str) else value for name, value in content.items()
    }
    return tuple(sorted(plain.items()))


def read_heuristic(content: Mapping[str, Any], mistakes: list[str]) -> Heuristic:
    """The numbers of the paper's noise formula."""
    names = [item.name for item in fields(Heuristic)]
    mistakes.extend(_unknown(name, "privacy.heuristic", names, ()) for name in content if name not in names)
    return Heuristic(**{name: value for name, value in content.items() if name in names})


def _read_parties(content: Mapping[str, Any], keys: Sequence[SettingKey], mistakes: list[str]) -> tuple[Party, ...]:
    parties = []
    for name, entry in content.items():
        path = f"parties.{one_key(name)}"
        if not isinstance(entry, Mapping):
            mistakes.append(f'{path}: expected {{ role = "features", features = 12 }}, got {shown(entry)}')
            continue
        known = ("role", "features")
        mistakes.extend(_unknown(key, path, known, keys) for key in entry if key not in known)
        role = entry.get("role", "")
        if role in ("label", "features") and "features" not in entry:
            mistakes.append(f"{path}: say how many columns it has, features = ...")
        parties.append(Party(name, role, entry.get("features", 1 if role == "features" else 0)))
    return tuple(parties)


def named_parties(features: Sequence[int], with_arbiter: bool = False) -> tuple[Party, ...]:
    """Parties called `label`, `features`, `features-2`, ... and, where needed, `arbiter`."""
    names = ["label", "features", *(f"features-{number}" for number in range(2, len(features)))]
    roles = ["label"] + ["features"] * (len(features) - 1)
    parties = [Party(*item) for item in zip(names, roles, features, strict=False)]
    return (*parties, Party("arbiter", "arbiter")) if with_arbiter else tuple(parties)


def one_key(name: str) -> str:
    """A key's name for a message: a peer's may hold ends of lines."""
    return name if name.isprintable() else shown(name)


def _unknown(name: str, section: str, known: Sequence[str], keys: Sequence[SettingKey]) -> str:
    name = one_key(name)
    path = f"{section}.{name}" if section else name
    if found := _gone(name, section):
        return f"{path}: {found}"
    elsewhere = [key for key in keys if name == key.in_file and key.section != section]
    if elsewhere:
        return f"{path}: unknown key; it belongs in [{elsewhere[0].section}]"
    return f"{path}: unknown key{suggestion(name, known) or _far_suggestion(name, keys)}"


def _far_suggestion(name: str, keys: Sequence[SettingKey]) -> str:
    paths = {key.in_file: key.path for key in keys}
    close = difflib.get_close_matches(name, list(paths), n=1)
    return f'; did you mean "{paths[close[0]]}"?' if close else ""


def _gone_with(section: str, content: object) -> list[str]:
    """A line for each key of a section that is gone, where something is known about the key."""
    inside = content if isinstance(content, Mapping) else {}
    found = {name: _gone(name, section) for name in inside}
    return [f"{section}.{name}: {words}" for name, words in found.items() if words]


def _gone(name: str, section: str) -> str | None:
    from plumbob.retired import gone  # Late: most plans have no such key.

    place = "parties.NAME" if section.startswith("parties.") else section
    return gone(f"plan [{place}] {name}" if place else f"plan {name}", "key")


def unknown_names(changes: Mapping[str, Any], keys: Sequence[SettingKey], may_be_foreign: bool = False) -> list[str]:
    """A line for each name that is no key of the plan, and for each value that only another system's job may have."""
    known = ("version", "parties", "features", "auditors", "heuristic", *(key.name for key in keys))
    lines = [_unknown_name(name, known) for name in changes if name not in known]
    return [*lines, *([] if may_be_foreign else _unusable(changes, keys))]


def _unknown_name(name: str, known: Sequence[str]) -> str:
    from plumbob.retired import gone_from_plan  # Late: most plans have no such key.

    return f"{name}: {gone_from_plan(name) or f'unknown key{suggestion(name, known)}'}"


def _unusable(values: Mapping[str, Any], keys: Sequence[SettingKey]) -> list[str]:
    """Values that only another system's job may have."""
    return [
        f"{key.path}: {shown(values[key.name])} is another system's, which only `check --from-...` judges; write "
        f'"{key.default}"'
        for key in keys
        if key.also and values.get(key.name) in key.also
    ]


# Writing.


def hashed(plan: Common, keys: Sequence[SettingKey]) -> str:
    """Hex SHA-256 over the values that the file says; layout and the order of keys do not matter.

    The order of the parties does: it says whose columns come first. The seed of a study that trains as parties do is
    no part of it, so that the study has the hash of their plan.
    """
    values = msgspec.to_builtins(plan)
    named = ["title", "parties", "auditors", *(key.name for key in keys)]
    if plan.kind.has_lattices:
        named = [name for name in named if name != "seed"]
    else:
        named.append("heuristic")
    canonical = json.dumps(
        {name: values[name] for name in named}, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256((HASH_PREFIX.format(version=plan.version) + canonical).encode()).hexdigest()


def to_toml(plan: Common, keys: Sequence[SettingKey], remark: str = "") -> str:
    """The whole plan with every default written out and explained; reads back as the same plan.

    The remark, a line, says why it is as it is.
    """
    is_study = not plan.kind.has_lattices
    sections = {section: [f"[{section}]"] for section in SECTIONS}
    arbiter = '; an arbiter is { role = "arbiter" }' if is_study else ""
    sections["parties"][0] += f"                    # first the label party{arbiter}"
    sections["parties"] += [f"{party.name} = {_inline(_party_items(party))}" for party in plan.parties]
    for key in keys:
        if key.section:
            line = f"{key.in_file} = {toml_value(getattr(plan, key.name))}"
            sections[key.section].append(f"{line:<28} # {key.comment}")
    if is_study:
        line = f"heuristic = {_inline(msgspec.to_builtins(plan.heuristic))}"
        sections["privacy"].append(f"{line}        # e = 0: use the actual number of epochs")
    line = f"auditors = {_inline(dict(plan.auditors))}"
    sections["accountability"].append(f'{line:<28} # party = "FINGERPRINT"; who is named here keeps evidence')
    head = [*([f"# {remark}"] if remark else []), f"version = {plan.version}", f"title = {toml_value(plan.title)}"]
    return "\n".join([*head, *(line for lines in sections.values() if lines[1:] for line in lines)]) + "\n"


def _party_items(party: Party) -> dict[str, Any]:
    items: dict[str, Any] = {"role": party.role}
    return items if party.role == "arbiter" else items | {"features": party.features}


def _inline(items: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{name} = {toml_value(value)}" for name, value in items.items()) + " }" if items else "{}"


def toml_value(value: bool | int | float | str) -> str:
    """One value as TOML has it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def marks_of(plan: Common) -> str:
    """Four hexadecimal digits for each value, in the order of the keys."""
    values = msgspec.to_builtins(plan)
    return "".join(_mark(name, values[name]) for name in (*NAMED, *(key.name for key in MARKED)))


def differing_keys(ours: str, theirs: str) -> list[str]:
    """The keys whose marks differ; none where the other side's cannot be compared."""
    if len(ours) != len(theirs) or len(ours) != MARK_DIGITS * len(PATHS):
        return []
    places = range(0, len(ours), MARK_DIGITS)
    pairs = ((ours[place : place + MARK_DIGITS], theirs[place : place + MARK_DIGITS]) for place in places)
    return [path for path, (mark, other) in zip(PATHS, pairs, strict=True) if mark != other]


def _mark(name: str, value: object) -> str:
    text = json.dumps([name, value], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_DIGITS]
