"""A plan's findings as a page of their own, to read, print or save before any run."""

from collections.abc import Sequence

from plumbob.checking.figures import Figures
from plumbob.checking.filing import judgement
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.decision import Decision
from plumbob.report.glossary import GLOSSARY
from plumbob.report.markup import joined, tag
from plumbob.report.page import PageTable, Section, bullets, render
from plumbob.report.run import plan_section
from plumbob.report.verdicts import badge, headline_blocks

BEFORE = "Calculated by `check` from the plan's numbers, before any run. No data were looked at."


def findings_page(plan: Plan, findings: Sequence[Finding], notes: Sequence[str], version: str) -> str:
    """A page with the verdict first, then each finding with its reason, and the whole plan."""
    decision = decision_on_plan(plan, findings, version)
    sections = [
        _verdict_section(decision),
        Section("Finding by finding", table=_findings_table(findings)),
        Section("What has no verdict", special=bullets(notes)),
        plan_section(plan, plan.to_toml()),
        Section("What is not protected", special=bullets(decision.judgement.limits)),
        Section("Words used here", special=tag("dl", *_words(), class_="words")),
    ]
    return render(plan.title or f"A plan with {plan.protocol}", sections, decision.about)


def decision_on_plan(plan: Plan, findings: Sequence[Finding], version: str) -> Decision:
    """The decision sheet of a plan that nobody has run yet."""
    figures = Figures.of(plan)
    rows = 0 if figures.is_assumed else figures.rows
    return Decision(plan, rows, findings, judgement(figures, findings), plan.hash(), version)


def _verdict_section(decision: Decision) -> Section:
    hashed = tag("p", "Plan ", tag("code", decision.plan_hash), f", Plumbob {decision.version}.", class_="note")
    blocks = headline_blocks(decision.judgement.headlines)
    return Section("What each party could work out", [BEFORE], special=joined(blocks, hashed))


def _findings_table(findings: Sequence[Finding]) -> PageTable:
    rows = [
        [one.attack, badge(one.verdict), f"{one.by}, {one.target} of {one.against}", _reason(one)] for one in findings
    ]
    return PageTable(["attack", "verdict", "by whom, about what", "why, and what stops it"], rows)


def _reason(finding: Finding) -> str:
    return f"{finding.why} To stop it: {finding.fix}" if finding.fix else finding.why


def _words() -> list[object]:
    return [joined(tag("dt", entry.word), tag("dd", entry.means)) for entry in GLOSSARY]
