"""Defences side by side: what each costs in quality, and what every attack still reaches."""

import math
from collections.abc import Iterator, Sequence

from plumbob.counting import decimal, percent, seconds, size
from plumbob.lab.audit.defences import AS_PLANNED, LABELS, VALUES, DefenceOutcome
from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.marks import COLOURS
from plumbob.report.page import PageTable, Section, render
from plumbob.report.verdicts import badge

CAPTION = (
    "advantage: the part of what the best baseline leaves unknown that an attack finds out (docs/auditing.md); 0 %"
    " where it finds nothing beyond the baseline, - where it has nothing to work on"
)
CALCULATED = (
    "Runs were calculated in the clear: views and weights are those of the encrypted protocols up to rounding. Time"
    " and traffic are estimates for the encrypted run on this machine. Active attacks, which need messages to tamper"
    " with, were not run: where `check` says that one leaks, the verdict here says so too. --encrypted runs them."
)
LABELS_ONLY = (
    "Noise of kind sound, and flipped labels, are promises about labels; features need shares, or noise of all."
)


def page_of(title: str, outcomes: Sequence[DefenceOutcome], warnings: Sequence[str] = ()) -> str:
    """The page that `audit --defences` writes."""
    return render(title, list(sections_of(outcomes, warnings)), f"{len(outcomes)} defences on the same data")


def sections_of(outcomes: Sequence[DefenceOutcome], warnings: Sequence[str] = ()) -> Iterator[Section]:
    """The chart, the table, what to type for each, and what was refused."""
    charts = [*tradeoff_charts(outcomes), *defence_bars(outcomes)]
    yield Section("Defences side by side", [*warnings, *sentences(outcomes)], charts=charts)
    yield Section("Attack by attack", table=badged_table(outcomes))
    typed = [[one.defence, one.flags or AS_PLANNED] for one in outcomes]
    yield Section("What to type", table=PageTable(["defence", "flags over the plan"], typed))


def tradeoff_charts(outcomes: Sequence[DefenceOutcome]) -> Iterator[Chart]:
    """Charts of utility against leakage of labels, and of columns and scores if any attack found something."""
    for kind, word in ((LABELS, "labels"), (VALUES, "columns and scores")):
        known = [(one, leakage(one, kind)) for one in outcomes if one.auc is not None]
        points = [(one, leak) for one, leak in known if leak is not None]
        if not points or (kind == VALUES and not any(leak for _, leak in points)):
            continue
        yield Chart(
            f"Utility against leakage of {word}",
            f"Up is a better model, left is less of the {word} given away: the best place is the upper left corner. "
            "Leakage is the advantage of the most successful attack.",
            Axis(f"leakage of {word}", low=0.0, high=1.0, unit="percent"),
            Axis(
                "AUC of the joint model",
                low=_lowest_auc([one.auc for one, _ in points if one.auc is not None]),
                high=1.0,
            ),
            list(_point_series(points)),
            "points",
        )


def _lowest_auc(values: Sequence[float]) -> float:
    """The lower end of the AUC axis: 0.5 for guessing, so that unimportant differences do not look important.

    Lower only where a model is worse than guessing, so that no point stands where its value is not.
    """
    return min(0.5, math.floor(10 * min(values)) / 10)


def defence_bars(outcomes: Sequence[DefenceOutcome]) -> Iterator[Chart]:
    """Bars of the same, defence by defence."""
    shown_ones = [one for one in outcomes if not one.refused]
    if shown_ones:
        yield Chart(
            "Defence by defence",
            "A good defence has a long bar for the model and none for what leaks.",
            Axis(""),
            Axis("AUC, and leakage of labels", low=0.0, high=1.0),
            [
                Series("AUC of the joint model", [one.auc for one in shown_ones]),
                Series("leakage of labels", [leakage(one, LABELS) for one in shown_ones]),
            ],
            "bars",
            [one.defence for one in shown_ones],
        )


def _point_series(points: Sequence[tuple[DefenceOutcome, float]]) -> Iterator[Series]:
    """Points as series: a few have their own mark each; many are told apart by their names alone."""
    groups = [[one] for one in points] if len(points) <= COLOURS else [points]
    for group in groups:
        names = [one.defence for one, _ in group]
        yield Series(names[0], [one.auc for one, _ in group], [leak for _, leak in group], labels=names)


def leakage(outcome: DefenceOutcome, kind: str) -> float | None:
    """The largest advantage about labels, or about the rest; 0 where no attack had anything to work on."""
    if outcome.refused:
        return None
    found = [one for one in outcome.findings if (one.target == "labels") == (kind == LABELS)]
    return max([0.0, *(one.advantage for one in found if one.advantage is not None)])


def sentences(outcomes: Sequence[DefenceOutcome]) -> Iterator[str]:
    """Sentences on what the table does not say by itself."""
    if not any(one.measured for one in outcomes):
        yield CALCULATED
    yield LABELS_ONLY
    for one in outcomes:
        if one.is_plan:
            yield f'Of these, "{one.defence}" is {AS_PLANNED}.'
        if one.refused:
            yield f"{one.defence} is not available here: {one.refused}"


def defences_table(outcomes: Sequence[DefenceOutcome]) -> PageTable:
    """A table of quality, verdicts, every attack that had something to work on anywhere, time and traffic."""
    attacks = _attacks(outcomes)
    header = ["defence", "AUC", "accuracy", LABELS, VALUES, *attacks, "time", "traffic"]
    return PageTable(header, [_line(one, attacks) for one in outcomes if not one.refused], CAPTION)


def badged_table(outcomes: Sequence[DefenceOutcome]) -> PageTable:
    """The same table for the page, with the verdicts' marks."""
    plain = defences_table(outcomes)
    rows = [[*row[:3], badge(row[3]), badge(row[4]), *row[5:]] for row in plain.rows]
    return PageTable(plain.header, rows, plain.caption)


def _attacks(outcomes: Sequence[DefenceOutcome]) -> list[str]:
    found = (name for one in outcomes for name, value in one.advantages.items() if value is not None)
    return sorted(set(found), key=lambda name: (not name.startswith("label"), name))


def _line(one: DefenceOutcome, attacks: Sequence[str]) -> list[str]:
    return [
        one.defence,
        *(decimal(value) for value in (one.auc, one.accuracy)),
        *(one.verdicts[kind] for kind in (LABELS, VALUES)),
        *(_advantage(one.advantages.get(name)) for name in attacks),
        seconds(one.seconds),
        size(one.bytes),
    ]


def _advantage(value: float | None) -> str:
    return percent(None if value is None else max(0.0, value))
