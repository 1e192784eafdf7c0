"""The verbs that attack: a plan trained for the purpose, or a run that was recorded."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.cli.flag_groups import with_flag_groups
from plumbob.cli.help import AUDITED, verb
from plumbob.cli.options import (
    Json,
    Only,
    Predicted,
    Quiet,
    Strict,
)
from plumbob.cli.output import ending_at_ctrl_c, progress, show
from plumbob.cli.root import app
from plumbob.cli.training_flags import TrainingFlags
from plumbob.commands.flags import with_plan_flags
from plumbob.commands.table_flags import TableFlags


@verb(
    app,
    "audit",
    example="plumbob audit joint.toml --data breast-cancer --out audited",
    codes=AUDITED,
)
@with_plan_flags
@with_flag_groups
def audit(
    given: TrainingFlags,
    only: Only = [],  # noqa: B006  # Typer copies it.
    defences: Annotated[
        bool,
        typer.Option(
            "--defences", help="Train with one defence after the other on the same data, and compare them in one table."
        ),
    ] = False,
    encrypted: Annotated[
        bool,
        typer.Option(
            "--encrypted",
            help="With --defences: run the encrypted protocols, measure them, and include active attacks.",
        ),
    ] = False,
    predicted: Predicted = None,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Train, attack the run with everything each party saw, score the attacks and write a report.

    Each attack has a work budget, which the report states. On 27,000 rows and 23 columns all attacks together take
    about a minute; training with `exchange` takes longer than that.
    """
    from plumbob.commands.check import exit_code
    from plumbob.lab.commands import attack as work

    files, names = work.told_apart(given.paths, only)
    plan, inputs, options = given.work(files, keys, table, quiet)
    if encrypted and not defences:
        raise typer.BadParameter("--encrypted goes with --defences; a plain audit is as the plan says")
    if defences:
        from plumbob.lab.commands import defences as comparison

        with ending_at_ctrl_c():
            result = comparison.run(plan, inputs, given.out, options, names, encrypted, progress(quiet))
    else:
        with ending_at_ctrl_c():
            result = work.audit_plan(plan, inputs, given.out, options, names, progress(quiet), predicted)
    show(result, as_json)
    if code := exit_code(result, strict):
        raise typer.Exit(code)


@verb(app, "attack", example="plumbob attack audited --only label-counts")
def attack(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="Folder of a run.")],
    only: Only = [],  # noqa: B006  # Typer copies it.
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the findings in the run record and regenerate its report.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a recorded run: what could each party work out from what it saw?"""
    from plumbob.lab.commands import attack as work

    folders, names = work.told_apart(words, only)
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    with ending_at_ctrl_c():
        show(work.run(Path(folders[0]), names, progress(quiet), keep), as_json)
