"""`audit`: runs the red team on a recorded run, or makes a run for it, and keeps its findings in the record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from plumbob.caller import Caller, Result
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.filing import LESS, MORE, NOT_PREDICTED, Agreement, agreements, figures_of_run, with_findings
from plumbob.checking.findings import Findings
from plumbob.checking.findings import lines_of as findings_lines
from plumbob.checking.headlines import headlines
from plumbob.counting import counted
from plumbob.lab.audit import audit
from plumbob.lab.audit.again import budget_note
from plumbob.lab.audit.redteam import cut_short, cut_short_sentence, names, not_run, refuse_unknown
from plumbob.lab.audit.truth import Truth
from plumbob.lab.commands import TrainingHere, train
from plumbob.record import Finding, RunRecord
from plumbob.report import results
from plumbob.report.attacked import agreement_sentence, conditions_table
from plumbob.report.run import partial_sentence
from plumbob.report.tables import as_text
from plumbob.run_folder import RunFolder

BESIDE_CHECK = {MORE: "worse", LESS: "milder", NOT_PREDICTED: "not predicted"}
"""What an audit's verdict is beside the one that `check` announced for it."""


def split_words(words: Sequence[str], only: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """(paths, names of attacks or None for all): of `--only a b`, the second name arrives among the words."""
    known = names() if only else []
    return [word for word in words if word not in known], [*only, *(word for word in words if word in known)] or None


@dataclass(frozen=True)
class Attacks:
    """The attacks that somebody wants, and how much to show of what they find."""

    only: Sequence[str] | None
    """Their names; None for all."""
    predicted: int | None
    """Rows to be scored after training; None for as many as the plan allows."""
    verbose: bool


def audit_run(asked: Attacks, folder: Path, caller: Caller) -> Result:
    """Attack the run in this folder; its record and report then hold the findings."""
    findings = audit(folder, asked.only, caller.at, asked.predicted)
    truth, old = Truth.of(folder), RunFolder(folder).record()
    record = file_findings(old, truth, _beside(old.findings, findings), folder)
    missing = _missing(asked, truth, findings)
    return {
        "out": str(folder),
        "findings": [asdict(finding) for finding in findings],
        "headlines": findings.headlines.to_dict(),
        **missing,
        "notes": record.notes,
        "lines": [
            *lines_of(findings, missing, asked.verbose),
            *(record.notes if asked.verbose else [_more(findings)]),
        ],
    }


def _beside(kept: Sequence[Finding], new: Sequence[Finding]) -> list[Finding]:
    """The new findings, and kept ones of attacks that were not asked for now: what leaked before still leaks."""
    asked = {finding.attack for finding in new}
    return [*(finding for finding in kept if finding.attack not in asked), *new]


def audit_plan(asked: Attacks, training: TrainingHere, caller: Caller) -> Result:
    """Train, attack, score, report."""
    plan, drafted = train.plan_for(training)
    # Before hours of training, not after them.
    refuse_unknown(asked.only)
    finished = train.carry_out(plan, drafted, training, caller.quiet)
    findings = audit(finished, asked.only, lambda words: caller.at(f"{plan.protocol}: {words}"), asked.predicted)
    truth = Truth.of(finished)
    record = file_findings(finished.record, truth, findings, training.out)
    compared, missing = agreements(record.predicted, findings), _missing(asked, truth, findings)
    lines = lines_of(findings, missing, asked.verbose)
    if asked.verbose:
        lines += [
            *([agreement_sentence(compared), ""] if compared else []),
            *record.notes,
            *results.lines_of(record, training.out),
        ]
    else:
        lines += [*results.short_lines(record, training.out), _more(findings, compared)]
    return {
        **train.result_of(record, training),
        "headlines": findings.headlines.to_dict(),
        "agreement": [asdict(one) for one in compared],
        **missing,
        "lines": lines,
    }


def _missing(asked: Attacks, truth: Truth, findings: Sequence[Finding]) -> dict[str, list[str]]:
    """The attacks that were left out, and those that had too little time: with either, an audit decides nothing."""
    return {
        "attacks_not_run": not_run(asked.only, truth.plan),
        "attacks_cut_short": cut_short(truth.plan, truth.rows, findings),
    }


def file_findings(record: RunRecord, truth: Truth, findings: Sequence[Finding], folder: Path) -> RunRecord:
    """Save the record with its findings, and make its page."""
    filed = with_findings(record, findings)
    disagreements = [str(one) for one in agreements(filed.predicted, findings) if not one.is_kept]
    # Once each, however often a run is attacked.
    notes = [*said(SaidWhere.NOTES, figures_of_run(filed)), budget_note(truth.plan, truth.rows)]
    all_notes = dict.fromkeys([*filed.notes, *notes, *disagreements])
    filed = replace(filed, notes=list(all_notes))
    RunFolder(folder).keep(filed)
    results.write_report(filed, folder)
    return filed


def lines_of(findings: Findings, missing: Mapping[str, Sequence[str]], verbose: bool) -> list[str]:
    """Findings for people: both headlines; if verbose, the table, reasons, and theory beside practice."""
    left_out, short = missing["attacks_not_run"], missing["attacks_cut_short"]
    partial = [
        *([partial_sentence(left_out)] if left_out else []),
        *([cut_short_sentence(short)] if short else []),
    ]
    if not findings:
        return ["no attack was run: in this run nobody sees what the attacks named by --only read", *partial]
    blocks = headlines(findings, findings.figures, is_partial=bool(left_out))
    if not verbose:
        return [*blocks.lines(), *partial]
    conditions = conditions_table(findings)
    theory = ["", "theory beside practice:", *as_text(conditions)] if conditions.rows else []
    return [*findings_lines(findings, blocks), *theory, "", *partial]


def _more(findings: Findings, compared: Sequence[Agreement] = ()) -> str:
    """What shows the rest, and how many findings are not what the plan alone says."""
    if not findings:
        return "to run every attack, leave --only out"
    number = Counter(one.word for one in compared)
    counts = ", ".join(f"{number[word]} {beside}" for word, beside in BESIDE_CHECK.items() if number[word])
    shown = f"--verbose shows the {counted(len(findings), 'finding')} in full."
    return f"{shown} Verdicts beside those of check: {counts}." if counts else shown
