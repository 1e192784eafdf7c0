"""`plan new`, `plan show`, `check` and `report`: verbs that need neither a party's folder nor the lab."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plumbob.caller import Outcome, Result
from plumbob.cli.options import (
    HOME,
    JUDGED,
    FlagGroup,
    HomeFolder,
    PlanFile,
    PlanKeys,
    RunFolderArgument,
    ShowsAll,
    Strict,
    command,
    group_of,
    plan_from,
)
from plumbob.errors import DataError, PlanError
from plumbob.plan import Plan

if TYPE_CHECKING:
    from plumbob.checking.findings import Findings
    from plumbob.jobs import Job, System

PLAN_AND_CHECK, LOOK_AT_RUNS = "Plan and check", "Look at runs"
FEATURES = (11, 12)
"""The paper's columns, for a plan that nobody said more about."""

group = group_of("", "")
plans = group_of("plan", "Write a plan, or show it with its hash.")
group.add_typer(plans, rich_help_panel=PLAN_AND_CHECK)


@dataclass(frozen=True)
class JobFlags(FlagGroup):
    """A job of another system that was named instead of a plan, if one was."""

    from_fate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="FATE job to read instead of a plan: conf or DAG.")
    ] = None
    from_secretflow: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="SecretFlow job to read instead of a plan: graph, Kuscia job or node."),
    ] = None
    job_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Version of FATE or SecretFlow, where the job does not say it."),
    ] = None

    def job(self, plan: Path | None = None) -> "Job | None":
        """The job that the file trains; PlanError where two of a plan and jobs were named."""
        named: dict[System, Path | None] = {"FATE": self.from_fate, "SecretFlow": self.from_secretflow}
        if sum(file is not None for file in (plan, *named.values())) > 1:
            raise PlanError("expected one of a plan, --from-fate and --from-secretflow, got several")
        for system, file in named.items():
            if file is not None:
                from plumbob.jobs import read_job  # Late: most plans come from no other system.

                return read_job(file, system, self.job_version)
        return None


@command(plans, "Verbs", "plan new --names bank,processor --features 5,18 --out joint.toml", name="new")
def plan_new(
    keys: PlanKeys,
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
    names: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The parties' names, separated by commas: bank,processor.")
    ] = None,
    *,
    foreign: JobFlags,
) -> Outcome:
    """Write a plan with every default and a comment beside each key.

    Flags change its keys. `plumbob party propose` fits a plan to everybody's tables.
    """
    from plumbob.checking.check import refuse_impossible

    plan, differences = _draft(keys, foreign.job())
    if names is not None:
        plan = _renamed(plan, names.split(","))
    refuse_impossible(plan, plan.rows)
    fields = {**_shown(plan), **({} if differences is None else {"differences": differences})}
    listed = [f"# differs from the job: {line}" for line in differences or ()]
    if out is None:
        return Outcome({**fields, "lines": [*plan.to_toml().splitlines(), *listed]})
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it or choose another name")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(), encoding="utf-8")
    return Outcome({**fields, "out": str(out), "lines": [f"{out}  {plan.hash()}", *listed]})


def _draft(keys: Mapping[str, Any], job: "Job | None") -> tuple[Plan, list[str] | None]:
    """A plan, and in what it differs from the job that it was made from, if there is one."""
    if job is None:
        return plan_from(None, {"features": FEATURES, **keys}), None
    from plumbob.jobs import plan_to_move

    moved = plan_to_move(job, dict(keys))
    return moved.plan, list(moved.differences)


def _renamed(plan: Plan, names: list[str]) -> Plan:
    if len(names) != len(plan.parties):
        raise PlanError(f"--names: expected {len(plan.parties)} names, one a party, got {len(names)}")
    parties = tuple(replace(party, name=name) for party, name in zip(plan.parties, names, strict=True))
    return plan.replace(parties=parties)


@command(plans, "Verbs", "plan show joint.toml", name="show")
def plan_show(plan: PlanFile) -> Outcome:
    """Print the whole plan as the parties will agree on it, with its hash."""
    read = Plan.load(plan)
    return Outcome({**_shown(read), "lines": [*read.to_toml().splitlines(), f"# hash: {read.hash()}"]})


def _shown(plan: Plan) -> Result:
    return {"plan": plan.to_dict(), "hash": plan.hash()}


