"""What one party keeps of a finished run: how its columns become numbers, and its part of the weights.

The joint score of a person is the sum of the parties' partial scores.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from plumbob.arrays import Matrix, Vector
from plumbob.data import Encoder, Shard, Table, store
from plumbob.data.encoder import ALL_ROWS, ColumnEncoder, Rows
from plumbob.data.whitening import CLIP, Whitening, penalties_of
from plumbob.errors import DataError
from plumbob.plan import Party
from plumbob.protocol.shares.bound import AnyBound, BoundEnd, BoundEnds

FORMAT = 4
STORED_AS_THEY_ARE = (*("party", "role", "has_intercept", "training_rows", "classes", "positive_share", "run"),)
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
    bound: AnyBound | None = None
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
        """The part as JSON, with shares as texts, because they are wider than other readers' numbers."""
        encoder, bound = self.encoder, self.bound
        stored = _StoredPart(
            format=FORMAT,
            **{name: getattr(self, name) for name in STORED_AS_THEY_ARE},
            columns=encoder.columns,
            fill=encoder.fill.tolist(),
            shift=encoder.shift.tolist(),
            factor=encoder.factor.tolist(),
            gaps=encoder.gaps,
            weights=_listed(self.weights),
            shares={name: [str(value) for value in share] for name, share in self.shares.items()},
            whitening=UNSET if self.whitening is None else _StoredWhitening.of(self.whitening),
            bound_lattice=_StoredBoundEnd.of(bound) if isinstance(bound, BoundEnd) else UNSET,
            bound_lattices=_StoredBoundEnds.of(bound) if isinstance(bound, BoundEnds) else UNSET,
        )
        return json.dumps(msgspec.to_builtins(stored), indent=1, allow_nan=False).encode()

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
        try:
            written = msgspec.json.decode(data, type=_Format).format
            if written != FORMAT:
                raise DataError(f"{path}: expected a model part of format {FORMAT}, got {written}")
            stored = msgspec.json.decode(data, type=_StoredPart)
            shares = {name: [int(value) for value in share] for name, share in stored.shares.items()}
            kept = stored.bound_lattice or stored.bound_lattices
            bound = kept.read() if kept else None
        except DataError:
            raise
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: expected a party's part of a model; it is damaged") from error
        fill, shift, factor = (np.array(each, dtype=np.float64) for each in (stored.fill, stored.shift, stored.factor))
        part = cls(
            **{name: getattr(stored, name) for name in STORED_AS_THEY_ARE},
            encoder=Encoder(stored.columns, fill, shift, factor, gaps=stored.gaps),
            weights=_array(stored.weights),
            shares=shares,
            whitening=stored.whitening.read() if stored.whitening else None,
            bound=bound,
        )
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


class _Format(msgspec.Struct):
    format: int


class _StoredBoundEnd(msgspec.Struct, forbid_unknown_fields=True):
    """Bound shares on lattices, as they are stored: bytes in base64."""

    session: str
    seed: bytes
    own_key: bytes
    peers_key: bytes
    supplied: bytes
    received: bytes
    hash: str

    @classmethod
    def of(cls, bound: BoundEnd) -> Self:
        return cls(bound.session.hex(), *_bytes_of(bound), bound.hash())

    def read(self) -> BoundEnd:
        """The shares; ValueError where they do not match their hash."""
        bound = BoundEnd(bytes.fromhex(self.session), *_bytes_of(self))
        if bound.hash() != self.hash:
            raise ValueError("the bound shares do not have their hash")
        return bound


def _bytes_of(bound: BoundEnd | _StoredBoundEnd) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    return bound.seed, bound.own_key, bound.peers_key, bound.supplied, bound.received


class _StoredBoundEnds(msgspec.Struct, forbid_unknown_fields=True):
    """The bound shares of one of three and more parties, by peer."""

    ends: dict[str, _StoredBoundEnd]
    hash: str

    @classmethod
    def of(cls, bound: BoundEnds) -> Self:
        return cls({peer: _StoredBoundEnd.of(end) for peer, end in bound.ends.items()}, bound.hash())

    def read(self) -> BoundEnds:
        return BoundEnds({peer: end.read() for peer, end in self.ends.items()}, self.hash)


class _StoredWhitening(msgspec.Struct, forbid_unknown_fields=True):
    """A whitening as it is stored: the centre, and the matrix row by row."""

    centre: list[float]
    matrix: list[list[float]]
    # Left out where they are the usual ones, so that such a part is the same file as before.
    clip: float | UnsetType = UNSET
    norm: float | UnsetType = UNSET

    @classmethod
    def of(cls, whitening: Whitening) -> Self:
        clip = UNSET if whitening.clip == CLIP else whitening.clip
        return cls(whitening.centre.tolist(), whitening.matrix.tolist(), clip, whitening.norm or UNSET)

    def read(self) -> Whitening:
        columns = len(self.centre)
        if any(len(row) != columns for row in self.matrix):
            raise DataError("the part's whitening is damaged; take the part from a copy of the run's folder")
        matrix = np.array(self.matrix, dtype=np.float64).reshape(len(self.matrix), columns)
        clip = CLIP if self.clip is UNSET else self.clip
        return Whitening(np.array(self.centre, dtype=np.float64), matrix, clip, self.norm or 0.0)


class _StoredPart(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file, field by field and in its order; anything else is refused."""

    format: int
    party: str
    role: str
    columns: tuple[ColumnEncoder, ...]
    fill: list[float]
    shift: list[float]
    factor: list[float]
    gaps: tuple[str, ...] = ()
    weights: list[float] | None
    has_intercept: bool
    training_rows: int
    classes: tuple[Any, Any] | None
    positive_share: float | None = None
    run: str
    shares: dict[str, list[str]]
    whitening: _StoredWhitening | UnsetType | None = UNSET
    bound_lattice: _StoredBoundEnd | UnsetType | None = UNSET
    bound_lattices: _StoredBoundEnds | UnsetType | None = UNSET


def _listed(values: Vector | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _array(values: list[float] | UnsetType | None) -> Vector | None:
    return None if values is None or values is UNSET else np.array(values, dtype=np.float64)
