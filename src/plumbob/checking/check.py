"""`check`: says what each party will be able to work out, from the plan's numbers alone.

For every attack and every party that could make it: a verdict, the numbers behind it, where they come from, and what to
type against it. Nothing here is a proof that a plan is harmless: what is not shown to leak is just that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbob.checking.advice import fix_for
from plumbob.checking.coalitions import JOINT, Coalition, coalitions
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import AtHome, Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.ledger import gains
from plumbob.checking.names import sentence
from plumbob.checking.row_notes import noise_notes
from plumbob.checking.rules import RULES, further
from plumbob.checking.rules.rule import AttackRule
from plumbob.checking.rules.rule import finding as finding_of
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.errors import PlanError
from plumbob.plan import Plan
from plumbob.plan.encodings import few_rows
from plumbob.record import Finding, RunRecord

Checkable = Plan | RunRecord | str | Path | Mapping[str, Any] | Any
"""A plan, its file, its text, a dictionary of the same shape, a run's record, or a fitted model."""


def check(
    plan: Checkable,
    rows: int | None = None,
    runs: int = 1,
    home: AtHome | None = None,
    predicted: int | None = None,
) -> Findings:
    """Findings about a plan, or about whatever stands for one; the worst first.

    `rows` are the aligned rows, if the plan does not say; several `runs` on the same rows add up; `home` is what the
    party that asks knows from its own table; `predicted` are rows to be scored later, where they are fewer than the
    plan allows. Rows held out for testing are scored, too.
    """
    figures = figures_of(plan, rows, runs, home, predicted)
    return worst_first(all_findings(figures), figures)


def all_findings(figures: Figures) -> Iterator[Finding]:
    """All findings, one for each attack, attacker, victim and target: `check` shows them, `audit` measures them."""
    for one in _findings(figures):
        yield finished(figures.plan, one)


def figures_of(
    plan: Checkable,
    rows: int | None = None,
    runs: int = 1,
    home: AtHome | None = None,
    predicted: int | None = None,
) -> Figures:
    """The figures of a plan, or of whatever stands for one, with its rows."""
    plan = getattr(plan, "record_", plan)
    if isinstance(plan, RunRecord):
        rows = rows or plan.rows + plan.test_rows
        plan = plan.parsed_plan
    elif isinstance(plan, str) and "\n" in plan:
        plan = Plan.from_toml(plan)
    elif isinstance(plan, str | Path):
        plan = Plan.load(plan)
    elif isinstance(plan, Mapping):
        plan = Plan.from_dict(plan)
    if not isinstance(plan, Plan):
        raise PlanError(
            f"expected a plan, its file or text, a dictionary, a run's record or a fitted model, got "
            f"{type(plan).__name__}"
        )
    if runs < 1 or (rows is not None and rows < 1):
        raise PlanError(f"expected at least one run and one row, got {runs} and {rows}")
    # A plan must hold for the rows that it is asked about: a batch may be longer than all of them.
    judged = plan if rows is None else plan.replace(rows=rows, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm)
    return Figures.of(judged, rows, runs, home, predicted)


def finished(plan: Plan, finding: Finding) -> Finding:
    """The finding with what helps against it."""
    if finding.verdict not in (LEAKS, DEGRADES):
        return finding
    return replace(finding, fix=finding.fix or fix_for(plan, finding.attack, finding.target))


def _findings(figures: Figures) -> Iterator[Finding]:
    for rule in RULES:
        for party in figures.plan.learners:
            if party.role == rule.by:
                yield from _findings_of(figures, rule, party.name)
    yield from further(figures)
    for coalition in coalitions(figures.plan):
        yield from _coalition_findings(figures, coalition)


def _coalition_findings(figures: Figures, coalition: Coalition) -> Iterator[Finding]:
    """Findings by the same rules for all parties but one, acting as one."""
    merged = replace(figures, plan=coalition.plan, home=None)
    joint = merged.plan.party(JOINT)
    for rule in RULES:
        if rule.by == joint.role:
            for finding in _findings_of(merged, rule, joint.name):
                why = coalition.renamed(finding.why)
                # What helps two parties may not be there for three: the advice is that for the whole plan.
                fix = fix_for(figures.plan, rule.name, rule.target) if finding.fix else ""
                yield replace(finding, by=coalition.name, against=coalition.victim, why=why, fix=fix)


def _findings_of(figures: Figures, rule: AttackRule, by: str) -> Iterator[Finding]:
    """One finding for each party that the attack is about."""
    judgement = rule.judge(figures, by)
    if judgement is None:
        return
    is_open = judgement.verdict in (LEAKS, DEGRADES)
    fix = fix_for(figures.plan, rule.name, rule.target) if is_open else ""
    label_party = figures.plan.label_party.name
    peers = [peer.name for peer in figures.peers(by)] or [label_party]
    for against in [label_party] if rule.target == "labels" else peers:
        yield finding_of(rule, by, against, judgement.verdict, judgement.why, fix)


def notes(plan: Plan, rows: int | None = None, runs: int = 1) -> list[str]:
    """Notes that have no verdict: what the finished model shows, what is assumed, and what else would tell."""
    return list(_notes(figures_of(plan, rows, runs)))


def prices_of_noise(plan: Plan, rows: int | None = None) -> list[str]:
    """What the plan's noise promises and is expected to cost."""
    return list(noise_notes(figures_of(plan, rows)))


def assumptions(plan: Plan, rows: int | None = None) -> list[str]:
    """Notes beside the findings in any case: what they take for granted, and a warning if rows are few."""
    return list(_assumptions(figures_of(plan, rows)))


def _assumptions(figures: Figures) -> Iterator[str]:
    if not figures.is_assumed and (few := few_rows(figures.rows, figures.plan.columns)):
        yield few[0].upper() + few[1:] + "."
    if figures.is_assumed:
        yield f"The plan does not say how many rows there are: {figures.rows:,} are assumed; --rows says how many."
    if figures.plan.seed:
        yield (
            "The plan fixes the seed: batches and starting weights are known to everybody before the run. "
            "Use seed = 0 for anything but an experiment."
        )


def _notes(figures: Figures) -> Iterator[str]:
    yield from said(SaidWhere.NOTES, figures)
    yield from noise_notes(figures)
    if figures.plan.kind.has_lattices:
        yield (
            "Lattice products rest on RLWE with ternary secrets: 128 bits by the table of Bossuat et al. (2024). Every "
            "key is tested before use, because an untested one would show the other party's rows; replies hide behind "
            "fresh randomness, because added noise would not hide them from a chosen request."
        )
    yield from _assumptions(figures)
    if figures.runs > 1:
        yield f"{figures.runs} runs on the same rows are counted together: equations and visits add up."
    yield (
        "Publishing a loss or an AUC adds one equation about all labels, and early stopping reveals "
        "something too; no finding covers either."
    )
    for gain in gains(figures):
        yield sentence(f"{figures.spoken(gain.party)}, {gain.source}: {gain.says}.")
    yield ("No verdict is a proof of safety: it says what these attacks are shown to reach, not what others might.")
