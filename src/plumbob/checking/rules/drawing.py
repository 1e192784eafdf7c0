"""What each attacker has before it, as an equation of blocks: what it knows, what it does not, what is noise, what it
made up. The numbers are the plan's own; the lab draws them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.figures import Figures

MOST_CELLS = 8
"""Most cells of a block's side in a drawing."""
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Block:
    """A block of this many people (or epochs) by this many columns; a drawing shows a few cells of it."""

    kind: str
    """The kind of its numbers: known, unknown, noisy or made-up."""
    down: int
    across: int
    caption: tuple[str, ...]
    mark: str = ""
    """A sign that each cell shows."""
    empty_from: int | None = None
    """The first row that holds zeros, as all after it do; None without any."""


@dataclass(frozen=True)
class AttackDrawing:
    """Blocks with a sign between each two of them, and what follows in one sentence."""

    blocks: Sequence[Block]
    signs: Sequence[str]
    conclusion: str


def product(left: Block, right: Block, result: Block, conclusion: str) -> AttackDrawing:
    """Draw one block times another as a third."""
    return AttackDrawing((left, right, result), (TIMES, "="), conclusion)


def one_step(figures: Figures, by: str, mark: str, conclusion: str) -> AttackDrawing:
    """Draw one step: residuals times own columns are own sums."""
    rows, columns = figures.batch, figures.columns(by)
    unknown = Block("unknown", rows, 1, (f"{rows} residuals", "unknown"), mark)
    own = Block("known", rows, columns, (f"{rows} {TIMES} {columns}", "own columns"))
    return product(unknown, own, Block("known", 1, columns, (f"{columns} sums", "own gradient")), conclusion)
