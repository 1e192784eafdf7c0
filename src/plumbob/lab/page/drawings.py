"""The lab's drawings: charts like those of the report, and pictures of what an attacker sees, one for each attack.

The catalogue of attacks says what stands in a picture, with the plan's own numbers in it. Colours come from the page,
so that they follow light and dark; every word in it is escaped.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from plumbob.checking.advice import ON_OPENED_WEIGHTS
from plumbob.checking.coalitions import coalitions
from plumbob.checking.figures import Figures
from plumbob.checking.rules import rule_for
from plumbob.checking.rules.drawing import MOST_CELLS, AttackDrawing, Block
from plumbob.plan import Plan
from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.drawing import figure
from plumbob.report.markup import tag

METRICS = {
    "auc": ("AUC", "On the test part, after each epoch. Higher is better."),
    "log_loss": ("Log loss", "On the same rows. Lower is better."),
}


def curve(epochs: Sequence[dict[str, Any]]) -> str:
    """A chart of the joint model's quality after each epoch so far."""
    if not epochs:
        return ""
    numbers = [float(one["epoch"]) for one in epochs]
    return "".join(
        figure(
            Chart(title, says, Axis("epoch"), Axis(title), [Series("joint model", _column(epochs, name), numbers)]),
            f"curve-{place}",
        )
        for place, (name, (title, says)) in enumerate(METRICS.items())
    )


def comparison(runs: Sequence[dict[str, Any]]) -> str:
    """A chart of utility against leakage, one point per run that was attacked and finished."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run["auc"] is not None and run["labels"] is not None:
            found.setdefault(run["protocol"], []).append(run)
    series = [_points(protocol, some) for protocol, some in found.items()]
    if not series:
        return ""
    chart = Chart(
        "Utility against leakage",
        "One point per run. Higher is a better model, further left gives less away: the top left corner is best.",
        Axis("of what was unknown, found out by the best attack", low=0.0, high=1.0, unit="percent"),
        Axis("AUC of the joint model", low=_below([one for some in series for one in some.y]), high=1.0),
        series,
        "points",
    )
    return str(figure(chart, "comparison-chart"))


def _points(protocol: str, runs: Sequence[dict[str, Any]]) -> Series:
    names = [run["folder"] if run["noise"] == "none" else f"{run['folder']}, {run['noise']} noise" for run in runs]
    reached = [[run[kind]["advantage"] for kind in ("labels", "values") if run[kind] is not None] for run in runs]
    return Series(protocol, _column(runs, "auc"), [float(max(one)) for one in reached], labels=names)


def _below(values: Sequence[float | None]) -> float:
    """A round number somewhat below the smallest, so that differences can be seen."""
    smallest = min(value for value in values if value is not None)
    return max(0.0, math.floor(10 * (smallest - 0.02)) / 10)


def _column(rows: Sequence[dict[str, Any]], name: str) -> list[float | None]:
    return [row[name] for row in rows]


# Pictures of attacks.

CELL, GAP = 15, 26
TOP, MARGIN, LINE = 6.0, 4.0, 15.0
LETTER = 6.3
"""The approximate width of a letter of a caption."""


@dataclass(frozen=True)
class Picture:
    """The picture of one attack by one party: two sentences, a drawing, and the conclusion for this plan."""

    story: str
    svg: str
    conclusion: str


def picture(plan: Plan, attack: str, by: str, target: str) -> Picture:
    """The picture of what this party would have; an attack that is not on training has a story and no drawing."""
    name, (plan, by) = by, _as_one_party(plan, by)
    # An arbiter, and whoever joins it, has no role in training.
    role = next((party.role for party in plan.learners if party.name == by), "")
    rule = rule_for(attack, role, target)
    figures = Figures.of(plan)
    if rule.draw is None:
        return Picture(rule.story, "", "It needs no equations.")
    drawing = rule.draw(figures, by, target)
    if not figures.sees_sums:
        drawing = _unseen(drawing, figures, attack, by)
    return Picture(rule.story, _draw(drawing, f"{name} sees"), drawing.conclusion)


def _as_one_party(plan: Plan, by: str) -> tuple[Plan, str]:
    """A coalition as one party with all its members' columns."""
    merged = next((one for one in coalitions(plan) if one.name == by), None)
    return (plan, by) if merged is None else (merged.plan, merged.joint)


def _unseen(drawing: AttackDrawing, figures: Figures, attack: str, by: str) -> AttackDrawing:
    """The same drawing on shares, where nobody sees what the attacker would start from."""
    *others, last = drawing.blocks
    hidden = replace(last, kind="unknown", mark="?", caption=("in shares:", "seen by nobody"), empty_from=None)
    opened = f"Only the weights opened at the end are seen: {figures.columns(by)} equations in the whole run."
    is_open = attack in ON_OPENED_WEIGHTS and figures.plan.opens_weights
    return AttackDrawing(
        (*others, hidden), drawing.signs, opened if is_open else "On shares there is nothing to work on."
    )


def _draw(drawing: AttackDrawing, heading: str) -> str:
    largest = max(max(block.down, block.across) for block in drawing.blocks)
    sizes = [(_cells(block.down, largest), _cells(block.across, largest)) for block in drawing.blocks]
    captions = [max(map(len, block.caption)) * LETTER for block in drawing.blocks]
    widths = [max(across * CELL, caption) for (_, across), caption in zip(sizes, captions, strict=True)]
    tallest = max(down for down, _ in sizes) * CELL
    pieces: list[Markup] = []
    x = MARGIN
    for place, (block, size, width) in enumerate(zip(drawing.blocks, sizes, widths, strict=True)):
        pieces += _block(block, size, x, width, tallest)
        x += width
        if place < len(drawing.signs):
            pieces.append(_words(x + GAP / 2, TOP + tallest / 2 + 5, drawing.signs[place], "sign"))
            x += GAP
    width, height = x + MARGIN, TOP + tallest + 2 * LINE + 14
    described = "; ".join(f"{' '.join(block.caption)} ({block.kind})" for block in drawing.blocks)
    label = f"{heading}: {described}. {drawing.conclusion}"
    box = f"0 0 {width:.0f} {height:.0f}"
    return str(tag("svg", *pieces, class_="scene", role="img", aria_label=label, viewBox=box, width=round(width)))


def _block(block: Block, size: tuple[int, int], x: float, width: float, tallest: float) -> Iterator[Markup]:
    down, across = size
    left, top = x + (width - across * CELL) / 2, TOP + (tallest - down * CELL) / 2
    for row in range(down):
        is_empty = block.empty_from is not None and row >= block.empty_from
        kind, mark = ("empty", "0") if is_empty else (block.kind, block.mark)
        for column in range(across):
            cell_x, cell_y = left + column * CELL, top + row * CELL
            yield tag("rect", class_=kind, x=cell_x, y=cell_y, width=CELL - 2, height=CELL - 2, rx=2)
            if mark:
                yield _words(cell_x + CELL / 2 - 1, cell_y + CELL - 5, mark, "mark")
    for number, line in enumerate(block.caption, start=1):
        yield _words(x + width / 2, TOP + tallest + LINE * number + 2, line, "caption")


def _cells(count: int, largest: int) -> int:
    """How many cells to draw: all, or fewer, so that the largest side fits; by roots, so that small sides show."""
    return max(1, count if largest <= MOST_CELLS else min(count, round(MOST_CELLS * math.sqrt(count / largest))))


def _words(x: float, y: float, words: str, kind: str) -> Markup:
    return tag("text", words, class_=kind, x=x, y=y, text_anchor="middle")
