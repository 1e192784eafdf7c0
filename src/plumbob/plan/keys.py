"""A key of the plan: where it stands in the file, which values it allows, and what it means.

A key is a field of a struct, and all that is known about it is the field's `msgspec.Meta`: reading, checking, printing
and the command line's flags follow from there.
"""

import difflib
import json
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

SECTIONS = ("parties", "data", "model", "opening", "privacy", "accountability", "tolerance", "study")
USUAL = frozenset(
    (
        *("rows", "bins", "test_share", "epochs", "batch_size", "l2"),
        *("open", "most_rows", "release", "noise", "epsilon", "evidence", "protocol"),
    )
)
"""The keys that most people change, so that they have a flag of their own."""
LARGEST_WHOLE = 2**63 - 1
"""A longer whole number is none that a plan could mean, and does not fit where it is calculated with."""
LONGEST_LINE = 400
LONGEST_VALUE = 60
KINDS = {bool: "true or false", str: "one line of text", int: "a whole number", float: "a number"}
BY_PROTOCOL: Any = None
"""The default of a study's field whose value depends on the protocol: nobody said anything yet."""


def key(
    section: str,
    meaning: str,
    choices: str = "",
    *,
    also: Sequence[str] = (),
    **limits: Any,
) -> Meta:
    """What is known about a key: its section, its meaning, and its limits (`ge`, `gt`, `le`, `lt`) or choices.

    `also` are further choices, which no file and no flag may name.
    """
    if "ge" in limits and "lt" not in limits:
        limits.setdefault("le", LARGEST_WHOLE)
    known = {"section": section, "choices": tuple(choices.split()), "also": tuple(also)}
    return Meta(description=meaning, extra=known, **limits)


@dataclass(frozen=True)
class SettingKey:
    """One key: its field in the struct, and what the field's `Meta` says."""

    name: str  # flat: as an attribute, a flag and a parameter of the estimator
    default: Any  # for `shares`, where it depends on the protocol
    annotation: Any
    meta: Meta
    section: str
    choices: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # further choices, which no file and no flag may name
    is_fitted: bool = False  # the default depends on the protocol
    is_study: bool = False  # a study's, which no plan of parties has

    @classmethod
    def of(cls, name: str, default: Any, annotation: Any, is_fitted: bool = False, is_study: bool = False) -> Self:
        """The key that an annotated field describes."""
        meta = next(item for item in get_args(annotation)[1:] if isinstance(item, Meta))
        return cls(name, default, annotation, meta, **meta.extra or {}, is_fitted=is_fitted, is_study=is_study)

    @property
    def meaning(self) -> str:
        """What it means, in the file's comment, the help of its flag and the reference alike."""
        return self.meta.description or ""

    @property
    def is_usual(self) -> bool:
        """Whether most people change it, so that `--help` shows its flag."""
        return self.name in USUAL

    @property
    def in_file(self) -> str:
        """The key's name inside its section."""
        return self.name.removeprefix("tolerance_") if self.section == "tolerance" else self.name

    @property
    def path(self) -> str:
        return f"{self.section}.{self.in_file}" if self.section else self.in_file

    @property
    def comment(self) -> str:
        """The comment beside the key in the file."""
        return "; ".join(filter(None, [" | ".join(self.choices), self.meaning]))

    @property
    def help(self) -> str:
        """The help text of the key's flag."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}"

    def mistake(self, value: object) -> str | None:
        """What is wrong with this value, or None."""
        if self._is_allowed(value):
            return None
        return f"{self.path}: expected {self._expected(value)}, got {shown(value)}{suggestion(value, self.choices)}"

    def _is_allowed(self, value: object) -> bool:
        if isinstance(self.default, str):
            return value in (*self.choices, *self.also) if self.choices else isinstance(value, str) and _is_line(value)
        try:
            msgspec.convert(value, self.annotation)
        except msgspec.ValidationError:
            return False
        return True

    def _expected(self, value: object) -> str:
        """What was expected; of a number that is only too large, the largest one."""
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        most = self.meta.le
        if most is not None and type(value) in (int, float) and value > most:  # type: ignore[operator]  # Both are numbers.
            return f"at most {most:,.0f}" if most == round(most) < 1e12 else f"at most {most:g}"
        limits = {"of at least": self.meta.ge, "above": self.meta.gt, "below": self.meta.lt}
        stated = [f"{words} {limit:g}" for words, limit in limits.items() if limit is not None]
        return " ".join([KINDS[type(self.default)], " and ".join(stated)]).strip()


@cache
def keys_of(struct: type[Struct], of_parties: Struct | None = None) -> tuple[SettingKey, ...]:
    """The keys of a struct, in the order of the file.

    Those that a plan of parties does not have are a study's; what it has, or fixes, is the default in `shares`.
    """
    keys = [
        SettingKey.of(
            field.name,
            getattr(of_parties, field.name) if field.default is BY_PROTOCOL else field.default,
            field.type,
            is_fitted=field.default is BY_PROTOCOL,
            is_study=of_parties is not None and field.name not in of_parties.__struct_fields__,
        )
        for field in msgspec.structs.fields(struct)
        if get_origin(field.type) is Annotated
    ]
    return tuple(sorted(keys, key=lambda item: SECTIONS.index(item.section) if item.section else 0))


def cut_short(line: str) -> str:
    """The line cut short: a name in a file may be as long as the file."""
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."


def plain_number(value: object) -> object:
    """A number of numpy's, as a search over a grid hands it over, as Python's own; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def suggestion(word: object, known: Sequence[str]) -> str:
    """A suggestion `; did you mean "..."?`, or an empty text."""
    by_small_letters = {name.lower(): name for name in known}
    # Through `shown`, which is short also for what Python does not write out.
    close = difflib.get_close_matches(shown(word).strip('"').lower(), by_small_letters, n=1)
    return f'; did you mean "{by_small_letters[close[0]]}"?' if close else ""


def shown(value: object) -> str:
    """A value as the file would have it, cut so that one mistake stays one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def _is_line(text: str) -> bool:
    return text.isprintable()
