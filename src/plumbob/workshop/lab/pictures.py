"""What an attacker sees, as a small picture for each attack, with the plan's own numbers in it.

A picture is an equation of blocks: what the attacker knows, what it does not, what is noise, what it made up. Colours
come from the page, so that they follow light and dark; every word in it is escaped.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from plumbob.checking.advice import ON_OPENED_WEIGHTS
from plumbob.checking.coalitions import JOINT, coalitions
from plumbob.checking.figures import Figures
from plumbob.checking.stories import story_of
from plumbob.errors import PlanError
from plumbob.plan import Plan
from plumbob.report.markup import tag

CELL, GAP, MOST_CELLS = 15, 26, 8
TIMES = "\N{MULTIPLICATION SIGN}"
TOP, MARGIN, LINE = 6.0, 4.0, 15.0
SCORES_FIRST = ("feature-geometry", "scores")
"""Before columns come the scores that they are worked out from: another picture under the same name."""
LETTER = 6.3
"""Width of a letter of a caption, about."""


@dataclass(frozen=True)
class Block:
    """So many people (or epochs) down, so many columns across; what is drawn is cut to a few cells."""

    kind: str
    """known, unknown, noisy or made-up."""
    down: int
    across: int
    caption: tuple[str, ...]
    mark: str = ""
    """A sign in each cell."""
    empty_from: int | None = None
    """The row from which on there are zeros."""


@dataclass(frozen=True)
class Scene:
    """Blocks with a sign between each two of them, and what follows in one sentence."""

    blocks: Sequence[Block]
    signs: Sequence[str]
    conclusion: str


@dataclass(frozen=True)
class Picture:
    """Of one attack by one party: two sentences, a drawing, and what follows for this plan."""

    story: str
    svg: str
    conclusion: str


def picture(plan: Plan, attack: str, by: str, target: str) -> Picture:
    """What this party would have before it."""
    if attack not in SCENES:
        raise PlanError(f"no attack {attack}; expected one of {', '.join(SCENES)}")
    plan, by = _as_one_party(plan, by)
    draw = _peer_scores if (attack, target) == SCORES_FIRST else SCENES[attack]
    figures = Figures.of(plan)
    scene = draw(figures, by, target)
    if not figures.sees_sums:
        scene = _unseen(scene, figures, attack, by)
    return Picture(story_of(attack, plan.party(by).role, target), _drawn(scene, f"{by} sees"), scene.conclusion)


def _as_one_party(plan: Plan, by: str) -> tuple[Plan, str]:
    """A coalition is drawn as one party with all its members' columns."""
    merged = next((one.plan for one in coalitions(plan) if one.name == by), None)
    return (plan, by) if merged is None else (merged, JOINT)


def _unseen(scene: Scene, figures: Figures, attack: str, by: str) -> Scene:
    """The same on shares, where what the attacker would start from is seen by nobody."""
    *others, last = scene.blocks
    hidden = replace(last, kind="unknown", mark="?", caption=("in shares:", "seen by nobody"), empty_from=None)
    opened = f"Only the weights opened at the end are seen: {figures.columns(by)} equations in the whole run."
    is_open = attack in ON_OPENED_WEIGHTS and figures.plan.open == "own"
    return Scene((*others, hidden), scene.signs, opened if is_open else "On shares there is nothing to work on.")


# One scene an attack.


def _label_sign(figures: Figures, by: str, _target: str) -> Scene:
    rows, columns, rank = figures.batch, figures.columns(by), figures.rank(by)
    solved = "every residual is solved for" if rank >= rows else f"at most {rank / rows:.0%} of the residuals are fixed"
    return _one_step(figures, by, "?", f"{rank} independent equations for {rows} residuals a step: {solved}.", columns)


def _label_only(figures: Figures, by: str, _target: str) -> Scene:
    rows, columns = figures.batch, figures.columns(by)
    ends = f"{rows / max(columns, 1):.2g} people for each equation, and each is a yes or a no: about 5 can be decoded."
    return _one_step(figures, by, "±", ends, columns)


