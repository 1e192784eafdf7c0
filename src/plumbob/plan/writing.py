"""A plan as TOML, as the bytes that its hash covers, and as short marks of its values.

By their marks two plans are told apart key by key, and no plan has to be sent for it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from plumbob.plan.settings import KEYS, SECTIONS, Party, PlanSettings

HASH_PREFIX = "plumbob plan {version}\n"
MARK_DIGITS = 4
# What a plan says besides its keys, first.
NAMED = {
    "version": "version",
    "parties": "parties",
    "heuristic": "privacy.heuristic",
    "auditors": "accountability.auditors",
}
PATHS = (*NAMED.values(), *(key.path for key in KEYS))


def hashed(settings: PlanSettings) -> str:
    """Hex SHA-256 over all values, defaults included but for rare keys; layout and the order of keys do not matter.

    The order of the parties does: it says whose columns come first.
    """
    unsaid = _unsaid(settings) | {"version"}
    said = {name: value for name, value in asdict(settings).items() if name not in unsaid}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    prefix = HASH_PREFIX.format(version=settings.version)
    return hashlib.sha256((prefix + canonical).encode()).hexdigest()


def _unsaid(settings: PlanSettings) -> set[str]:
    """Rare keys at their default, which the hash leaves out."""
    return {key.name for key in KEYS if key.is_rare and getattr(settings, key.name) == key.default}


def to_toml(settings: PlanSettings, remark: str = "") -> str:
    """The whole plan with every default written out and explained; reads back as the same plan.

    The remark, a line, says why it is as it is.
    """
    sections = {section: [f"[{section}]"] for section in SECTIONS}
    sections["parties"][0] += '                    # first the label party; an arbiter is { role = "arbiter" }'
    for party in settings.parties:
        sections["parties"].append(f"{party.name} = {_inline(_party_items(party))}")
    unsaid = _unsaid(settings)
    for key in KEYS:
        if key.section and key.name not in unsaid:
            line = f"{key.in_file} = {toml_value(getattr(settings, key.name))}"
            sections[key.section].append(f"{line:<28} # {key.comment}")
    line = f"heuristic = {_inline(asdict(settings.heuristic))}"
    sections["privacy"].append(f"{line}        # e = 0: use the actual number of epochs")
    line = f"auditors = {_inline(dict(settings.auditors))}"
    sections["accountability"].append(f'{line:<28} # with evidence = "keep": each party\'s auditor, by fingerprint')
    said = f"# {remark}\n" if remark else ""
    return said + _head(settings) + "".join("\n".join(lines) + "\n" for lines in sections.values())


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
    names = (*NAMED, *(key.name for key in KEYS))
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
