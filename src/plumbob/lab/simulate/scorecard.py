"""A party's part as points per bin and level: the table that people in credit know.

A column that stands as it is beside its bins adds to each bin's points what the mean of the bin's training rows gives:
points are then those of a typical row of the bin, and a person's score may differ a little from their sum.

    points = base + PDO / ln 2 * (ln(odds of the negative class) - ln(odds at the base))

The odds of the negative class are exp(-score), and the score is the sum of the parties' parts, so each party has points
for its own columns. The label party's table also holds the base; the points of a person are the sum over all tables.
"""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from plumbob.data.encoding import GAP, MIDDLE_RANK, Bins, EncodedColumn, Levels, Marked, PlainColumn
from plumbob.errors import DataError
from plumbob.protocol.part import ModelPart

HEADER = ("party", "column", "bin", "share of training rows", "coefficient", "odds ratio", "points")


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


@dataclass(frozen=True)
class Line:
    """One bin or level; `share` is None for a column that is taken as it is, whose coefficient is for one unit."""

    column: str
    slot: str
    share: float | None
    coefficient: float
    points: float


def scorecard(part: ModelPart, scale: ScorecardScale) -> list[Line]:
    """All lines: the base first, then the columns in the table's order."""
    if part.weights is None:
        raise DataError(
            'a scorecard needs the weights, which were never opened (open = "never"); train with open = "own", and see'
            " what `plumbob check` says about it"
        )
    coefficients, offset = part.in_input_units()
    base = (scale.offset if part.role == "label" else 0.0) - scale.factor * offset
    lines = [Line("(base)", "", None, offset, base)]
    place, slopes = 0, dict[str, tuple[float, float]]()
    in_bins = {source.name for source in part.encoder.sources if isinstance(source, Bins)}
    for source in part.encoder.sources:
        own = coefficients[place : place + source.width].tolist()
        if isinstance(source, PlainColumn) and source.name in in_bins:
            slopes[source.name] = own[0], 0.0 if part.encoder.fill is None else float(part.encoder.fill[place])
        else:
            lines += [
                Line(source.name, slot, share, weight, -scale.factor * weight)
                for slot, share, weight in _slots(source, own, *slopes.get(source.name, ()))
            ]
        place += source.width
    return lines


def as_csv(party: str, lines: list[Line]) -> bytes:
    """The scorecard as CSV: points as whole numbers, everything else to the last digit."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for line in lines:
        share = "" if line.share is None else line.share
        ratio = "" if line.column == "(base)" else math.exp(line.coefficient)
        writer.writerow([party, line.column, line.slot, share, line.coefficient, ratio, round(line.points)])
    return file.getvalue().encode()


def _slots(
    source: EncodedColumn, own: list[float], slope: float = 0.0, at_gap: float = 0.0
) -> Iterator[tuple[str, float | None, float]]:
    """(slot, share, weight) of all slots; the reference's weight is 0, plus what the plain column's slope adds."""
    if isinstance(source, Bins) and slope:
        middles = [*source.means, at_gap][: len(source.slots)]
        weights = (weight + slope * middle for weight, middle in zip(slot_weights(source, own), middles, strict=True))
        yield from zip(source.slots, source.shares, weights, strict=True)
    elif isinstance(source, Bins | Levels):
        yield from zip(source.slots, source.shares, slot_weights(source, own), strict=True)
    else:
        yield "each unit", None, own[0]
        if isinstance(source, Marked):
            yield GAP, source.share, own[1]


def slot_weights(source: Bins | Levels, own: list[float]) -> list[float]:
    """What each slot adds to the score, in the order of the slots."""
    if isinstance(source, Bins) and source.is_monotone:
        slope, gap = (own[0] if source.cuts else 0.0), own[-1] if source.has_gaps else 0.0
        return [*(slope * rank for rank in source.ranks), *([slope * MIDDLE_RANK + gap] if source.has_gaps else [])]
    if isinstance(source, Bins) and source.is_stepped:
        steps = own[: len(source.cuts)]
        rising = [sum(steps[:count]) for count in range(len(steps) + 1)]
        return [*rising, *own[len(source.cuts) :]]
    return [*own[: source.reference], 0.0, *own[source.reference :]] if source.slots else []
