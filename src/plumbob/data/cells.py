"""What the cells of a column mean: numbers, dates, flags, ordered levels or text, and which of them are dirty.

A column of numbers with some text among them is refused, because every different number would become a level. The
refusal counts those cells and names the well-known marks of a gap among them; no other cell is shown.

`1,234` is a thousand in one country and little more than one in another. So one reading serves a whole column, and it
needs a cell that proves it: `12,5` and `1.234,5` prove a decimal comma, `12.5` and `1,234.5` a decimal point. A date
becomes its day, counted from 1970-01-01.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime
from functools import partial

import numpy as np

from plumbob.arrays import Texts, Vector
from plumbob.data.tables import type_flag
from plumbob.errors import DataError

LEADING_ZERO = re.compile(r"[+-]?0\d")
GAP_MARKS = frozenset(
    (
        *("", "?", "??", "???", "-", "--", "---", ".", "..", "...", "*", "_", "/", "na", "n/a", "n.a.", "n.a", "#n/a"),
        *("#na", "nan", "null", "none", "nil", "nul", "unknown", "unkn", "unk", "missing", "not available", "\\n"),
        *("not applicable", "not known", "no data", "(blank)", "blank", "empty", "k.a.", "keine angabe", "undefined"),
        *("#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!", "tbd", "tba", "<na>", "<null>", "(null)"),
    )
)
TRUE_WORDS = frozenset(("true", "t", "yes", "y", "1", "on", "ja", "oui", "si", "sí"))
FALSE_WORDS = frozenset(("false", "f", "no", "n", "0", "off", "nein", "non"))
BLANKS = " \t\N{NO-BREAK SPACE}"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan|infinity)", re.IGNORECASE)
_CURRENCY = r"[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|MXN|ZAR|TRY"
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE} '\N{RIGHT SINGLE QUOTATION MARK}"
_LAKHS = r"\d{1,2}(?:,\d{2})+,\d{3}"  # 12,34,567 is written so in India.
_DIGITS = rf"\d+|\d{{1,3}}(?:[{_SPACES}]\d{{3}})+|\d{{1,3}}(?:,\d{{3}})+|{_LAKHS}|\d{{1,3}}(?:\.\d{{3}})+"
_SIGN = "[+\N{MINUS SIGN}-]?"
AMOUNT = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>{_SIGN})\s*(?P<before>{_CURRENCY})?\s*(?P<sign2>{_SIGN})"
    rf"(?P<whole>{_DIGITS})(?P<fraction>[.,]\d+)?\s*(?P<after>{_CURRENCY}|%)?\s*(?P<close>\))?"
)
POINT, COMMA = ".", ","
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
DATE_LIKE = re.compile(
    r"(\d{1,4}|[A-Za-z]{3,9})(\. |[./ -])(\d{1,2}|[A-Za-z]{3,9})(, |[./ -])\d{2,4}"
    r"|[A-Za-z]{3,9}[ -]\d{4}|\d{1,2}/\d{4}|\d{4}-\d{2}"
)
TIME = re.compile(r"[T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?(Z|[+-]\d{2}:?\d{2})?$")
FORMS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
    *("%b %d %Y", "%B %d %Y", "%d. %b %Y", "%d. %B %Y"),
    *("%b %Y", "%b-%Y", "%B %Y", "%m/%Y", "%Y-%m"),
)
"""The forms that are tried; any other one can be given."""
ISO = "ISO"
EPOCH = date(1970, 1, 1).toordinal()


def as_values(name: str, texts: Texts, kind: str | None, has_decimal_commas: bool) -> tuple[Vector | Texts, str | None]:
    """(values, kind) of a column of texts, by the kind stated or found in its cells; refused where they disagree.

    The kind says how other rows of this column are to be read, where it is more than they would say themselves.
    """
    raw = Counter(texts.tolist())
    counts = Counter[str]()
    for text, count in raw.items():
        if text is not None:
            counts[text.strip()] += count
    if kind is None:
        kind = _kind_by_itself(name, texts, counts, has_decimal_commas)
    elif kind in ("number", "date"):
        kind = _with_its_form(name, counts, kind)
    meaning = _chosen_meaning(name, counts, kind) if kind is not None else None
    return (_without_blanks(texts, raw) if meaning is None else _apply_meaning(texts, raw, meaning)), kind


def without_gaps(texts: Texts, gaps: Iterable[str]) -> Texts:
    """The texts with None for each cell that is one of the gaps, blanks around it aside."""
    marks = {gap.strip() for gap in gaps}
    if not marks:
        return texts
    kept = np.empty(len(texts), dtype=object)
    kept[:] = [None if text is None or text.strip() in marks else text for text in texts.tolist()]
    return kept


# A column whose kind is given.


def _chosen_meaning(name: str, counts: Counter[str], kind: str) -> Mapping[str, float] | None:
    """What each text means; None for a category, which stays text."""
    if kind == "category":
        return None
    if "<" in kind:
        levels = [level.strip() for level in kind.split("<")]
        return _translate(name, counts, kind, {level: float(place) for place, level in enumerate(levels, 1)}.get)
    word, _, form = kind.partition(":")
    reader = partial(_amount, sign=form) if word == "number" else date_reader(form) if word == "date" else _flag
    return _translate(name, counts, kind, reader)


def _with_its_form(name: str, counts: Counter[str], kind: str) -> str:
    """The kind with the form of its numbers or dates: one for all cells, or a refusal that says how to choose."""
    if kind == "number":
        return f"number:{_decimal_sign(name, counts)}"
    fitting = fitting_forms(counts)
    if len(fitting) > 1:
        raise DataError(
            f"column {name!r}: its {sum(counts.values())} dates can be read in {len(fitting)} ways"
            f" ({', '.join(fitting)}); choose with {type_flag(name, f'date:{fitting[0]}')}"
        )
    return f"date:{fitting[0] if fitting else FORMS[0]}"


def _decimal_sign(name: str, counts: Counter[str]) -> str:
    found = decimal_signs(counts)
    if len(found) > 1:
        raise DataError(f"column {name!r}: some cells have a decimal comma and some a decimal point; write them alike")
    if not found and has_commas(counts):
        raise DataError(
            f"column {name!r}: nothing says whether its commas are decimal signs or set thousands apart; choose with"
            f" {type_flag(name, 'number:,')} (decimal comma) or {type_flag(name, 'number:.')} (decimal point)"
        )
    units = units_of(text for text in counts if not is_number(text))
    if len(units) > 1:
        raise DataError(f"column {name!r}: its numbers have {len(units)} different units; convert them to one")
    return next(iter(found), POINT)


def _translate(
    name: str, counts: Counter[str], kind: str, reader: Callable[[str], float | None]
) -> Mapping[str, float]:
    meaning = {text: reader(text) for text in counts}
    if unread := sum(counts[text] for text, value in meaning.items() if value is None):
        marks = _listed_marks(counts, [text for text, value in meaning.items() if value is None])
        raise DataError(
            f"column {name!r}: {unread} of {sum(counts.values())} cells cannot be read as {kind}{marks}; correct them,"
            " name marks of a gap with --na, or choose another type with --as"
        )
    return {text: value for text, value in meaning.items() if value is not None}


def _flag(text: str) -> float | None:
    word = text.casefold()
    return 1.0 if word in TRUE_WORDS else 0.0 if word in FALSE_WORDS else None


# A column that speaks for itself.


def _kind_by_itself(name: str, texts: Texts, counts: Counter[str], has_decimal_commas: bool) -> str | None:
    """The kind of a column that nobody stated; None for text."""
    kind = _kind_of_dates(name, texts, counts) if _mostly(counts, looks_like_a_date) else None
    if kind is not None:
        return kind
    is_sure = decimal_signs(counts) == {COMMA} and units_of(counts) == {""}
    if has_decimal_commas and is_sure and all(is_amount(text) for text in counts):
        return f"number:{COMMA}"
    _refuse_dirty(name, texts, counts)
    return None


def _kind_of_dates(name: str, texts: Texts, counts: Counter[str]) -> str | None:
    """The kind of a column of dates in one form, or a refusal; None where cells only look like dates."""
    if len(fitting := fitting_forms(counts)) == 1:
        return f"date:{fitting[0]}"
    if fitting:
        return _with_its_form(name, counts, "date")
    found = most_dates(counts)
    others = [text for text in counts if text not in found]
    if 2 * sum(counts[text] for text in others) >= sum(counts.values()):
        return None
    raise DataError(_dirty(name, texts, counts, others, "a date", "dates"))


def _mostly(counts: Counter[str], has: Callable[[str], bool]) -> bool:
    return 2 * sum(count for text, count in counts.items() if has(text)) > sum(counts.values())


def _refuse_dirty(name: str, texts: Texts, counts: Counter[str]) -> None:
    """Refuse a column that is mostly numbers with some text: neither numbers nor a category."""
    dirty = [text for text in counts if not is_number(text)]
    strange = [text for text in dirty if not is_amount(text)]
    n_cells = sum(counts.values())
    is_mostly_text = 2 * sum(counts[text] for text in strange) >= n_cells
    if not dirty or is_mostly_text or any(LEADING_ZERO.match(text) for text in counts):
        return
    raise DataError(_dirty(name, texts, counts, dirty, "a number", "numbers"))


def _dirty(name: str, texts: Texts, counts: Counter[str], dirty: Collection[str], one: str, many: str) -> str:
    """How many cells are not what the others are, where the first is, and what to do: no other cell's content."""
    n_cells, n_dirty = sum(counts.values()), sum(counts[text] for text in dirty)
    first = next(row for row, text in enumerate(texts.tolist(), 1) if text is not None and text.strip() in set(dirty))
    marks = [text for text in dirty if text.casefold() in GAP_MARKS]
    flags = " ".join(f'--na "{mark}"' for mark in sorted({mark or " " for mark in marks}))
    gaps = f"treat them as gaps with {flags}" if len(marks) == len(dirty) else f"with {flags} the marks are gaps"
    is_written = one == "a number" and any(is_amount(text) for text in dirty)
    ways = [*([gaps] if marks else []), *([_way_to_read_amounts(name, counts)] if is_written else [])]
    n_gaps = len(texts) - n_cells
    empty = f", besides {n_gaps} gap{'' if n_gaps == 1 else 's'}" if n_gaps else ""
    is_not = f"is not {one}" if n_dirty == 1 else f"are not {many}"
    return (
        f"column {name!r}: {n_dirty} of {len(texts)} cells {is_not}{_listed_marks(counts, dirty)}{empty}, the first in"
        f" row {first}; {''.join(f'{way}, ' for way in ways)}correct them, or take the column as text with"
        f" {type_flag(name, 'category')}"
    )


