"""Which encoding a plan that is drafted from files takes: found by `benchmarks/encoding_study.py`, results beside it.

Two numbers decide. How many rows there are for a column says how many bins can be fitted beside the plain column: a
table with few rows has none. How many columns training sees says how strong the penalty is: what a score can say is
shared by them, so that the weights of many columns are small ones. Both are known before the parties have found their
common rows.
"""

BINS_FROM = ((300, 10), (150, 5), (8, 3))
"""Rows for a column from which on it has so many bins; below the last it has none."""
LEVELS_OF_A_COLUMN = 4
"""So many levels count as one numeric column: each has one weight, and most have few rows."""
COLUMNS_AT_FULL_C = 4
"""So many encoded columns would have C = 1, and twice as many half of it."""
TRIED = (1.0, 0.3, 0.1, 0.03)


def encoding_for(rows: int, numeric_columns: int, levels: int) -> tuple[int, bool, float]:
    """(bins, plain, C) for all parties: quantile bins a numeric column, whether the plain column is there too, and C.

    `rows` are those of the smallest party's file, without held-out ones. `numeric_columns` are all parties' columns of
    numbers with more than two values, and `levels` all other encoded columns: of texts, of gaps, of two values. The
    penalty on the mean loss is 1 / (C rows).
    """
    for name, number, least in (("rows", rows, 1), ("numeric_columns", numeric_columns, 0), ("levels", levels, 0)):
        if number < least:
            raise ValueError(f"{name}: expected {least} or more, got {number}")
    rows_for_a_column = rows / max(numeric_columns + levels / LEVELS_OF_A_COLUMN, 1.0)
    bins = next((bins for least, bins in BINS_FROM if rows_for_a_column >= least and numeric_columns), 0)
    return bins, True, _penalty_for(numeric_columns * (1 + bins) + levels)


def _penalty_for(encoded_columns: int) -> float:
    """The nearest of those that were tried, by their ratio to what one over the columns asks for."""
    wanted = COLUMNS_AT_FULL_C / max(encoded_columns, 1)
    return min(TRIED, key=lambda tried: max(tried / wanted, wanted / tried))