def _one_step(figures: Figures, by: str, mark: str, conclusion: str, columns: int) -> Scene:
    rows = figures.batch
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), mark)
    own = Block("known", rows, columns, (f"{rows} {TIMES} {columns}", "own columns"))
    return Scene(
        (unknown, own, Block("known", 1, columns, (f"{columns} sums", "own gradient"))), (TIMES, "="), conclusion
    )


def _label_stacked(figures: Figures, by: str, _target: str) -> Scene:
    columns, steps = figures.columns(by), figures.steps
    unknown = Block("unknown", figures.rows, 1, (f"{figures.rows} labels", "unknown"), "?")
    own = Block("known", figures.rows, columns, ("own columns,", f"{steps} batches"))
    sums = Block("known", steps, columns, (f"{steps} {TIMES} {columns} sums", "one line a step"))
    each = figures.equations_a_row(by)
    return Scene((unknown, own, sums), (TIMES, "="), f"All steps together: {each:.3g} equations for each label.")


def _label_average(figures: Figures, by: str, _target: str) -> Scene:
    noise, visits = figures.noise_toward(by), figures.visits
    seen = Block("noisy", figures.batch, visits, (f"{visits} looks at each", f"noise {noise:.3g} a look"), "~")
    mean = Block("unknown", figures.batch, 1, ("their average", "unknown"), "?")
    left = noise / math.sqrt(visits)
    ends = f"The average keeps noise of {left:.3g} beside the label's 2." if noise else "There is no noise to average."
    return Scene((seen, mean), ("→",), ends)


