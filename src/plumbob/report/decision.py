"""The decision sheet: one side of paper for the person who says yes or no, in plain words, with room for a signature.

It is made from a run's record, or from a plan before any run. Each sentence is one that this plan makes true;
docs/privacy-officers.md explains them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plumbob.checking.judgement import HeadlineBlock, PlanJudgement
from plumbob.checking.words import joined_names, sentence, spoken_names
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.record import Finding, RunRecord
from plumbob.report.markup import NOTHING, asset, joined, shortened, tag
from plumbob.report.page import bullets, frame
from plumbob.report.run import judged, warnings
from plumbob.report.verdicts import class_of, remedy, unprevented

MOST_NAMES, MOST_LINES = 3, 3
LONGEST_NAME, LONGEST_TITLE, LONGEST_LIST, LONGEST_SENTENCE = 24, 80, 150, 240
CALCULATED = "Nothing, in this run: it was calculated in the clear, without the plan's encryption."
NOT_A_PROOF = "A verdict is about known attacks. It is not a proof that nothing leaks."


@dataclass(frozen=True)
class Decision:
    """The subject of the sheet and its sentences, part by part; without a record nothing has run yet."""

    plan: Plan
    rows: int
    """To train on; 0 where nobody knows them yet."""
    findings: Sequence[Finding]
    judgement: PlanJudgement
    plan_hash: str
    version: str
    record: RunRecord | None = None

    @property
    def title(self) -> str:
        return shortened(self.plan.title or f"A model trained with {self.plan.protocol}", LONGEST_TITLE)

    @property
    def about(self) -> str:
        """Sentences on who has what, and what they do with it."""
        plan, others = self.plan, self.plan.feature_parties
        spoken = spoken_names([party.name for party in plan.parties])
        label, *names = (shortened(spoken[party.name], LONGEST_NAME) for party in (plan.label_party, *others))
        more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
        columns = counted(plan.label_party.features, "column") if plan.label_party.features else "no columns"
        rows = f"{self.rows:,} rows" if self.rows else "rows"
        return sentence(
            f"{label} holds the label and {columns}; {joined_names([*names[:MOST_NAMES], *more])} "
            f"{'holds' if len(others) == 1 else 'hold'} {counted(sum(party.features for party in others), 'column')}. "
            f"Together they train one logistic regression on {rows} that all of them have. The protocol is "
            f"{plan.protocol}."
        )

    @property
    def basis(self) -> str:
        """A sentence on what the headlines rest on."""
        if not self.findings:
            return "Nothing was checked: this page cannot help to decide."
        if not self._is_attacked:
            return "Calculated from the plan alone; nobody has attacked a run of it."
        partial = " The test was partial, so it decides nothing." if self.judgement.left_out else ""
        attacks = len({finding.attack for finding in self.findings})
        return f"Found by {attacks} attacks on this run, scored against the truth.{partial}"

    @property
    def protected(self) -> list[str]:
        """Sentences on what is protected, from whom, and how strongly."""
        is_calculated = self.record is not None and self.record.is_calculated
        lines = [CALCULATED] if is_calculated else self.judgement.protected
        return [*lines, *([] if self.record is None else warnings(self.record)), *self.judgement.promise]

    @property
    def not_tested(self) -> list[str]:
        lines = ["Attacks that nobody has thought of.", "No outside experts have reviewed Plumbob."]
        if self.judgement.left_out:
            missing = f"Attacks that were not run: {shortened(', '.join(self.judgement.left_out), LONGEST_LIST)}."
        elif not self._is_attacked:
            missing = "No attack was run. `plumbob audit` attacks a run on data like yours."
        else:
            missing = "Other data: these attacks may reach more, or less, on other rows."
        if self.record is not None and not self.record.is_finished:
            return [f"The run did not finish: {shortened(self.record.status, LONGEST_LIST)}.", missing, *lines]
        return [missing, *lines]

    @property
    def _is_attacked(self) -> bool:
        return self.record is not None and bool(self.record.findings)


def decision_on_run(record: RunRecord, judgement: PlanJudgement | None = None) -> Decision:
    """The decision sheet after a run: what was found or, where nobody attacked it, what the plan lets expect."""
    findings = record.findings or record.predicted
    return Decision(
        record.parsed_plan,
        record.rows,
        findings,
        judgement or judged(record),
        record.plan_hash,
        record.plumbob,
        record,
    )


# The page.


def summary_of(record: RunRecord, judgement: PlanJudgement | None = None) -> str:
    """The decision sheet of a run, as a page."""
    return summary_page(decision_on_run(record, judgement))


def summary_page(decision: Decision) -> str:
    """The decision sheet as a page; it is signed by hand, and the plan's hash says what was decided on."""
    masthead = tag(
        "header",
        tag("p", "Plumbob decision sheet", class_="brand"),
        tag("h1", decision.title),
        tag("p", decision.about, class_="about"),
        class_="masthead",
    )
    parts = {
        "What is protected, from whom, and how strongly": decision.protected,
        "What is opened": decision.judgement.opened,
        "What is not protected": decision.judgement.limits,
        "What is assumed": decision.judgement.assumed,
        "What was not tested": decision.not_tested,
    }
    blanks = (tag("span", words, class_="blank") for words in ("Yes / No", "Name", "Date and signature"))
    main = tag(
        "main",
        tag("div", *(_headline(block) for block in decision.judgement.headlines.blocks), class_="grid"),
        tag("p", f"{decision.basis} {NOT_A_PROOF} {decision.judgement.headlines.legend}", class_="note"),
        tag("div", *(tag("section", tag("h2", name), bullets(lines)) for name, lines in parts.items()), class_="grid"),
        tag(
            "footer",
            tag("p", *blanks, class_="signature"),
            tag("p", f"Plan {decision.plan_hash}. Plumbob {decision.version}.", class_="mono"),
        ),
    )
    return frame(decision.title, joined(masthead, main), [asset("summary.css")])


def _headline(block: HeadlineBlock) -> Markup:
    """One of the two headlines, with as many lines as fit."""
    lines = [shortened(line.says, LONGEST_SENTENCE) for line in block.lines[:MOST_LINES]]
    more = len(block.lines) - MOST_LINES
    lines += [f"{more} more such sentences are in the report."] if more > 0 else []
    return tag(
        "section",
        tag("h2", block.heading),
        tag("ul", *(tag("li", line) for line in lines)) if lines else NOTHING,
        tag("p", shortened(block.nothing, LONGEST_SENTENCE)) if block.nothing else NOTHING,
        remedy(block),
        unprevented(block),
        tag("p", block.counts, class_="note"),
        class_=f"headline {class_of(block.verdict)}",
    )
