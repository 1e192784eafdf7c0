"""A plan as TOML, as the bytes that its hash covers, and as short marks of its values.

By their marks two plans are told apart key by key, and no plan has to be sent for it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from plumbob.plan.keys import SettingKey
from plumbob.plan.settings import KEYS, PARTY_KEYS, SECTIONS, Party, PlanSettings

HASH_PREFIX = "plumbob plan {version}\n"
MARK_DIGITS = 4
# What a plan says besides its keys, first.
NAMED = {"version": "version", "parties": "parties", "auditors": "accountability.auditors"}
PATHS = (*NAMED.values(), *(key.path for key in PARTY_KEYS))


def hashed(settings: PlanSettings) -> str:
    """Hex SHA-256 over all values of what the file says; layout and the order of keys do not matter.

    The order of the parties does: it says whose columns come first. The seed of a study that trains as parties do is
    no part of it, so that the study has the hash of their plan.
    """
    values = asdict(settings)
    names = ("title", "parties", "auditors", *(key.name for key in _keys_said(settings)))
    said = {name: values[name] for name in names if name != "seed" or not settings.kind.has_lattices}
    if not settings.kind.has_lattices:
        said["heuristic"] = values["heuristic"]
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    prefix = HASH_PREFIX.format(version=settings.version)
    return hashlib.sha256((prefix + canonical).encode()).hexdigest()


def _keys_said(settings: PlanSettings) -> tuple[SettingKey, ...]:
    """The keys that the file writes: those of parties, and in a study of another protocol all."""
    if not settings.kind.has_lattices:
        return KEYS
    return tuple(key for key in KEYS if not key.is_study or getattr(settings, key.name) != key.default)


def to_toml(settings: PlanSettings, remark: str = "") -> str:
    """The whole plan with every default written out and explained; reads back as the same plan.

    The remark, a line, says why it is as it is.
    """
    is_study = not settings.kind.has_lattices
    sections = {section: [f"[{section}]"] for section in SECTIONS}
    arbiter = '; an arbiter is { role = "arbiter" }' if is_study else ""
    sections["parties"][0] += f"                    # first the label party{arbiter}"
    for party in settings.parties:
        sections["parties"].append(f"{party.name} = {_inline(_party_items(party))}")
    for key in _keys_said(settings):
        if key.section:
            line = f"{key.in_file} = {toml_value(getattr(settings, key.name))}"
            sections[key.section].append(f"{line:<28} # {(key if is_study else key.of_parties).comment}")
    if is_study:
        line = f"heuristic = {_inline(asdict(settings.heuristic))}"
        sections["privacy"].append(f"{line}        # e = 0: use the actual number of epochs")
    line = f"auditors = {_inline(dict(settings.auditors))}"
    sections["accountability"].append(f'{line:<28} # party = "FINGERPRINT"; who is named here keeps evidence')
    said = f"# {remark}\n" if remark else ""
    return said + _head(settings) + "".join("\n".join(lines) + "\n" for lines in sections.values() if lines[1:])


def _head(settings: PlanSettings) -> str:
    return f"version = {settings.version}\ntitle = {toml_value(settings.title)}\n"


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


def marks_of(settings: PlanSettings) -> str:
    """Four hexadecimal digits for each value, in the order of the keys."""
    values = asdict(settings)
    names = (*NAMED, *(key.name for key in PARTY_KEYS))
    return "".join(_mark(name, values[name]) for name in names)


def differing_keys(ours: str, theirs: str) -> list[str]:
    """The keys whose marks differ; none where the other side's cannot be compared."""
    if len(ours) != len(theirs) or len(ours) != MARK_DIGITS * len(PATHS):
        return []
    places = range(0, len(ours), MARK_DIGITS)
    pairs = ((ours[place : place + MARK_DIGITS], theirs[place : place + MARK_DIGITS]) for place in places)
    return [path for path, (one, other) in zip(PATHS, pairs, strict=True) if one != other]


def _mark(name: str, value: object) -> str:
    text = json.dumps([name, value], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_DIGITS]
