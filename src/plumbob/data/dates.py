"""How dates are written, and which day each one means, counted from 1970-01-01."""

import re
from collections.abc import Callable, Collection
from datetime import date, datetime

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


def reader_of(form: str) -> Callable[[str], float | None]:
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
    return max(({text for text in texts if reader_of(form)(text) is not None} for form in forms), key=len)


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
