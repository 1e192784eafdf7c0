"""The validated plan: one TOML file, the same bytes at every party, frozen, hashed.

A plan gets defaults for keys that it leaves out: `shares` and `clear` train alike, the others as in the paper.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from plumbob.errors import PlanError
from plumbob.plan import writing
from plumbob.plan.keys import SettingKey, cut_short, suggestion
from plumbob.plan.protocols import PROTOCOLS
from plumbob.plan.reading import flatten, named_parties, parse, read_auditors, read_heuristic, read_text, unknown_flags
from plumbob.plan.rules import rule_mistakes, value_mistakes
from plumbob.plan.settings import FIELD_NAMES, KEYS, Party, PlanSettings

ROOM_FOR_MISTAKES, LENGTH_OF_A_NAME = 3500, 60
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "standard",
        "sigmoid": "taylor",
        "batches": "reshuffled",
        "momentum": 0.0,
        "learning_rate": 0.1,
        "feature_bits": 16,
        "open": "own",
    }
)
"""How the paper trains, by the plan's keys: for `VerticalLogisticRegression(protocol="clear", **plumbob.PAPER)`."""
PAPERS_PROTOCOL = "exchange"


@dataclass(frozen=True)
class Plan(PlanSettings):
    """A validated plan; an invalid one cannot be built. Raises PlanError with one line per mistake."""

    def __post_init__(self) -> None:
        for name, value in with_defaults(vars(self)).items():
            object.__setattr__(self, name, value)
        _raise_if_any(value_mistakes(vars(self)).values())
        for key in KEYS:
            if isinstance(key.default, float):
                # 1 and 1.0 are the same plan and must have the same hash.
                object.__setattr__(self, key.name, float(getattr(self, key.name)))
        _raise_if_any(text for _, text in rule_mistakes(self))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a file; its mistakes are reported after the file's name."""
        text = read_text(path)
        try:
            return cls.from_toml(text)
        except PlanError as error:
            raise PlanError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a plan from a file's text, which must name its version."""
        return cls.from_dict(parse(text))

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Build a plan from the file's own shape: `{"parties": {...}, "model": {...}, ...}`; it needs no version."""
        values, mistakes = flatten(tree)
        return cls._from_values(values, mistakes)

    @classmethod
    def for_columns(cls, features: Sequence[int], **keys: Any) -> Self:
        """Build a plan from flags, with parties `label`, `features`, `features-2`, ... and, if needed, `arbiter`."""
        return cls._from_values(_with_parties(features, keys), unknown_flags(keys))

    @classmethod
    def of_job(cls, features: Sequence[int], **keys: Any) -> Self:
        """Build a plan for another system's job, whose protocol may be one that only `check` knows."""
        others = {name: value for name, value in keys.items() if name != "protocol"}
        return cls._from_values(_with_parties(features, keys), unknown_flags(others))

    @classmethod
    def _from_values(cls, values: dict[str, Any], mistakes: list[str]) -> Self:
        """Build a plan, reporting all mistakes at once; a rule between keys is tried only where its keys are right."""
        values = with_defaults(values)
        if isinstance(values.get("heuristic"), Mapping):
            values = {**values, "heuristic": read_heuristic(values["heuristic"], mistakes)}
        if isinstance(values.get("auditors"), Mapping):
            values = {**values, "auditors": read_auditors(values["auditors"])}
        wrong = value_mistakes(values)
        trial = {name: value for name, value in values.items() if name in FIELD_NAMES and name not in wrong}
        # Rules are tried on settings that never passed validation, with defaults where a value is wrong.
        settings = with_defaults(trial)
        blank = PlanSettings(**{"parties": named_parties((1, 1), with_arbiter=False), **settings})
        between = [text for keys, text in rule_mistakes(blank) if not keys & wrong.keys()]
        _raise_if_any([*mistakes, *wrong.values(), *between])
        return cls(**trial)

    def replace(self, **changes: Any) -> Self:
        """The same plan with other values, by flat names; `features=(11, 12)` changes the parties' columns.

        With another protocol, what was only the old one's default becomes the new one's, and `shares` keeps none of a
        study's keys but the seed.
        """
        mistakes = unknown_flags(changes)
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        if changes.get("protocol", self.protocol) != self.protocol:
            values |= {key.name: None for key in KEYS if key.is_fitted and self._is_default(key)}
        if changes.get("protocol", self.protocol) == "shares" != self.protocol:
            values |= {key.name: key.default for key in KEYS if key.is_study and key.name != "seed"}
        values |= changes
        if "features" in values:
            values["parties"] = self._with_widths(values.pop("features"))
        if isinstance(values["heuristic"], Mapping):
            values["heuristic"] = {**asdict(self.heuristic), **values["heuristic"]}
        return self._from_values(values, mistakes)

    def on(self, trained: int) -> Self:
        """This plan as a run with this many training rows follows it.

        Under noise for whole rows the public rule's passes and norm follow from these rows.
        """
        if self.noise != "rows" or self._trained == trained:
            return self
        followed = copy(self)
        # Not as a plan that somebody wrote: a bound is tried on rows for which its delta would be refused.
        object.__setattr__(followed, "rows", self.aligned(trained))
        return followed

    def with_names(self, names: Sequence[str]) -> Self:
        """The same plan with other names for its parties with columns; an arbiter keeps its name."""
        named = [Party(name, party.role, party.features) for name, party in zip(names, self.learners, strict=True)]
        return self.replace(parties=(*named, *(party for party in self.parties if party.role == "arbiter")))

    def _with_widths(self, features: Sequence[int]) -> tuple[Party, ...]:
        """The parties with other widths; names stay as long as their number does."""
        if len(features) != len(self.learners):
            return named_parties(features, self.arbiter is not None)
        resized = [Party(party.name, party.role, width) for party, width in zip(self.learners, features, strict=True)]
        return (*resized, *(party for party in self.parties if party.role == "arbiter"))

    def default(self, key: SettingKey) -> Any:
        """The value that this plan would have if it had not said anything about the key."""
        return default_of(key, self.protocol, self.batches)

    def _is_default(self, key: SettingKey) -> bool:
        return bool(getattr(self, key.name) == self.default(key))

    def party(self, name: str) -> Party:
        """The party of this name; an unknown one is refused with the nearest."""
        for party in self.parties:
            if party.name == name:
                return party
        names = [party.name for party in self.parties]
        raise PlanError(f'no party "{name}" in the plan, only {", ".join(names)}{suggestion(name, names)}')

    def hash(self) -> str:
        """The hash that is signed: hex SHA-256 over all values."""
        return writing.hashed(self)

    def to_toml(self, remark: str = "") -> str:
        """The whole plan with every default written out and explained; reads back as the same plan.

        The remark, a line, says why it is as it is.
        """
        return writing.to_toml(self, remark)


