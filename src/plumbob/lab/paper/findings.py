"""What an experiment leaves: points with their spread, curves, figures, and claims that agree with them or do not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

ClaimVerdict = Literal["agrees", "disagrees", "not run"]
COLUMNS = ("experiment", "series", "metric", "x_name", "x", "mean", "standard_error", "n")
"""Of a table of curves."""


@dataclass(frozen=True)
class MeanPoint:
    """The mean of `n` repetitions at one x, with its standard error (0 for a single one)."""

    x: float
    mean: float
    standard_error: float = 0.0
    n: int = 1

    @classmethod
    def of(cls, x: float, values: Sequence[float]) -> "MeanPoint":
        """The mean of repeated measurements, with its standard error."""
        n = len(values)
        spread = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        return cls(float(x), float(np.mean(values)), spread, n)


@dataclass(frozen=True)
class Curve:
    """One line of a figure."""

    series: str
    points: tuple[MeanPoint, ...]
    is_reference: bool = False
    """A bound or a formula, not a measurement."""

    @classmethod
    def of(
        cls, series: str, x: Sequence[float], values: Sequence[float | Sequence[float]], is_reference: bool = False
    ) -> "Curve":
        """For each x one value, or all repetitions."""
        points = (MeanPoint.of(at, np.atleast_1d(value).tolist()) for at, value in zip(x, values, strict=True))
        return cls(series, tuple(points), is_reference)

    @property
    def means(self) -> list[float]:
        return [point.mean for point in self.points]

    @property
    def last(self) -> float:
        return self.points[-1].mean


@dataclass(frozen=True)
class Figure:
    """Curves of one quantity over another; `name` is its file's."""

    name: str
    title: str
    x_name: str
    metric: str
    curves: tuple[Curve, ...]
    caption: str = ""
    is_share: bool = False
    """Whether the quantity lies between 0 and 1."""
    is_logarithmic: bool = False
    """Whether only its order of magnitude says something."""
    has_logarithmic_x: bool = False

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict for each point, by `COLUMNS`."""
        for curve in self.curves:
            place = {"experiment": self.name, "series": curve.series, "metric": self.metric, "x_name": self.x_name}
            for point in curve.points:
                yield {**place, **asdict(point)}


@dataclass(frozen=True)
class PaperClaim:
    """What is said, and what was measured."""

    name: str
    reference: str
    """Where the paper says it, or that it does not."""
    says: str
    reading: str
    """Under which settings it was put to the test."""
    needed: str
    """When it counts as true, in words."""
    measured: str
    verdict: ClaimVerdict
    values: Mapping[str, float] = field(default_factory=dict)
    """The numbers behind `measured`."""

    def to_dict(self) -> dict[str, Any]:
        """The figures as they stand in the JSON."""
        return asdict(self)


@dataclass(frozen=True)
class ExperimentOutcome:
    """What one experiment found."""

    figures: tuple[Figure, ...]
    claims: tuple[PaperClaim, ...]

    def to_dict(self) -> dict[str, Any]:
        """The figures as they stand in the JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "ExperimentOutcome":
        """The inverse of `to_dict`."""
        return cls(
            tuple(_figure(figure) for figure in stored["figures"]),
            tuple(PaperClaim(**claim) for claim in stored["claims"]),
        )


def _figure(stored: Mapping[str, Any]) -> Figure:
    curves = tuple(
        Curve(one["series"], tuple(MeanPoint(**point) for point in one["points"]), one["is_reference"])
        for one in stored["curves"]
    )
    return Figure(**{**stored, "curves": curves})


@dataclass(frozen=True)
class Group:
    """Figures that are looked at together; a folded one is opened by those who want it."""

    heading: str
    figures: tuple[Figure, ...]
    is_folded: bool = False


@dataclass(frozen=True)
class Chapter:
    """One reading, or one theorem."""

    heading: str
    sentences: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Headline:
    """One number that says most."""

    what: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Book:
    """All that one command found."""

    name: str
    title: str
    about: str
    claims: tuple[PaperClaim, ...]
    chapters: tuple[Chapter, ...]
    tables: tuple[Figure, ...]
    """Every curve, those that are drawn nowhere too."""
    headlines: tuple[Headline, ...] = ()

    @property
    def figures(self) -> list[Figure]:
        """Those that are drawn, in order."""
        return [figure for chapter in self.chapters for group in chapter.groups for figure in group.figures]


def kept_claim(name: str, reference: str, says: str, reading: str, needed: str, kept: Sequence[bool]) -> PaperClaim:
    """About a bound that must hold every time it is tried."""
    count = sum(kept)
    values = {"kept": count, "of": len(kept)}
    return PaperClaim(
        name, reference, says, reading, needed, f"kept in {count} of {len(kept)}", judged(all(kept)), values
    )


def judged(is_true: bool) -> ClaimVerdict:
    """A verdict in its word."""
    return "agrees" if is_true else "disagrees"
