"""One party's columns as numbers, fitted on its own rows and remembered: categories, fillings, shifts and factors.

The encoder is what turns weights back: training sees scaled columns, users see the units that they passed in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.data.tables import Column, Table, Vector
from plumbob.errors import DataError
from plumbob.plan import Plan

Matrix = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Source:
    """A column of the table: a number, or a text with the categories that it may take (sorted)."""

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def encoded_names(self) -> tuple[str, ...]:
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True, repr=False, eq=False)
class Encoder:
    """`(filled - shift) * factor`, each one number per encoded column; `fill` is None where gaps are refused."""

    sources: tuple[Source, ...]
    fill: Vector | None
    shift: Vector
    factor: Vector

    @property
    def names(self) -> tuple[str, ...]:
        """The encoded columns; a category's column is called `column=category`."""
        return tuple(name for source in self.sources for name in source.encoded_names)

    def encode(self, table: Table) -> Matrix:
        """This table in the units that training sees; columns are found by name, others are ignored."""
        numbers = _numbers(_matching(table, self.sources), self.sources, len(table))
        if self.fill is None:
            _refuse_missing(table, self.sources)
        else:
            numbers = np.where(np.isnan(numbers), self.fill, numbers)
        with np.errstate(over="ignore", invalid="ignore"):
            encoded: Matrix = (numbers - self.shift) * self.factor
        _refuse(self.names, encoded, lambda column: ~np.isfinite(column), "are out of range after scaling")
        return encoded

    def in_input_units(self, weights: Vector) -> tuple[Vector, float]:
        """(coefficients, offset) so that `X @ coefficients + offset` equals `encode(X) @ weights`."""
        coefficients = weights * self.factor
        return coefficients, -float(coefficients @ self.shift)


def fit_encoder(table: Table, training_rows: NDArray[np.intp], plan: Plan) -> Encoder:
    """Categories are taken from all own rows, means and deviations from the training rows only."""
    sources = tuple(_source(column, plan.categorical) for column in table.columns)
    numbers = _numbers(table.columns, sources, len(table))
    names = tuple(name for source in sources for name in source.encoded_names)
    _refuse(names, numbers, np.isinf, "are infinite")
    if plan.missing == "refuse":
        _refuse_missing(table, sources)
    numbers = numbers[training_rows]
    means = _means(names, numbers)
    filled = np.where(np.isnan(numbers), means, numbers)
    fill = means if plan.missing == "mean" else None
    if plan.scale == "none":
        return Encoder(sources, fill, np.zeros(len(names)), np.ones(len(names)))
    return Encoder(sources, fill, means, _factors(filled))


def _source(column: Column, categorical: str) -> Source:
    if not column.is_text:
        return Source(column.name)
    if categorical == "refuse":
        texts = sum(not _is_number(value) for value in column.values if value is not None)
        raise DataError(
            f"column {column.name!r} is text: {texts} of {len(column.values)} rows are not numbers; correct them or set"
            ' categorical = "one-hot"'
        )
    return Source(column.name, tuple(sorted({value for value in column.values if value is not None})))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _matching(table: Table, sources: Sequence[Source]) -> list[Column]:
    """The table's columns in the encoder's order, each of the kind that it was fitted on."""
    by_name = {column.name: column for column in table.columns}
    if absent := [source.name for source in sources if source.name not in by_name]:
        raise DataError(f"{len(absent)} of {len(sources)} columns of the model are missing here: {', '.join(absent)}")
    columns = [by_name[source.name] for source in sources]
    for column, source in zip(columns, sources, strict=True):
        if column.is_text != (source.categories is not None) and not column.is_missing.all():
            now, then = ("text", "numbers") if column.is_text else ("numbers", "text")
            raise DataError(f"column {column.name!r} holds {now} here and held {then} in training")
    return columns


def _numbers(columns: Sequence[Column], sources: Sequence[Source], n_rows: int) -> Matrix:
    """Numbers as they are and a 0/1 column for each category; NaN where a value is missing."""
    pieces = [_one_hot(column, source) for column, source in zip(columns, sources, strict=True)]
    return np.hstack([np.empty((n_rows, 0)), *pieces])


def _one_hot(column: Column, source: Source) -> Matrix:
    if source.categories is None:
        return column.values.astype(np.float64, copy=False)[:, None]
    place = {category: index for index, category in enumerate(source.categories)}
    unseen = sum(value not in place for value in column.values[~column.is_missing])
    if unseen:
        raise DataError(
            f"column {column.name!r}: {unseen} of {len(column.values)} rows have a category that training never saw"
        )
    encoded = np.zeros((len(column.values), len(place)))
    is_missing = column.is_missing
    encoded[is_missing] = np.nan
    encoded[~is_missing, [place[value] for value in column.values[~is_missing]]] = 1.0
    return encoded


def _refuse_missing(table: Table, sources: Sequence[Source]) -> None:
    wanted = {source.name for source in sources}
    columns = [column for column in table.columns if column.name in wanted]
    counts = {column.name: int(column.is_missing.sum()) for column in columns}
    if any(counts.values()):
        listed = ", ".join(f"{name!r} ({count})" for name, count in counts.items() if count)
        raise DataError(f'missing values in {len(table)} rows: {listed}; complete them or set missing = "mean"')


def _refuse(names: Sequence[str], numbers: Matrix, is_bad: Callable[[Matrix], NDArray[np.bool_]], what: str) -> None:
    counts = is_bad(numbers).sum(axis=0)
    if counts.any():
        # A category's own name is a value of the table, so only the column's part of it is shown.
        bad = ", ".join(
            f"{name.partition('=')[0]!r} ({count})" for name, count in zip(names, counts, strict=True) if count
        )
        raise DataError(f"values {what} in {len(numbers)} rows: {bad}")


def _means(names: Sequence[str], numbers: Matrix) -> Vector:
    present = ~np.isnan(numbers)
    counts = present.sum(axis=0)
    if len(numbers) and not counts.all():
        empty = [name.partition("=")[0] for name, count in zip(names, counts, strict=True) if not count]
        raise DataError(f"columns without any value in {len(numbers)} training rows: {', '.join(empty)}")
    with np.errstate(over="ignore"):
        means: Vector = np.where(present, numbers, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return means


def _factors(filled: Matrix) -> Vector:
    """One over the deviation, as scikit-learn's scaler has it; 0 for a constant column, which so becomes 0."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        deviations = filled.std(axis=0)
        factors = 1.0 / deviations
    # Rounding can give a constant column a deviation of 1e-17, so constancy is read off the values.
    is_constant = (filled == filled[:1]).all(axis=0) | np.isinf(factors)
    # An overflow must be refused when it is used, not pass for a constant.
    return np.where(is_constant, 0.0, np.where(np.isfinite(deviations), factors, np.nan))
