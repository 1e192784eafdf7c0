"""The validated plan: one TOML file, the same bytes at every party, frozen, hashed.

A plan that names a key of a study is a `Study`; only then is the study's part of this room loaded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from plumbob.errors import PlanError
from plumbob.plan import file
from plumbob.plan.common import Common, Party
from plumbob.plan.keys import SettingKey, keys_of, plain_number, suggestion
from plumbob.plan.mistakes import Mistakes, raise_if_any, rule_mistakes, value_mistakes
from plumbob.plan.protocols import PROTOCOLS


class Plan(Common, frozen=True, kw_only=True):
    """A validated plan; an invalid one cannot be built. Raises PlanError with one line per mistake."""

    def __post_init__(self) -> None:
        raise_if_any(self._value_mistakes(self.values()).values())
        for key in self.keys():
            if isinstance(key.default, float):
                # 1 and 1.0 are the same plan and must have the same hash.
                msgspec.structs.force_setattr(self, key.name, float(getattr(self, key.name)))
        raise_if_any(text for _, text in self._rule_mistakes(self))

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan from a file; its mistakes are reported after the file's name."""
        text = file.read_text(path)
        try:
            return cls.from_toml(text)
        except PlanError as error:
            raise PlanError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error

    @classmethod
    def from_toml(cls, text: str) -> "Plan":
        """Read a plan from a file's text, which must name its version."""
        return cls.from_dict(file.parse(text))

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Plan":
        """Build a plan from the file's own shape: `{"parties": {...}, "model": {...}, ...}`; it needs no version."""
        struct = Plan if file.has_only(tree, Plan.keys()) else study()
        return struct._from_values(*file.flatten(tree, struct.keys()))

    @classmethod
    def for_columns(cls, features: Sequence[int], **keys: Any) -> "Plan":
        """Build a plan from flags, with parties `label`, `features`, `features-2`, ... and, if needed, `arbiter`."""
        return cls.of_job(features, may_be_foreign=False, **keys)

    @classmethod
    def of_job(cls, features: Sequence[int], may_be_foreign: bool = True, **keys: Any) -> "Plan":
        """Build a plan for another system's job, whose protocol may be one that only `check` knows."""
        struct = struct_with(keys)
        mistakes = file.unknown_names(keys, struct.keys(), may_be_foreign)
        protocol = PROTOCOLS.get(keys.get("protocol", ""))
        parties = file.named_parties(features, with_arbiter=protocol is not None and protocol.has_arbiter)
        return struct._from_values({"parties": parties, **keys}, mistakes)

    @classmethod
    def _from_values(cls, values: Mapping[str, Any], mistakes: list[str]) -> "Plan":
        """Build a plan, reporting all mistakes at once; a rule between keys is tried only where its keys are right."""
        values = cls._completed({name: plain_number(value) for name, value in values.items()}, mistakes)
        wrong = cls._value_mistakes(values)
        right = {name: value for name, value in values.items() if name in cls.__struct_fields__ and name not in wrong}
        between = [text for keys, text in cls._rule_mistakes(cls._unchecked(right)) if not keys & wrong.keys()]
        raise_if_any([*mistakes, *wrong.values(), *between])
        return cls(**right)

    # What a study does in its own way.

    @classmethod
    def keys(cls) -> tuple[SettingKey, ...]:
        """The keys that its file may name, in the file's order."""
        return keys_of(Plan)

    @classmethod
    def _completed(cls, values: Mapping[str, Any], mistakes: list[str]) -> dict[str, Any]:
        """The values with tables inside them read, whose unknown keys are mistakes."""
        auditors = values.get("auditors")
        return {**values, "auditors": file.read_auditors(auditors)} if isinstance(auditors, Mapping) else {**values}

    @classmethod
    def _value_mistakes(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """The mistakes of each value by itself, by field name."""
        return value_mistakes(values, cls.keys())

    @staticmethod
    def _rule_mistakes(plan: Common) -> Mistakes:
        """The mistakes of values together."""
        return rule_mistakes(plan)

    @classmethod
    def _unchecked(cls, values: Mapping[str, Any]) -> Common:
        """These values, never validated, with defaults for those that are missing: on them rules are tried."""
        return Common(**{"parties": file.named_parties((1, 1)), **values})

    def default(self, key: SettingKey) -> Any:
        """The value that this plan would have if it had not said anything about the key."""
        return key.default

    @staticmethod
    def _unsaid(plan: "Plan", changes: Mapping[str, Any]) -> dict[str, Any]:
        """The values that these changes to a plan make a study forget."""
        return {}

    # Other plans from this one.

    def replace(self, **changes: Any) -> "Plan":
        """The same plan with other values, by flat names; `features=(11, 12)` changes the parties' columns.

        With another protocol, what was only the old one's default becomes the new one's, and `shares` keeps none of a
        study's keys but the seed.
        """
        struct = struct_with(changes, type(self))
        mistakes = file.unknown_names(changes, struct.keys())
        values = {name: getattr(self, name) for name in struct.__struct_fields__}
        values |= struct._unsaid(self, changes) | changes
        if "features" in values:
            values["parties"] = self._with_widths(values.pop("features"))
        if isinstance(values.get("heuristic"), Mapping):
            values["heuristic"] = {**msgspec.to_builtins(self.heuristic), **values["heuristic"]}
        return struct._from_values(values, mistakes)

    def with_names(self, names: Sequence[str]) -> "Plan":
        """The same plan with other names for its parties with columns; an arbiter keeps its name."""
        named = [Party(name, party.role, party.features) for name, party in zip(names, self.learners, strict=True)]
        return self.replace(parties=(*named, *(party for party in self.parties if party.role == "arbiter")))

    def _with_widths(self, features: Sequence[int]) -> tuple[Party, ...]:
        """The parties with other widths; names stay as long as their number does."""
        if len(features) != len(self.learners):
            return file.named_parties(features, self.arbiter is not None)
        resized = [Party(party.name, party.role, width) for party, width in zip(self.learners, features, strict=True)]
        return (*resized, *(party for party in self.parties if party.role == "arbiter"))

    def party(self, name: str) -> Party:
        """The party of this name; an unknown one is refused with the nearest."""
        for party in self.parties:
            if party.name == name:
                return party
        names = [party.name for party in self.parties]
        raise PlanError(f'no party "{name}" in the plan, only {", ".join(names)}{suggestion(name, names)}')

    # Its forms.

    def values(self) -> dict[str, Any]:
        """All values by their flat names."""
        return msgspec.structs.asdict(self)

    def to_dict(self) -> dict[str, Any]:
        """All values by their flat names, ready for JSON."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    def hash(self) -> str:
        """The hash that is signed: hex SHA-256 over all values."""
        return file.hashed(self, self._written_keys())

    def to_toml(self, remark: str = "") -> str:
        """The whole plan with every default written out and explained; reads back as the same plan.

        The remark, a line, says why it is as it is.
        """
        return file.to_toml(self, self._written_keys(), remark)

    def _written_keys(self) -> tuple[SettingKey, ...]:
        """The keys that its file writes."""
        return self.keys()


PARTY_KEYS = Plan.keys()
"""The keys of a plan that parties sign."""
GIVEN = frozenset((*Plan.__struct_fields__, "features"))


def struct_with(names: Mapping[str, Any], struct: type[Plan] = Plan) -> type[Plan]:
    """The struct of a plan in which these keys are named: a study where the parties' plans have no such key."""
    return struct if names.keys() <= GIVEN else study()


def study() -> type[Plan]:
    """The struct of studies, which no plan of parties needs: late, so that `party train` does not load it."""
    from plumbob.plan.study import Study

    return Study
