"""A party's rows as training sees them: encoded, scaled, clipped, rounded, with the held-out rows set apart.

Under `noise = "rows"` somebody else decides on scaling, because ranges and moments come with noise and cost budget: see
`RowTreatment`, whose result is only applied here.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Labels, Matrix, Vector
from plumbob.data import store
from plumbob.data.cuts import PlacedColumn
from plumbob.data.encoder import Encoder, choices_of, fit_columns, fit_encoder
from plumbob.data.tables import Table
from plumbob.data.whitening import Whitening, fit_whitening, gamma_for, penalties_of
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.plan.row_noise import BIN_SCALE


@dataclass(frozen=True, repr=False, eq=False)
class Shard:
    """One party's share of the training data; with an intercept, the last column of the label party's X is 1.

    Held-out rows are encoded and scaled only: clipping rows to a norm and rounding are for training.
    """

    X: Matrix
    y: Labels | None
    X_test: Matrix
    y_test: Labels | None
    encoder: Encoder
    has_intercept: bool
    whitening: Whitening | None = None
    weights: Vector | None = None
    """How much each training row counts, where the label party says so."""
    held_out: NDArray[np.intp] = field(default_factory=lambda: np.arange(0))
    """Where the held-out rows stand in the table."""

    def __len__(self) -> int:
        return len(self.X)

    def penalties(self, l2: float) -> Vector | Matrix:
        """What own weights are multiplied by for the penalty's gradient: a factor each or, if whitened, a matrix."""
        return penalties_of(l2, len(self.encoder.names), self.has_intercept, self.whitening)

    def __repr__(self) -> str:
        return f"Shard({len(self.X)} training rows, {len(self.X_test)} held out, {self.X.shape[1]} columns)"


class RowTreatment(Protocol):
    """How one party's rows are scaled and limited."""

    def place(self, columns: Sequence[Vector], cuts: Sequence[int]) -> Sequence[PlacedColumn]:
        """Fit columns of numbers on the training rows, NaN for gaps, each with as many cuts as are asked for."""

    def whiten(self, scaled: Matrix, heights: Vector, ranges: int) -> Whitening | None:
        """Fit on scaled training rows, after that many ranges; whitened columns are multiplied by the heights."""

    def limited(self, scaled: Matrix) -> Matrix:
        """Shorten rows to the agreed length, as training sees them."""


def build_shard(table: Table, plan: Plan, party: str, key: bytes, treatment: RowTreatment | None = None) -> Shard:
    """An aligned table as the plan's training data; `key` chooses the held-out rows and is the same at every party.

    With a treatment, it decides how rows are scaled and limited.
    """
    training, held_out = held_out_rows(table.ids, plan.held_out(len(table)), key)
    encoder, whitening = _fit(table, training, plan, treatment)
    member = plan.party(party)
    if len(encoder.names) != member.features:
        raise DataError(f"{party}: the plan says {member.features} columns, this table gives {len(encoder.names)}")
    has_intercept = plan.intercept and member.role == "label"

    def scaled(encoded: Matrix) -> Matrix:
        return encoded if whitening is None else whitening.apply(encoded)

    def as_trained_on(encoded: Matrix) -> Matrix:
        if treatment is not None:
            return treatment.limited(scaled(encoded))
        return rounded(clipped(scaled(encoded), plan.row_norm, plan.columns), plan.feature_bits)

    X = _encode(encoder, table, training, has_intercept, as_trained_on)
    X_test = _encode(encoder, table, held_out, has_intercept, scaled)
    y, y_test = _labels(table, member.role, training, held_out)
    weights = _weights(table, plan, member.role, training)
    return Shard(X, y, X_test, y_test, encoder, has_intercept, whitening, weights, held_out)


def _fit(
    table: Table, training: NDArray[np.intp], plan: Plan, treatment: RowTreatment | None
) -> tuple[Encoder, Whitening | None]:
    if treatment is not None:
        return fit_treated(table, training, plan, treatment)
    encoder = fit_encoder(table, plan)
    if plan.scale != "whitened":
        return encoder, None
    pieces = encoder.encoded_pieces(table, training)
    return encoder, fit_whitening(pieces, len(encoder.names), gamma_for(plan.l2, plan.blocks))


def _encode(
    encoder: Encoder,
    table: Table,
    rows: NDArray[np.intp],
    has_intercept: bool,
    finish: Callable[[Matrix], Matrix],
) -> Matrix:
    """Encode piece by piece into an array that may be larger than memory; the intercept's column is last.

    It is not scaled, not clipped, not penalised.
    """

    def complete(encoded: Matrix) -> Matrix:
        finished = finish(encoded)
        return np.column_stack([finished, np.ones(len(finished))]) if has_intercept else finished

    pieces = map(complete, encoder.encoded_pieces(table, rows))
    return store.stacked(len(rows), len(encoder.names) + has_intercept, pieces)


