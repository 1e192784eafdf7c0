"""The page for the person who says yes or no: one side of paper, with room for a signature."""

from collections.abc import Sequence

from markupsafe import Markup

from plumbob.checking.verdict_words import MEANINGS
from plumbob.record import RunRecord
from plumbob.report.decision import Decision, decision_on_run
from plumbob.report.markup import NOTHING, joined, tag
from plumbob.report.page import asset, bullets, frame
from plumbob.report.verdicts import badge, class_of

NOT_A_PROOF = "A verdict is about known attacks. It is not a proof that nothing leaks."


def summary_of(record: RunRecord) -> str:
    """The decision sheet of a run, as a page."""
    return summary_page(decision_on_run(record))


def summary_page(decision: Decision) -> str:
    """The decision sheet as a page of its own."""
    masthead = tag(
        "header",
        tag("p", "Plumbob, for whoever says yes or no", class_="brand"),
        tag("h1", decision.title),
        tag("p", decision.about, class_="about"),
        class_="masthead",
    )
    main = tag("main", _headline(decision), tag("div", *_sections(decision), class_="grid"), _signature(decision))
    return frame(decision.title, joined(masthead, main), [asset("summary.css")])


def _headline(decision: Decision) -> Markup:
    lines = tag("ul", *(tag("li", line) for line in decision.worst)) if decision.worst else NOTHING
    return tag(
        "section",
        tag("h2", decision.headline),
        lines,
        tag("p", f"{decision.basis} {NOT_A_PROOF}", class_="note"),
        class_=f"headline {class_of(decision.verdict)}",
    )


def _sections(decision: Decision) -> list[Markup]:
    return [
        _part("What is protected, from whom, and how strongly", decision.protected),
        _counts(decision),
        _part("What is opened", decision.opened),
        _part("What is not protected", decision.not_protected),
        _part("What is assumed", decision.assumed),
        _part("What was not tested", decision.not_tested),
    ]


def _part(heading: str, lines: Sequence[str]) -> Markup:
    return tag("section", tag("h2", heading), bullets(lines))


def _counts(decision: Decision) -> Markup:
    rows = (
        tag("tr", tag("th", badge(verdict), scope="row"), tag("td", count), tag("td", MEANINGS[verdict]))
        for verdict, count in decision.counts.items()
    )
    head = tag("thead", tag("tr", *(tag("th", word, scope="col") for word in ("verdict", "findings", "meaning"))))
    return tag("section", tag("h2", "The verdicts"), tag("table", head, tag("tbody", *rows), class_="counts"))


def _signature(decision: Decision) -> Markup:
    """To be filled in by hand; the plan's hash says what was decided on."""
    fields = [tag("span", words, class_="blank") for words in ("Yes / No", "Name", "Date and signature")]
    about = f"Plan {decision.plan_hash}. Plumbob {decision.version}."
    return tag("footer", tag("p", *fields, class_="signature"), tag("p", about, class_="mono"))