def default_of(key: SettingKey, protocol: str, batches: str = "full") -> Any:
    """The key's default in a plan of this protocol.

    What `clear` has for itself is small batches, which the public rate does not suit: with them it trains as the paper.
    """
    kind = PROTOCOLS.get(protocol)
    if not key.is_fitted or kind is None or kind.has_lattices:
        return key.default
    if kind.is_encrypted or kind.is_foreign or batches != "full" or key.name == "open":
        return PAPER.get(key.name, key.default)
    return key.default


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the defaults of their protocol where nothing was said."""
    protocol = values.get("protocol", "shares")
    unsaid = {key.name for key in KEYS if key.is_fitted and values.get(key.name) is None}
    said = {name: value for name, value in values.items() if name not in unsaid}
    # Whoever names a size of batches wants batches, where the protocol has them.
    batches = said.get("batches", "reshuffled" if "batch_size" in said else "full")
    return {key.name: default_of(key, protocol, batches) for key in KEYS} | said


def _with_parties(features: Sequence[int], keys: Mapping[str, Any]) -> dict[str, Any]:
    protocol = PROTOCOLS.get(keys.get("protocol", ""))
    return {"parties": named_parties(features, protocol is not None and protocol.has_arbiter), **keys}


def _raise_if_any(mistakes: Iterable[str]) -> None:
    # A rule's own lines are counted one by one.
    lines = [cut_short(line) for line in "\n".join(mistakes).splitlines()]
    # Each is said behind the file's name, and a file may hold nothing but mistakes.
    ends = accumulate(len(line) + LENGTH_OF_A_NAME for line in lines)
    said = [line for line, end in zip(lines, ends, strict=True) if end <= ROOM_FOR_MISTAKES]
    if lines:
        raise PlanError("\n".join([*said, *([f"and {len(lines) - len(said)} more"] if len(said) < len(lines) else [])]))
