"""The verbs that read a run's folder: what it used, what it found, its model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from plumbob.cli.help import CONSISTENT, verb
from plumbob.cli.options import Json, Quiet, RunFolderArgument
from plumbob.cli.output import show
from plumbob.cli.root import app


@verb(app, "runs", example="plumbob runs --delete-unstarted")
def runs(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[FOLDER]...", help="Folders that hold runs (default: this one).")
    ] = None,
    deletes_unstarted: Annotated[
        bool, typer.Option("--delete-unstarted", help="Delete the runs that never started.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the runs in a folder, with dates, titles and verdicts."""
    from plumbob.commands import runs as work

    show(work.run(folders or [Path()], deletes_unstarted), as_json)


@verb(app, "receipt", example="plumbob receipt run", codes=CONSISTENT)
def receipt(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Folder of a run, or of each party's side of one run.")
    ],
    home: Annotated[
        Path | None,
        typer.Option(
            "--home",
            envvar="PLUMBOB_HOME",
            help="A party's folder: signatures are verified by the certificates pinned there.",
            file_okay=False,
        ),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(help="Fingerprint of a signer's certificate, as you compared it (repeatable)."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show which protections a run really used, or compare two parties' records of it."""
    from plumbob.commands import receipt as work
    from plumbob.party.home import Home
    from plumbob.party.receipts import KnownCertificates

    known = KnownCertificates.given(None if home is None else Home.open(home), fingerprint or [])
    result = work.run(folders[0], known) if len(folders) == 1 else work.compare(folders, known)
    show(result, as_json)
    if not result["consistent"] or (fingerprint and not result["verified"]):
        raise typer.Exit(1)


@verb(app, "report", example="plumbob report run")
def report(
    folder: RunFolderArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write (default: report.html in the run's folder).", dir_okay=False),
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also print both pages to PDF files, with the system's Chromium.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a run's report: one HTML page that loads nothing from elsewhere."""
    from plumbob.commands import report as work

    show(work.run(folder, out, pdf), as_json)


@verb(app, "export", example="plumbob export run --to json")
def export(
    folder: RunFolderArgument,
    to: Annotated[str, typer.Option(help="Output format.", metavar="json|skops|onnx|scorecard")] = "json",
    party: Annotated[
        str | None, typer.Option(help="Export only this party's part (default: all parts merged).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write (default: in the run's folder).")] = None,
    base_score: Annotated[float, typer.Option(help="Scorecard: points at the base odds.")] = 600.0,
    odds: Annotated[float, typer.Option(help="Scorecard: odds of the negative class at the base score.")] = 50.0,
    pdo: Annotated[float, typer.Option(help="Scorecard: points that double the odds.")] = 20.0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export the model for other programs, in the units of your tables, or as a scorecard."""
    from plumbob.lab.commands import export as work

    show(work.run(folder, to, party, out, work.ScorecardScale(base_score, odds, pdo)), as_json)
