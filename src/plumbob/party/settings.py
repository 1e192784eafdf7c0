"""A party's own settings, `party.toml`: what may stand there, how it is read, and how it is written."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import msgspec

from plumbob.data.tables import ColumnChoices
from plumbob.errors import DataError, SettingsError, TransportError
from plumbob.net.address import Address, Proxy
from plumbob.net.identity import refuse_loose
from plumbob.plan import PARTY_NAME, SettingKey, suggestion
from plumbob.plan.keys import PlanSection

SETTINGS_FILE = "party.toml"
ANYWHERE = ("0.0.0.0:", "[::]:")  # No place that a peer could dial.
PEERS = "peers"  # The section here, and the folder of certificates beside it.
TABLE = "table"
HEAD = "# This party's own settings. Nothing here is sent to a peer, but for `address` in an invitation.\n"


def _setting(default: Any, meaning: str, **limits: float) -> Any:
    return PlanSection("").key(default, meaning, **limits)


@dataclass(frozen=True, repr=False)
class HomeSettings:
    """`party.toml`, validated. Not printed: a proxy's address may have a password in it."""

    name: str = field(metadata={"section": "", "default": "", "meaning": "as in the certificate and in every plan"})
    listen: str = _setting("", 'HOST:PORT to listen on, such as 0.0.0.0:7700; "" = only outgoing connections')
    address: str = _setting("", 'HOST:PORT under which peers reach `listen`, told in invitations; "" = `listen`')
    proxy: str = _setting("", 'http://[user:password@]host:port to dial out through; "" = none')
    data: str = _setting("", "the table's file, from this folder if the path is not absolute")
    id_column: str = _setting("id", "the column that identifies each row, or several with commas between them")
    label_column: str = _setting("", 'the column that holds the label; "" = this party has none')
    cluster: str = _setting("", 'ray://HOST:PORT of your own Ray cluster, for large products; "" = none')
    patience: float = _setting(600.0, "seconds to wait for a peer before giving up", above=0)
    most_rows: int = _setting(
        0, "rows of one plan that are answered to `predict`, over all sessions; 0 = no limit beyond the plan's", low=0
    )
    label_epsilon: float = _setting(
        0.0,
        "epsilon that all runs with sound noise may spend on a label together, at most_delta; 0 = what the plan"
        " promises",
        low=0,
    )
    most_epsilon: float = _setting(
        0.0,
        "epsilon that all runs with noise for whole rows may spend on a row together, at most_delta; 0 = what the plan"
        " promises",
        low=0,
    )
    evidence_key: str = _setting("", 'the auditor\'s public key, whose fingerprint is in the plan; "" = none')
    most_delta: float = _setting(1e-6, "delta at which both are counted, whatever delta a plan has", above=0, below=1)
    reading: ColumnChoices = field(default_factory=ColumnChoices)
    """How the table's columns are read; `[table]` in the file."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The address of each peer, by its name; `[peers.NAME] address` in the file."""

    def __post_init__(self) -> None:
        mistakes = [key.mistake(getattr(self, key.name)) for key in KEYS]
        _raise_if_any([text for text in mistakes if text] or list(self._place_mistakes()))

    def _place_mistakes(self) -> Iterator[str]:
        if not PARTY_NAME.fullmatch(self.name):
            yield "name: expected up to 32 letters, digits, - and _"
        yield from _address_mistake("listen", self.listen, lambda text: Address.parse(text, any_port=True))
        yield from _address_mistake("address", self.address, Address.parse)
        yield from _address_mistake("proxy", self.proxy, Proxy.parse)
        for name, address in self.addresses.items():
            yield from _address_mistake(f"peers.{name}.address", address, Address.parse)

    @property
    def dialled_at(self) -> str:
        """The address in this party's invitations; empty where it does not listen, or cannot know."""
        if self.address or not self.listen:
            return self.address
        is_chosen_late = self.listen.endswith(":0")
        return "" if self.listen.startswith(ANYWHERE) or is_chosen_late else self.listen

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Parse strictly, and report all mistakes at once."""
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{SETTINGS_FILE}: not valid TOML: {error}") from error
        known = (*NAMES, TABLE, PEERS)
        strange = {name: value for name, value in tree.items() if name not in known}
        mistakes = [line for name, value in strange.items() for line in _unknown_lines(name, value, known)]
        if "name" not in tree:
            mistakes.append("name: say who this party is")
        addresses = _read_peers(tree.get(PEERS, {}), mistakes)
        reading = _read_choices(tree.get(TABLE, {}), mistakes)
        _raise_if_any(mistakes)
        values = {name: value for name, value in tree.items() if name in NAMES}
        return cls(**values, reading=reading, addresses=addresses)

    def to_toml(self) -> str:
        """The whole file with every key explained."""
        lines = [f"{key.name} = {_toml_value(getattr(self, key.name))}" for key in KEYS]
        body = "".join(f"{line:<36} # {key.comment}\n" for line, key in zip(lines, KEYS, strict=True))
        return (
            HEAD
            + body
            + _table_section(self.reading)
            + "".join(_peer_section(name, at) for name, at in self.addresses.items())
        )


KEYS = tuple(SettingKey(item.name, **item.metadata) for item in fields(HomeSettings) if item.metadata)
NAMES = tuple(key.name for key in KEYS)
IN_FILE = {"gaps": "na"}  # What the file calls otherwise than `ColumnChoices` does.
EMPTY_IS_NONE = ("columns", "positive", "weight")
MEANINGS = {
    "columns": "the features, in this order; [] = all columns",
    "drop": "columns that are no features",
    "category": "columns that are text even if their cells are numbers",
    "gaps": 'cells that mean a gap, besides empty ones and NA: ["?", " "]',
    "positive": 'the class to predict; "" = the second one, sorted',
    "duplicates": "an id on several rows: refuse, first, last or repeat",
    "unlabelled": "a row without a label: refuse or drop",
    "weight": 'how much a row counts, 0 to 1, at the label party; "" = 1',
}


class _TableSection(msgspec.Struct, forbid_unknown_fields=True, rename=IN_FILE):
    """The section `[table]`, as it is written: what says nothing is empty."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    positive: str = ""
    duplicates: str = "refuse"
    unlabelled: str = "refuse"
    weight: str = ""


