"""The result of an experiment: frames of measured points, and claims that agree with what was measured or do not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from plumbob.report.charts import UNITS, Axis, Chart, Series, Unit

ClaimVerdict = Literal["agrees", "disagrees", "not run"]
NOT_IN_THE_PAPER = "not in the paper"
COLUMNS = ("experiment", "series", "metric", "x_name", "x", "mean", "standard_error", "n")
"""The columns of a table of curves."""
FLAT = 0.002
"""The difference below which shares are not told apart, or from 1."""


@dataclass(frozen=True)
class Point:
    """All repetitions of one measurement."""

    x: float
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 for a single value."""
        n = len(self.values)
        return float(np.std(self.values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


@dataclass
class Curve:
    """One line of a figure."""

    points: list[Point] = field(default_factory=list)
    is_reference: bool = False
    """Whether it is a bound or a formula, not a measurement."""

    @property
    def means(self) -> list[float]:
        return [point.mean for point in self.points]

    @property
    def last(self) -> float:
        return self.points[-1].mean

    @property
    def values(self) -> list[float]:
        """Every repetition of every point."""
        return [value for point in self.points for value in point.values]


@dataclass
class Frame:
    """Curves of one quantity over another: the rows of a table, and a figure; `name` is the figure's file."""

    name: str
    title: str
    x_name: str
    metric: str
    caption: str = ""
    is_share: bool = False
    """Whether the quantity lies between 0 and 1."""
    logarithmic: Literal["", "x", "y", "xy"] = ""
    curves: dict[str, Curve] = field(default_factory=dict)

    def __getitem__(self, series: str) -> Curve:
        return self.curves[series]

    def add(self, series: str, x: float, values: float | Sequence[float], is_reference: bool = False) -> None:
        """Add one point to a curve: a value, or all repetitions."""
        point = Point(float(x), tuple(np.atleast_1d(values).astype(float).tolist()))
        self.curves.setdefault(series, Curve(is_reference=is_reference)).points.append(point)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict for each point, by `COLUMNS`."""
        for series, curve in self.curves.items():
            place = {"experiment": self.name, "series": series, "metric": self.metric, "x_name": self.x_name}
            for point in curve.points:
                measured = {"mean": point.mean, "standard_error": point.standard_error, "n": len(point.values)}
                yield {**place, "x": point.x, **measured}

    @property
    def chart(self) -> Chart:
        """The picture, and the sentence below it."""
        unit: Unit = "percent" if self.is_share else "number"
        ends = "; ".join(f"{series} {UNITS[unit](curve.last)}" for series, curve in self.curves.items())
        last = next(iter(self.curves.values())).points[-1].x
        return Chart(
            self.title,
            f"{self.caption} Where it ends ({self.x_name}: {last:g}): {ends}.".strip(),
            Axis(self.x_name, is_log="x" in self.logarithmic),
            self._y_axis(unit),
            [_series(name, curve) for name, curve in self.curves.items()],
        )

    def _y_axis(self, unit: Unit) -> Axis:
        """The y axis: shares that are all the same are shown on the whole range, and none above 1."""
        values = [mean for curve in self.curves.values() for mean in curve.means]
        is_flat = max(values) - min(values) < FLAT
        low = 0.0 if self.is_share and is_flat else None
        high = 1.0 if self.is_share and (is_flat or max(values) > 1 - FLAT) else None
        return Axis(self.metric, low, high, unit, "y" in self.logarithmic)


def _series(name: str, curve: Curve) -> Series:
    """A curve with a band of one standard error, where something was repeated."""
    bands = [(point.mean - point.standard_error, point.mean + point.standard_error) for point in curve.points]
    has_spread = any(point.standard_error > 0 for point in curve.points)
    return Series(
        name,
        curve.means,
        [point.x for point in curve.points],
        low=[low for low, _ in bands] if has_spread else (),
        high=[high for _, high in bands] if has_spread else (),
        is_reference=curve.is_reference,
    )


@dataclass(frozen=True)
class PaperClaim:
    """A statement, of the paper or of ours, and what was measured."""

    name: str
    reference: str
    """The place in the paper, or a word that it is not there."""
    says: str
    reading: str
    """The settings under which it was tested."""
    needed: str
    """The condition for it to count as true, in words."""
    measured: str
    verdict: ClaimVerdict
    values: Mapping[str, float] = field(default_factory=dict)
    """The numbers behind `measured`."""

    @property
    def is_the_papers(self) -> bool:
        """Whether the paper says it; the other statements are ours."""
        return not self.reference.startswith(NOT_IN_THE_PAPER)


@dataclass(frozen=True)
class ExperimentOutcome:
    """What an experiment returns."""

    frames: list[Frame]
    claims: list[PaperClaim]


def judge(is_true: bool) -> ClaimVerdict:
    """The verdict as a word."""
    return "agrees" if is_true else "disagrees"


def claim_of_bound(
    name: str, reference: str, says: str, reading: str, needed: str, holds: Sequence[bool]
) -> PaperClaim:
    """A claim about a bound that must hold every time it is tried."""
    count = sum(holds)
    measured = f"kept in {count} of {len(holds)}"
    values = {"kept": count, "of": len(holds)}
    return PaperClaim(name, reference, says, reading, needed, measured, judge(all(holds)), values)


def agreement(claims: Iterable[PaperClaim], of_the_paper: bool) -> str:
    """How many of the statements that were tried agree: of the paper's, or of ours."""
    tried = [claim.verdict for claim in claims if claim.is_the_papers == of_the_paper and claim.verdict != "not run"]
    return f"{tried.count('agrees')} of {len(tried)}"