def _label_counts(figures: Figures, by: str, _target: str) -> Scene:
    rows = figures.batch
    unknown = Block("unknown", rows, 1, (f"{rows} labels", "unknown"), "?")
    yes = Block("known", rows, 1, ("one yes/no", "column"), "1", empty_from=MOST_CELLS // 2)
    count = Block("known", 1, 1, ("positives among", "those with a yes"), "n")
    return Scene(
        (unknown, yes, count), (TIMES, "="), f"An exact count in the first step, in batches of {rows} or of millions."
    )


def _label_chosen_rows(figures: Figures, by: str, _target: str) -> Scene:
    rows, columns = figures.batch, figures.columns(by)
    chosen = max(1, min(MOST_CELLS // 2, MOST_CELLS * columns // rows))
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), "?")
    forged = Block("made-up", rows, columns, ("own columns, zero", "but for a few people"), empty_from=chosen)
    sums = Block("known", 1, columns, (f"{columns} sums", "about them alone"))
    return Scene(
        (unknown, forged, sums), (TIMES, "="), f"{min(columns, rows)} chosen people a step, in batches of any size."
    )


def _feature_single(figures: Figures, by: str, _target: str) -> Scene:
    rows, width = figures.batch, figures.peer_columns(by)
    column = Block("unknown", rows, width, (f"{width} peer column{'s' * (width != 1)}", "unknown"), "?")
    weight = Block("unknown", width, 1, ("its weights", "unknown"), "?")
    scores = Block("known", rows, 1, ("peer's scores", "solved for"))
    fits = "Ratios of scores are ratios of people's values." if width == 1 else "Ratios need exactly one column."
    return Scene((column, weight, scores), (TIMES, "="), fits)


def _feature_chain(figures: Figures, by: str, _target: str) -> Scene:
    visits = figures.visits
    column = Block("unknown", 1, 1, ("one person,", "one column"), "?")
    path = Block("known", 1, visits, (f"{visits} visits", "a score at each"))
    one = figures.batch == 1
    ends = "Each step moves the weight by a known amount: a chain that closes in the second epoch."
    return Scene(
        (column, path), ("→",), ends if one else f"The chain needs batches of 1, this plan has {figures.batch}."
    )


def _feature_geometry(figures: Figures, by: str, _target: str) -> Scene:
    rows, width, visits = figures.rows, figures.peer_columns(by), figures.visits
    columns = Block("unknown", rows, width, (f"{rows} {TIMES} {width}", "peer's columns"), "?")
    weights = Block("unknown", width, visits, ("their weights", "over time"), "?")
    scores = Block("known", rows, visits, (f"{rows} {TIMES} {visits} scores", "where solved for"))
    enough = "enough to fix them up to a rotation" if visits > width else "too few to tell them apart"
    return Scene((columns, weights, scores), (TIMES, "="), f"{visits} looks at {width} columns: {enough}.")


def _peer_scores(figures: Figures, by: str, _target: str) -> Scene:
    rows, columns, rank = figures.batch, figures.columns(by), figures.rank(by)
    share = "every score shows" if rank >= rows else f"at most {rank / rows:.0%} of the peers' scores are fixed"
    return _one_step(figures, by, "?", f"{rank} independent equations for {rows} residuals a step: {share}.", columns)


def _packing(figures: Figures, by: str, target: str) -> Scene:
    sums, room = figures.columns(by), figures.readable_residuals(by)
    agreed = Block("known", 1, sums, (f"{sums} sums", "that were agreed"))
    hidden = Block("made-up", 1, max(room, 1), (f"room for {room}", "of the peer's residuals"), "?")
    ends = f"The replies of one step can carry {room} of {figures.batch} residuals: {target} without solving anything."
    return Scene((agreed, hidden), ("+",), ends)


def _claimed_width(figures: Figures, by: str, _target: str) -> Scene:
    rows, columns = figures.batch, figures.columns(by)
    extra = max(rows - columns, 0)
    real = Block("known", rows, columns, (f"{columns} columns", "as agreed"))
    claimed = Block("made-up", rows, max(extra, 1), (f"{extra} more", "that were not"))
    ends = "The plan's hash fixes the number of columns: any other number of sums ends the run."
    return Scene((real, claimed), ("+",), ends)


SCENES: dict[str, Callable[[Figures, str, str], Scene]] = {
    "label-sign": _label_sign,
    "label-only": _label_only,
    "label-stacked": _label_stacked,
    "label-average": _label_average,
    "label-counts": _label_counts,
    "label-chosen-rows": _label_chosen_rows,
    "feature-single": _feature_single,
    "feature-chain": _feature_chain,
    "feature-geometry": _feature_geometry,
    "packing": _packing,
    "claimed-width": _claimed_width,
}


# Drawing.


def _drawn(scene: Scene, heading: str) -> str:
    largest = max(max(block.down, block.across) for block in scene.blocks)
    sizes = [(_cells(block.down, largest), _cells(block.across, largest)) for block in scene.blocks]
    widths = [max(across * CELL, _caption_width(block)) for block, (_, across) in zip(scene.blocks, sizes, strict=True)]
    tallest = max(down for down, _ in sizes) * CELL
    pieces: list[Markup] = []
    x = MARGIN
    for place, (block, size, width) in enumerate(zip(scene.blocks, sizes, widths, strict=True)):
        pieces += _block(block, size, x, width, tallest)
        x += width
        if place < len(scene.signs):
            pieces.append(_words(x + GAP / 2, TOP + tallest / 2 + 5, scene.signs[place], "sign"))
            x += GAP
    width, height = x + MARGIN, TOP + tallest + 2 * LINE + 14
    label = f"{heading}: {_spoken(scene)} {scene.conclusion}"
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
    """As many as there are, or fewer, so that the largest side fits; by roots, or small sides would hardly show."""
    return max(1, count if largest <= MOST_CELLS else min(count, round(MOST_CELLS * math.sqrt(count / largest))))


def _caption_width(block: Block) -> float:
    return max(len(line) for line in block.caption) * LETTER


def _words(x: float, y: float, words: str, kind: str) -> Markup:
    return tag("text", words, class_=kind, x=x, y=y, text_anchor="middle")


def _spoken(scene: Scene) -> str:
    return "; ".join(f"{' '.join(block.caption)} ({block.kind})" for block in scene.blocks) + "."
