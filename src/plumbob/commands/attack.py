"""`attack`: the red team on a recorded run. `audit`: a run made for it, and its findings kept in the record."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from plumbob.auditor import audit, theorems
from plumbob.auditor.advice import notes_for
from plumbob.auditor.agreement import Agreement, agreements
from plumbob.auditor.redteam import names, refuse_unknown
from plumbob.auditor.score import LEAKS
from plumbob.auditor.theorems import Promise
from plumbob.auditor.truth import Truth
from plumbob.commands import train
from plumbob.plan import Plan
from plumbob.record import Finding, RunRecord
from plumbob.report.beside import agreement_section, kept_sentence, theorems_section, theorems_table
from plumbob.report.page import Section, as_text
from plumbob.report.run import conditions_table, findings_table, reasons
from plumbob.simulation import Run

Tell = Callable[[str], None]


def told_apart(words: Sequence[str], only: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """(paths, names of attacks or None for all): of `--only a b`, the second name arrives among the words."""
    known = names() if only else []
    return [word for word in words if word not in known], [*only, *(word for word in words if word in known)] or None


def run(folder: Path, only: Sequence[str] | None, tell: Tell) -> dict[str, object]:
    """Findings about the run in this folder, which stays as it is."""
    findings = audit(folder, only, tell)
    notes = list(notes_for(Plan.from_toml(RunRecord.load(folder).plan)))
    listed = [asdict(finding) for finding in findings]
    return {"out": str(folder), "findings": listed, "notes": notes, "lines": [*lines_of(findings), *notes]}


def audit_plan(
    plan: Plan, inputs: train.Inputs, out: Path, means: train.Means, only: Sequence[str] | None, tell: Tell
) -> dict[str, object]:
    """Train, attack, score, report."""
    # Before hours of training, not after them.
    refuse_unknown(only)
    finished = train.carry_out(plan, inputs, out, means)
    findings = audit(finished, only, tell)
    record, beside = written_up(plan, finished, findings, out)
    result = {**train.shown(record, inputs, out), **beside.to_dict()}
    return {**result, "lines": [*lines_of(findings), *beside.lines(), *record.notes, *train.lines_of(record, out)]}


def written_up(plan: Plan, finished: Run, findings: list[Finding], out: Path) -> tuple[RunRecord, "Beside"]:
    """The record with its findings, and the page beside it."""
    beside = Beside.of(plan, Truth.of(finished), findings)
    notes = [*finished.record.notes, *notes_for(plan), *beside.disagreements]
    record = replace(finished.record, findings=findings, notes=notes)
    record.save(out)
    train.write_report(record, out, beside.sections())
    return record, beside


@dataclass(frozen=True)
class Beside:
    """What was said before the run beside what happened in it."""

    agreements: list[Agreement]
    planned: list[Promise]
    measured: list[Promise]

    @classmethod
    def of(cls, plan: Plan, truth: Truth, findings: Sequence[Finding]) -> "Beside":
        """`check` and the paper's theorems, asked about the same plan."""
        return cls(
            agreements(plan, truth.rows, findings), theorems.promises(plan, truth.rows), theorems.measured(truth)
        )

    @property
    def disagreements(self) -> list[str]:
        """One sentence each."""
        return [str(one) for one in self.agreements if not one.is_kept]

    def sections(self) -> list[Section]:
        """For the page."""
        found = [agreement_section(self.agreements)] if self.agreements else []
        return [*found, theorems_section(self.planned, self.measured)] if self.planned else found

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        promised = {"plan": [asdict(one) for one in self.planned], "run": [asdict(one) for one in self.measured]}
        return {"agreement": [asdict(one) for one in self.agreements], "theorems": promised}

    def lines(self) -> list[str]:
        """How many verdicts were predicted, and the theorems; the disagreements are among the notes."""
        lines = [kept_sentence(self.agreements), ""] if self.agreements else []
        if not self.planned:
            return lines
        return [*lines, "the paper's theorems:", *as_text(theorems_table(self.planned, self.measured)), ""]


def lines_of(findings: Sequence[Finding]) -> list[str]:
    """Findings for people: the table, why, and theory beside practice."""
    if not findings:
        return ["no attack was run"]
    conditions = conditions_table(findings)
    theory = ["", "theory beside practice:", *as_text(conditions)] if conditions.rows else []
    return [*as_text(findings_table(findings)), "", *reasons(findings), *theory, ""]


def leaks(result: dict[str, object]) -> bool:
    """Whether something in a verb's result is above the plan's tolerance."""
    findings = result["findings"]
    return isinstance(findings, list) and any(finding["verdict"] == LEAKS for finding in findings)