def _read_choices(tree: object, mistakes: list[str]) -> ColumnChoices:
    try:
        table = msgspec.convert(tree, _TableSection, strict=True)
        said = {name: getattr(table, name) for name in table.__struct_fields__}
        return ColumnChoices(**said | {name: said[name] or None for name in EMPTY_IS_NONE})
    except (msgspec.ValidationError, DataError) as error:
        known = [IN_FILE.get(name, name) for name in _TableSection.__struct_fields__]
        strange = [name for name in tree if name not in known] if isinstance(tree, Mapping) else []
        mistakes += [_unknown(name, TABLE, known) for name in strange] or [f"{TABLE}: {error}"]
        return ColumnChoices()


def _table_section(reading: ColumnChoices) -> str:
    """The section `[table]` as text, every key explained."""
    empty = _TableSection()
    body = ""
    for name, meaning in MEANINGS.items():
        value = getattr(reading, name) or getattr(empty, name)
        line = f"{IN_FILE.get(name, name)} = {_toml_value(value)}"
        body += f"{line:<36} # {meaning}\n"
    return f"\n[{TABLE}]\n{body}"


def _address_mistake(key: str, text: str, parse: Callable[[str], object]) -> Iterator[str]:
    """The mistake in one address, if it is given and there is one."""
    try:
        if text:
            parse(text)
    except TransportError as error:
        yield f"{key}: {str(error).removeprefix('proxy: ')}"


def _read_peers(tree: object, mistakes: list[str]) -> dict[str, str]:
    if not isinstance(tree, Mapping):
        mistakes.append(f"{PEERS}: expected tables [peers.NAME], got something else")
        return {}
    addresses = {}
    for name, entry in tree.items():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("address", ""), str):
            mistakes.append(f'peers.{name}: expected [peers.{name}] with address = "HOST:PORT"')
            continue
        mistakes += [_unknown(key, f"{PEERS}.{name}", ["address"]) for key in entry if key != "address"]
        addresses[name] = entry.get("address", "")
    return addresses


def _unknown_lines(name: str, value: object, known: Sequence[str]) -> list[str]:
    """The mistakes about a key, or about each key of a section, that no settings have."""
    inside = value if isinstance(value, Mapping) else {}
    return [_unknown(inner, name, ()) for inner in inside] or [_unknown(name, "", known)]


def _unknown(name: str, section: str, known: Sequence[str]) -> str:
    """The mistake about a key that no settings have, or have no longer."""
    from plumbob.retired import gone  # Late: most files have no such key.

    place = f"[{PEERS}.NAME] " if section.startswith(f"{PEERS}.") else f"[{section}] " if section else ""
    found = gone(f"{SETTINGS_FILE} {place}{name}", "setting") or f"unknown key{suggestion(name, known)}"
    return f"{section}.{name}: {found}" if section else f"{name}: {found}"


def _peer_section(name: str, address: str) -> str:
    line = f"address = {_toml_value(address)}"
    return f'\n[peers.{name}]\n{line:<36} # HOST:PORT that this side dials; "" = {name} dials us\n'


def _toml_value(value: str | float | tuple[str, ...]) -> str:
    # TOML's basic strings take JSON's escapes.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | tuple) else repr(value)


def _raise_if_any(mistakes: list[str]) -> None:
    if mistakes:
        raise SettingsError("\n".join(f"{SETTINGS_FILE}: {text}" for text in mistakes))


def with_address(text: str, name: str, address: str) -> str:
    """The settings' text with this peer's address; whatever else people wrote there stays."""
    if address:
        Address.parse(address)
    changed = _with_address(text, name, address)
    try:
        is_right = HomeSettings.from_toml(changed).addresses.get(name) == address
    except SettingsError:
        is_right = False
    if not is_right:
        # Written in one of TOML's other forms, which only its author should change.
        raise SettingsError(f'{SETTINGS_FILE}: write address = "{address}" under [peers.{name}] yourself')
    return changed


def _with_address(text: str, name: str, address: str) -> str:
    section = re.compile(rf"^\[peers\.{re.escape(name)}\][^\n]*\n((?:(?!\s*\[)[^\n]*\n?)*)", re.MULTILINE)
    found = section.search(text)
    if found is None:
        return text.rstrip("\n") + "\n" + _peer_section(name, address)
    lines = [line for line in found[1].splitlines(keepends=True) if not re.match(r"\s*address\s*=", line)]
    body = "".join([f"address = {_toml_value(address)}\n", *lines])
    return text[: found.start(1)] + body + text[found.end(1) :]


def read_settings(file: Path) -> HomeSettings:
    """Read the settings; SettingsError where others may read the file too, or where it is not usable."""
    refuse_loose(file)
    try:
        return HomeSettings.from_toml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({type(error).__name__})") from error
