"""The results of an experiment: points with their spread, curves, figures, and claims that agree or do not."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np

ClaimVerdict = Literal["agrees", "disagrees", "not run"]
NOT_IN_THE_PAPER = "not in the paper"
COLUMNS = ("experiment", "series", "metric", "x_name", "x", "mean", "standard_error", "n")
"""The columns of a table of curves."""


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
    """Whether it is a bound or a formula, not a measurement."""

    @classmethod
    def of(
        cls, series: str, x: Sequence[float], values: Sequence[float | Sequence[float]], is_reference: bool = False
    ) -> "Curve":
        """A curve from one value, or all repetitions, for each x."""
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
    """Whether only the quantity's order of magnitude matters."""
    has_logarithmic_x: bool = False

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict for each point, by `COLUMNS`."""
        for curve in self.curves:
            place = {"experiment": self.name, "series": curve.series, "metric": self.metric, "x_name": self.x_name}
            for point in curve.points:
                yield {**place, **asdict(point)}


@dataclass(frozen=True)
class PaperClaim:
    """A statement of the paper, and what was measured."""

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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ExperimentOutcome:
    """The result of one experiment."""

    figures: tuple[Figure, ...]
    claims: tuple[PaperClaim, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "ExperimentOutcome":
        # Through JSON, so that a number of numpy's is one of Python's, stored or not.
        return msgspec.json.decode(json.dumps(stored), type=cls)


@dataclass(frozen=True)
class Group:
    """Figures that belong together; a folded group is opened by those who want it."""

    heading: str
    figures: tuple[Figure, ...]
    is_folded: bool = False


@dataclass(frozen=True)
class Chapter:
    """The results for one reading, or for one theorem."""

    heading: str
    sentences: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Headline:
    """One telling number."""

    what: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Book:
    """All results of one command."""

    name: str
    title: str
    about: str
    claims: tuple[PaperClaim, ...]
    chapters: tuple[Chapter, ...]
    tables: tuple[Figure, ...]
    """All curves, including those that are not drawn."""
    headlines: tuple[Headline, ...] = ()

    @property
    def figures(self) -> list[Figure]:
        """The figures that are drawn, in order."""
        return [figure for chapter in self.chapters for group in chapter.groups for figure in group.figures]


def kept_claim(name: str, reference: str, says: str, reading: str, needed: str, kept: Sequence[bool]) -> PaperClaim:
    """A claim about a bound that must hold every time it is tried."""
    count = sum(kept)
    values = {"kept": count, "of": len(kept)}
    return PaperClaim(
        name, reference, says, reading, needed, f"kept in {count} of {len(kept)}", judged(all(kept)), values
    )


def agreement(claims: Iterable[PaperClaim], of_the_paper: bool) -> str:
    """How many of the statements that were tried agree: of the paper's, or of ours."""
    tried = [claim.verdict for claim in claims if claim.is_the_papers == of_the_paper and claim.verdict != "not run"]
    return f"{tried.count('agrees')} of {len(tried)}"


def judged(is_true: bool) -> ClaimVerdict:
    """The verdict as a word."""
    return "agrees" if is_true else "disagrees"
