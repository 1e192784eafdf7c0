"""A key of the plan: where it stands in the file, which values it allows, and what it means."""

import difflib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

LARGEST_NUMBER = 2**63
LONGEST_LINE = 400
NAMED_KEY = re.compile(r'\b([a-z][a-z0-9_]+) = "?([\w.]+)"?')
"""The form in which a meaning names another key with its value."""


@dataclass(frozen=True)
class SettingKey:
    """One setting: where it stands in the file, which values it allows, and what it means."""

    name: str  # flat: as an attribute, a flag and a parameter of the estimator
    section: str
    default: Any  # for `shares`, where it depends on the protocol
    meaning: str  # in the file's comment, the help of its flag and the reference alike
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf  # strict lower limit
    below: float = math.inf  # strict upper limit
    is_usual: bool = False  # one that most people change, so that `--help` shows its flag
    is_study: bool = False  # a study's, which no plan of parties has
    of_study: tuple[str, ...] = ()  # choices that only a study has
    least: float = -math.inf  # what can be calculated with: these two are said only to those who go beyond them
    most: float = math.inf
    is_fitted: bool = False  # the default depends on the protocol
    also: tuple[str, ...] = ()  # further choices, which no file and no flag may name

    @property
    def in_file(self) -> str:
        """The key's name inside its section."""
        return self.name.removeprefix("tolerance_") if self.section == "tolerance" else self.name

    @property
    def comment(self) -> str:
        """The comment beside the key in the file."""
        return "; ".join(filter(None, [" | ".join(self.choices), self.meaning]))

    @property
    def of_parties(self) -> "SettingKey":
        """The key as a plan of parties has it, without the choices that only a study has."""
        return replace(self, choices=tuple(choice for choice in self.choices if choice not in self.of_study))

    @property
    def help(self) -> str:
        """The help text of the key's flag: keys that the meaning names are flags there."""
        said = NAMED_KEY.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", self.meaning)
        return f"{said[:1].upper()}{said[1:]}".replace(" true", "")

    @property
    def path(self) -> str:
        return f"{self.section}.{self.in_file}" if self.section else self.in_file

    def mistake(self, value: object) -> str | None:
        """What is wrong with this value, or None."""
        if self._has_right_type(value) and self._is_within(value):
            return None
        expected = self._far_off(value) or self._expectation()
        return f"{self.path}: expected {expected}, got {shown(value)}{suggestion(value, self.choices)}"

    def _far_off(self, value: object) -> str:
        """What to say about a number whose only mistake is its size."""
        if not self._has_right_type(value) or not isinstance(value, int | float):
            return ""
        if value > self.most:
            return f"at most {self.most:,.0f}" if self.most < 1e12 else f"at most {self.most:g}"
        return f"at least {self.least:g}" if self.above < value < self.least else ""

    def _has_right_type(self, value: object) -> bool:
        if isinstance(self.default, float):
            return type(value) is int or (isinstance(value, float) and math.isfinite(value))
        return type(value) is type(self.default)

    def _is_within(self, value: Any) -> bool:
        if isinstance(self.default, bool):
            return True
        if isinstance(self.default, str):
            return value in (*self.choices, *self.also) if self.choices else value.isprintable()
        # A longer whole number is none that a plan could mean, and does not fit where it is calculated with.
        fits = isinstance(value, float) or abs(value) < LARGEST_NUMBER
        is_calculable = self.least <= value <= self.most
        return bool(fits and is_calculable and self.low <= value <= self.high and self.above < value < self.below)

    def _expectation(self) -> str:
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        kinds = {bool: "true or false", str: "one line of text", int: "a whole number", float: "a number"}
        limits = {"of at least": self.low, "of at most": self.high, "above": self.above, "below": self.below}
        stated = [f"{words} {limit:g}" for words, limit in limits.items() if math.isfinite(limit)]
        return " ".join([kinds[type(self.default)], " and ".join(stated)]).strip()


@dataclass(frozen=True)
class PlanSection:
    """A section of the file, in which fields of the plan stand."""

    name: str

    def key(self, default: Any, meaning: str, **more: Any) -> Any:
        """A field of the plan with a number, a switch or a text.

        `None` stands for what nobody said, where the default depends on the protocol.
        """
        is_study = self.name == "study" or more.pop("is_study", False)
        metadata = {"section": self.name, "default": default, "meaning": meaning, "is_study": is_study, **more}
        return field(default=None if metadata.get("is_fitted") else default, metadata=metadata)

    def one_of(self, choices: str, meaning: str, **more: Any) -> Any:
        """A field of the plan with named choices, the first of which is the default."""
        words = tuple(choices.split("|")) if "|" in choices else tuple(choices.split())
        return self.key(words[0], meaning, choices=words, **more)


def cut_short(line: str) -> str:
    """The line cut short: a name in a file may be as long as the file."""
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."


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
    return text if len(text) <= 60 else text[:57] + "..."
