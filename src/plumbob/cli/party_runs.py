"""One organisation's side of a run: agree on a plan, align, train, predict."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbob.cli.flag_groups import with_flag_groups
from plumbob.cli.help import verb
from plumbob.cli.options import (
    HOME,
    AcceptCheating,
    AcceptEvidence,
    AcceptLeaks,
    Cost,
    HomeFolder,
    Jobs,
    Json,
    PlanFile,
    Quiet,
    StrictRows,
    Threshold,
)
from plumbob.cli.output import asked, ending_at_ctrl_c, progress, show
from plumbob.cli.root import party
from plumbob.commands.flags import with_plan_flags
from plumbob.commands.table_flags import TableFlags

MostAnsweredRows = Annotated[
    int | None,
    typer.Option(
        help="Answer at most this many rows for this plan, across all sessions (default: most_rows in party.toml); "
        "the plan's own limit holds as well.",
        min=1,
    ),
]


@verb(party, "propose", example="plumbob party propose --bins 10 --out joint.toml")
@with_plan_flags
@with_flag_groups
def party_propose(
    out: Annotated[Path, typer.Option(help="Plan file to write.", dir_okay=False)] = Path("joint.toml"),
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Draft a plan with your peers from everybody's tables; of these, only the number of columns is sent.

    Run it on all sides at once. The party that has the label may change the plan's keys with the flags below.
    """
    from plumbob.commands.tables import chosen
    from plumbob.party.verbs.propose import propose

    with ending_at_ctrl_c():
        show(propose(home, keys, chosen(table), out, progress(quiet)), as_json)


