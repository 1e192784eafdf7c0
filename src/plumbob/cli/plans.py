"""The verbs that write a plan and check it before any data moves."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.cli.flag_groups import with_flag_groups
from plumbob.cli.help import JUDGED, verb
from plumbob.cli.options import (
    HOME,
    FromFate,
    FromSecretflow,
    HomeFolder,
    IdColumnWords,
    JobVersion,
    Json,
    LabelColumn,
    PlanFile,
    Predicted,
    Quiet,
    Strict,
)
from plumbob.cli.output import progress, show
from plumbob.cli.root import app, plans
from plumbob.commands.flags import with_plan_flags
from plumbob.commands.table_flags import TableFlags


@verb(plans, "new", example="plumbob plan new --features 15,15 --out joint.toml")
@with_plan_flags
@with_flag_groups
def plan_new(
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
    names: Annotated[str | None, typer.Option(help="The parties' names: bank,fund.")] = None,
    from_fate: FromFate = None,
    from_secretflow: FromSecretflow = None,
    job_version: JobVersion = None,
    data: Annotated[
        list[str],
        typer.Option(
            "--data", help="Table to fit the plan to: your own FILE, or PARTY=FILE, repeated.", metavar="FILE"
        ),
    ] = [],  # noqa: B006  # Typer copies it.
    id_words: IdColumnWords = [],  # noqa: B006  # Typer copies it.
    label_column: LabelColumn = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Write a plan with every default and a comment beside each key.

    Flags change its keys; tables give it their columns.
    """
    from plumbob.commands import plans as work
    from plumbob.commands.origins import Origin

    if data:
        from plumbob.commands import plans_from_tables as fitting
        from plumbob.commands.tables import id_columns

        files = fitting.Files(data, id_columns(id_words), label_column, table)
        show(fitting.new(keys, names, out, files), as_json)
    else:
        origin = Origin(None, from_fate, from_secretflow, job_version)
        show(work.new(keys, names, out, origin), as_json)


@verb(plans, "show", example="plumbob plan show joint.toml")
def plan_show(plan: PlanFile, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print the whole plan as the parties will agree on it, with its hash."""
    from plumbob.commands import plans as work

    show(work.show(plan), as_json)


@verb(plans, "hash", example="plumbob plan hash joint.toml")
def plan_hash(plan: PlanFile, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print the plan's hash, which must be the same at every party."""
    from plumbob.commands import plans as work

    show(work.hash_of(plan), as_json)


@verb(app, "check", example="plumbob check joint.toml --estimate", codes=JUDGED)
@with_plan_flags
def check(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
    ] = None,
    with_estimate: Annotated[
        bool, typer.Option("--estimate", help="Also estimate minutes, traffic and memory on this machine.")
    ] = False,
    attack: Annotated[
        str | None, typer.Option("--explain", help="Explain one attack, using this plan's numbers.", metavar="ATTACK")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs will use the same rows; leakage adds up.", min=1)] = 1,
    predicted: Predicted = None,
    own_data: Annotated[
        str | None,
        typer.Option(
            "--data", help="Your own table, for sharper verdicts; it is not sent or stored.", metavar="[PARTY=]FILE"
        ),
    ] = None,
    id_words: IdColumnWords = [],  # noqa: B006  # Typer copies it.
    label_column: LabelColumn = None,
    folder: HomeFolder = HOME,
    from_fate: FromFate = None,
    from_secretflow: FromSecretflow = None,
    job_version: JobVersion = None,
    strict: Strict = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also show the findings that do not leak, all reasons and all notes.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """Say before training what each party will be able to work out."""
    from plumbob.commands import check as work
    from plumbob.commands.origins import Origin

    checked, job = work.plan_for(Origin(plan, from_fate, from_secretflow, job_version), keys)
    home = work.known_at_home(checked, own_data, id_words, label_column) if own_data else None
    aligned = work.aligned_rows_in(folder, checked)
    options = work.CheckOptions(runs, attack, with_estimate, verbose, predicted, home, aligned)
    result = work.run(checked, options, progress(quiet), job)
    show(result, as_json)
    if code := work.exit_code(result, strict):
        raise typer.Exit(code)
