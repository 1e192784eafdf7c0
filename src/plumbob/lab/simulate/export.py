"""A run's model in forms that others read: JSON for programs, and a scorecard for people.

Columns are the encoded ones (`column=category` for a category) in the units of the parties' own tables. Where training
clipped them, the exported model clips them too. All parts together are a
logistic regression; one party's part alone gives partial scores.

A scorecard is one party's part as points per bin and level: the table that people in credit know.

    points = base + PDO / ln 2 * (ln(odds of the negative class) - ln(odds at the base))

The odds of the negative class are exp(-score), and the score is the sum of the parties' parts, so each party has points
for its own columns, and a base that everybody has; the points of a person are the sum over all tables.

The table is the model: whoever adds the points by hand gets the score. A person has the points of one bin or level of
each column; those of the reference are 0. A number that also stands as it is, beside its bins or without any, has one
line more, the points of each unit of it, between the lowest and the highest value that count. A gap has the points of
its own line and none for units, and a level that is not listed has those of `(any other)`.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from plumbob.data.encoder import GAP, RARE, ColumnEncoder
from plumbob.errors import DataError
from plumbob.lab.simulate.training import JointModel
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.protocol.part import ModelPart
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder

FORMATS = ("json", "scorecard")
FORMAT = 3
HEADER = (
    "party",
    "column",
    "bin",
    "share of training rows",
    "lowest",
    "highest",
    "coefficient",
    "odds ratio",
    "points",
)
UNOPENED = (
    'a scorecard needs the weights, which were never opened (open = "never"); train with open = "own", and see what'
    " `plumbob check` says about it"
)
BASE, PER_UNIT, ANY_OTHER = "(base)", "(per unit)", "(any other)"


@dataclass(frozen=True)
class ScorecardScale:
    """At `base_score` points the negative class has odds of `odds` to 1; `pdo` points more double them."""

    base_score: float = 600.0
    odds: float = 50.0
    pdo: float = 20.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.base_score) and 0 < self.odds < math.inf and 0 < self.pdo < math.inf):
            raise DataError("a scorecard's odds and points to double them must be above 0")

    @property
    def factor(self) -> float:
        """Points for each unit of log-odds."""
        return self.pdo / math.log(2)

    @property
    def offset(self) -> float:
        """Points of a score of 0."""
        return self.base_score - self.factor * math.log(self.odds)


def export(
    folder: Path,
    to: str,
    party: str | None = None,
    out: Path | None = None,
    scale: ScorecardScale = ScorecardScale(),  # noqa: B008  # Frozen.
) -> Path:
    """Write the model of a run's folder and return the file's path."""
    if to not in FORMATS:
        raise DataError(f"cannot export to {to!r}; expected json, which any program can calculate with, or scorecard")
    record = refuse_unfinished(folder)
    if to == "scorecard" and record.parsed_plan.is_closed:
        raise DataError(UNOPENED)
    content = _content(folder, to, party, scale)
    place = folder if party is None else RunFolder(folder).party_folder(party)
    target = out or place / ("scorecard.csv" if to == "scorecard" else f"model.{to}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def _content(folder: Path, to: str, party: str | None, scale: ScorecardScale) -> bytes:
    if party is not None:
        part = ModelPart.load(RunFolder(folder).part_file(party))
        if to == "json":
            return as_json([part], None)
        _refuse_other_scores(RunFolder(folder).plan())
        return as_csv(part, scale)
    # A joint one belongs to nobody alone.
    if to == "scorecard":
        raise DataError("a scorecard is one party's own table; name the party with --party")
    model = JointModel.load(folder)
    return as_json(list(model.parts.values()), model.classes)


def _refuse_other_scores(plan: Plan) -> None:
    """Refuse points for scores that are no log-odds: twice the odds would be another number of points everywhere."""
    if not SIGMOIDS[plan.sigmoid].is_log_odds:
        raise DataError(
            f'a scorecard has points for odds, and with sigmoid = "{plan.sigmoid}" a score is no log-odds; train with'
            ' protocol = "shares" and open = "own", or export to json'
        )


def refuse_unfinished(folder: Path) -> RunRecord:
    """The record of a finished run; any other has no model and is refused."""
    record = RunFolder(folder).record()
    if not record.is_finished:
        raise DataError(f"{folder}: this run is not finished ({record.status}), so it has no model; train again")
    return record


def as_json(parts: Sequence[ModelPart], classes: tuple[Any, Any] | None) -> bytes:
    """One JSON object with everything needed to calculate a score: clip(X, low, high) @ coefficients + intercept.

    `fill` stands for missing values, and `sources` say how the columns of the parties' tables become these, in order.
    """
    in_units = [part.in_input_units() for part in parts]
    low, high = _limits(parts)
    stored = {
        "format": FORMAT,
        "kind": "logistic regression" if classes is not None else "partial score",
        "parties": [part.party for part in parts],
        "columns": [name for part in parts for name in part.encoder.names],
        "sources": [
            {"party": part.party, **msgspec.to_builtins(column)} for part in parts for column in part.encoder.columns
        ],
        "coefficients": np.concatenate([coefficients for coefficients, _ in in_units]).tolist(),
        "intercept": sum(offset for _, offset in in_units),
        "fill": np.concatenate([part.encoder.fill for part in parts]).tolist(),
        "low": low,
        "high": high,
        "classes": classes,
    }
    return (json.dumps(stored, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _limits(parts: Sequence[ModelPart]) -> tuple[list[float] | None, list[float] | None]:
    """The limits of all columns; a plan clips those of all parties or of none."""
    found = [limits for part in parts if (limits := part.input_limits()) is not None]
    if not sum(len(low) for low, _ in found):
        return None, None
    return np.concatenate([low for low, _ in found]).tolist(), np.concatenate([high for _, high in found]).tolist()


# A scorecard.


class Line(NamedTuple):
    """The weight of a bin or a level, or of each unit of a number."""

    column: str
    slot: str
    share: float | None
    """The share of the training rows in this bin or level; None where that means nothing."""
    weight: float
    limits: tuple[float, float] | None = None
    """The lowest and the highest value that count; one beyond counts as this one."""


def scorecard(part: ModelPart) -> list[Line]:
    """All lines: the base first, then the columns in the table's order."""
    if part.weights is None:
        raise DataError(UNOPENED)
    coefficients, offset = part.in_input_units()
    limits, fill = part.input_limits(), part.encoder.fill
    lines = [Line(BASE, "", None, offset)]
    place = 0
    for column in part.encoder.columns:
        own, at_gap = coefficients[place : place + column.width].tolist(), 0.0
        if column.has_plain:
            ends = None if limits is None else (float(limits[0][place]), float(limits[1][place]))
            lines.append(Line(column.name, PER_UNIT, None, own[0], ends))
            # A gap stands at the mean, and has the points of a line of its own instead of those of its units.
            at_gap = own[0] * float(fill[place])
        lines += _lines_of_slots(column, own[column.has_plain :], at_gap)
        place += column.width
    return lines


