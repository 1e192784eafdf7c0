"""What each attacker has before it, as an equation of blocks: what it knows, what it does not, what is noise, what it
made up. The numbers are the plan's own; the lab draws them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.figures import Figures

MOST_CELLS = 8
"""Of a block's side, where it is drawn."""
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Block:
    """This many people (or epochs) down, this many columns across; what is drawn is cut to a few cells."""

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
class AttackDrawing:
    """Blocks with a sign between each two of them, and what follows in one sentence."""

    blocks: Sequence[Block]
    signs: Sequence[str]
    conclusion: str


def label_sign(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """One step's sums against one step's residuals."""
    rows, columns, rank = figures.batch, figures.columns(by), figures.rank(by)
    solved = "every residual is solved for" if rank >= rows else f"at most {rank / rows:.0%} of the residuals are fixed"
    return _one_step(
        figures, by, "?", f"{rank} independent equations for {rows} residuals per step: {solved}.", columns
    )


def label_only(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """One step's sums against labels that are a yes or a no."""
    rows, columns = figures.batch, figures.columns(by)
    ends = f"{rows / max(columns, 1):.2g} people for each equation, and each is a yes or a no: about 5 can be decoded."
    return _one_step(figures, by, "±", ends, columns)


def _one_step(figures: Figures, by: str, mark: str, conclusion: str, columns: int) -> AttackDrawing:
    rows = figures.batch
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), mark)
    own = Block("known", rows, columns, (f"{rows} {TIMES} {columns}", "own columns"))
    return AttackDrawing(
        (unknown, own, Block("known", 1, columns, (f"{columns} sums", "own gradient"))), (TIMES, "="), conclusion
    )


