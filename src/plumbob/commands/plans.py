"""`plan new / show`: writes a commented plan from flags, from another system's job, or fitted to tables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from plumbob.checking.check import refuse_impossible
from plumbob.commands import CheckPlan, NewPlan
from plumbob.data import Table, column_names, read_table
from plumbob.data.encoder import choices_of
from plumbob.data.ids import id_column_of, refuse_other_parties
from plumbob.data.summary import TableSummary, sizes_of, summarise
from plumbob.errors import DataError, PlanError
from plumbob.plan import Plan
from plumbob.plan.encodings import suggested_keys
from plumbob.verb import Result
from plumbob.verb.flags import id_columns
from plumbob.verb.plan_flags import plan_from

if TYPE_CHECKING:
    from plumbob.jobs import Job

FEATURES = (11, 12)
PEER = 1  # Columns of a party whose table is not here, until it says how many.


def job_in(asked: NewPlan | CheckPlan, plan: Path | None = None) -> "Job | None":
    """The job of another system that was named instead of a plan, if one was."""
    named: dict[Literal["FATE", "SecretFlow"], Path | None]
    named = {"FATE": asked.from_fate, "SecretFlow": asked.from_secretflow}
    if sum(file is not None for file in (plan, *named.values())) > 1:
        raise PlanError("expected one of a plan, --from-fate and --from-secretflow, got several")
    for system, file in named.items():
        if file is not None:
            from plumbob.jobs import read_job

            return read_job(file, system, asked.job_version)
    return None


def new(asked: NewPlan) -> Result:
    """Make a plan from flags, from tables, or from another system's job; otherwise with the paper's split."""
    if nameless := [word for word in asked.more_tables if "=" not in word]:
        raise PlanError(f"{nameless[0]}: tables are given as PARTY=FILE; --out {nameless[0]} names the file to write")
    if asked.data or asked.more_tables:
        return _fitted(asked)
    return _written(asked.keys, asked.names, asked.out, job_in(asked))


def _written(
    keys: Mapping[str, Any], names: str | None, out: Path | None, job: "Job | None" = None, remark: str = ""
) -> Result:
    """Write the plan; the remark becomes a comment in its file."""
    plan, differences = _draft(keys, job)
    if names is not None:
        plan = _rename_parties(plan, names.split(","))
    refuse_impossible(plan, plan.rows)
    result = {**shown(plan), **({} if job is None else {"differences": differences})}
    listed = [f"# differs from the job: {line}" for line in differences]
    if out is None:
        return {**result, "lines": [*plan.to_toml(remark).splitlines(), *listed]}
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it or choose another name")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(remark), encoding="utf-8")
    return {**result, "out": str(out), "lines": [f"{out}  {plan.hash()}", *listed]}


def _draft(keys: Mapping[str, Any], job: "Job | None") -> tuple[Plan, list[str]]:
    if job is None:
        return plan_from(None, {"features": FEATURES, **keys}), []
    from plumbob.jobs import plan_to_move

    moved = plan_to_move(job, keys)
    return moved.plan, list(moved.differences)


def show(path: Path) -> Result:
    """Show the whole plan, defaults written out, and its hash."""
    plan = Plan.load(path)
    result = shown(plan)
    return {**result, "lines": [*plan.to_toml().splitlines(), f"# hash: {plan.hash()}"]}


def shown(plan: Plan) -> Result:
    """A plan for people (TOML) and for programs."""
    return {"plan": plan.to_dict(), "hash": plan.hash(), "lines": plan.to_toml().splitlines()}


def _rename_parties(plan: Plan, names: list[str]) -> Plan:
    if len(names) != len(plan.parties):
        raise PlanError(f"--names: expected {len(plan.parties)} names, one a party, got {len(names)}")
    parties = tuple(replace(party, name=name) for party, name in zip(plan.parties, names, strict=True))
    return plan.replace(parties=parties)


def _fitted(asked: NewPlan) -> Result:
    """Fit a plan to tables, and show what each table gives under it."""
    tables = dict(_party_and_file(word, place) for place, word in enumerate([*asked.data, *asked.more_tables]))
    ids, names = id_columns(asked.id_words), asked.names
    if asked.label_column is not None:
        tables = dict(sorted(tables.items(), key=lambda named: asked.label_column not in column_names(named[1])))
    refuse_other_parties(ids, tables)
    read = {name: _read(name, file, asked) for name, file in tables.items()}
    keys, drafted = suggested_keys(asked.keys, sizes_of(read.values(), asked.keys))
    plan = plan_from(None, {"features": [PEER] * max(2, len(tables)), **keys})
    summaries = {name: summarise(table, choices_of(plan)) for name, table in read.items()}
    widths = [summary.width for summary in summaries.values()]
    if len(tables) == 1:
        # Without the label this party is the second one.
        widths = [*widths, PEER] if asked.label_column is not None else [PEER, *widths]
    named = names if names is not None or len(tables) == 1 else ",".join(tables)
    remark = "" if drafted is None else drafted.sentence
    result = _written({**keys, "features": widths}, named, asked.out, remark=remark)
    shown = [line for name, summary in summaries.items() for line in (f"# {name}", *_as_comments(summary))]
    missing = "# the other party's columns are not known here: `plumbob party propose` asks for them"
    lines = [*shown, *([missing] if len(tables) == 1 else []), *result["lines"]]
    return {**result, "tables": {name: summary.to_dict() for name, summary in summaries.items()}, "lines": lines}


def _party_and_file(word: str, place: int) -> tuple[str, Path]:
    """The party and its file from PARTY=FILE, or from a file alone, which is this party's own."""
    party, separator, file = word.partition("=")
    if separator:
        return party, Path(file)
    if place:
        raise DataError(f"--data {word}: expected PARTY=FILE where there is more than one table")
    return "own table", Path(word)


def _read(party: str, file: Path, asked: NewPlan) -> Table:
    known = column_names(file)
    label = asked.label_column if asked.label_column in known else None
    reading = asked.table.choices().about(known)
    if label is None:
        reading = replace(reading, positive=None)
    return read_table(file, id_column_of(id_columns(asked.id_words), party), label, choices=reading)


def _as_comments(summary: TableSummary) -> list[str]:
    return [f"#   {line}" for line in summary.lines()]
