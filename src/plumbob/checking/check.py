"""`check`: says what each party will be able to work out, from the plan's numbers alone.

For every attack and every party that could make it: a verdict, the numbers behind it, where they come from, and what to
type against it. Nothing here is a proof that a plan is harmless: what is not shown to leak is just that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbob.checking.advice import as_flags, changes_for
from plumbob.checking.coalitions import Coalition, coalitions
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import AtHome, Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.ledger import Account, gains, planned
from plumbob.checking.row_notes import noise_notes
from plumbob.checking.rules import RULES, further, rules_of
from plumbob.checking.rules.rule import AttackRule
from plumbob.checking.rules.rule import finding as finding_of
from plumbob.checking.words import DEGRADES, LEAKS
from plumbob.counting import counted, percent
from plumbob.errors import PlanError
from plumbob.plan import Plan, in_words
from plumbob.plan.encodings import few_rows
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.record import Finding, RunRecord

Checkable = Plan | RunRecord | str | Path | Mapping[str, Any] | Any
"""A plan, its file, its text, a dictionary of the same shape, a run's record, or a fitted model."""


def check(
    plan: Checkable,
    rows: int | None = None,
    runs: int = 1,
    home: AtHome | None = None,
    predicted: int | None = None,
    positives: float | None = None,
) -> Findings:
    """Findings about a plan, or about whatever stands for one; the worst first.

    `rows` are the aligned rows, if the plan does not say; several `runs` on the same rows add up; `home` is what the
    party that asks knows from its own table; `predicted` are rows to be scored later, where they are fewer than the
    plan allows; `positives` is the share of labels that are positive. Rows held out for testing are scored, too.
    PlanError where `shares` cannot run the plan.
    """
    figures = figures_of(plan, rows, runs, home, predicted, positives)
    refuse_impossible(figures.plan, figures.plan.rows)
    return worst_first(all_findings(figures), figures)


def refuse_impossible(plan: Plan, rows: int) -> None:
    """Raise PlanError if `shares` cannot run this plan with this many aligned rows; with 0, with any number of them."""
    if not plan.kind.has_lattices:
        return
    held_out = plan.held_out(rows)
    shape = LatticeShape(plan, max(rows - held_out, 1))
    shape.prove()
    shape.refuse_scores(held_out)


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
    positives: float | None = None,
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
    if positives is not None and not 0.0 <= positives <= 1.0:
        raise PlanError(f"expected a share of positives from 0 to 1, got {positives:g}")
    # A plan must hold for the rows that it is asked about: a batch may be longer than all of them.
    judged = plan if rows is None else plan.replace(rows=rows).on(rows - plan.held_out(rows))
    return Figures.of(judged, rows, runs, home, predicted, positives)


def finished(plan: Plan, finding: Finding) -> Finding:
    """The finding with what helps against it; for a coalition too, that is what the whole plan allows."""
    if finding.verdict not in (LEAKS, DEGRADES):
        return finding
    changes = finding.changes or changes_for(plan, finding.attack)
    return replace(finding, changes=changes, fix=as_flags(changes, plan))


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
    merged = replace(figures, plan=coalition.plan, home=None, coalition=coalition)
    joint = merged.plan.party(coalition.joint)
    for rule in RULES:
        if rule.by == joint.role:
            for finding in _findings_of(merged, rule, joint.name):
                yield replace(finding, by=coalition.name)


def _findings_of(figures: Figures, rule: AttackRule, by: str) -> Iterator[Finding]:
    """One finding for each party that the attack is about."""
    judgement = rule.unless(figures, by) or rule.judge(figures, by)
    if judgement is None:
        return
    label_party = figures.plan.label_party.name
    peers = [peer.name for peer in figures.peers(by)] or [label_party]
    for against in [label_party] if rule.target == "labels" else peers:
        yield finding_of(rule, by, against, judgement.verdict, judgement.why)


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
    yield from gains(figures)
    yield ("No verdict is a proof of safety: it says what these attacks are shown to reach, not what others might.")


# One attack's story, told with a plan's own numbers.

ACCOUNTS = {"labels": ("labels",), "scores": ("scores",), "features": ("scores", "features")}


def explain(plan: Plan, attack: str, runs: int = 1) -> list[str]:
    """What the attack does and, for each party that could make it, what it would have to work with."""
    story = rules_of(attack)[0].story
    figures, accounts = figures_of(plan, None, runs), planned(plan, runs=runs).accounts
    lines = [f"{attack}: {story}", "", _setting(figures)]
    for finding in check(plan, runs=runs):
        if finding.attack == attack:
            lines += ["", *_explanation(finding, accounts, figures)]
    return lines


def _setting(figures: Figures) -> str:
    plan = figures.plan
    parties = ", ".join(f"{party.name} {counted(figures.columns(party.name), 'column')}" for party in plan.learners)
    rows = f"{figures.rows:,} training rows" + (" (assumed)" if figures.is_assumed else "")
    steps = f"{counted(figures.steps, 'step')} in {counted(figures.passes, 'epoch')}"
    batches = f"{plan.batches} batches of {counted(figures.batch, 'row')}, {steps}"
    if plan.batches == "full":
        batches = f"full batches, {in_words(figures.levels)}"
    runs = f", {figures.runs} runs" if figures.runs > 1 else ""
    noise = {party.name: figures.noise_toward(party.name) for party in plan.learners}
    on = ", ".join(f"{value:.3g} toward {name}" for name, value in noise.items() if value)
    return f"This plan: {plan.protocol}, {rows}, {batches}{runs}; {parties}; noise {on or 'none'}."


def _explanation(finding: Finding, accounts: Sequence[Account], figures: Figures) -> Iterator[str]:
    yield f"{finding.by} against {finding.against} ({finding.target}): {finding.verdict}. {finding.why}"
    for unknown in ACCOUNTS.get(finding.target, ()):
        for account in accounts:
            if (account.party, account.unknown) == (finding.by, unknown):
                yield f"  ledger: {_equation_count(account, figures)}"
    yield f"  from: {finding.reference}"
    if finding.fix:
        yield f"  to stop it: {finding.fix}"


def _equation_count(account: Account, figures: Figures) -> str:
    last = int(account.totals[-1]) if len(account.totals) else 0
    text = (
        f"{account.equations_in_all:,} equations about {account.unknowns:,} {account.unknown}, of which at most "
        f"{last:,} are independent ({percent(account.known)} of the unknowns)"
    )
    step = account.first_step_with(1.0)
    per_epoch = max(1, figures.steps // figures.passes)
    return text if step is None else f"{text}; enough for all after step {step}, epoch {-(-step // per_epoch)}"
