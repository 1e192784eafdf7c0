"""Several runs of one task side by side: the demo's page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.filing import figures_of_run
from plumbob.lab.audit.defences import LABELS, VALUES, DefenceOutcome
from plumbob.lab.reports.defences_page import badged_table, leakage, tradeoff_charts
from plumbob.record import AttackCurve, LedgerCurve, RunRecord
from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.figures import curve_series, references
from plumbob.report.markup import tag
from plumbob.report.page import PageTable, Section, bullets, render
from plumbob.report.run import (
    LEDGER,
    findings_section,
    headlines_of,
    plan_section,
    quality_sections,
    receipt_lines,
    warnings,
)
from plumbob.report.scale import shown
from plumbob.report.verdicts import badge

NO_LABELS = "No known attack is shown to tell anybody a label."


@dataclass(frozen=True)
class ComparedRun:
    """One run with its name, what is special about it, and how it stands in the comparison."""

    name: str
    story: str
    record: RunRecord
    outcome: DefenceOutcome


def page_of(title: str, about: str, sentences: Sequence[str], runs: Sequence[ComparedRun]) -> str:
    """All of them on one page: the cards first, then what they rest on."""
    return render(title, list(sections_of(sentences, runs)), about)


def sections_of(sentences: Sequence[str], runs: Sequence[ComparedRun]) -> Iterator[Section]:
    """From what decides to what proves it."""
    first = runs[0].record
    warned = list(dict.fromkeys(line for run in runs for line in warnings(run.record)))
    cards = tag("ul", *(_card(run) for run in runs), class_="ways")
    yield Section("The verdict", warned, special=cards, charts=list(tradeoff_charts([run.outcome for run in runs])))
    yield Section("Who could learn what", [LEDGER], charts=list(_ledger_chart(runs)))
    table = badged_table([run.outcome for run in runs])
    yield Section("What the attacks reached", table=table, charts=list(_epochs_chart(runs)))
    for run in runs:
        yield findings_section(run.record.findings, f"Findings: {run.name}")
    yield from quality_sections(first)
    yield Section("How it was done", sentences)
    yield plan_section(first.parsed_plan, first.plan, first.rows)
    lines = [[f"{run.name}, {what}", value] for run in runs for what, value in receipt_lines(run.record)]
    yield Section("The receipt", table=PageTable(["what", "value"], lines))
    limits = dict.fromkeys(line for run in runs for line in said(SaidWhere.LIMITS, figures_of_run(run.record)))
    yield Section("What is not protected", special=bullets(limits))


def _card(run: ComparedRun) -> Markup:
    """A run's verdict about labels in one sentence, and its numbers."""
    honest = headlines_of(run.record).honest
    nothing = NO_LABELS if honest.lines else honest.nothing
    says = next((line.says for line in honest.lines if line.target == "labels"), nothing)
    verdict = run.outcome.verdicts[LABELS]
    numbers = (
        ("AUC", "-" if run.outcome.auc is None else f"{run.outcome.auc:.3f}"),
        ("label leakage", shown(leakage(run.outcome, LABELS), "percent")),
        ("columns", run.outcome.verdicts[VALUES]),
        ("time", shown(run.outcome.seconds, "seconds")),
        ("traffic", shown(run.outcome.bytes, "bytes")),
    )
    listed = (part for what, value in numbers for part in (tag("dt", what), tag("dd", value)))
    return tag(
        "li",
        tag("h3", run.name),
        badge(verdict),
        tag("p", tag("strong", says)),
        tag("p", run.story[:1].upper(), run.story[1:], class_="story"),
        tag("dl", *listed),
        class_=f"way {verdict.replace(' ', '-')}",
    )


def _ledger_chart(runs: Sequence[ComparedRun]) -> Iterator[Chart]:
    """Independent equations about labels in each run, against the labels."""
    curves = [(run.name, one) for run in runs for one in run.record.ledger if one.unknown == "labels"]
    if not curves:
        return
    longest = max((one for _, one in curves), key=lambda one: len(one.steps))
    unknown = Series("labels to find out", [longest.unknowns] * len(longest.steps), longest.steps, is_reference=True)
    yield Chart(
        "Independent equations about labels, step by step",
        " ".join(_equations(name, one) for name, one in curves),
        Axis("step"),
        Axis("independent equations so far", low=0.0),
        [*(Series(name, one.independent, one.steps) for name, one in curves), unknown],
    )


def _equations(name: str, one: LedgerCurve) -> str:
    return f"{name[:1].upper()}{name[1:]}: {one.independent[-1]:,} for {one.unknowns:,} labels."


def _epochs_chart(runs: Sequence[ComparedRun]) -> Iterator[Chart]:
    """The best attack on labels in each run, by epoch."""
    best = [(run.name, one) for run in runs if (one := _best_curve(run.record.curves)) is not None]
    if not best or len(best[0][1].epochs) < 2:
        return
    attacks = ", ".join(f"{one.attack} against {name}" for name, one in best)
    yield Chart(
        "The best attack on labels, had training ended earlier",
        f"{attacks}: each on what was seen up to an epoch's end, "
        "with 95 % intervals. Dashed, what needs no attack. A way that is missing gave attacks nothing to work on.",
        Axis("epoch"),
        Axis("labels recovered correctly", low=0.0, high=1.0, unit="percent"),
        [*(curve_series(one, name) for name, one in best), *references([one for _, one in best])],
    )


def _best_curve(curves: Sequence[AttackCurve]) -> AttackCurve | None:
    labels = [one for one in curves if one.target == "labels"]
    return max(labels, key=lambda one: one.rates[-1], default=None)
