"""What the cells of a column mean: numbers, dates, flags, ordered levels or text, and which of them are dirty.

A column of numbers with some text among them is refused, because every different number would become a level. The
refusal counts those cells and names the well-known marks of a gap among them; no other cell is shown.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.errors import DataError

Texts = NDArray[np.object_]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan|infinity)", re.IGNORECASE)
LEADING_ZERO = re.compile(r"[+-]?0\d")
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),(\d+)")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
GAP_MARKS = frozenset(
    (
        *("", "?", "??", "???", "-", "--", "---", ".", "..", "...", "*", "_", "/", "na", "n/a", "n.a.", "n.a", "#n/a"),
        *("#na", "nan", "null", "none", "nil", "nul", "unknown", "unkn", "unk", "missing", "not available", "\\n"),
        *("not applicable", "not known", "no data", "(blank)", "blank", "empty", "k.a.", "keine angabe", "undefined"),
        *("#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!", "tbd", "tba", "<na>", "<null>", "(null)"),
    )
)
TOTALS = frozenset(("total", "totals", "sum", "grand total", "subtotal", "overall", "summe", "gesamt", "somme"))
TRUE_WORDS = frozenset(("true", "t", "yes", "y", "1", "on", "ja", "oui", "si", "sí"))
FALSE_WORDS = frozenset(("false", "f", "no", "n", "0", "off", "nein", "non"))
DATE_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d %b %Y", "%d-%b-%Y", "%b %Y")
TYPES = ("number", "category", "boolean", "date")
EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class ColumnChoices:
    """What a party says about its own file; empty where it says nothing."""

    columns: tuple[str, ...] | None = None
    """The features, in this order; None for all columns."""
    drop: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    """By column: number, category, boolean, date, date:FORMAT, or levels in order such as low<mid<high."""
    gaps: tuple[str, ...] = ()
    """Cells that mean a gap, besides empty ones, NA and the like."""
    stepped: tuple[str, ...] = ()
    """Columns whose bins are told apart step by step."""
    positive: str | None = None
    """The label's class that is predicted; None for the second one in sorted order."""

    def __post_init__(self) -> None:
        for name, kind in self.types.items():
            if kind.partition(":")[0] not in TYPES and "<" not in kind:
                raise DataError(
                    f"--as {name}={kind}: expected {', '.join(TYPES)}, date:FORMAT, or levels in order such as"
                    " low<mid<high"
                )

    def about(self, names: Collection[str]) -> "ColumnChoices":
        """What is said about these columns only: those of one file of several."""
        return replace(
            self,
            columns=None if self.columns is None else tuple(name for name in self.columns if name in names),
            drop=tuple(name for name in self.drop if name in names),
            types={name: kind for name, kind in self.types.items() if name in names},
            stepped=tuple(name for name in self.stepped if name in names),
        )


def as_values(name: str, texts: Texts, kind: str | None, has_decimal_commas: bool) -> Vector | Texts:
    """A column of texts as what it was said to be, or as what its cells say; refused where they do not agree."""
    counts = Counter(text for text in texts.tolist() if text is not None)
    if kind is not None:
        meaning = _chosen(name, counts, kind)
        return texts if meaning is None else _applied(texts, meaning)
    meaning = _dates(counts) or (_with_decimal_commas(counts) if has_decimal_commas else None)
    if meaning is not None:
        return _applied(texts, meaning)
    _refuse_dirty(name, texts, counts)
    return texts


def without_gaps(texts: Texts, gaps: Iterable[str]) -> Texts:
    """None where a cell, blanks around it aside, is one of these."""
    marks = {gap.strip() for gap in gaps}
    if not marks:
        return texts
    kept = np.empty(len(texts), dtype=object)
    kept[:] = [None if text is None or text.strip() in marks else text for text in texts.tolist()]
    return kept


def refuse_total(identity: str, row: int) -> None:
    """The last row of a sheet is often its sum."""
    if identity.strip().casefold() in TOTALS:
        raise DataError(f"row {row}, the last one, is a total and not a person: its id says so; take that row out")


