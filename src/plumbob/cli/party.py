"""`plumbob party ...`: one organisation's side. Every verb opens its folder, and can be stopped and typed again."""

from pathlib import Path
from typing import Annotated

import typer

from plumbob import party
from plumbob.caller import Caller, Outcome
from plumbob.cli.options import (
    HOME,
    HomeFolder,
    PartyKeys,
    PlanFile,
    StrictRows,
    TableFlags,
    command,
    group_of,
)

SET_UP, AGREE, RUN, LOOK_AFTER = "Set up", "Agree on a plan", "Run", "Look after runs"
OwnTable = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Use this table instead of the one named in party.toml.")
]
NameOfList = Annotated[str, typer.Option(help="Name under which these rows were aligned.", show_default=False)]
MostAnsweredRows = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Answer at most this many rows for this plan, across all sessions (default: most_rows in party.toml); "
        "the plan's own limit holds as well.",
    ),
]

group = group_of("party", "Run your organisation's side: set it up, agree on a plan, train with peers.")


@command(group, SET_UP, "party init bank --data bank.csv --id id --label default --listen 0.0.0.0:7700")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="This party's name, as it appears in plans.")],
    table: TableFlags,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            show_default=False,
            help="Address to listen on; without it, this party only makes outgoing connections.",
        ),
    ] = "",
    address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            show_default=False,
            help="Address peers should connect to, written into invitations (default: --listen).",
        ),
    ] = "",
    proxy: Annotated[
        str, typer.Option(metavar="URL", show_default=False, help="Dial out through this HTTP proxy.")
    ] = "",
    data: Annotated[Path | None, typer.Option(dir_okay=False, help="File of this party's table.")] = None,
    id: Annotated[str, typer.Option(metavar="COLUMN", help="Column that identifies each row.")] = "id",
    label: Annotated[
        str,
        typer.Option(metavar="COLUMN", show_default=False, help="Column that holds the label, if this party has it."),
    ] = "",
    days: Annotated[int, typer.Option(min=1, help="Validity of the certificate, in days.")] = party.USUAL_DAYS,
    passphrase: Annotated[
        bool,
        typer.Option(
            "--passphrase",
            help="Encrypt the key. Commands then ask for the passphrase, or read it from PLUMBOB_PASSPHRASE.",
        ),
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Set up your side: key, certificate, settings.

    Shows a summary of your table, and your invitation for peers.
    """
    return party.init(
        home,
        name,
        data=data,
        id=id,
        label=label,
        listen=listen,
        address=address,
        proxy=proxy,
        reading=table.choices(),
        days=days,
        passphrase=passphrase,
    )


@command(group, SET_UP, "party invite")
def invite(home: HomeFolder = HOME) -> Outcome:
    """Print a one-line invitation for a peer, and your fingerprint to read out over the phone."""
    return party.invite(home)


@command(group, SET_UP, "party join plumbob-invite-1.eyJuYW1lIjo...")
def join(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The line that the peer's `party invite` printed.")],
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Connect to this address instead of the one in the invitation."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the certificate that is pinned under this name.")
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Accept a peer's invitation; from then on the peer must show the certificate in it."""
    return party.join(home, token, address=address, replace=replace)


@command(group, SET_UP, "party renew --days 365")
def renew(
    days: Annotated[int, typer.Option(min=1, help="Validity of the new certificate, in days.")] = party.USUAL_DAYS,
    passphrase: Annotated[
        bool,
        typer.Option(
            "--passphrase",
            help="Encrypt the key with a new passphrase (read from PLUMBOB_NEW_PASSPHRASE, or asked for) and keep the"
            " certificate.",
        ),
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Issue a new certificate for the same key; peers must join again.

    You can do this before or after the old one expires. With --passphrase, only the key's passphrase changes.
    """
    return party.renew(home, days=days, passphrase=passphrase)


@command(group, AGREE, "party propose --bins 10 --out joint.toml")
def propose(
    table: TableFlags,
    keys: PartyKeys,
    caller: Caller,
    out: Annotated[Path, typer.Option(dir_okay=False, help="Plan file to write.")] = Path("joint.toml"),
    home: HomeFolder = HOME,
) -> Outcome:
    """Draft a plan with your peers; of each table only its numbers of rows, columns and levels leave.

    Run it on all sides at once. The party that has the label may change the plan's keys with the flags below.
    """
    return party.propose(home, out, reading=table.choices(), caller=caller, **keys)


@command(group, AGREE, "party doctor joint.toml")
def doctor(
    caller: Caller,
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan file (TOML), to compare it with the peers' as well.")
    ] = None,
    peers: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME", help="Name of a peer to test; may be repeated (default: all peers)."),
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the peers.")] = 60,
    home: HomeFolder = HOME,
) -> Outcome:
    """Check your own table, then test network, versions and plan with each peer.

    Run it on all sides at once.
    """
    return party.doctor(home, plan, peers=peers or (), wait=wait, caller=caller)


@command(group, AGREE, "party sign joint.toml")
def sign(
    plan: PlanFile,
    caller: Caller,
    accept_leaks: Annotated[
        bool,
        typer.Option(
            "--accept-leaks", help="Accept what leaks even if everyone keeps to the protocol (noted in the run record)."
        ),
    ] = False,
    accept_cheating: Annotated[
        bool,
        typer.Option(
            "--accept-cheating",
            help="Accept what a cheating party could read without a trace (noted in the run record).",
        ),
    ] = False,
    accept_evidence: Annotated[
        bool,
        typer.Option(
            "--accept-evidence", help="Accept evidence that outlives the noise on whole rows (noted in the run record)."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Sign without asking for confirmation.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all findings, with the reason for each.")] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Sign a plan; training starts only once every party has signed.

    First shows what each party can work out, if everyone keeps to the protocol and if someone cheats. In a terminal it
    then asks. A plan that must be accepted by name is refused without the flag that does so.
    """
    return party.sign(
        home,
        plan,
        accept_leaks=accept_leaks,
        accept_cheating=accept_cheating,
        accept_evidence=accept_evidence,
        ask=None if yes else caller.ask,
        verbose=verbose,
    )


@command(group, RUN, "party align joint.toml")
def align(
    plan: PlanFile,
    caller: Caller,
    data: OwnTable = None,
    name: Annotated[
        str,
        typer.Option(
            show_default=False,
            help="Name for this row list (all parties must use the same one), e.g. for rows to predict.",
        ),
    ] = "",
    at_least: Annotated[
        int | None,
        typer.Option(min=1, help="Reveal the overlap size first; continue only if at least this many rows are shared."),
    ] = None,
    at_most: Annotated[
        int | None, typer.Option(min=1, help="Reject a peer that submits more ids than this (default: 10 million).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of cores to use (default: all).")] = None,
    home: HomeFolder = HOME,
) -> Outcome:
    """Find the rows that all parties share, without revealing any other ids."""
    return party.align(home, plan, data=data, name=name, at_least=at_least, at_most=at_most, jobs=jobs, caller=caller)


@command(group, RUN, "party train joint.toml")
def train(
    plan: PlanFile,
    caller: Caller,
    new: Annotated[
        bool, typer.Option("--new", help="Begin again a run that has no result; all parties must type this.")
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Train with your peers.

    Every party types this at about the same time. If it is interrupted, type it again to resume.
    """
    return party.train(home, plan, new=new, caller=caller)


@command(group, RUN, "party predict joint.toml --out scores.csv")
def predict(
    plan: PlanFile,
    caller: Caller,
    ids: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Id of a row to score; may be repeated (default: all rows)."),
    ] = None,
    data: OwnTable = None,
    name: NameOfList = "",
    most_rows: MostAnsweredRows = None,
    out: Annotated[Path, typer.Option(dir_okay=False, help="CSV file to write, at the label party.")] = Path(
        "scores.csv"
    ),
    strict: StrictRows = False,
    wait: Annotated[
        float | None, typer.Option(min=0, help="Seconds that the label party waits for absent peers (default: 20).")
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="File of your test rows: aligned with those of the peers (who use --test too), scored and judged.",
        ),
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option(
            "--held-out",
            help="Score the rows that training held out, and judge the model on them (for release = replayed).",
        ),
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Score aligned rows: the label party gets the scores, the others answer."""
    return party.predict(
        home,
        plan,
        ids=ids or (),
        data=data,
        name=name,
        most_rows=most_rows,
        out=out,
        strict=strict,
        wait=wait,
        test=test,
        held_out=held_out,
        caller=caller,
    )


@command(group, RUN, "party serve joint.toml --most-rows 5000")
def serve(
    plan: PlanFile,
    caller: Caller,
    data: OwnTable = None,
    name: NameOfList = "",
    most_rows: MostAnsweredRows = None,
    sessions: Annotated[
        int | None,
        typer.Option(min=1, help="Number of sessions to answer before the command ends (default: no limit)."),
    ] = None,
    home: HomeFolder = HOME,
) -> Outcome:
    """Answer predictions about one list of rows until you stop it, once `party train` has finished.

    For a scheduler or a service. It waits for absent peers, refuses what is over a limit and continues.
    """
    return party.serve(home, plan, data=data, name=name, most_rows=most_rows, sessions=sessions, caller=caller)


@command(group, LOOK_AFTER, "party status")
def status(home: HomeFolder = HOME) -> Outcome:
    """Show the progress of each run and which peers it is waiting for."""
    return party.status(home)


@command(group, LOOK_AFTER, "party receipt party/runs/3f2a9c01b7de")
def receipt(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN_DIR...", help="Folder of a run, or of each party's side of one run."),
    ],
    home: Annotated[
        Path | None,
        typer.Option(
            envvar="PLUMBOB_HOME",
            file_okay=False,
            help="A party's folder: signatures are verified by the certificates pinned there.",
        ),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(help="Fingerprint of a signer's certificate, as you compared it (repeatable)."),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="An auditor's statement about a peer's replay, to check against this run."),
    ] = None,
) -> Outcome:
    """Show which protections a run really used, or compare two parties' records of it.

    It fails if records or signatures do not agree; with --fingerprint also if a signer has neither one of these
    fingerprints nor a certificate that is pinned in --home.
    """
    return party.receipt(folders, home=home, fingerprints=fingerprint or (), statement=statement)


@command(group, LOOK_AFTER, "party forget RUN --give-up")
def forget(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run's folder, or its name as `party status` shows it.")
    ],
    give_up: Annotated[
        bool,
        typer.Option("--give-up", help="Also delete an unfinished run; no party will be able to complete it."),
    ] = False,
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Delete the run's evidence: a replay can then show nothing any more."),
    ] = False,
    home: HomeFolder = HOME,
) -> Outcome:
    """Erase the secrets that a run keeps for a peer to resume with; results stay."""
    return party.forget(home, run, give_up=give_up, evidence=evidence)
