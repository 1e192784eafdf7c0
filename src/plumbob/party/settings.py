"""A party's own settings, `party.toml`: what may stand there, how it is read, and how it is written."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import msgspec
from msgspec import Meta

from plumbob.data.tables import ColumnChoices
from plumbob.errors import SettingsError, TransportError
from plumbob.net.address import Address, Proxy
from plumbob.net.identity import refuse_loose
from plumbob.plan import PARTY_NAME, suggestion

SETTINGS_FILE = "party.toml"
ANYWHERE = ("0.0.0.0:", "[::]:")  # No place that a peer could dial.
READING = {name: name for name in ("columns", "drop", "category", "positive", "weight")} | {"na": "gaps"}
"""The settings that say how columns are read, and what a table's reader calls each."""
HEAD = "# This party's own settings. Nothing here is sent to a peer, but for `address` in an invitation.\n"


class HomeSettings(msgspec.Struct, frozen=True):
    """`party.toml`, validated. Not printed: a proxy's address may have a password in it."""

    name: Annotated[str, Meta(description="as in the certificate and in every plan")]
    listen: Annotated[
        str, Meta(description='HOST:PORT to listen on, such as 0.0.0.0:7700; "" = only outgoing connections')
    ] = ""
    address: Annotated[
        str, Meta(description='HOST:PORT under which peers reach `listen`, told in invitations; "" = `listen`')
    ] = ""
    proxy: Annotated[str, Meta(description='http://[user:password@]host:port to dial out through; "" = none')] = ""
    patience: Annotated[float, Meta(gt=0, description="seconds to wait for a peer before giving up")] = 600.0
    data: Annotated[str, Meta(description="the table's file, from this folder if the path is not absolute")] = ""
    id: Annotated[str, Meta(description="the column that identifies each row")] = "id"
    label: Annotated[str, Meta(description='the column that holds the label; "" = this party has none')] = ""
    positive: Annotated[str, Meta(description='the class to predict; "" = the second one, sorted')] = ""
    weight: Annotated[str, Meta(description='how much a row counts, 0 to 1, at the label party; "" = 1')] = ""
    columns: Annotated[
        tuple[str, ...], Meta(description="the features, in this order; [] = all columns but those in `drop`")
    ] = ()
    drop: Annotated[tuple[str, ...], Meta(description="columns that are no features")] = ()
    category: Annotated[tuple[str, ...], Meta(description="columns that are text even if their cells are numbers")] = ()
    na: Annotated[
        tuple[str, ...], Meta(description='cells that mean a gap, besides empty ones and NA: ["?", " "]')
    ] = ()
    most_epsilon: Annotated[
        float,
        Meta(
            ge=0,
            description="epsilon that all runs with noise for whole rows may spend on a row together, at most_delta; "
            "0 = what the plan promises",
        ),
    ] = 0.0
    most_delta: Annotated[
        float, Meta(gt=0, lt=1, description="delta at which spendings are counted, whatever delta a plan has")
    ] = 1e-6
    most_rows: Annotated[
        int,
        Meta(
            ge=0,
            description="rows of one plan that are answered to `predict`, over all sessions; "
            "0 = no limit beyond the plan's",
        ),
    ] = 0
    evidence_key: Annotated[
        str, Meta(description='file of the public key of the auditor that the plan names; "" = none')
    ] = ""
    cluster: Annotated[
        str, Meta(description='ray://HOST:PORT of your own Ray cluster, for large products; "" = none')
    ] = ""

    def __post_init__(self) -> None:
        _raise_if_any([*self._text_mistakes(), *self._place_mistakes()])

    def __repr__(self) -> str:
        return f"HomeSettings({self.name})"

    def _text_mistakes(self) -> Iterator[str]:
        texts = {name: getattr(self, name) for name in self.__struct_fields__}
        yield from (
            f"{name}: expected one line of text, without control characters"
            for name, text in texts.items()
            if isinstance(text, str) and not text.isprintable()
        )

    def _place_mistakes(self) -> Iterator[str]:
        if not PARTY_NAME.fullmatch(self.name):
            yield "name: expected up to 32 letters, digits, - and _"
        yield from _address_mistake("listen", self.listen, lambda text: Address.parse(text, any_port=True))
        yield from _address_mistake("address", self.address, Address.parse)
        yield from _address_mistake("proxy", self.proxy, Proxy.parse)

    @property
    def reading(self) -> ColumnChoices:
        """How the table's columns are read."""
        choices: dict[str, Any] = {choice: getattr(self, name) for name, choice in READING.items()}
        return ColumnChoices(**{choice: value for choice, value in choices.items() if value})

    @property
    def dialled_at(self) -> str:
        """The address in this party's invitations; empty where it does not listen, or cannot know."""
        if self.address or not self.listen:
            return self.address
        is_chosen_late = self.listen.endswith(":0")
        return "" if self.listen.startswith(ANYWHERE) or is_chosen_late else self.listen

    def with_reading(self, choices: ColumnChoices) -> Self:
        """The settings with what is said here about columns; what is not said stays."""
        values = {name: getattr(choices, choice) for name, choice in READING.items()}
        return msgspec.structs.replace(self, **{name: value for name, value in values.items() if value})

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Parse strictly, and report all mistakes at once."""
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{SETTINGS_FILE}: not valid TOML: {error}") from error
        mistakes = [line for name, value in tree.items() if name not in KINDS for line in _unknown_keys(name, value)]
        if "name" not in tree:
            mistakes.append("name: say who this party is")
        values = {}
        for name in tree.keys() & KINDS:
            try:
                values[name] = msgspec.convert(tree[name], KINDS[name])
            except msgspec.ValidationError as error:
                mistakes.append(f"{name}: {str(error)[0].lower()}{str(error)[1:]}")
        _raise_if_any(mistakes)
        return cls(**values)

    def to_toml(self) -> str:
        """The whole file with every key explained."""
        lines = {f"{name} = {_toml_value(getattr(self, name))}": kind for name, kind in KINDS.items()}
        return HEAD + "".join(f"{line:<36} # {_description(kind)}\n" for line, kind in lines.items())


KINDS: Mapping[str, Any] = get_type_hints(HomeSettings, include_extras=True)
"""Each setting's type, with its limits and its description."""


