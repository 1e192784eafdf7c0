"""The two headlines on a page: what each party can work out, with a mark, a word and a colour for each line."""

from markupsafe import Markup

from plumbob.checking.headlines import HeadlineBlock, HeadlineLine, Headlines
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, HONEST, LEAKS
from plumbob.report.markup import NOTHING, joined, tag

CLASSES = {LEAKS: "leaks", DEGRADES: "degrades", BLOCKED: "blocked"}


def headline_blocks(headlines: Headlines) -> Markup:
    """The two headlines, one after the other, and what their words mean."""
    legend = tag("p", headlines.legend, class_="note") if headlines.legend else NOTHING
    return joined(*(_block(block) for block in headlines.blocks), legend)


def _block(block: HeadlineBlock) -> Markup:
    agreed = tag("p", " ".join(block.agreed), class_="more") if block.agreed else NOTHING
    lines = tag("ul", *(_row(line) for line in block.lines), class_="verdicts") if block.lines else NOTHING
    nothing = tag("p", block.nothing, class_="say") if block.nothing else NOTHING
    pieces = (agreed, lines, nothing) if block.assumes == HONEST else (lines, nothing, agreed)
    return joined(tag("h3", block.heading), *pieces, remedy(block), tag("p", block.counts, class_="note"))


def _row(line: HeadlineLine) -> Markup:
    by = tag("p", f"By {', '.join(line.attacks)}.", class_="more")
    return tag(
        "li", badge(line.verdict), tag("p", line.says, class_="say"), by, class_=f"verdict {class_of(line.verdict)}"
    )


def remedy(block: HeadlineBlock) -> Markup:
    """What to type, and what it costs."""
    if not block.remedy:
        return NOTHING
    price = f" Its price: {block.price}." if block.price else ""
    return tag("p", "What helps: ", tag("code", block.remedy), price, class_="more")


def badge(verdict: str) -> Markup:
    """The verdict's word, the same everywhere, with a mark that does not rest on colour."""
    return tag("span", verdict, class_=f"badge {class_of(verdict)}")


def class_of(verdict: str) -> str:
    """The style sheet's class for a verdict."""
    return CLASSES.get(verdict, "none")