def whole_ids(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Ids that a spreadsheet made fractions of, as they were: 12.0 is 12. What it rounded is refused."""
    rounded = sum(bool(re.fullmatch(r"\s*\d(\.\d+)?[eE]\+?\d+\s*", identity)) for identity in ids)
    if rounded:
        raise DataError(
            f"{rounded} of {len(ids)} ids are written as powers of ten, such as 1.2E+11: a spreadsheet rounded them;"
            " export the ids as text"
        )
    if ids and all(re.fullmatch(r"\s*\d+\.0+\s*", identity) for identity in ids):
        return tuple(identity.strip().partition(".")[0] for identity in ids)
    return ids


def day_number(value: date) -> float:
    """Days since 1970-01-01: ages in days differ by the same numbers."""
    return float(value.toordinal() - EPOCH)


def is_number(text: str) -> bool:
    """As it would be written in a file of numbers."""
    return NUMBER.fullmatch(text.strip()) is not None


# A column whose kind is given.


def _chosen(name: str, counts: Counter[str], kind: str) -> Mapping[str, float] | None:
    """What each text means; None for a category, which stays text."""
    if kind == "category":
        return None
    if "<" in kind:
        levels = [level.strip() for level in kind.split("<")]
        return _translated(name, counts, kind, {level: float(place) for place, level in enumerate(levels, 1)}.get)
    word, _, form = kind.partition(":")
    readers: dict[str, Callable[[str], float | None]] = {"number": _number, "boolean": _flag}
    reader = readers.get(word) or _date_reader(name, counts, form)
    return _translated(name, counts, kind, reader)


def _translated(
    name: str, counts: Counter[str], kind: str, reader: Callable[[str], float | None]
) -> Mapping[str, float]:
    meaning = {text: reader(text.strip()) for text in counts}
    if unread := sum(counts[text] for text, value in meaning.items() if value is None):
        marks = _listed_marks(counts, [text for text, value in meaning.items() if value is None])
        raise DataError(
            f"column {name!r}: {unread} of {sum(counts.values())} cells cannot be read as {kind}{marks}; correct them,"
            " name marks of a gap with --na, or choose another type with --as"
        )
    return {text: value for text, value in meaning.items() if value is not None}


def _number(text: str) -> float | None:
    if NUMBER.fullmatch(text):
        return float(text)
    if DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    return None


def _flag(text: str) -> float | None:
    word = text.casefold()
    return 1.0 if word in TRUE_WORDS else 0.0 if word in FALSE_WORDS else None


def _date_reader(name: str, counts: Counter[str], form: str) -> Callable[[str], float | None]:
    if form:
        return lambda text: _date(text, form)
    if all(ISO_DATE.fullmatch(text.strip()) for text in counts):
        return _iso_date
    fitting = [form for form in DATE_FORMATS if all(_date(text.strip(), form) is not None for text in counts)]
    if len(fitting) > 1:
        raise DataError(
            f"column {name!r}: its {sum(counts.values())} dates can be read in {len(fitting)} ways"
            f" ({', '.join(fitting)}); choose with --as {name}=date:{fitting[0]}"
        )
    return lambda text: _date(text, fitting[0] if fitting else DATE_FORMATS[0])


def _date(text: str, form: str) -> float | None:
    try:
        return day_number(datetime.strptime(text, form).date())
    except ValueError:
        return None


def _iso_date(text: str) -> float | None:
    try:
        return day_number(date.fromisoformat(text[:10]))
    except ValueError:
        return None


# A column that speaks for itself.


def _dates(counts: Counter[str]) -> Mapping[str, float] | None:
    """Dates as 2026-11-16, all of them."""
    if not counts or not all(ISO_DATE.fullmatch(text.strip()) for text in counts):
        return None
    meaning = {text: _iso_date(text.strip()) for text in counts}
    found = {text: value for text, value in meaning.items() if value is not None}
    return found if len(found) == len(counts) else None


def _with_decimal_commas(counts: Counter[str]) -> Mapping[str, float] | None:
    """12,5 as in a file whose cells are not separated by commas. 1,234 alone may be a thousand, so it needs proof."""
    found = {text: DECIMAL_COMMA.fullmatch(text.strip()) for text in counts}
    is_proved = any(match is not None and len(match[3]) != 3 for match in found.values())
    if not is_proved or not all(match or is_number(text) for text, match in found.items()):
        return None
    meaning = {text: _number(text.strip()) for text in counts}
    return {text: value for text, value in meaning.items() if value is not None}


def _refuse_dirty(name: str, texts: Texts, counts: Counter[str]) -> None:
    """Mostly numbers, and some text: neither numbers nor a category."""
    dirty = [text for text in counts if not is_number(text)]
    n_cells, n_dirty = sum(counts.values()), sum(counts[text] for text in dirty)
    if not dirty or 2 * n_dirty >= n_cells or any(LEADING_ZERO.match(text.strip()) for text in counts):
        return
    first = next(row for row, text in enumerate(texts.tolist(), 1) if text in set(dirty))
    marks = [text for text in dirty if text.strip().casefold() in GAP_MARKS]
    flags = " ".join(f'--na "{mark}"' for mark in sorted({mark.strip() or " " for mark in marks}))
    gaps = f"treat them as gaps with {flags}" if len(marks) == len(dirty) else f"with {flags} the marks are gaps"
    empty = f", besides {len(texts) - n_cells} empty" if n_cells < len(texts) else ""
    raise DataError(
        f"column {name!r}: {n_dirty} of {len(texts)} cells {'is' if n_dirty == 1 else 'are'} not"
        f" {'a number' if n_dirty == 1 else 'numbers'}{_listed_marks(counts, dirty)}{empty}, the first in row {first};"
        f" {f'{gaps}, ' if marks else ''}correct them, or take the column as text with --as {name}=category"
    )


def _listed_marks(counts: Counter[str], texts: Iterable[str]) -> str:
    """The well-known marks of a gap among these, with how many there are; no other cell's content."""
    marks, others = Counter[str](), 0
    for text in texts:
        mark = text.strip()
        if mark.casefold() in GAP_MARKS:
            marks[f'"{mark}"' if mark else "blank"] += counts[text]
        else:
            others += counts[text]
    listed = [f"{count} {mark}" for mark, count in sorted(marks.items())]
    if listed and others:
        listed.append(f"{others} other{'' if others == 1 else 's'}")
    return f" ({', '.join(listed)})" if listed else ""


def _applied(texts: Texts, meaning: Mapping[str, float]) -> Vector:
    known: dict[Any, float] = {**meaning, None: np.nan}
    return np.fromiter((known[text] for text in texts.tolist()), dtype=np.float64, count=len(texts))
