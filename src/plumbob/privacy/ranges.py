"""Ranges that are stated before anybody looks at rows: read from a party's own file, or proposed from a dictionary.

A data dictionary says in words what a column may hold ("age in years", "0 to 6 missed payments", "yes/no"). What it
says about the values' range is public, so scaling by it costs nothing under `noise = "rows"`. Nothing here sees a row.
"""

import math
import re
from collections.abc import Mapping, Sequence

from plumbob.errors import DataError
from plumbob.privacy.home import CATEGORY, Range

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
BETWEEN = re.compile(rf"({NUMBER})\s*(?:to|-|\.\.|and|through)\s*({NUMBER})", re.IGNORECASE)
AT_MOST = re.compile(rf"(?:at most|up to|maximum|max\.?|below|under)\s*({NUMBER})", re.IGNORECASE)
YES_OR_NO = re.compile(r"\b(?:yes ?/ ?no|y ?/ ?n|0 ?/ ?1|true ?/ ?false|flag|indicator|boolean)\b", re.IGNORECASE)
# In this order: "percent of age" is a percentage.
WORDS: tuple[tuple[str, Range], ...] = (
    (r"percent|per cent|%", Range(0.0, 100.0)),
    (r"probability|share|fraction|ratio|proportion", Range(0.0, 1.0)),
    (r"\bage\b", Range(0.0, 100.0)),
    (r"\bmonth of\b", Range(1.0, 12.0)),
    (r"\bhour of\b", Range(0.0, 24.0)),
    (r"\bweekday|day of (?:the )?week\b", Range(0.0, 7.0)),
    (r"\byears? (?:of|since|at|in)\b", Range(0.0, 50.0)),
    (r"\b(?:months|tenure)\b", Range(0.0, 120.0)),
    (r"\bnumber of|\bcount\b", Range(0.0, 10.0)),
)


def proposed_ranges(dictionary: Mapping[str, str]) -> dict[str, Range | None]:
    """A round range for each column whose description says or implies one; None where somebody must state it."""
    return {column: _range_in_words(description) for column, description in dictionary.items()}


def _range_in_words(description: str) -> Range | None:
    if YES_OR_NO.search(description):
        return CATEGORY
    if found := BETWEEN.search(description):
        low, high = sorted(_number(text) for text in found.groups())
        return Range(_round_down(low), _round_up(high)) if low < high else None
    if found := AT_MOST.search(description):
        high = _number(found.group(1))
        return Range(0.0, _round_up(high)) if high > 0 else None
    return next((item for words, item in WORDS if re.search(words, description, re.IGNORECASE)), None)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _round_up(value: float) -> float:
    """Round to 1, 2 or 5 times a power of ten, away from 0: a round range gives less away than an exact one."""
    if value < 0:
        return -_toward_zero(-value)
    return _away_from_zero(value)


def _round_down(value: float) -> float:
    return -_round_up(-value)


def _away_from_zero(value: float) -> float:
    if value == 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1 - 1e-12))


def _toward_zero(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power <= value * (1 + 1e-12))


def stated_ranges(
    columns: Sequence[str], stated: Mapping[str, Sequence[float]], is_category: Sequence[bool]
) -> list[Range]:
    """One range for each encoded column, from `[table.ranges]` of a party's settings; a category's needs none."""
    missing = [name for name, known in zip(columns, is_category, strict=True) if not known and name not in stated]
    if missing:
        raise DataError(
            f'scale = "public" needs a range for {", ".join(map(repr, missing))}; state each with --range, such as'
            f" {missing[0]}=0:100, before looking at the rows"
        )
    return [
        CATEGORY if known else _checked_range(name, stated[name])
        for name, known in zip(columns, is_category, strict=True)
    ]


def _checked_range(name: str, ends: Sequence[float]) -> Range:
    if len(ends) < 2 or not all(math.isfinite(end) for end in ends) or not ends[0] < ends[-1]:
        raise DataError(f"[table.ranges] {name}: expected two numbers, the smaller one first, such as [0, 100]")
    return Range(float(ends[0]), float(ends[-1]))
