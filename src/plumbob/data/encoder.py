"""One party's columns as numbers, fitted on its own rows and remembered: categories, fillings, shifts and factors.

The encoder is what turns weights back: training sees scaled columns, users see the units that they passed in.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import store
from plumbob.data.encoding import GAP, Bins, EncodedColumn, Levels, Marked
from plumbob.data.fitting import find_slots, fit_encodings
from plumbob.data.tables import Column, ColumnChoices, EncodingChoices, Table
from plumbob.data.whitening import CLIP
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.plan.settings import BIN_SCALE

Rows = slice | NDArray[np.intp]
ALL_ROWS = slice(None)
LARGEST_SLOT = CLIP
"""The largest absolute value that a slot's 1, or its 0, is scaled to."""


@dataclass(frozen=True)
class RareRows:
    """Rows to predict whose level counts as rare, and how many levels of that column training kept."""

    rows: int
    kept: int


@dataclass(frozen=True, repr=False, eq=False)
class Encoder:
    """`(filled - shift) * factor`, each one number per encoded column; `fill` is None where gaps are refused."""

    sources: tuple[EncodedColumn, ...]
    fill: Vector | None
    shift: Vector
    factor: Vector
    gaps: tuple[str, ...] = ()
    """Which cells the party said to mean a gap: new rows are read in the same way."""

    @property
    def reading(self) -> ColumnChoices:
        """How a file of new rows is read: the model's columns only, each as training had it."""
        texts = tuple(source.name for source in self.sources if source.is_text)
        return ColumnChoices(
            tuple(dict.fromkeys(source.name for source in self.sources)), category=texts, gaps=self.gaps
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns; a category's column is called `column=category`."""
        return tuple(name for source in self.sources for name in source.encoded_names)

    def unseen(self, table: Table) -> dict[str, int]:
        """By column: how many rows have a level or gap that training never saw. They are encoded as average rows.

        Where training grouped rare levels, any other level belongs to that group: see `counted_as_rare`.
        """
        return {
            source.name: count
            for column, source in zip(_matching(table, self.sources), self.sources, strict=True)
            if (count := source.unseen(column))
        }

    def counted_as_rare(self, table: Table) -> dict[str, RareRows]:
        """By column in which training grouped rare levels: the rows whose level is not one of those it kept."""
        counts = {
            source.name: RareRows(source.counted_as_rare(column), len(source.levels))
            for column, source in zip(_matching(table, self.sources), self.sources, strict=True)
            if isinstance(source, Levels)
        }
        return {name: rare for name, rare in counts.items() if rare.rows}

    def refuse_unseen(self, table: Table) -> None:
        """Refuse rows with unseen levels, for whoever prefers no score to one of an unusual row."""
        if counts := self.unseen(table):
            listed = ", ".join(f"{name!r} ({count})" for name, count in counts.items())
            raise DataError(f"levels or gaps that training never saw in {len(table)} rows: {listed}; correct them")

    def encode(self, table: Table, rows: Rows = ALL_ROWS) -> Matrix:
        """These rows in the units that training sees; columns are found by name, others are ignored."""
        prepared = self._prepare(table, np.arange(len(table))[rows] if isinstance(rows, slice) else rows)
        return self._scale(prepared, slice(0, prepared.rows))

    def encoded_pieces(self, table: Table, rows: NDArray[np.intp]) -> Iterator[Matrix]:
        """The same as `encode`, some rows at a time and in their order."""
        unslotted = sum(source.width for source in self.sources if not source.is_slotted)
        for part in store.pieces(len(rows), unslotted):
            prepared = self._prepare(table, rows[part])
            for piece in store.pieces(prepared.rows, prepared.width):
                yield self._scale(prepared, piece)

    def _prepare(self, table: Table, rows: NDArray[np.intp]) -> "_PreparedRows":
        columns = [replace(column, values=column.values[rows]) for column in _matching(table, self.sources)]
        if self.fill is None:
            _refuse_missing(columns, len(rows))
        return _prepare_columns(columns, self.sources, len(rows), self.fill)

    def _scale(self, prepared: "_PreparedRows", piece: slice) -> Matrix:
        numbers = prepared.numbers(piece)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers -= self.shift
            numbers *= self.factor
            is_finite = math.isfinite(numbers.sum()) or bool(np.isfinite(numbers).all())
        if not is_finite:
            counts = (~np.isfinite(numbers)).sum(axis=0).tolist()
            _refuse(self.names, counts, len(numbers), "are out of range after scaling")
        return numbers

    def in_input_units(self, weights: Vector) -> tuple[Vector, float]:
        """(coefficients, offset) so that `X @ coefficients + offset` equals `encode(X) @ weights`."""
        coefficients = weights * self.factor
        return coefficients, -float(coefficients @ self.shift)


def fit_encoder(table: Table, training_rows: NDArray[np.intp], plan: Plan) -> Encoder:
    """Fit on a party's table: shapes on all its rows, means and deviations on the training rows only."""
    choices = choices_of(plan)
    sources = fit_sources(table, training_rows, choices)
    fitted = [
        moments
        for column, source in zip(_matching(table, sources), sources, strict=True)
        for moments in _moments(replace(column, values=column.values[training_rows]), source)
    ]
    means, factors = (
        np.array(numbers, dtype=np.float64) for numbers in (zip(*fitted, strict=True) if fitted else ((), ()))
    )
    names = tuple(name for source in sources for name in source.encoded_names)
    _refuse_empty(names, means, len(training_rows))
    fill = None if choices.refuses_gaps else means
    shift, factor = (np.zeros(len(names)), np.ones(len(names))) if plan.scale == "none" else (means, factors)
    return Encoder(sources, fill, shift, factor, table.choices.gaps)


def with_slots(table: Table, plan: Plan) -> Table:
    """The table with its slots under this plan, so that any rows taken from it give the same columns."""
    return replace(table, slots=find_slots(table, choices_of(plan)))


def raw_numbers(table: Table, sources: Sequence[EncodedColumn], rows: NDArray[np.intp]) -> Matrix:
    """These rows' numbers before anything is filled or scaled; NaN where a value is missing."""
    columns = [replace(column, values=column.values[rows]) for column in _matching(table, sources)]
    prepared = _prepare_columns(columns, sources, len(rows), None)
    return prepared.numbers(slice(0, len(rows)))


def choices_of(plan: Plan) -> EncodingChoices:
    """What a plan says about how columns become numbers."""
    return EncodingChoices(plan.missing, plan.categorical, plan.bins, plan.rare, plan.scale == "public", plan.plain)


def encoded_width(table: Table, plan: Plan) -> int:
    """How many columns training would see; raises DataError where it would refuse the values."""
    return len(fit_encoder(table, np.arange(len(table)), plan).names)


def fit_sources(table: Table, training_rows: NDArray[np.intp], choices: EncodingChoices) -> tuple[EncodedColumn, ...]:
    """How each column becomes numbers; columns that cannot are refused, by name and count."""
    for column in table.columns:
        if column.is_text and choices.refuses_texts:
            _refuse_text(column)
    if choices.is_public:
        _refuse_unstated(table)
    _refuse_infinite(table)
    if choices.refuses_gaps:
        _refuse_missing(table.columns, len(table))
    slots = table.slots
    if slots is None or slots.choices != choices:
        slots = find_slots(table, choices)
    return tuple(
        source
        for column in table.columns
        for source in fit_encodings(column, slots.by_name.get(column.name), training_rows, choices)
    )


def _moments(training: Column, source: EncodedColumn) -> Iterator[tuple[float, float]]:
    """(mean, factor) of each column that a source gives; of a slot, from its share of the training rows."""
    if source.column_shares is None:
        for place, values in enumerate(source.columns(training)):
            is_within_one = isinstance(source, Bins) or (isinstance(source, Marked) and place == 1)
            yield _limit_whitening(*_fit(values)) if is_within_one else _fit(values)
        return
    # That a value is missing says what no plain column says: only bins are made smaller beside one.
    as_large = not (isinstance(source, Bins) and source.means)
    for name, share in zip(source.encoded_names, source.column_shares, strict=True):
        yield share, _slot_factor(share) * (1.0 if as_large or name == f"{source.name}={GAP}" else BIN_SCALE)


def _slot_factor(share: float) -> float:
    """One over the deviation, limited so that a rare slot stays within the range that whitening keeps."""
    if not 0.0 < share < 1.0:
        return 0.0
    return _limit_whitening(share, 1.0 / math.sqrt(share * (1.0 - share)))[1]


def _limit_whitening(mean: float, factor: float) -> tuple[float, float]:
    """(mean, factor) of values from 0 to 1, none of which whitening then clips: a slot's weight is what it adds."""
    return mean, min(factor, LARGEST_SLOT / max(mean, 1.0 - mean))


def _fit(values: Vector) -> tuple[float, float]:
    """(mean, factor) of one encoded column; the mean is NaN where no row has a value.

    The factor is one over the deviation, as scikit-learn's scaler has it; 0 for a constant column, which so becomes 0.
    """
    present = ~np.isnan(values)
    count = int(present.sum())
    if not len(values) or not count:
        return (math.nan if len(values) else 0.0), 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.where(present, values, 0.0).sum() / count
        filled = np.where(present, values, mean)
        deviation = filled.std()
        factor = 1.0 / deviation
    # Rounding can give a constant column a deviation of 1e-17, so constancy is read off the values.
    is_constant = bool((filled == filled[0]).all()) or math.isinf(factor)
    # An overflow must be refused when it is used, not pass for a constant.
    return float(mean), 0.0 if is_constant else float(factor) if math.isfinite(deviation) else math.nan


def _refuse_text(column: Column) -> None:
    texts = sum(not _is_number(text) for text in column.texts if text is not None)
    raise DataError(
        f"column {column.name!r} is text: {texts} of {len(column.values)} rows are not numbers; correct them, or set"
        ' bins = 10 or categorical = "one-hot" in the plan'
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _matching(table: Table, sources: Sequence[EncodedColumn]) -> list[Column]:
    """The table's columns in the encoder's order, each of the kind that it was fitted on."""
    by_name = {column.name: column for column in table.columns}
    if absent := [source.name for source in sources if source.name not in by_name]:
        raise DataError(
            f"{len(absent)} of {len(sources)} columns of the model are missing here: {', '.join(map(repr, absent))}"
        )
    columns = [by_name[source.name] for source in sources]
    for column, source in zip(columns, sources, strict=True):
        if column.is_text != source.is_text and not column.is_missing.all():
            now, then = ("text", "numbers") if column.is_text else ("numbers", "text")
            raise DataError(f"column {column.name!r} holds {now} here and held {then} in training")
    return columns


@dataclass(frozen=True, repr=False, eq=False)
class _PreparedRows:
    """Rows whose slots are known, from which pieces of the matrix are made: it is many times as large."""

    rows: int
    width: int
    ones: NDArray[np.intp]
    """For each slotted source and row: the column of its 1; `width` where it has none."""
    blocks: tuple[tuple[slice, Matrix], ...]
    """The columns of sources without slots."""
    averages: tuple[tuple[slice, Vector, NDArray[np.intp]], ...]
    """(columns, values, rows): the values of rows without a slot."""

    def numbers(self, piece: slice) -> Matrix:
        """The matrix of some rows: numbers as they are and a 0/1 column for each slot."""
        # One column more: there the 1 of a reference is written.
        room = np.zeros((piece.stop - piece.start, self.width + 1))
        starts = np.arange(len(room), dtype=np.intp) * (self.width + 1)
        room.reshape(-1)[self.ones[:, piece] + starts] = 1.0
        for columns, block in self.blocks:
            room[:, columns] = block[piece]
        for columns, values, rows in self.averages:
            first, last = np.searchsorted(rows, (piece.start, piece.stop))
            room[rows[first:last] - piece.start, columns] = values
        return room[:, : self.width]


def _prepare_columns(
    columns: Sequence[Column], sources: Sequence[EncodedColumn], n_rows: int, fill: Vector | None
) -> _PreparedRows:
    """Prepare rows; where `fill` is given, it takes the place of a missing value."""
    width = sum(source.width for source in sources)
    ones: list[NDArray[np.intp]] = []
    blocks, averages = [], []
    for column, source, end in zip(columns, sources, accumulate(source.width for source in sources), strict=True):
        own = slice(end - source.width, end)
        if not source.is_slotted:
            block = _block(source, column, n_rows)
            blocks.append((own, block if fill is None else np.where(np.isnan(block), fill[own], block)))
            continue
        places = source.ones(column)
        without = np.flatnonzero(places < 0)
        if len(without):
            averages.append((own, np.array(source.column_shares), without))
        has_none = (places < 0) | (places == source.width)
        places += own.start
        places[has_none] = width
        ones.append(places)
    return _PreparedRows(
        n_rows,
        width,
        np.array(ones) if ones else np.zeros((0, n_rows), dtype=np.intp),
        tuple(blocks),
        tuple(averages),
    )


def _block(source: EncodedColumn, column: Column, n_rows: int) -> Matrix:
    block = np.empty((n_rows, source.width))
    for place, values in enumerate(source.columns(column)):
        block[:, place] = values
    return block


def _refuse_missing(columns: Sequence[Column], n_rows: int) -> None:
    counts = {column.name: int(column.is_missing.sum()) for column in columns}
    if any(counts.values()):
        listed = ", ".join(f"{name!r} ({count})" for name, count in counts.items() if count)
        raise DataError(f'missing values in {n_rows} rows: {listed}; complete them or train with missing = "mean"')


def _refuse_unstated(table: Table) -> None:
    if unstated := [column.name for column in table.columns if not column.is_text and not column.stated]:
        raise DataError(
            f'scale = "public" needs the range of {", ".join(map(repr, unstated))}, and a table can no longer'
            ' state it; set scale = "whitened"'
        )


def _refuse_infinite(table: Table) -> None:
    numbers = [column for column in table.columns if not column.is_text]
    counts = [int(np.isinf(column.numbers).sum()) for column in numbers]
    _refuse([column.name for column in numbers], counts, len(table), "are infinite")


def _refuse(names: Sequence[str], counts: Sequence[int], n_rows: int, what: str) -> None:
    if any(counts):
        # A category's own name is a value of the table, so only the column's part of it is shown.
        bad = ", ".join(
            f"{name.partition('=')[0]!r} ({count})" for name, count in zip(names, counts, strict=True) if count
        )
        raise DataError(f"values {what} in {n_rows} rows: {bad}; correct them, or leave the column out")


def _refuse_empty(names: Sequence[str], means: Vector, n_rows: int) -> None:
    empty = [name.partition("=")[0] for name, mean in zip(names, means, strict=True) if math.isnan(mean)]
    if empty:
        raise DataError(f"columns without any value in {n_rows} training rows: {', '.join(map(repr, empty))}")
