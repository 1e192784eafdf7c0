"""The decision sheet: one side of paper for the person who says yes or no, with room for a signature."""

from collections.abc import Sequence

from markupsafe import Markup

from plumbob.checking.headlines import HeadlineBlock
from plumbob.record import RunRecord
from plumbob.report.decision import Decision, decision_on_run
from plumbob.report.markup import NOTHING, joined, shortened, tag
from plumbob.report.page import asset, bullets, frame
from plumbob.report.verdicts import class_of, remedy

MOST_LINES = 3
LONGEST_SENTENCE = 160
NOT_A_PROOF = "A verdict is about known attacks. It is not a proof that nothing leaks."


def summary_of(record: RunRecord) -> str:
    """The decision sheet of a run, as a page."""
    return summary_page(decision_on_run(record))


def summary_page(decision: Decision) -> str:
    """The decision sheet as a page of its own."""
    masthead = tag(
        "header",
        tag("p", "Plumbob decision sheet", class_="brand"),
        tag("h1", decision.title),
        tag("p", decision.about, class_="about"),
        class_="masthead",
    )
    headlines = tag("div", *(_headline(block) for block in decision.headlines.blocks), class_="grid")
    basis = tag("p", f"{decision.basis} {NOT_A_PROOF} {decision.headlines.legend}", class_="note")
    main = tag("main", headlines, basis, tag("div", *_sections(decision), class_="grid"), _signature(decision))
    return frame(decision.title, joined(masthead, main), [asset("summary.css")])


def _headline(block: HeadlineBlock) -> Markup:
    """One of the two, with as many lines as fit."""
    lines = [shortened(line.says, LONGEST_SENTENCE) for line in block.lines[:MOST_LINES]]
    more = len(block.lines) - MOST_LINES
    lines += [f"{more} more such sentences are in the report."] if more > 0 else []
    said = tag("ul", *(tag("li", line) for line in lines)) if lines else NOTHING
    nothing = tag("p", shortened(block.nothing, LONGEST_SENTENCE)) if block.nothing else NOTHING
    return tag(
        "section",
        tag("h2", block.heading),
        said,
        nothing,
        remedy(block),
        tag("p", block.counts, class_="note"),
        class_=f"headline {class_of(block.verdict)}",
    )


def _sections(decision: Decision) -> list[Markup]:
    return [
        _part("What is protected, from whom, and how strongly", decision.protected),
        _part("What is opened", decision.opened),
        _part("What is not protected", decision.not_protected),
        _part("What is assumed", decision.assumed),
        _part("What was not tested", decision.not_tested),
    ]


def _part(heading: str, lines: Sequence[str]) -> Markup:
    return tag("section", tag("h2", heading), bullets(lines))


def _signature(decision: Decision) -> Markup:
    """To be filled in by hand; the plan's hash says what was decided on."""
    fields = [tag("span", words, class_="blank") for words in ("Yes / No", "Name", "Date and signature")]
    about = f"Plan {decision.plan_hash}. Plumbob {decision.version}."
    return tag("footer", tag("p", *fields, class_="signature"), tag("p", about, class_="mono"))
