"""One organisation's side before a run: its identity, its peers, and whether everything is in place."""

from pathlib import Path
from typing import Annotated

import typer

from plumbob.cli.flag_groups import with_flag_groups
from plumbob.cli.help import verb
from plumbob.cli.options import HOME, EngineOption, HomeFolder, Json, Quiet
from plumbob.cli.output import ending_at_ctrl_c, progress, show
from plumbob.cli.root import party
from plumbob.commands.table_flags import TableFlags


@verb(
    party,
    "init",
    example="plumbob party init bank --data bank.csv --id customer --label late --listen 0.0.0.0:9001",
)
@with_flag_groups
def party_init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="This party's name, as it appears in plans.")],
    home: HomeFolder = HOME,
    listen: Annotated[
        str,
        typer.Option(
            help="Address to listen on; without it, this party only makes outgoing connections.", metavar="HOST:PORT"
        ),
    ] = "",
    address: Annotated[
        str,
        typer.Option(
            help="Address peers should connect to, written into invitations (default: --listen).", metavar="HOST:PORT"
        ),
    ] = "",
    proxy: Annotated[str, typer.Option(help="Dial out through this HTTP proxy.", metavar="URL")] = "",
    data: Annotated[Path | None, typer.Option(help="File of this party's table.", dir_okay=False)] = None,
    id_words: Annotated[
        list[str],
        typer.Option(
            "--id",
            help="Column that identifies each row; PARTY=COLUMN for every party works too (default: id).",
            metavar="[PARTY=]COLUMN",
        ),
    ] = [],  # noqa: B006  # Typer copies it.
    label_column: Annotated[
        str, typer.Option("--label", help="Column that holds the label, if this party has it.", metavar="COLUMN")
    ] = "",
    engine: EngineOption = "auto",
    days: Annotated[int, typer.Option(help="Validity of the certificate, in days.", min=1)] = 730,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    table: TableFlags,
) -> None:
    """Set up your side: key, certificate, settings.

    Shows a summary of your table, and your invitation for peers.
    """
    from plumbob.commands.tables import chosen, own_id_column
    from plumbob.party.settings import HomeSettings
    from plumbob.party.verbs import setup as work

    settings = HomeSettings(
        name=name,
        listen=listen,
        address=address,
        proxy=proxy,
        data="" if data is None else str(data.resolve()),
        id_column=own_id_column(id_words, name) or "id",
        label_column=label_column,
        engine=engine,
        reading=chosen(table),
    )
    show(work.init(home, settings, days), as_json)


@verb(party, "renew", example="plumbob party renew --days 365")
def party_renew(
    days: Annotated[int, typer.Option(help="Validity of the new certificate, in days.", min=1)] = 730,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Issue a new certificate for the same key; peers must join again.

    You can do this before or after the old one expires.
    """
    from plumbob.party.verbs import setup as work

    show(work.renew(home, days), as_json)


@verb(party, "invite", example="plumbob party invite")
def party_invite(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print a one-line invitation for a peer, and your fingerprint to read out over the phone."""
    from plumbob.party.verbs import setup as work

    show(work.invite(home), as_json)


@verb(party, "join", example="plumbob party join plumbob-invite-1.eyJuYW1lIjo...")
def party_join(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The line that the peer's `party invite` printed.")],
    address: Annotated[
        str | None,
        typer.Option(help="Connect to this address instead of the one in the invitation.", metavar="HOST:PORT"),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the pinned identity.")] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accept a peer's invitation; from then on the peer must show the certificate in it."""
    from plumbob.party.verbs import setup as work

    show(work.join(home, token, address, replace), as_json)


@verb(party, "doctor", example="plumbob party doctor joint.toml")
def party_doctor(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="A plan's TOML file, to compare it too.")] = None,
    peer: Annotated[list[str], typer.Option("--peer", help="Only this peer; may be repeated.", metavar="NAME")] = [],  # noqa: B006  # Typer copies it.
    wait: Annotated[float, typer.Option(help="Seconds to wait for the peers.", min=0)] = 60,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check your own table, then test network, clock, versions, plan and message size with each peer.

    Run it on all sides at once.
    """
    from plumbob.party.verbs import setup as work

    tell = None if as_json else lambda line: show({"lines": [line]}, as_json=False)
    with ending_at_ctrl_c():
        result = work.doctor(home, plan, peer, wait, progress(quiet), tell)
    if as_json:
        show(result, as_json)
    if not result["ready"]:
        raise typer.Exit(1)