def _way_to_read_amounts(name: str, counts: Counter[str]) -> str:
    if has_commas(counts) and not decimal_signs(counts):
        thousand, fraction = type_flag(name, "number:."), type_flag(name, "number:,")
        return f"read 1,234 as a thousand with {thousand} or as a fraction with {fraction}"
    return f"read amounts such as 1,234.5, 1.234,5 or 12 % with {type_flag(name, 'number')}"


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


def _apply_meaning(texts: Texts, distinct: Iterable[str | None], meaning: Mapping[str, float]) -> Vector:
    number = {text: np.nan if text is None else meaning[text.strip()] for text in distinct}
    return np.fromiter(map(number.__getitem__, texts.tolist()), dtype=np.float64, count=len(texts))


def _without_blanks(texts: Texts, distinct: Iterable[str | None]) -> Texts:
    """Texts without the blanks around them, and None for blank ones; lines within a text stay as they are."""
    meant = {text: None if text is None else sys.intern(text.strip(BLANKS)) or None for text in distinct}
    if all(text == bare for text, bare in meant.items()):
        return texts
    kept = np.empty(len(texts), dtype=object)
    kept[:] = [meant[text] for text in texts.tolist()]
    return kept


# Numbers: plain, with a decimal comma, with thousands set apart, with a currency or a percent sign.


