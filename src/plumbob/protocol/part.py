"""What one party keeps of a finished run: how its columns become numbers, and its part of the weights.

The joint score of a person is the sum of the parties' partial scores.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import Shard, Table, store
from plumbob.data.encoder import ALL_ROWS, Encoder, Rows
from plumbob.data.whitening import Whitening, penalties_of
from plumbob.errors import DataError
from plumbob.plan import Party
from plumbob.protocol.shares.bound import Bound

FORMAT = 5
NEVER_OPENED = (
    'the weights were never opened (open = "never"), so there are none to show or export; score rows with `predict`,'
    ' or train with open = "own" after `plumbob check` has judged it'
)


@dataclass(frozen=True, repr=False, eq=False)
class ModelPart:
    """One party's part of the model; `shares` are its shares of all parties' weights where these were never opened."""

    party: str
    role: str
    encoder: Encoder
    weights: Vector | None
    has_intercept: bool
    training_rows: int
    classes: tuple[Any, Any] | None = None
    shares: dict[str, list[int]] = field(default_factory=dict)
    run: str = ""
    """Which run it comes from: parts of different runs do not add up to a model. Empty for `clear`."""
    whitening: Whitening | None = None
    """How this party turned its standardised columns, where the plan says so."""
    positive_share: float | None = None
    """The share of positive training rows, at the label party."""
    bound: Bound | None = None
    """What prediction on shares works with, fixed when training ended; None where weights are opened."""

    @classmethod
    def of(cls, party: Party, shard: Shard, weights: Vector | None, classes: tuple[Any, Any] | None) -> "ModelPart":
        return cls(
            party.name,
            party.role,
            shard.encoder,
            weights,
            shard.has_intercept,
            len(shard),
            classes,
            whitening=shard.whitening,
            positive_share=None if shard.y is None else float(shard.y.mean()),
        )

    @property
    def model(self) -> str:
        """An identity that the parts of one model share, to be compared before they are used together."""
        return self.run + ("" if self.bound is None else self.bound.hash())

    def encode(self, table: Table, rows: Rows = ALL_ROWS) -> Matrix:
        """Own columns of new rows, as training saw them, with the intercept's column where there is one."""
        X = self.encoder.encode(table, rows)
        if self.whitening is not None:
            X = self.whitening.apply(X)
        return np.hstack([X, np.ones((len(X), 1))]) if self.has_intercept else X

    def penalties(self, l2: float) -> Vector | Matrix:
        """What the weights were multiplied by for the penalty's gradient."""
        return penalties_of(l2, len(self.encoder.names), self.has_intercept, self.whitening)

    def partial_scores(self, table: Table) -> Vector:
        """This party's part of new rows' scores, limited as in training, whether weights are opened or not."""
        if self.weights is None:
            raise DataError('the weights were never opened (open = "never"); predict through the protocol instead')
        scores = np.empty(len(table))
        for piece in store.pieces(len(table)):
            scores[piece] = self.encode(table, piece) @ self.weights
        return scores

    def input_limits(self) -> tuple[Vector, Vector] | None:
        """(lowest, highest) value of each encoded column that a score tells apart, in the units of the table.

        What lies beyond counts as the limit itself. None where nothing is clipped.
        """
        if self.whitening is None:
            return None
        factor, middle = self.encoder.factor, self.encoder.shift
        # A constant column has a factor and a weight of 0: any limit will do.
        reach = np.divide(self.whitening.clip, factor, out=np.zeros_like(factor), where=factor != 0)
        return middle - reach, middle + reach

    def in_input_units(self) -> tuple[Vector, float]:
        """(coefficients, offset) in the units of the party's own table, for rows within `input_limits`.

        The offset holds the intercept.
        """
        if self.weights is None:
            raise DataError(NEVER_OPENED)
        weights, before = self._on_encoded_columns()
        coefficients, offset = self.encoder.in_input_units(weights)
        return coefficients, before + offset

    def _on_encoded_columns(self) -> tuple[Vector, float]:
        """(weights, offset) for columns as the encoder gives them; the offset holds the intercept."""
        if self.weights is None:
            raise DataError(NEVER_OPENED)
        own = len(self.encoder.names)
        weights, intercept = self.weights[:own], float(self.weights[own:].sum())
        if self.whitening is None:
            return weights, intercept
        standard, offset = self.whitening.in_standard_units(weights)
        return standard, intercept + offset

    def save(self, path: Path) -> None:
        """Write the part to a file that its owner alone can read."""
        path.touch(mode=0o600)
        path.write_bytes(self.to_json())

    def to_json(self) -> bytes:
        """The part as JSON, field by field, with hashes that show damage to what prediction works with."""
        return json.dumps(self._stored_fields(), indent=1, allow_nan=False).encode()

    def _stored_fields(self) -> dict[str, Any]:
        """All fields as JSON has them: arrays are lists, and bytes are in base64."""
        fields: dict[str, Any] = msgspec.to_builtins(self, enc_hook=np.ndarray.tolist)
        return {"format": FORMAT, "bound_hashes": self._bound_hashes(), **fields}

    def _bound_hashes(self) -> dict[str, str]:
        return {} if self.bound is None else {peer: end.hash() for peer, end in self.bound.ends.items()}

    @classmethod
    def load(cls, path: Path) -> "ModelPart":
        """Read it back; anything else than what `save` writes is refused."""
        try:
            return cls.from_json(path.read_bytes(), path)
        except OSError as error:
            raise DataError(f"{path}: expected a party's part of a model; it is missing") from error

    @classmethod
    def from_json(cls, data: bytes, path: Path) -> "ModelPart":
        """Parse what `to_json` writes; `path` is where it was found."""
        damaged = DataError(f"{path}: expected a party's part of a model; it is damaged")
        try:
            stored = msgspec.convert(json.loads(data), dict[str, Any])
            written = msgspec.convert(stored["format"], int)
            if written == FORMAT:
                part = msgspec.convert(stored, cls, dec_hook=_array)
                # What it would write again must stand there: no other field, no number of another kind, no NaN.
                if json.dumps(part._stored_fields(), allow_nan=False) != json.dumps(stored):
                    raise damaged
                part = _with_empty_matrix(part)
        except (ValueError, KeyError, RecursionError) as error:
            raise damaged from error
        if written != FORMAT:
            raise DataError(f"{path}: expected a model part of format {FORMAT}, got {written}")
        if not part._fits_together():
            raise DataError(f"{path}: the part's columns and weights do not fit together; it is damaged")
        return part

    def _fits_together(self) -> bool:
        columns = len(self.encoder.names)
        fitted = (self.encoder.fill, self.encoder.shift, self.encoder.factor)
        is_whole = self.weights is None or len(self.weights) == columns + self.has_intercept
        if self.whitening is not None:
            shapes = (self.whitening.centre.shape, self.whitening.matrix.shape)
            is_whole = is_whole and shapes == ((columns,), (columns, columns))
        return is_whole and all(len(values) == columns for values in fitted)


def _with_empty_matrix(part: ModelPart) -> ModelPart:
    """The part of a party without columns, whose matrix JSON writes as a list that does not say its second size."""
    if part.whitening is None or part.whitening.matrix.size:
        return part
    return replace(part, whitening=replace(part.whitening, matrix=np.zeros((0, 0))))


def _array(kind: type, values: Any) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


# msgspec learns a class when it is first used, and two threads that teach it one class at once end the process.
# Here nobody else runs.
msgspec.json.Decoder(ModelPart, dec_hook=_array)
