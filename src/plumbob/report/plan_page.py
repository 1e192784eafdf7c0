"""A plan's findings as a page of their own, to read, print or save before any run."""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.findings import Findings
from plumbob.checking.judgement import Headlines
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.decision import decision_on_plan
from plumbob.report.run import PlanTables, plan_tables
from plumbob.report.tables import PageTable
from plumbob.report.templates import page_of
from plumbob.report.verdicts import JUDGED


@dataclass(frozen=True)
class PlanPage:
    """Everything that the page of a plan's findings shows: the verdict first, then each finding, and the whole plan."""

    title: str
    about: str
    headlines: Headlines
    plan_hash: str
    version: str
    findings: PageTable
    notes: Sequence[str]
    plan: PlanTables
    limits: Sequence[str]


def findings_page(plan: Plan, findings: Findings, version: str) -> str:
    """The page of a plan that nobody has run yet."""
    sheet = decision_on_plan(plan, findings, version)
    page = PlanPage(
        title=plan.title or f"A plan with {plan.protocol}",
        about=sheet.about,
        headlines=sheet.judgement.headlines,
        plan_hash=sheet.plan_hash,
        version=version,
        findings=_findings_table(findings),
        notes=findings.notes,
        plan=plan_tables(plan, plan.to_toml()),
        limits=sheet.judgement.limits,
    )
    return page_of("plan.html", page)


def _findings_table(findings: Sequence[Finding]) -> PageTable:
    rows = [
        [
            *(", ".join(finding.attacks or (finding.attack,)), finding.verdict),
            f"{finding.by}: {finding.can}" if finding.can else f"{finding.by}, {finding.target} of {finding.against}",
            f"{finding.why} To stop it: {finding.fix}" if finding.fix else finding.why,
        ]
        for finding in findings
        if finding.verdict in JUDGED
    ]
    return PageTable(["attack", "verdict", "by whom, about what", "why, and what stops it"], rows)
