"""One attack's story, told with a plan's own numbers."""

from collections.abc import Iterator

from plumbob.checking.check import check, figures_of
from plumbob.checking.figures import Figures
from plumbob.checking.ledger import Account, Ledger, planned
from plumbob.checking.rules import rules_of
from plumbob.counting import counted, percent
from plumbob.plan import Plan, in_words
from plumbob.record import Finding

ACCOUNTS = {"labels": ("labels",), "scores": ("scores",), "features": ("scores", "features")}


def explain(plan: Plan, attack: str, runs: int = 1) -> list[str]:
    """What the attack does and, for each party that could make it, what it would have to work with."""
    story = rules_of(attack)[0].story
    figures, ledger = figures_of(plan, None, runs), planned(plan, runs=runs)
    lines = [f"{attack}: {story}", "", _setting(figures)]
    for finding in check(plan, runs=runs):
        if finding.attack == attack:
            lines += ["", *_explanation(finding, ledger, figures)]
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


def _explanation(finding: Finding, ledger: Ledger, figures: Figures) -> Iterator[str]:
    yield f"{finding.by} against {finding.against} ({finding.target}): {finding.verdict}. {finding.why}"
    for unknown in ACCOUNTS.get(finding.target, ()):
        for account in ledger.accounts:
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