def held_out_rows(ids: Sequence[str], count: int, key: bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(training rows, held-out rows): the `count` ids with the smallest keyed hash, each list in the table's order."""
    if not count:
        return np.arange(len(ids)), np.arange(0)
    # BLAKE2 takes at most 64 bytes of key.
    short_key = hashlib.sha256(key).digest()
    digests = b"".join(hashlib.blake2b(identity.encode(), key=short_key, digest_size=16).digest() for identity in ids)
    high, low = np.frombuffer(digests, dtype=">u8").astype(np.uint64).reshape(-1, 2).T
    is_held_out = np.zeros(len(ids), dtype=bool)
    is_held_out[np.lexsort((low, high))[:count]] = True
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def clipped(X: Matrix, row_norm: float, all_columns: int) -> Matrix:
    """Own parts of rows, shortened so that the joint norm is at most `row_norm` (0: as they are).

    Each party may use the share sqrt(own columns / all columns) of the norm, which needs no message.
    """
    if row_norm == 0 or X.shape[1] == 0:
        return X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    own_norm = row_norm * np.sqrt(X.shape[1] / all_columns)
    shorter: Matrix = X * (own_norm / np.maximum(norms, own_norm))
    return shorter


def rounded(X: Matrix, feature_bits: int) -> Matrix:
    """X rounded to multiples of 2^-feature_bits: exactly what the fixed-point encoding will carry."""
    multiples = X * 2.0**feature_bits
    np.rint(multiples, out=multiples)
    multiples *= 2.0**-feature_bits
    return multiples


def _weights(table: Table, plan: Plan, role: str, training: NDArray[np.intp]) -> Vector | None:
    if role != "label" and table.weights is not None:
        raise DataError("--weight: only the label party weighs rows; leave it out here")
    if role == "label" and (table.weights is None) != (not plan.row_weights):
        raise DataError(
            "the plan lets the label party weigh rows (row_weights = true); name its column with --weight"
            if table.weights is None
            else f"--weight {table.choices.weight or ''}: the plan weighs no rows; draft one with row_weights = true,"
            " or leave the weights out"
        )
    if table.weights is None:
        return None
    weights: Vector = table.weights[training]
    if not weights.any():
        raise DataError("no training row has a weight above 0")
    return weights


def _labels(
    table: Table, role: str, training: NDArray[np.intp], held_out: NDArray[np.intp]
) -> tuple[Labels | None, Labels | None]:
    if role != "label":
        return None, None
    if table.labels is None:
        raise DataError("the label party's table has no label column; pass --label COLUMN")
    y = table.labels[training]
    if (n_classes := len(np.unique(y))) != 2:
        raise DataError(f"expected two classes of labels in {len(y)} training rows, got {n_classes}")
    return y, table.labels[held_out]


# Rows that somebody else scales.


def fit_treated(
    table: Table, training_rows: NDArray[np.intp], plan: Plan, treatment: RowTreatment
) -> tuple[Encoder, Whitening | None]:
    """The encoder whose ranges and cuts the treatment decided on, under the schema of the whole file.

    A gap becomes the middle of the range; a slot is -1 or 1.
    """
    schema = fit_columns(table, choices_of(plan))
    numbers = {column.name: column.numbers[training_rows] for column in table.columns if not column.is_text}
    plain = [column for column in schema if column.has_plain]
    found = treatment.place([numbers[column.name] for column in plain], [len(column.cuts) for column in plain])
    placed = {column.name: place for column, place in zip(plain, found, strict=True)}
    columns, middles, factors, heights = [], [], [], []
    for column in schema:
        place = placed.get(column.name)
        columns.append(column if place is None else column.with_cuts(place.cuts))
        if place is not None:
            middles.append(place.middle)
            factors.append(place.factor)
            heights.append(1.0)
        slots = column.width - column.has_plain
        bins = len(column.cuts)
        middles += [0.5] * slots
        factors += [2.0] * slots
        heights += [BIN_SCALE] * bins + [1.0] * (slots - bins)
    middle = np.array(middles)
    encoder = Encoder(tuple(columns), middle, middle, np.array(factors), table.choices.gaps)
    return encoder, treatment.whiten(encoder.encode(table, training_rows), np.array(heights), len(plain))
