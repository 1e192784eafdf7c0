"""What the cells of a column say: numbers, days, yes and no, or text. One rule, which guesses nothing.

    every cell is ...                          the column is
    a number, such as 12, -0.5 or 1e-3         numbers
    one, and some begin with 0, as 007 does    text: they are codes
    a day, such as 2026-11-16, or a timestamp  days since 1970-01-01
    true or false                              1 and 0
    anything else                              text

The rule refuses two kinds of columns, because a wrong guess would go unnoticed. Where most cells are numbers or days,
or amounts and days in another writing, and some are not, each different number would become a level of its own. And
where every decimal point is followed by exactly three digits, nobody can tell whether it sets thousands apart. No
refusal shows a cell.

A Parquet file or a data frame says itself which columns are numbers. Its texts are searched for days and refused as
above, and never become numbers.
"""

import re
import shlex
import sys
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, types

from plumbob.arrays import Texts, Vector
from plumbob.data.tables import DATE, FLAG, NUMBER, TEXT, Column, Table
from plumbob.errors import DataError
from plumbob.record import InputColumn

NOT_UTF8 = "holds text that is not UTF-8; save the file as UTF-8"
A_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
A_CODE = "^[+-]?0[0-9]"
A_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
MAY_BE_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"
_CURRENCY = r"([$€£¥₹]|EUR|USD|GBP|CHF|JPY)"
_SIGN = "[+\N{MINUS SIGN}-]?"
_APART = "[0-9.,' \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{RIGHT SINGLE QUOTATION MARK}]*"
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
IN_ANOTHER_WRITING = (
    rf"^\(?{_SIGN} *{_CURRENCY}? *{_SIGN}[0-9]{_APART}({_CURRENCY}|%)?\)?$"
    r"|^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}\b|^(19|20)[0-9]{2}-[0-9]{2}$|^[0-9]{1,2}/(19|20)[0-9]{2}$"
    rf"|(?i:^([0-9]{{1,2}}[. -]{{1,2}})?{_MONTH}[ .,/-]+[0-9])"
)
"""Amounts and days that people read without trouble, and of which we would have to guess what they mean."""
NUMBERS, DAYS = ("a number", "numbers"), ("a day", "days")
EITHER = ("a number or a day as it must be written", "numbers or days as they must be written (1234.5, 2026-11-16)")
MOST_TRIED = 1000
"""How many cells are looked at before all are: most columns of fractions prove at once what their point means."""
EPOCH = date(1970, 1, 1).toordinal()


def values_of(
    name: str, cells: pa.ChunkedArray, is_category: bool = False, is_written: bool = False
) -> tuple[Vector | Texts, str]:
    """(values, meaning) of a column; `is_written` where all its cells are texts only because the file has no types.

    Raises DataError for a column that must not be guessed about; its message ends with the ways out.
    """
    kind = cells.type
    if cells.null_count == len(cells):
        return np.full(len(cells), np.nan), NUMBER
    if types.is_dictionary(kind):
        # Whoever made a category of it meant one, even if its levels look like numbers.
        return values_of(name, cells.cast(kind.value_type), is_category=True)
    if is_category and not types.is_nested(kind):
        return _texts(compute.utf8_trim_whitespace(compute.cast(cells, pa.string()))), TEXT
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _meaning_of_texts(name, cells, is_written)
    if types.is_boolean(kind):
        return _as_numbers(cells), FLAG
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _as_numbers(cells), NUMBER
    if types.is_date(kind) or types.is_timestamp(kind):
        has_zone = types.is_timestamp(kind) and kind.tz is not None
        return _days(compute.local_timestamp(cells) if has_zone else cells), DATE
    if types.is_binary(kind) or types.is_large_binary(kind):
        raise DataError(f"column {name!r} {NOT_UTF8}")
    raise DataError(f"column {name!r} holds {kind} in {len(cells)} rows; expected numbers, true/false, days or text")


def day_of(number: float) -> str:
    """The day that a number means, as 2026-11-16."""
    return date.fromordinal(EPOCH + int(number)).isoformat()


def ends_of(column: Column) -> tuple[str, str]:
    """The lowest and the highest value as they were read; empty for texts, for yes and no, and where there is none."""
    if column.is_text or column.meaning == FLAG or column.is_missing.all():
        return "", ""
    values = column.numbers
    shown = day_of if column.meaning == DATE else "{:.10g}".format
    return shown(float(np.nanmin(values))), shown(float(np.nanmax(values)))


def inputs_of(table: Table) -> list[InputColumn]:
    """The columns of a table as a run's record has them, for the eyes of whoever holds the table."""
    return [
        InputColumn(column.name, TEXT if column.is_text else column.meaning, *ends_of(column))
        for column in table.columns
    ]


def _as_text(name: str) -> str:
    """The way out that is always there, as a shell reads it: names may hold blanks and quotes."""
    return f"take the column as text with --category {shlex.quote(name)}"


