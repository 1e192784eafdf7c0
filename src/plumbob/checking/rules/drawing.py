"""What each attacker has before it, as an equation of blocks: what it knows, what it does not, what is noise, what it
made up. The numbers are the plan's own; the lab draws them.
"""

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


def product(left: Block, right: Block, result: Block, conclusion: str) -> AttackDrawing:
    """One block times another is a third."""
    return AttackDrawing((left, right, result), (TIMES, "="), conclusion)


def one_step(figures: Figures, by: str, mark: str, conclusion: str) -> AttackDrawing:
    """Of one step: residuals times own columns are own sums."""
    rows, columns = figures.batch, figures.columns(by)
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), mark)
    own = Block("known", rows, columns, (f"{rows} {TIMES} {columns}", "own columns"))
    return product(unknown, own, Block("known", 1, columns, (f"{columns} sums", "own gradient")), conclusion)
