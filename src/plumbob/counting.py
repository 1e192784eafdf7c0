"""The house style of numbers, for output and pages alike: 27,000 rows, 78.8 %, AUC 0.714, 2.51 s, 7.11 MB.

A number with a unit is written here and nowhere else, which `tests/test_counting.py` holds. Where there is none, or it
is not finite, a dash stands for it.
"""

import math
from collections.abc import Callable

Written = Callable[[float | None], str]
WORSE_THAN_NOTHING = "worse than guessing the mean"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, and commas between thousands; `plural` where the noun does not just get an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _or_dash(write: Callable[[float], str]) -> Written:
    def written(value: float | None) -> str:
        return "-" if value is None or not math.isfinite(value) else write(value)

    written.__doc__ = write.__doc__
    return written


@_or_dash
def percent(share: float) -> str:
    """A share as a percentage with at most one decimal: 0.788 is 78.8 %."""
    # Added to 0, a rounded -0.0 loses its sign.
    return f"{round(100 * share, 1) + 0.0:,.1f}".removesuffix(".0") + " %"


def share(value: float | None) -> str:
    """A share of labels, or an R² of what a claim explains, as text; one below 0 has no percentage."""
    if value is None:
        return percent(None)
    return WORSE_THAN_NOTHING if value < 0 else percent(min(value, 1.0))


@_or_dash
def decimal(value: float) -> str:
    """A number such as an AUC, a log loss or an R²: three decimals, and powers of ten where digits say nothing."""
    return f"{value:.3f}" if abs(value) < 1e5 else f"{value:.1e}"


@_or_dash
def seconds(value: float) -> str:
    """Seconds with three significant digits."""
    return f"{_three_digits(value)} s"


@_or_dash
def size(count: float) -> str:
    """Bytes in powers of a thousand, with three significant digits."""
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count) >= unit:
            return f"{_three_digits(count / unit)} {word}"
    return f"{count:.0f} B"


@_or_dash
def plain(value: float) -> str:
    """Any other number: a whole one with commas, another with four significant digits."""
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"


def _three_digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
