"""`check`: what a plan will give away, before any data move; with `--estimate` what it will cost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbob.callbacks import Tell
from plumbob.checking.check import assumptions, check, notes, prices_of_noise
from plumbob.checking.explain import explain
from plumbob.checking.figures import AtHome
from plumbob.checking.findings import MORE, Findings, lines_of
from plumbob.checking.verdict_words import DEGRADES, HONEST, LEAKS
from plumbob.commands.flags import plan_from
from plumbob.commands.origins import Origin
from plumbob.commands.tables import own_id_column
from plumbob.data import read_table
from plumbob.errors import DataError
from plumbob.plan import Plan

if TYPE_CHECKING:
    from plumbob.jobs import Job


LEAKING, UNDECIDED = 3, 4
"""Exit codes."""


@dataclass(frozen=True)
class CheckOptions:
    """What is asked for beside the findings."""

    runs: int = 1
    attack: str | None = None
    estimate: bool = False
    verbose: bool = False
    predicted: int | None = None
    """Rows to be scored after training, where they are fewer than the plan allows."""
    home: AtHome | None = None
    """What the asking party knows from its own table."""
    aligned: int = 0
    """Rows that the asking party has aligned, where the plan does not say how many there are."""


def plan_for(origin: Origin, keys: dict[str, Any]) -> tuple[Plan, "Job | None"]:
    """The plan, and the job that it was made from, where there is one; flags win."""
    if origin.job is None:
        return plan_from(origin.plan, keys), None
    from plumbob.jobs import plan_to_check, read_job

    path, system = origin.job
    return plan_to_check(read_job(path, system, origin.version), keys)


def run(plan: Plan, options: CheckOptions, tell: Tell, job: "Job | None" = None) -> dict[str, object]:
    """Findings, notes and, where asked, a story and an estimate."""
    runs = options.runs * (1 if job is None else job.fits)
    plan_hash, assumed = plan.hash(), []
    if options.aligned:
        # As `check` with rows: the number of passes may depend on them, and was agreed without.
        plan = plan.replace(rows=options.aligned, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm)
        assumed = [f"The plan does not say how many rows there are; {options.aligned:,} were aligned."]
    findings = _findings(plan, job, options)
    noise = [] if job is not None else prices_of_noise(plan)
    general = [note for note in notes(plan, runs=runs) if job is None or note not in prices_of_noise(plan)]
    noted = [*_remarks(job), *assumed, *general]
    result: dict[str, object] = {
        "plan_hash": plan_hash,
        "rows": plan.rows,
        "runs": runs,
        "findings": [asdict(finding) for finding in findings],
        "headlines": findings.headlines.to_dict(),
        "notes": noted,
        **({} if job is None else job.as_json()),
    }
    told = lines_of(findings) if options.verbose else findings.headlines.lines()
    shown = noted if options.verbose else [*_remarks(job), *noise, *assumed, *assumptions(plan)]
    more = [] if options.verbose else [MORE.format(count=len(findings))]
    lines = [*_lines_of_job(job), *told, "", *_unseen_lines(job), *(f"note: {note}" for note in shown), *more]
    if options.attack is not None:
        story = explain(plan, options.attack, runs)
        result["explanation"], lines = story, story
    if options.estimate:
        from plumbob.commands.estimate import estimate, estimate_lines

        tell("measuring the engine on this machine, about two seconds")
        cost = estimate(plan)
        result["estimate"] = asdict(cost)
        lines = [*lines, "", *estimate_lines(cost)]
    return {**result, "lines": lines}


def _findings(plan: Plan, job: "Job | None", options: CheckOptions) -> Findings:
    if job is None:
        return check(plan, runs=options.runs, home=options.home, predicted=options.predicted)
    from plumbob.jobs import judge

    return judge(job, plan, options.runs)


def aligned_rows_in(folder: Path, plan: Plan) -> int:
    """Of a party's folder, for a plan that does not say how many rows there are; 0 where none were aligned."""
    if plan.rows or not folder.is_dir():
        return 0
    from plumbob.party.aligned import rows_kept_in

    return rows_kept_in(folder, plan)


def known_at_home(plan: Plan, given: str, id_words: Sequence[str], label_column: str | None) -> AtHome:
    """From FILE or PARTY=FILE: whose table it is follows from the label, unless several parties have none."""
    party, separator, file = given.partition("=")
    if not separator:
        others = [one.name for one in plan.feature_parties]
        if label_column is None and len(others) > 1:
            raise DataError(f"{given}: expected PARTY=FILE with one of {', '.join(others)}, or --label COLUMN")
        party, file = (plan.label_party.name if label_column else others[0]), given
    is_label_party = plan.party(party).role == "label"
    if is_label_party and label_column is None:
        raise DataError(f"{file}: {party} holds the label; name its column with --label COLUMN")
    table = read_table(file, own_id_column(id_words, party), label_column if is_label_party else None)
    # Late: only this flag rehearses.
    from plumbob.checking.at_home import at_home

    return at_home(plan, table, party)


def _remarks(job: "Job | None") -> tuple[str, ...]:
    return () if job is None else job.remarks


def _unseen_lines(job: "Job | None") -> list[str]:
    """Why a job that does not leak is still not called safe."""
    return [] if job is None else [f"no all-clear: {reason}" for reason in job.no_all_clear]


def _lines_of_job(job: "Job | None") -> list[str]:
    """What was read, and what was not."""
    if job is None:
        return []
    ignored = [f"  {line}" for line in job.ignored] or ["  nothing"]
    read = [f"  {one.line()}" for one in job.read]
    return [f"Read from the {job.system} job ({job.component}):", *read, "Ignored:", *ignored, ""]


def exit_code(result: dict[str, object], is_strict: bool) -> int:
    """3: something leaks even if everyone keeps to the protocol. 4: no all-clear.

    That is so where something leaks if someone cheats, attacks or parts of a job are unseen or, if strict, something
    degrades.
    """
    findings = result["findings"]
    given = {(one["verdict"], one["assumes"]) for one in findings} if isinstance(findings, list) else set()
    if (LEAKS, HONEST) in given:
        return LEAKING
    is_partial = any(result.get(name) for name in ("attacks_not_run", "attacks_cut_short", "no_all_clear"))
    open_ones = {LEAKS, DEGRADES} if is_strict else {LEAKS}
    return UNDECIDED if is_partial or any(verdict in open_ones for verdict, _ in given) else 0
