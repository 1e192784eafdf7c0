"""`plumbob auditor ...`: what a party's auditor does, on a machine of the auditor's own."""

from pathlib import Path
from typing import Annotated

import typer

from plumbob.caller import Caller, Outcome
from plumbob.cli.options import command, group_of

group = group_of("auditor", "Open one run's evidence, and sign what its replay found.")


@command(group, "Verbs", "auditor init audit-house")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The auditor's name.")],
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder to make.")] = Path("auditor"),
) -> Outcome:
    """Make an auditor's certificate and sealing key, on the auditor's own machine.

    The party gets the file auditor.json; plans name the fingerprint.
    """
    from plumbob.party.verbs import auditing  # Late: help needs none of it.

    return auditing.init_auditor(name, out)


@command(group, "Verbs", "auditor replay party/runs/3f2a9c01b7de --auditor audit-house", codes=(5,))
def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", file_okay=False, help="Folder of the run.")],
    caller: Caller,
    auditor: Annotated[Path, typer.Option(file_okay=False, help="Folder that `auditor init` made.")] = Path("auditor"),
    table: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Table from the system of record, to compare the rows with."),
    ] = None,
    id: Annotated[str, typer.Option(metavar="COLUMN", help="Column of that table that identifies each row.")] = "id",
    label: Annotated[
        str, typer.Option(metavar="COLUMN", show_default=False, help="Column of that table that holds the label.")
    ] = "",
    training: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="For a session of prediction: signed statement about the training, to compare the model part with.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Statement to write, never over an earlier one (default: statement.json in the run).",
        ),
    ] = None,
) -> Outcome:
    """Open a run's evidence, compute every message again, and sign what was found, on a machine of the auditor's.

    The statement says whether every message follows from what was fixed before the run. Nothing else is ever signed.
    """
    from plumbob.party.verbs import auditing  # Late: help needs none of it.

    return auditing.replay_run(run, auditor, table=table, id=id, label=label, training=training, out=out, caller=caller)