def _lines_of_slots(column: ColumnEncoder, own: list[float], at_gap: float) -> Iterator[Line]:
    """A line for each slot, and one for what training did not see: such a row counts as an average one."""
    weights = [*own[: column.reference], 0.0, *own[column.reference :]] if column.count else []
    average = float(np.dot(weights, column.shares)) if weights else 0.0
    if column.is_text or column.cuts:
        listed = column.count - column.has_gaps
        for slot, share, weight in zip(column.slot_names[:listed], column.shares, weights, strict=False):
            yield Line(column.name, ANY_OTHER if slot == RARE else slot, share, weight)
    if column.is_text and not column.has_rare:
        yield Line(column.name, ANY_OTHER, 0.0, average)
    share, weight = (column.shares[-1], weights[-1]) if column.has_gaps else (0.0, average)
    yield Line(column.name, GAP, share, weight + at_gap)


def as_csv(part: ModelPart, scale: ScorecardScale) -> bytes:
    """The scorecard as CSV, every number to the last digit: rounded points would be another model."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for line in scorecard(part):
        is_base = line.column == BASE
        share = "" if line.share is None else line.share
        ratio = "" if is_base else math.exp(line.weight)
        ends = ("", "") if line.limits is None else line.limits
        points = -scale.factor * line.weight + (scale.offset if is_base and part.role == "label" else 0.0)
        writer.writerow([part.party, line.column, line.slot, share, *ends, line.weight, ratio, points])
    return file.getvalue().encode()