def _description(kind: Any) -> str:
    (meta,) = kind.__metadata__
    return str(meta.description)


def _address_mistake(key: str, text: str, parse: Callable[[str], object]) -> Iterator[str]:
    """The mistake in one address, if it is given and there is one."""
    try:
        if text:
            parse(text)
    except TransportError as error:
        yield f"{key}: {str(error).removeprefix('proxy: ')}"


def _unknown_keys(name: str, value: object) -> list[str]:
    """The mistakes about a key, or about each key of a section, that no settings have, or have no longer."""
    from plumbob.retired import gone  # Late: most files have no such key.

    if not isinstance(value, Mapping):
        found = gone(f"{SETTINGS_FILE} {name}", "setting") or f"unknown key{suggestion(name, list(KINDS))}"
        return [f"{name}: {found}"]
    if any(isinstance(inner, Mapping) for inner in value.values()):
        section, keys = f"{name}.NAME", {key for inner in value.values() if isinstance(inner, Mapping) for key in inner}
    else:
        section, keys = name, {*value}
    mistakes = []
    for key in sorted(keys):
        found = gone(f"{SETTINGS_FILE} [{section}] {key}", "setting") or "unknown key"
        mistakes.append(f"[{section}] {key}: {found}")
    return mistakes or [f"[{name}]: unknown section"]


def _toml_value(value: str | float | tuple[str, ...]) -> str:
    # TOML's basic strings take JSON's escapes.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | tuple) else repr(value)


def _raise_if_any(mistakes: list[str]) -> None:
    if mistakes:
        raise SettingsError("\n".join(f"{SETTINGS_FILE}: {text}" for text in mistakes))


def read_settings(file: Path) -> HomeSettings:
    """Read the settings; SettingsError where others may read the file too, or where it is not usable."""
    refuse_loose(file)
    try:
        return HomeSettings.from_toml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({type(error).__name__})") from error
