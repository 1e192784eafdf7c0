"""`check`: says what a plan will give away before any data move and, with `--estimate`, what it will cost."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from plumbob.checking.check import assumptions, check, notes, prices_of_noise
from plumbob.checking.findings import Findings, lines_of
from plumbob.checking.rules import is_preventable
from plumbob.checking.words import DEGRADES, HONEST, LEAKS
from plumbob.commands import CheckPlan
from plumbob.commands.plans import job_in
from plumbob.plan import Plan
from plumbob.verb import Result
from plumbob.verb.plan_flags import plan_from

if TYPE_CHECKING:
    from plumbob.jobs import Job


LEAKING, UNDECIDED = 3, 4
"""The exit codes for something that leaks, and for no all-clear."""


def run(options: CheckPlan) -> Result:
    """Report findings, notes and, where asked, a story and an estimate."""
    plan, job = _plan_and_job(options)
    aligned = aligned_rows_in(options.home, plan)
    plan_hash, assumed = plan.hash(), []
    if aligned:
        plan = plan.replace(rows=aligned)
        assumed = [f"The plan does not say how many rows there are; {aligned:,} were aligned."]
    findings = _findings(plan, job, options)
    noise = [] if job is not None else prices_of_noise(plan)
    general = [note for note in notes(plan) if job is None or note not in prices_of_noise(plan)]
    noted = [*_remarks(job), *assumed, *general]
    result: Result = {
        "plan_hash": plan_hash,
        "rows": plan.rows,
        "findings": [asdict(finding) for finding in findings],
        "headlines": findings.headlines.to_dict(),
        "notes": noted,
        **({} if job is None else job.as_json()),
    }
    told = lines_of(findings) if options.verbose else findings.headlines.lines()
    shown = noted if options.verbose else [*_remarks(job), *noise, *assumed, *assumptions(plan)]
    more = [] if options.verbose else [findings.more]
    lines = [*_lines_of_job(job), *told, "", *_unseen_lines(job), *(f"note: {note}" for note in shown), *more]
    if options.estimate:
        from plumbob.commands.estimate import estimate, estimate_lines

        cost = estimate(plan)
        result["estimate"] = asdict(cost)
        lines = [*lines, "", *estimate_lines(cost, plan)]
    return {**result, "lines": lines}


def _plan_and_job(options: CheckPlan) -> tuple[Plan, "Job | None"]:
    """The plan, and the job that it was made from, if any; flags win."""
    job = job_in(options, options.plan)
    if job is None:
        return plan_from(options.plan, options.keys), None
    from plumbob.jobs import plan_to_check

    return plan_to_check(job, options.keys)


def _findings(plan: Plan, job: "Job | None", options: CheckPlan) -> Findings:
    if job is None:
        return check(plan, positives=options.positives)
    from plumbob.jobs import judge

    return judge(job, plan, options.positives)


def aligned_rows_in(folder: Path, plan: Plan) -> int:
    """The aligned rows in a party's folder, for a plan that does not give a number; 0 where none were aligned."""
    if plan.rows or not folder.is_dir():
        return 0
    from plumbob.party.rows import rows_kept_in

    return rows_kept_in(folder, plan)


def _remarks(job: "Job | None") -> tuple[str, ...]:
    return () if job is None else job.remarks


def _unseen_lines(job: "Job | None") -> list[str]:
    """Lines on why a job that does not leak is still not called safe."""
    return [] if job is None else [f"no all-clear: {reason}" for reason in job.no_all_clear]


def _lines_of_job(job: "Job | None") -> list[str]:
    """Lines on what was read of a job, and what was not."""
    if job is None:
        return []
    ignored = [f"  {line}" for line in job.ignored] or ["  nothing"]
    read = [f"  {one.line()}" for one in job.read]
    return [f"Read from the {job.system} job ({job.component}):", *read, "Ignored:", *ignored, ""]


def exit_code(result: Result, is_strict: bool) -> int:
    """3: something leaks even if everyone keeps to the protocol. 4: no all-clear.

    That is so where something leaks if someone cheats, attacks or parts of a job are unseen or, if strict, something
    degrades.
    """
    given = {(one["verdict"], one["assumes"]) for one in result["findings"]}
    if (LEAKS, HONEST) in given:
        return LEAKING
    is_partial = any(result.get(name) for name in ("attacks_not_run", "attacks_cut_short", "no_all_clear"))
    open_ones = {LEAKS, DEGRADES} if is_strict else {LEAKS}
    # What no plan prevents would make every plan fail, and so tell none from another.
    decided = {one["verdict"] for one in result["findings"] if is_preventable(one["attack"])}
    return UNDECIDED if is_partial or decided & open_ones else 0