@command(group, PLAN_AND_CHECK, "check joint.toml --estimate", codes=JUDGED)
def check(
    keys: PlanKeys,
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Also estimate minutes, traffic and memory on this machine.")
    ] = False,
    positives: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of rows with label 1, from 0 to 1 (default: unknown).")
    ] = None,
    *,
    foreign: JobFlags,
    strict: Strict = False,
    verbose: ShowsAll = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Say before training what each party will be able to work out."""
    from plumbob.checking.check import check as findings_of
    from plumbob.checking.findings import lines_of

    judged, job = _plan_and_job(plan, keys, foreign)
    plan_hash = judged.hash()
    rows, whence = rows_to_judge(plan, judged, home)
    assumed = [f"The plan does not say how many rows there are; {whence}."] if whence else []
    judged = judged.replace(rows=rows)
    findings = findings_of(judged, positives=positives) if job is None else _judge(job, judged, positives)
    remarks = () if job is None else job.remarks
    notes = [*remarks, *assumed, *findings.notes]
    fields: Result = {
        "plan_hash": plan_hash,
        "rows": judged.rows,
        "findings": [asdict(finding) for finding in findings],
        "headlines": findings.headlines.to_dict(),
        "notes": notes,
        **({} if job is None else job.as_json()),
    }
    if verbose:
        found, shown, more = lines_of(findings), notes, []
    else:
        shown = [*remarks, *assumed, *findings.short_notes]
        found, more = findings.headlines.lines(), [findings.more]
    unseen = [] if job is None else [f"no all-clear: {reason}" for reason in job.no_all_clear]
    lines = [*_lines_of_job(job), *found, "", *unseen, *(f"note: {note}" for note in shown), *more]
    if estimate:
        from plumbob.party.estimate import estimate as estimated
        from plumbob.party.estimate import estimate_lines

        cost = estimated(judged)
        fields["estimate"] = asdict(cost)
        lines = [*lines, "", *estimate_lines(cost, judged)]
    return Outcome({**fields, "lines": lines}, code_of(fields, strict))


def code_of(fields: Result, is_strict: bool) -> int:
    """3: something leaks even if everyone keeps to the protocol. 4: no all-clear.

    That is so where something leaks if someone cheats, attacks or parts of a job are unseen or, if strict, something
    degrades.
    """
    from plumbob.checking.rules import rule_of
    from plumbob.checking.words import DEGRADES, HONEST, LEAKS

    if any((found["verdict"], found["assumes"]) == (LEAKS, HONEST) for found in fields["findings"]):
        return 3
    is_partial = any(fields.get(name) for name in ("attacks_not_run", "attacks_cut_short", "no_all_clear"))
    open_ones = {LEAKS, DEGRADES} if is_strict else {LEAKS}
    # What no plan prevents would make every plan fail, and so tell none from another.
    decided = {found["verdict"] for found in fields["findings"] if rule_of(found["attack"]).is_preventable}
    return 4 if is_partial or decided & open_ones else 0


def _plan_and_job(file: Path | None, keys: Mapping[str, Any], foreign: JobFlags) -> "tuple[Plan, Job | None]":
    """The plan in the file or from flags, or the one that says what a job does, and the job; flags win."""
    job = foreign.job(file)
    if job is None:
        return plan_from(file, keys), None
    from plumbob.jobs import plan_to_check

    return plan_to_check(job, dict(keys))


def _judge(job: "Job", plan: Plan, positives: float | None) -> "Findings":
    from plumbob.jobs import judge

    return judge(job, plan, positives)


def rows_to_judge(file: Path | None, plan: Plan, home: Path) -> tuple[int, str]:
    """The aligned rows that a plan is judged on, and who counted them where the plan does not say; 0 if nobody did."""
    if plan.rows:
        return plan.rows, ""
    from plumbob.checking.check import rows_of_draft
    from plumbob.party.rows import count_common_rows

    if home.is_dir() and (aligned := count_common_rows(home, plan)):
        return aligned, f"{aligned:,} were aligned"
    drafted = rows_of_draft(file, plan)
    return drafted, f"it was drafted for {drafted:,}" if drafted else ""


def _lines_of_job(job: "Job | None") -> list[str]:
    """Lines on what was read of a job, and what was not."""
    if job is None:
        return []
    ignored = [f"  {line}" for line in job.ignored] or ["  nothing"]
    read = [f"  {value.line()}" for value in job.read]
    return [f"Read from the {job.system} job ({job.component}):", *read, "Ignored:", *ignored, ""]


@command(group, LOOK_AT_RUNS, "report run")
def report(
    folder: RunFolderArgument,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="File to write (default: report.html in the run's folder).")
    ] = None,
) -> Outcome:
    """Write a run's report: one HTML page that loads nothing from elsewhere."""
    from plumbob.checking.filing import with_verdicts
    from plumbob.report.decision import summary_of
    from plumbob.report.run import page_of
    from plumbob.run_folder import RunFolder

    run = RunFolder(folder)
    record = with_verdicts(run.with_columns(run.record()))
    target = out or run.report_file
    # Elsewhere it takes the report's own name: no other file there may be written over.
    beside = run.summary_file if out is None else target.with_name(f"{target.stem}-summary.html")
    page, summary = (text.encode("utf-8") for text in (page_of(record), summary_of(record)))
    try:
        target.write_bytes(page)
        beside.write_bytes(summary)
    except OSError as error:
        raise DataError(f"{target}: the report cannot be written ({error.strerror}); choose another --out") from error
    lines = [str(target), f"{beside} (decision sheet, one page)"]
    return Outcome({"report": str(target), "summary": str(beside), "bytes": len(page), "lines": lines})
