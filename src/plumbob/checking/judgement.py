"""What `check` comes to, as pages and terminals show it: the two headlines, and sentences about the plan.

Only values: whoever shows a judgement, or keeps one for later, loads none of the rules that led to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plumbob.checking.words import BLOCKED, CHEATING, DEGRADES, HONEST, LEAKS, MEANINGS

UNPREVENTED = "What no plan prevents"
HEADINGS = {HONEST: "If everyone keeps to the protocol", CHEATING: "If someone cheats"}
FEW_PARTIES = 3
"""Up to this many parties, each pair has a line of its own."""


@dataclass(frozen=True)
class HeadlineLine:
    """What one party, or several, can work out about another's labels, columns, scores or weights."""

    verdict: str
    by: tuple[str, ...]
    against: tuple[str, ...]
    target: str
    attacks: tuple[str, ...]
    can: str
    """What the party reads: the words after "can"."""
    says: str


@dataclass(frozen=True)
class HeadlineBlock:
    """One of the two headlines."""

    assumes: str
    heading: str
    agreed: tuple[str, ...]
    """What is opened on purpose, and to whom; or, for cheating, what would show it."""
    lines: tuple[HeadlineLine, ...]
    nothing: str
    """The sentence for parties that no line is about, or for all of them where there is no line."""
    remedy: str
    """Flags to type against what leaks; empty where nothing does, or no flag helps."""
    changes: dict[str, Any]
    """The remedy as keys of the plan."""
    price: str
    counts: str
    shut: tuple[str, ...] = ()
    """What opens only after a replay: said before any line."""
    unprevented: tuple[str, ...] = ()
    """What no plan prevents, one line for each party that could do it."""
    without_remedy: str = ""
    """What a reader of a leak hears where no remedy of its own is printed: silence could be read either way."""

    @property
    def leaks(self) -> bool:
        return any(line.verdict == LEAKS for line in self.lines)

    @property
    def verdict(self) -> str:
        return LEAKS if self.leaks else DEGRADES if self.lines or self.unprevented else BLOCKED


@dataclass(frozen=True)
class Headlines:
    """Both blocks, in the order in which they are read."""

    honest: HeadlineBlock
    cheating: HeadlineBlock

    @property
    def blocks(self) -> tuple[HeadlineBlock, HeadlineBlock]:
        return self.honest, self.cheating

    @property
    def legend(self) -> str:
        """What the word means that needs it most."""
        lines = [line for block in self.blocks for line in block.lines]
        return f"{DEGRADES}: {MEANINGS[DEGRADES]}." if any(one.verdict == DEGRADES for one in lines) else ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def in_short(self) -> str:
        """Both verdicts in one line."""
        return "; ".join(f"{block.heading.lower()}: {block.verdict}" for block in self.blocks)

    def lines(self) -> list[str]:
        """Both blocks as they are printed on a terminal."""
        told = [line for block in self.blocks for line in (*shown(block), "")][:-1]
        return [*told, *(["", self.legend] if self.legend else [])]


@dataclass(frozen=True)
class PlanJudgement:
    """A plan on the rows of a run: the headlines of its findings, and what pages say beside them."""

    headlines: Headlines
    protected: tuple[str, ...]
    promise: tuple[str, ...]
    """What noise promises in numbers."""
    opened: tuple[str, ...]
    limits: tuple[str, ...]
    """What is not protected."""
    assumed: tuple[str, ...]
    noise: str
    """Its kind, its deviations and what they cost, for the receipt."""
    left_out: tuple[str, ...] = ()
    """Attacks that `check` names for this plan and an audit of the run left out."""


# In a terminal.


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table for a terminal: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def shown(block: HeadlineBlock) -> Iterator[str]:
    """The block as it is printed on a terminal."""
    yield f"{block.heading}:"
    yield from (f"  {line}" for line in block.shut)
    if block.assumes == HONEST:
        yield from (f"  {line}" for line in block.agreed)
    yield from (f"  {line.verdict:<8}  {line.says}" for line in block.lines)
    if block.nothing:
        yield f"  {block.nothing}"
    if block.assumes == CHEATING:
        yield from (f"  {line}" for line in block.agreed)
    if block.remedy:
        yield f"  What helps: {block.remedy}" + (f" (its price: {block.price})" if block.price else "")
    elif block.without_remedy:
        yield f"  {block.without_remedy}"
    yield from (f"  {UNPREVENTED}: {line}" for line in block.unprevented)