def _meaning_of_texts(name: str, cells: pa.ChunkedArray, is_written: bool) -> tuple[Vector | Texts, str]:
    bare = compute.utf8_trim_whitespace(cells)
    if is_written and compute.all(compute.is_in(compute.utf8_lower(bare.drop_null()), pa.array(FLAGS))).as_py():
        return _as_numbers(compute.equal(compute.utf8_lower(bare), FLAGS[0])), FLAG
    if is_written and (numbers := _all_numbers(bare)) is not None:
        if _some(bare, A_CODE):
            return _texts(bare), TEXT
        _refuse_ambiguous_points(name, bare)
        return numbers, NUMBER
    if (days := _all_days(bare)) is not None:
        return days, DATE
    _refuse_mixture(name, bare)
    return _texts(bare), TEXT


FLAGS = ("true", "false")


def _all_numbers(cells: pa.ChunkedArray) -> Vector | None:
    """The cells as numbers; None if one of them is none."""
    try:
        return _as_numbers(cells)
    except pa.ArrowInvalid:
        return None


def _as_numbers(cells: pa.ChunkedArray) -> Vector:
    return np.asarray(compute.cast(cells, pa.float64()).to_numpy(), dtype=np.float64)


def _all_days(cells: pa.ChunkedArray) -> Vector | None:
    """The cells as days; None if one of them is none. The time of day is left out, and the zone is that of the cell."""
    if not _are_all(cells.slice(0, MOST_TRIED), A_DAY) or not _are_all(cells, A_DAY):
        return None
    try:
        return _days(compute.utf8_slice_codeunits(cells, 0, len("2026-11-16")))
    except pa.ArrowInvalid:
        return None


def _days(cells: pa.ChunkedArray) -> Vector:
    return _as_numbers(compute.cast(compute.cast(cells, pa.date32()), pa.int32()))


def _texts(cells: pa.ChunkedArray) -> Texts:
    """The texts, None for a gap or a blank; equal ones share one object, however many rows have it."""
    coded = cells.combine_chunks().dictionary_encode()
    # Arrow may lose half of a line's end within a cell, so lines end in one way.
    plain = (re.sub("\r\n?", "\n", text) for text in coded.dictionary.to_pylist())
    distinct = [sys.intern(text) or None for text in plain]
    places = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    texts: Texts = np.array([*distinct, None], dtype=object)[places]
    return texts


# What is refused.


def _refuse_ambiguous_points(name: str, cells: pa.ChunkedArray) -> None:
    """Refuse 8.520 in a column without any 8.52: it may mean eight thousand."""
    for some in (cells.slice(0, MOST_TRIED), cells):
        with_point = some.filter(compute.match_substring(some, "."))
        if len(with_point) and not _are_all(with_point, MAY_BE_THOUSANDS):
            return
    if len(with_point):
        raise DataError(
            f"column {name!r}: every decimal point is followed by exactly three digits ({len(with_point)} of"
            f" {len(cells)} cells); is 1.234 little more than one, or more than a thousand? Write thousands without a"
            " point, or fractions with another number of digits (1.2340), or"
            f" {_as_text(name)}"
        )


def _refuse_mixture(name: str, cells: pa.ChunkedArray) -> None:
    """Refuse a column that is mostly numbers, amounts or days, and not in every cell."""
    counted = compute.value_counts(cells.drop_null().combine_chunks())
    distinct, counts = counted.field("values"), counted.field("counts").to_numpy()
    is_code, is_number, is_day, is_other = (
        _matches(distinct, pattern) for pattern in (A_CODE, A_NUMBER, A_DAY, IN_ANOTHER_WRITING)
    )
    is_code &= is_number
    is_number &= ~is_code
    known = {NUMBERS: is_number, DAYS: is_day, EITHER: is_number | is_day | (is_other & ~is_code)}
    what = next((what for what, is_it in known.items() if 2 * counts[is_it].sum() > counts.sum()), None)
    if what is None or is_number.all():
        return
    if is_day.all():
        raise DataError(f"column {name!r}: some of its days do not exist; correct them, or {_as_text(name)}")
    _refuse(name, cells, distinct, counts, ~(is_number | is_day if what == EITHER else known[what]), what)


def _refuse(
    name: str,
    cells: pa.ChunkedArray,
    distinct: pa.Array,
    counts: NDArray[np.int64],
    is_wrong: NDArray[np.bool_],
    what: tuple[str, str],
) -> None:
    n_wrong = int(counts[is_wrong].sum())
    n_blank = int(counts[np.asarray(compute.equal(distinct, "")) & is_wrong].sum())
    first = compute.index(compute.is_in(cells, distinct.filter(pa.array(is_wrong))), value=True).as_py() + 1
    is_not = f"is not {what[0]}" if n_wrong == 1 else f"are not {what[1]}"
    blank = f" ({n_blank} blank)" if n_blank else ""
    gaps = f", besides {cells.null_count} gap{'' if cells.null_count == 1 else 's'}" if cells.null_count else ""
    mark = '" "' if n_blank == n_wrong else "MARK"
    raise DataError(
        f"column {name!r}: {n_wrong} of {len(cells)} cells {is_not}{blank}{gaps}, the first in row {first}; correct"
        f" them, say with --na {mark} that they are gaps, or {_as_text(name)}"
    )


def _matches(cells: pa.Array, pattern: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = compute.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    return found


def _some(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(cells, pattern)).as_py())


def _are_all(cells: pa.ChunkedArray, pattern: str) -> bool:
    return compute.all(compute.match_substring_regex(cells, pattern)).as_py() in (True, None)
