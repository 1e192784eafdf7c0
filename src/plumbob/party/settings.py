"""A party's own settings, `party.toml`: what may stand there, how it is read, and how it is written."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import msgspec

from plumbob.data.tables import ColumnChoices
from plumbob.errors import DataError, SettingsError, TransportError
from plumbob.net.address import Address, Proxy
from plumbob.net.identity import refuse_loose
from plumbob.plan import PARTY_NAME, SettingKey, suggestion

SETTINGS_FILE = "party.toml"
ANYWHERE = ("0.0.0.0:", "[::]:")  # No place that a peer could dial.
PEERS = "peers"  # The section here, and the folder of certificates beside it.
TABLE = "table"
HEAD = "# This party's own settings. Nothing here is sent to a peer, but for `address` in an invitation.\n"

KEYS = (
    SettingKey("name", "", "", "as in the certificate and in every plan"),
    SettingKey("listen", "", "", 'HOST:PORT to listen on, such as 0.0.0.0:7700; "" = only outgoing connections'),
    SettingKey("address", "", "", 'HOST:PORT under which peers reach `listen`, told in invitations; "" = `listen`'),
    SettingKey("proxy", "", "", 'http://[user:password@]host:port to dial out through; "" = none'),
    SettingKey("data", "", "", "the table's file, from this folder if the path is not absolute"),
    SettingKey("id_column", "", "id", "the column that identifies each row, or several with commas between them"),
    SettingKey("label_column", "", "", 'the column that holds the label; "" = this party has none'),
    SettingKey("engine", "", "auto", "arithmetic backend: auto, native, python, ..."),
    SettingKey("patience", "", 600.0, "seconds to wait for a peer before giving up", above=0),
    SettingKey(
        "most_rows",
        "",
        0,
        "rows of one plan that are answered to `predict`, over all sessions; 0 = no limit beyond the plan's",
        low=0,
    ),
    SettingKey(
        "label_epsilon",
        "",
        0.0,
        "epsilon that all runs with sound noise may spend on a label together, at most_delta; 0 = what the plan"
        " promises",
        low=0,
    ),
    SettingKey(
        "most_epsilon",
        "",
        0.0,
        "epsilon that all runs with noise for whole rows may spend on a row together, at most_delta; 0 = what the plan"
        " promises",
        low=0,
    ),
    SettingKey("evidence_key", "", "", 'the auditor\'s public key, whose fingerprint is in the plan; "" = none'),
    SettingKey("most_delta", "", 1e-6, "delta at which both are counted, whatever delta a plan has", above=0, below=1),
)
NAMES = tuple(key.name for key in KEYS)


@dataclass(frozen=True, repr=False)
class HomeSettings:
    """`party.toml`, validated. Not printed: a proxy's address may have a password in it."""

    name: str
    listen: str = ""
    address: str = ""
    proxy: str = ""
    data: str = ""
    id_column: str = "id"
    label_column: str = ""
    engine: str = "auto"
    patience: float = 600.0
    most_rows: int = 0
    evidence_key: str = ""
    label_epsilon: float = 0.0
    most_epsilon: float = 0.0
    most_delta: float = 1e-6
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
        mistakes = [f"{name}: unknown key{suggestion(name, known)}" for name in tree if name not in known]
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


class _TableSection(msgspec.Struct, forbid_unknown_fields=True):
    """The section `[table]`, as it is written."""

    columns: list[str] = []
    drop: list[str] = []
    na: list[str] = []
    steps: list[str] = []
    monotone: list[str] = []
    positive: str = ""
    duplicates: str = "refuse"
    unlabelled: str = "refuse"
    weight: str = ""
    types: dict[str, str] = {}
    ranges: dict[str, list[float]] = {}


def _read_choices(tree: object, mistakes: list[str]) -> ColumnChoices:
    try:
        table = msgspec.convert(tree, _TableSection, strict=True)
        return ColumnChoices(
            tuple(table.columns) or None,
            tuple(table.drop),
            table.types,
            tuple(table.na),
            tuple(table.steps),
            tuple(table.monotone),
            {name: tuple(ends) for name, ends in table.ranges.items()},
            table.positive or None,
            table.duplicates,
            table.unlabelled,
            table.weight or None,
        )
    except (msgspec.ValidationError, DataError) as error:
        mistakes.append(f"{TABLE}: {error}")
        return ColumnChoices()


def _table_section(reading: ColumnChoices) -> str:
    """The section `[table]` as text, every key explained."""
    lines = {
        f"columns = {_toml_list(reading.columns or ())}": "the features, in this order; [] = all columns",
        f"drop = {_toml_list(reading.drop)}": "columns that are no features",
        f"na = {_toml_list(reading.gaps)}": 'cells that mean a gap, besides empty ones and NA: ["?", " "]',
        f"steps = {_toml_list(reading.stepped)}": "columns whose bins are encoded step by step",
        f"monotone = {_toml_list(reading.monotone)}": "columns along which the score may only rise, or only fall",
        f"positive = {_toml_value(reading.positive or '')}": 'the class to predict; "" = the second one, sorted',
        f"duplicates = {_toml_value(reading.duplicates)}": "an id on several rows: refuse, first, last or repeat",
        f"unlabelled = {_toml_value(reading.unlabelled)}": "a row without a label: refuse or drop",
        f"weight = {_toml_value(reading.weight or '')}": 'how much a row counts, 0 to 1, at the label party; "" = 1',
    }
    body = "".join(f"{line:<36} # {comment}\n" for line, comment in lines.items())
    types = "".join(f"{_toml_value(name)} = {_toml_value(kind)}\n" for name, kind in reading.types.items())
    head = "[table.types]                        # number, category, boolean, date, date:FORMAT, low<mid<high\n"
    ranges = "".join(f"{_toml_value(name)} = {list(ends)}\n" for name, ends in reading.ranges.items())
    above = '[table.ranges]                       # lowest and highest, stated before looking; for scale = "public"\n'
    return f"\n[{TABLE}]\n{body}\n{head}{types}\n{above}{ranges}"


def _toml_list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_toml_value, values))}]"


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
        mistakes += [
            f"peers.{name}.{key}: unknown key{suggestion(key, ['address'])}" for key in entry if key != "address"
        ]
        addresses[name] = entry.get("address", "")
    return addresses


def _peer_section(name: str, address: str) -> str:
    line = f"address = {_toml_value(address)}"
    return f'\n[peers.{name}]\n{line:<36} # HOST:PORT that this side dials; "" = {name} dials us\n'


def _toml_value(value: str | float) -> str:
    # TOML's basic strings take JSON's escapes.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


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