def label_stacked(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """The sums of all steps against everybody's labels."""
    columns, steps = figures.columns(by), figures.steps
    unknown = Block("unknown", figures.rows, 1, (f"{figures.rows} labels", "unknown"), "?")
    own = Block("known", figures.rows, columns, ("own columns,", f"{steps} batches"))
    sums = Block("known", steps, columns, (f"{steps} {TIMES} {columns} sums", "one line per step"))
    each = figures.equations_a_row(by)
    return AttackDrawing(
        (unknown, own, sums), (TIMES, "="), f"All steps together: {each:.3g} equations for each label."
    )


def label_average(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """The same residual, seen with fresh noise in each epoch."""
    noise, visits = figures.noise_toward(by), figures.visits
    seen = Block("noisy", figures.batch, visits, (f"{visits} looks at each", f"noise {noise:.3g} per look"), "~")
    mean = Block("unknown", figures.batch, 1, ("their average", "unknown"), "?")
    left = noise / math.sqrt(visits)
    ends = f"The average keeps noise of {left:.3g} beside the label's 2." if noise else "There is no noise to average."
    return AttackDrawing((seen, mean), ("→",), ends)


def label_counts(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """The first sum of a yes/no column."""
    rows = figures.batch
    unknown = Block("unknown", rows, 1, (f"{rows} labels", "unknown"), "?")
    yes = Block("known", rows, 1, ("one yes/no", "column"), "1", empty_from=MOST_CELLS // 2)
    count = Block("known", 1, 1, ("positives among", "those with a yes"), "n")
    return AttackDrawing(
        (unknown, yes, count), (TIMES, "="), f"An exact count in the first step, in batches of {rows} or of millions."
    )


def label_chosen_rows(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """Own columns that are zero but for a few people."""
    rows, columns = figures.batch, figures.columns(by)
    chosen = max(1, min(MOST_CELLS // 2, MOST_CELLS * columns // rows))
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), "?")
    forged = Block("made-up", rows, columns, ("own columns, zero", "but for a few people"), empty_from=chosen)
    sums = Block("known", 1, columns, (f"{columns} sums", "about them alone"))
    return AttackDrawing(
        (unknown, forged, sums), (TIMES, "="), f"{min(columns, rows)} chosen people per step, in batches of any size."
    )


def feature_single(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """The peer's only column times its weight."""
    rows, width = figures.batch, figures.peer_columns(by)
    column = Block("unknown", rows, width, (f"{width} peer column{'s' * (width != 1)}", "unknown"), "?")
    weight = Block("unknown", width, 1, ("its weights", "unknown"), "?")
    scores = Block("known", rows, 1, ("peer's scores", "solved for"))
    fits = "Ratios of scores are ratios of people's values." if width == 1 else "Ratios need exactly one column."
    return AttackDrawing((column, weight, scores), (TIMES, "="), fits)


def feature_chain(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """One person's scores over the epochs."""
    visits = figures.visits
    column = Block("unknown", 1, 1, ("one person,", "one column"), "?")
    path = Block("known", 1, visits, (f"{visits} visits", "a score at each"))
    one = figures.batch == 1
    ends = "Each step moves the weight by a known amount: a chain that closes in the second epoch."
    return AttackDrawing(
        (column, path), ("→",), ends if one else f"The chain needs batches of 1, this plan has {figures.batch}."
    )


def feature_geometry(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """All scores of everybody over time."""
    rows, width, visits = figures.rows, figures.peer_columns(by), figures.visits
    columns = Block("unknown", rows, width, (f"{rows} {TIMES} {width}", "peer's columns"), "?")
    weights = Block("unknown", width, visits, ("their weights", "over time"), "?")
    scores = Block("known", rows, visits, (f"{rows} {TIMES} {visits} scores", "where solved for"))
    enough = "enough to fix them up to a rotation" if visits > width else "too few to tell them apart"
    return AttackDrawing((columns, weights, scores), (TIMES, "="), f"{visits} looks at {width} columns: {enough}.")


def peer_scores(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """Before columns come the scores that they are worked out from."""
    rows, columns, rank = figures.batch, figures.columns(by), figures.rank(by)
    share = "every score shows" if rank >= rows else f"at most {rank / rows:.0%} of the peers' scores are fixed"
    return _one_step(figures, by, "?", f"{rank} independent equations for {rows} residuals per step: {share}.", columns)


def packing(figures: Figures, by: str, target: str) -> AttackDrawing:
    """Room in a reply beside the sums that were agreed."""
    sums, room = figures.columns(by), figures.readable_residuals(by)
    agreed = Block("known", 1, sums, (f"{sums} sums", "that were agreed"))
    hidden = Block("made-up", 1, max(room, 1), (f"room for {room}", "of the peer's residuals"), "?")
    ends = f"The replies of one step can carry {room} of {figures.batch} residuals: {target} without solving anything."
    return AttackDrawing((agreed, hidden), ("+",), ends)


def claimed_width(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """More columns than were agreed."""
    rows, columns = figures.batch, figures.columns(by)
    extra = max(rows - columns, 0)
    real = Block("known", rows, columns, (f"{columns} columns", "as agreed"))
    claimed = Block("made-up", rows, max(extra, 1), (f"{extra} more", "that were not"))
    ends = "The plan's hash fixes the number of columns: any other number of sums ends the run."
    return AttackDrawing((real, claimed), ("+",), ends)


def steering(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """A weight that the attacker moved, and the scores after it."""
    readable, width = figures.steered_people(by), figures.peer_columns(by)
    values = Block("unknown", readable, 1, (f"{readable} people,", "one peer column"), "?")
    push = Block("made-up", 1, 1, ("a push on", "its weight"))
    moved = Block("known", readable, 1, ("how far their", "residuals move"))
    read = min(figures.steered_columns(by), width)
    ends = f"One column at a time: {read} of {width} in {figures.visits} epochs."
    return AttackDrawing((values, push, moved), (TIMES, "="), ends)


def off_the_circle(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """A person's score, through sines that are none, in one opened weight."""
    people = max(1, min(figures.columns(by), figures.rows))
    scores = Block("unknown", people, 1, (f"{people} people's", "joint scores"), "?")
    forged = Block("made-up", people, 1, ("falsified", "sines"))
    weights = Block("known", people, 1, ("own weights,", "if opened"))
    return AttackDrawing(
        (scores, forged, weights), (TIMES, "="), f"One person per opened weight: {people} of {figures.rows}."
    )


def garbage_replies(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """A piece of a key in opened weights."""
    columns = max(1, figures.columns(by))
    key = Block("unknown", MOST_CELLS, 1, ("the peer's key", "of one pass"), "?")
    forged = Block("made-up", MOST_CELLS, columns, ("garbage for", "a product"), empty_from=1)
    weights = Block("known", 1, columns, (f"{columns} own weights,", "if opened"))
    bits = figures.opened_bits(by)
    return AttackDrawing((key, forged, weights), (TIMES, "="), f"{bits} opened bits of a key that is far longer.")