def is_number(text: str) -> bool:
    """Whether a text is a number as a file of numbers would have it."""
    return NUMBER.fullmatch(text.strip()) is not None


def is_amount(text: str) -> bool:
    """Whether a text is a number in some other notation."""
    return AMOUNT.fullmatch(text.strip()) is not None


def decimal_signs(texts: Iterable[str]) -> set[str]:
    """What the cells prove about the decimal sign: nothing, one sign, or, where they contradict one another, both."""
    return {sign for text in texts for sign in _proved(text.strip())}


def has_commas(texts: Iterable[str]) -> bool:
    """Whether the decimal sign matters although no cell proves it: a dot alone is the usual one."""
    return any("," in text for text in texts)


def units_of(texts: Iterable[str]) -> set[str]:
    """The currencies and percent signs beside the numbers, with "" where there is none."""
    matches = (AMOUNT.fullmatch(text.strip()) for text in texts)
    return {match["before"] or match["after"] or "" for match in matches if match}


def _proved(text: str) -> set[str]:
    match = AMOUNT.fullmatch(text)
    if match is None:
        return {POINT} if NUMBER.fullmatch(text) and "." in text else set()
    whole, fraction = match["whole"], match["fraction"] or ""
    groups = [sign for sign in (POINT, COMMA) if sign in whole]
    if fraction:
        # After set-apart thousands, or with other than three digits, it can be nothing else.
        is_sure = bool(groups) or len(fraction) != 4 or not 1 <= len(whole) <= 3
        return {fraction[0]} if is_sure else set()
    # 1.234.567 sets thousands apart; 1.234 alone may be either.
    return {_other(groups[0])} if groups and whole.count(groups[0]) > 1 else set()