@verb(party, "sign", example="plumbob party sign joint.toml")
def party_sign(
    plan: PlanFile,
    accept_leaks: AcceptLeaks = False,
    accept_cheating: AcceptCheating = False,
    accept_evidence: AcceptEvidence = False,
    says_yes: Annotated[bool, typer.Option("--yes", help="Sign without asking for confirmation.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all findings, with the reason for each.")] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sign a plan; training starts only once every party has signed.

    Shows what each party can work out if everyone keeps to the protocol, and what if someone cheats; in a terminal it
    asks first. What must be accepted by name is refused without its flag.
    """
    from plumbob.party.verbs.sign import sign

    ask = asked("Sign this plan?") if not (says_yes or as_json or quiet) and sys.stdin.isatty() else None
    with ending_at_ctrl_c():
        accepted = (accept_leaks, accept_cheating, accept_evidence)
        show(sign(home, plan, *accepted, is_verbose=verbose, ask=ask), as_json)


@verb(party, "align", example="plumbob party align joint.toml")
def party_align(
    plan: PlanFile,
    data: Annotated[
        Path | None, typer.Option(help="Use this table instead of the one named in party.toml.", dir_okay=False)
    ] = None,
    name: Annotated[
        str, typer.Option(help="Name for this row list (all parties must use the same one), e.g. for rows to predict.")
    ] = "",
    at_least: Annotated[
        int | None,
        typer.Option(help="Reveal the overlap size first; continue only if at least this many rows are shared.", min=1),
    ] = None,
    at_most: Annotated[
        int, typer.Option(help="Reject a peer that submits more than this many ids.", min=1)
    ] = 10_000_000,
    is_new: Annotated[
        bool, typer.Option("--new", help="Start over and drop what was interrupted; all parties must do so.")
    ] = False,
    split_by: Annotated[
        str | None,
        typer.Option(
            help="Hold out the newest rows by this column of your file, if the plan lets you choose them.",
            metavar="COLUMN",
        ),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="An id on several rows: refuse it, use its first or its last row, or repeat (pair all of its rows;"
            " all sides must ask for it). Default: as in party.toml.",
            metavar="refuse|first|last|repeat",
        ),
    ] = None,
    jobs: Jobs = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the rows that all parties share, without revealing any other ids."""
    from plumbob.party.verbs.align import AlignmentOptions, align

    options = AlignmentOptions(name, data, at_least, at_most, jobs, is_new, split_by, duplicates)
    with ending_at_ctrl_c():
        show(align(home, plan, options, quiet, progress(quiet)), as_json)


@verb(party, "train", example="plumbob party train joint.toml")
def party_train(
    plan: PlanFile,
    is_new: Annotated[
        bool, typer.Option("--new", help="Start another run of the same plan; all parties must do so.")
    ] = False,
    allow_test_keys: Annotated[
        bool, typer.Option("--allow-test-keys", help="Train with keys that are too short to protect anything.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train with your peers.

    Every party types this at about the same time. If it is interrupted, type it again to resume.
    """
    from plumbob.party.verbs.train import train

    with ending_at_ctrl_c():
        show(train(home, plan, is_new, quiet, progress(quiet), allow_test_keys=allow_test_keys), as_json)


@verb(party, "predict", example="plumbob party predict joint.toml --out scores.csv")
def party_predict(
    plan: PlanFile,
    ids: Annotated[
        list[str],
        typer.Option("--ids", help="Id of a row to score; may be repeated (default: all rows).", metavar="ID"),
    ] = [],  # noqa: B006  # Typer copies it.
    data: Annotated[
        Path | None, typer.Option(help="Use this table instead of the one named in party.toml.", dir_okay=False)
    ] = None,
    name: Annotated[str, typer.Option(help="Name under which these rows were aligned.")] = "",
    most_rows: MostAnsweredRows = None,
    out: Annotated[Path, typer.Option(help="CSV file to write, at the label party.", dir_okay=False)] = Path(
        "scores.csv"
    ),
    threshold: Threshold = None,
    cost: Cost = None,
    is_strict: StrictRows = False,
    test: Annotated[
        Path | None,
        typer.Option(
            help="File of your test rows: aligned with those of the peers (who use --test too), scored and judged.",
            dir_okay=False,
        ),
    ] = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score aligned rows: the label party gets the scores, the others answer."""
    from plumbob.party.verbs.predict import PredictionOptions, predict

    options = PredictionOptions(ids, name, data, most_rows, out, threshold, cost, is_strict, test)
    with ending_at_ctrl_c():
        show(predict(home, plan, options, progress(quiet)), as_json)


@verb(party, "serve", example="plumbob party serve joint.toml --most-rows 5000")
def party_serve(
    plan: PlanFile,
    data: Annotated[
        Path | None, typer.Option(help="Answer from this table instead of the one named in party.toml.", dir_okay=False)
    ] = None,
    name: Annotated[str, typer.Option(help="Name under which the rows to answer were aligned.")] = "",
    most_rows: MostAnsweredRows = None,
    sessions: Annotated[
        int | None, typer.Option(help="End after answering this many times (default: never).", min=1)
    ] = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a signed plan with your peers, then answer predictions until you stop it.

    For a scheduler or a service. It waits for absent peers, and never signs, aligns or proposes.
    """
    from plumbob.party.verbs.predict import PredictionOptions
    from plumbob.party.verbs.serve import ServiceOptions, serve

    asked = PredictionOptions(name=name, data=data, most_rows=most_rows)
    with ending_at_ctrl_c():
        show(serve(home, plan, ServiceOptions(asked, sessions), progress(quiet)), as_json)


@verb(party, "status", example="plumbob party status")
def party_status(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show the progress of each run and which peers it is waiting for."""
    from plumbob.party.verbs.status import status

    show(status(home), as_json)


@verb(party, "forget", example="plumbob party forget RUN --give-up")
def party_forget(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of the run, as `party status` shows it.")],
    gives_up: Annotated[
        bool, typer.Option("--give-up", help="Also delete an unfinished run; no party will be able to complete it.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erase the secrets that a run keeps for a peer to resume with; results stay."""
    from plumbob.party.verbs.forget import forget

    show(forget(home, run, gives_up), as_json)
