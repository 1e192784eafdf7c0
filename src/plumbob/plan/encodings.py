"""The rule for the encoding of a plan drafted from tables: found by benchmarks/encoding_study.py of commit ae113e8c.

Two numbers decide. How many rows there are for a column says how many bins can be fitted beside the plain column: a
table with few rows has none. How many columns training sees says how strong the penalty is. A penalty of 1 / (C rows)
expects every weight to have a variance of C, so that C times the columns is the variance that log-odds are expected to
have. It is the same for every table, so weights of many columns are small ones. Both numbers are known before the
parties have found their common rows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plumbob.counting import counted
from plumbob.plan.plan import PARTY_KEYS
from plumbob.plan.row_noise import BIN_SCALE, ROW_BINS_UP_TO, bins_under_noise

BINS_FROM = ((300, 10), (60, 5), (4, 3))
"""Rows per column from which on it has this many bins; below the last it has none."""
LEVELS_OF_A_COLUMN = 4
"""How many levels count as one numeric column: each has one weight, and most have few rows."""
EXPECTED_VARIANCE = 4.0
"""The expected variance of log-odds, from all columns together."""
LEAST_C, MOST_C = 0.03, 1.0
"""The smallest and the largest C that were tried."""
FEW_ROWS, FEW_OF_A_CLASS = 10, 2
"""Rows, and rows of the rarer class, for an encoded column below which a plan is told that it has few."""
SUGGESTED_TEST_SHARE = 0.2
"""The test share of a plan drafted from tables: without held-out rows nobody learns how good the model is."""
ENCODING_KEYS = frozenset({"bins"})
"""Keys that choose an encoding; if somebody sets one, nothing is drafted."""
ROWS_TOLD = re.compile(r"^# Drafted for ([0-9,]+) training rows", re.MULTILINE)


def suggested_keys(
    keys: Mapping[str, Any], sizes: "Sequence[TableSize]", rows: int | None = None
) -> "tuple[dict[str, Any], DraftedEncoding | None]":
    """The keys of a plan drafted from tables of these sizes, with what somebody chose; and why, if the rule chose.

    `rows` are the common ones where they are known; the smallest file's stand in for them.
    """
    common = {"test_share": SUGGESTED_TEST_SHARE, **keys}
    if ENCODING_KEYS & keys.keys():
        return common, None
    rows = min(size.rows for size in sizes) if rows is None else rows
    drafted = DraftedEncoding.of(rows - round(rows * common["test_share"]), sizes, row_budget(keys))
    return {**drafted.keys, **common}, drafted


@dataclass(frozen=True)
class TableSize:
    """What the rule knows about one party's table: no name and no value."""

    rows: int
    numeric: int
    """The number of columns of numbers with more than two values."""
    levels: int
    """The number of all other encoded columns without bins: of texts, of gaps, of two values."""


@dataclass(frozen=True)
class DraftedEncoding:
    """The encoding that the rule chose, and from which numbers."""

    rows: int
    numeric: int
    levels: int
    budget: tuple[float, float] | None = None
    """Epsilon and delta of noise for whole rows; then there is no penalty: nobody measured both together."""

    @classmethod
    def of(cls, rows: int, sizes: Sequence[TableSize], budget: tuple[float, float] | None = None) -> "DraftedEncoding":
        """The rule's choice for all parties; `rows` are those to train on, or the smallest file's if unknown."""
        numeric, levels = (sum(counts) for counts in zip(*((size.numeric, size.levels) for size in sizes), strict=True))
        return cls(max(1, rows), numeric, levels, budget)

    @property
    def bins(self) -> int:
        if self.budget is not None:
            return bins_under_noise(self.rows, self.numeric, self.levels, *self.budget)
        return encoding_for(self.rows, self.numeric, self.levels)[0]

    @property
    def C(self) -> float:
        """The penalty on the mean loss is 1 / (C rows)."""
        return encoding_for(self.rows, self.numeric, self.levels)[1]

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of the plan that state this encoding."""
        penalty = {} if self.budget else {"l2": float(f"{1.0 / (self.C * self.rows):.4g}")}
        return {"bins": self.bins, **penalty}

    @property
    def sentence(self) -> str:
        """A sentence for the plan's file and for the screen."""
        per_column = self.rows / max(1.0, self.numeric + self.levels / LEVELS_OF_A_COLUMN)
        share = f"{per_column:,.0f}" if per_column >= 100 else f"{per_column:.3g}"
        chosen = f"each numeric column as it is and in {self.bins} bins" if self.bins else "numeric columns as they are"
        penalty = "" if self.budget else f", with l2 = 1 / ({self.C:g} x rows)"
        return (
            f"Drafted for {self.rows:,} training rows, {counted(self.numeric, 'numeric column')} and"
            f" {counted(self.levels, 'level')} ({share} rows per column): {chosen}{penalty}."
        )


def encoding_for(rows: int, numeric_columns: int, levels: int) -> tuple[int, float]:
    """(bins, C) for all parties: bins per numeric column, beside the plain one, and C.

    `rows` are those of the smallest party's file, without held-out ones. `numeric_columns` are all parties' columns of
    numbers with more than two values, and `levels` all other encoded columns: of texts, of gaps, of two values.
    """
    rows_for_a_column = rows / max(numeric_columns + levels / LEVELS_OF_A_COLUMN, 1.0)
    bins = next((bins for least, bins in BINS_FROM if rows_for_a_column >= least and numeric_columns), 0)
    variances = numeric_columns * (1 + bins * BIN_SCALE**2) + levels
    C = min(MOST_C, max(LEAST_C, EXPECTED_VARIANCE / max(variances, 1.0)))
    return bins, float(f"{C:.2g}")


def tried_bins(has_row_noise: bool) -> tuple[int, ...]:
    """All numbers of bins that a rule may choose, none among them."""
    return (0, *sorted(bins for _, bins in (ROW_BINS_UP_TO if has_row_noise else BINS_FROM)))


def row_budget(keys: Mapping[str, Any]) -> tuple[float, float] | None:
    """Epsilon and delta of a plan's noise for whole rows; None where it has none."""
    if keys.get("noise") != "rows":
        return None
    usual = {key.name: key.default for key in PARTY_KEYS}
    return keys.get("epsilon", usual["epsilon"]), keys.get("delta", usual["delta"])


def few_rows(rows: int, columns: int, rarer: int | None = None) -> str:
    """A sentence for a plan with few rows for each encoded column, of both classes or, where that is known, the rarer.

    Nothing where there are enough.
    """
    if rows < FEW_ROWS * columns:
        few = f"{rows:,} training rows for {columns:,} encoded columns are fewer than {FEW_ROWS} for each"
    elif rarer is not None and rarer < FEW_OF_A_CLASS * columns:
        few = (
            f"about {rarer:,} training rows of the rarer class for {columns:,} encoded columns are fewer than"
            f" {FEW_OF_A_CLASS} for each"
        )
    else:
        return ""
    return f"{few}: the model may learn chance; leave columns out, use fewer bins or raise l2"


def rows_drafted_for(text: str) -> int | None:
    """How many training rows a plan's encoding was chosen for, by its file; None where nobody drafted it."""
    found = ROWS_TOLD.search(text)
    return None if found is None else int(found[1].replace(",", ""))