def _amount(text: str, sign: str) -> float | None:
    """The amount with this decimal sign; None for any other text."""
    match = AMOUNT.fullmatch(text)
    if match is None:
        return float(text) if NUMBER.fullmatch(text) and (sign == POINT or "." not in text) else None
    whole, fraction = match["whole"], match["fraction"] or sign
    # 1,234 under a decimal point is a thousand; 1,2 and 12345,678 are nothing.
    is_thousands = fraction[0] != sign and len(fraction) == 4 and len(whole) <= 3
    if sign in whole or not (fraction[0] == sign or is_thousands):
        return None
    plain = re.sub(rf"[{_SPACES}{_other(sign)}]", "", whole + fraction).replace(sign, ".")
    is_negative = bool(match["open"] and match["close"]) or any(match[name] not in "+" for name in ("sign", "sign2"))
    return -float(plain) if is_negative else float(plain)


def _other(sign: str) -> str:
    return COMMA if sign == POINT else POINT


# Dates.


def day_number(value: date) -> float:
    """Days since 1970-01-01."""
    return float(value.toordinal() - EPOCH)


def day_of(number: float) -> str:
    """The day that a number means, as 2026-11-16."""
    return date.fromordinal(EPOCH + int(number)).isoformat()


def form_in_words(form: str) -> str:
    """A form in words: `%d/%m/%Y` is day/month/year."""
    words = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}
    return "year-month-day" if form == ISO else re.sub("%[dmbBYy]", lambda found: words[found[0]], form)


def looks_like_a_date(text: str) -> bool:
    """Whether the signs of a text are those of a date, whatever day it may mean."""
    return bool(ISO_DATE.fullmatch(text) or DATE_LIKE.fullmatch(TIME.sub("", text)))


def date_reader(form: str) -> Callable[[str], float | None]:
    """A function that reads dates in this form; it returns None for any other text."""
    return _iso_date if form == ISO else lambda text: _date(text, form)


def fitting_forms(texts: Collection[str]) -> list[str]:
    """The forms in which all of these are dates, one for each way to understand them."""
    if all(ISO_DATE.fullmatch(text) and _iso_date(text) is not None for text in texts):
        return [ISO]
    ways: dict[tuple[float | None, ...], str] = {}
    for form in FORMS:
        days = _days(texts, form)
        if days is not None:
            ways.setdefault(days, form)
    return list(ways.values())


def _days(texts: Collection[str], form: str) -> tuple[float, ...] | None:
    days = []
    for text in texts:
        day = _date(text, form)
        if day is None:
            return None
        days.append(day)
    return tuple(days)


def most_dates(texts: Collection[str]) -> set[str]:
    """The texts that are dates in the form in which most of them are."""
    forms = [ISO, *FORMS]
    return max(({text for text in texts if date_reader(form)(text) is not None} for form in forms), key=len)


def _date(text: str, form: str) -> float | None:
    """The day of a date in this form; the time of day is left out where the form has none."""
    for words in (text, TIME.sub("", text)):
        try:
            return day_number(datetime.strptime(words, form).date())
        except ValueError:
            continue
    return None


def _iso_date(text: str) -> float | None:
    try:
        return day_number(date.fromisoformat(text[:10])) if ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None
