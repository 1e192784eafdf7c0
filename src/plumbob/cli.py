"""The command line: parse, call, print.

Exit codes: 0 done, 1 failed with a message, 2 wrong usage, 3 (`check`, `audit`) done and something leaks above the
plan's tolerance, 130 interrupted by Ctrl-C. The work is done elsewhere, and imported late, so that every verb starts in
under a second.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from rich.console import Console

from plumbob import __version__
from plumbob.commands.flags import plan_from, with_plan_flags
from plumbob.errors import PlumbobError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Data = Annotated[
    list[str],
    typer.Option("--data", help="A data set's name, or PARTY=FILE for each party.", metavar="DATASET|PARTY=FILE ..."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column that names a row.", metavar="COLUMN")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The folder of the larger data sets; else PLUMBOB_DATA.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of a run.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's TOML file.")]

PlanWords = Annotated[
    list[str] | None, typer.Argument(metavar="PLAN", help="A plan's TOML file; PARTY=FILE may follow.")
]
RunOut = Annotated[Path, typer.Option("--out", help="The folder to write to.", file_okay=False)]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="The label party's column that holds the label.", metavar="COLUMN")
]
Engine = Annotated[
    str,
    typer.Option(help="Who does the arithmetic; ray is a cluster, cuda a GPU.", metavar="auto|native|python|ray|cuda"),
]
Jobs = Annotated[int | None, typer.Option(help="Cores to use; without it, all.", min=1)]
AcceptLeaks = Annotated[
    bool, typer.Option("--accept-leaks", help="Say, for the record, that what the plan leaks is accepted.")
]
IsNew = Annotated[bool, typer.Option("--new", help="Begin anew, whatever was interrupted.")]
Only = Annotated[list[str], typer.Option("--only", help="The attacks to run; without it, all.", metavar="NAME ...")]

HomeFolder = Annotated[
    Path,
    typer.Option(
        "--home", envvar="PLUMBOB_HOME", help="This party's folder: key, certificate, peers, settings.", file_okay=False
    ),
]
HOME = Path("party")

LEAKING = 3
INTERRUPTED = 130  # As a shell has it: 128 and the signal's number.

# Pretty tracebacks print local variables, and ours may hold keys.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
plans = typer.Typer(no_args_is_help=True, help="Write a plan, show it whole, or give its hash.")
app.add_typer(plans, name="plan")
party = typer.Typer(no_args_is_help=True, help="One organisation's side on a network: its identity and its peers.")
app.add_typer(party, name="party")


def main() -> None:
    """Run the command line; what Plumbob raises on purpose becomes a message and exit code 1."""
    warnings.showwarning = show_warning
    try:
        app(prog_name="plumbob")
    except PlumbobError as error:
        typer.echo(f"plumbob: {error}", err=True)
        raise SystemExit(1) from None
    except OSError as error:
        # A folder that may not be written to, a full disk: nothing that a traceback would explain better.
        typer.echo(f"plumbob: {error.filename or 'a file'}: {error.strerror or type(error).__name__}", err=True)
        raise SystemExit(1) from None
    except MemoryError:
        typer.echo("plumbob: there is not enough memory for this; `plumbob check --estimate` says how much", err=True)
        raise SystemExit(1) from None


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as one line for people, without the place in the code."""
    typer.echo(f"plumbob: {message}", err=True)


def show_version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        typer.echo(f"plumbob {__version__}")
        raise typer.Exit


@app.callback()
def plumbob(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Vertical logistic regression whose privacy can be checked, attacked and shown."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.", file_okay=False)] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train by exchange, with noise and on shares, attack each, and lay the results side by side."""
    from plumbob.workshop import demo as work

    show(work.run(out, progress(quiet)), as_json)


@plans.command("new")
@with_plan_flags
def plan_new(
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
    names: Annotated[str | None, typer.Option(help="The parties' names: bank,fund.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """A commented plan with every default written out; flags change it."""
    from plumbob.commands import plans as work

    show(work.new(keys, names, out), as_json)


@plans.command("show")
def plan_show(plan: PlanFile, as_json: Json = False, quiet: Quiet = False) -> None:
    """The whole plan as it will be agreed on, with its hash."""
    from plumbob.commands import plans as work

    show(work.show(plan), as_json)


@plans.command("hash")
def plan_hash(plan: PlanFile, as_json: Json = False, quiet: Quiet = False) -> None:
    """The hash that every party must have."""
    from plumbob.commands import plans as work

    show(work.hash_of(plan), as_json)


@app.command()
@with_plan_flags
def check(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="A plan's TOML file; or flags alone.")] = None,
    with_estimate: Annotated[
        bool, typer.Option("--estimate", help="Also minutes, traffic and memory, measured on this machine.")
    ] = False,
    attack: Annotated[
        str | None, typer.Option("--explain", help="One attack's story with this plan's numbers.", metavar="ATTACK")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs on the same rows: what they give away adds up.", min=1)] = 1,
    from_fate: Annotated[
        Path | None, typer.Option("--from-fate", help="Read a FATE hetero-LR job instead of a plan.", metavar="CONF")
    ] = None,
    from_secretflow: Annotated[
        Path | None, typer.Option("--from-secretflow", help="Read a SecretFlow job instead.", metavar="CONF")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """Before training: what each party will be able to work out; exit code 3 if something leaks above tolerance."""
    from plumbob.commands import check as work

    checked, remarks = work.plan_for(plan, from_fate, from_secretflow, keys)
    result = work.run(checked, work.Wishes(runs, attack, with_estimate), progress(quiet), remarks)
    show(result, as_json)
    if work.leaks(result):
        raise typer.Exit(LEAKING)


@app.command()
@with_plan_flags
def train(
    words: PlanWords = None,
    out: RunOut = Path("run"),
    data: Data = [],  # noqa: B006  # Typer copies it.
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    engine: Engine = "auto",
    jobs: Jobs = None,
    accept_leaks: AcceptLeaks = False,
    is_new: IsNew = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """All parties on this machine, through the same bytes; joint, local-only and pooled quality side by side.

    Started again after any interruption, it goes on where it was.
    """
    files, pairs = told_apart(words or [])
    plan = plan_from(one_plan(files), keys)
    from plumbob.workshop.commands import train as work

    inputs = work.Inputs([*data, *pairs], id_column, label_column, data_dir)
    means = work.Means(engine, jobs, accept_leaks, quiet, is_new)
    show(unless_interrupted(lambda: work.run(plan, inputs, out, means)), as_json)


@app.command()
@with_plan_flags
def audit(
    words: PlanWords = None,
    out: RunOut = Path("run"),
    data: Data = [],  # noqa: B006  # Typer copies it.
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    engine: Engine = "auto",
    jobs: Jobs = None,
    accept_leaks: AcceptLeaks = False,
    is_new: IsNew = False,
    only: Only = [],  # noqa: B006  # Typer copies it.
    defences: Annotated[
        bool, typer.Option("--defences", help="The same data under one defence after the other, as one table.")
    ] = False,
    encrypted: Annotated[
        bool,
        typer.Option("--encrypted", help="With --defences: really encrypted, with seconds, bytes, active attacks."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """Train, attack with everything each party saw, score, report; exit code 3 if something leaks above tolerance."""
    from plumbob.workshop.commands import attack as work
    from plumbob.workshop.commands.train import Inputs, Means

    paths, pairs = told_apart(words or [])
    files, names = work.told_apart(paths, only)
    plan = plan_from(one_plan(files), keys)
    inputs = Inputs([*data, *pairs], id_column, label_column, data_dir)
    means = Means(engine, jobs, accept_leaks, quiet, is_new)
    if encrypted and not defences:
        raise typer.BadParameter("--encrypted goes with --defences; a plain audit is as the plan says")
    if is_new and defences:
        raise typer.BadParameter("--new goes without --defences, which always begins anew")
    if defences:
        from plumbob.workshop.commands import defences as comparison

        result = unless_interrupted(lambda: comparison.run(plan, inputs, out, means, names, encrypted, progress(quiet)))
    else:
        result = unless_interrupted(lambda: work.audit_plan(plan, inputs, out, means, names, progress(quiet)))
    show(result, as_json)
    if work.leaks(result):
        raise typer.Exit(LEAKING)


@app.command()
def attack(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="The folder of a run.")],
    only: Only = [],  # noqa: B006  # Typer copies it.
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the findings in the run's record, and make its report again.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The red team on a recorded run: what each party could work out from what it saw."""
    from plumbob.workshop.commands import attack as work

    folders, names = work.told_apart(words, only)
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    show(unless_interrupted(lambda: work.run(Path(folders[0]), names, progress(quiet), keep)), as_json)


@app.command()
def predict(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="The folder of a run; PARTY=FILE may follow.")],
    data: Data = [],  # noqa: B006  # Typer copies it.
    id_column: IdColumn = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.", dir_okay=False)] = Path("scores.csv"),
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Scores of new rows (of a data set, its test part) to a CSV file: id, score, probability, predicted class."""
    folders, pairs = told_apart(words)
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    from plumbob.workshop.commands import predict as work
    from plumbob.workshop.commands.train import Inputs

    show(work.run(Path(folders[0]), Inputs([*data, *pairs], id_column, data_dir=data_dir), out), as_json)


@app.command()
def receipt(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Folder of a run, or of each party's side of one run.")
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show which protections a run actually used, or compare two parties' records of it.

    Exits with 1 if the records are inconsistent or a signature does not hold.
    """
    from plumbob.commands import receipt as work

    result = work.run(folders[0]) if len(folders) == 1 else work.compare(folders)
    show(result, as_json)
    if not result["consistent"]:
        raise typer.Exit(1)


@app.command()
def report(
    folder: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; without it, report.html in the run's folder.", dir_okay=False),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The run as one HTML page that loads nothing: the verdict, how it came about, the plan, costs and receipt."""
    from plumbob.commands import report as work

    show(work.run(folder, out), as_json)


@app.command()
def export(
    folder: RunFolder,
    to: Annotated[str, typer.Option(help="The form.", metavar="json|skops|onnx")] = "json",
    party: Annotated[str | None, typer.Option(help="One party's own part; without it, all parts merged.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, in the run's folder.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The model for other programs, in the units of the parties' own tables."""
    from plumbob.workshop.commands import export as work

    show(work.run(folder, to, party, out), as_json)


@app.command()
def lab(
    folder: Annotated[
        Path | None, typer.Argument(metavar="RUN_DIR", help="A run to open on: its report, and its plan to change.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder that keeps the lab's runs.", file_okay=False)] = Path(
        "lab-runs"
    ),
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A page on this machine to try plans out: findings at once, runs and attacks live, runs compared."""
    from plumbob.workshop.commands import lab as work

    wishes = work.Wishes(folder, out, port, opens, data_dir)
    # Not even --quiet hides the address: without it nobody gets in.
    work.run(wishes, lambda result: show(result, as_json), progress(quiet))


@app.command()
def paper(
    part: Annotated[
        str, typer.Argument(metavar="mnist|credit|attacks", help="A data set of section 7, or the theorems.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write to; a second call goes on there.", file_okay=False)],
    preset: Annotated[
        str | None,
        typer.Option(help="How section 7 is read; without it, both ways.", metavar="figures|text|both"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of every setting.", min=1)] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="One seed; the undefended and one defended run.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's figures and claims from the real data, and its theorems as experiments, beside what it says."""
    from plumbob.workshop.commands import paper as work

    wishes = work.Wishes(preset, seeds, quick, data_dir)
    show(unless_interrupted(lambda: work.run(part, wishes, out, progress(quiet))), as_json)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: seconds, not minutes.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time one training iteration with each engine that is installed."""
    from plumbob.workshop import bench as work

    show(work.run(quick, progress(quiet)), as_json)


@party.command("init")
def party_init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="This party's name, as plans have it.")],
    home: HomeFolder = HOME,
    listen: Annotated[
        str, typer.Option(help="Where peers may call; without it, this side only dials.", metavar="HOST:PORT")
    ] = "",
    address: Annotated[
        str, typer.Option(help="Where peers reach that, for invitations; without it, as --listen.", metavar="HOST:PORT")
    ] = "",
    proxy: Annotated[str, typer.Option(help="Dial out through this HTTP proxy.", metavar="URL")] = "",
    data: Annotated[Path | None, typer.Option(help="The file of this party's table.", dir_okay=False)] = None,
    id_column: Annotated[str, typer.Option("--id", help="The column that names a row.", metavar="COLUMN")] = "id",
    label_column: Annotated[
        str, typer.Option("--label", help="The column that holds the label, if this party has it.", metavar="COLUMN")
    ] = "",
    engine: Engine = "auto",
    days: Annotated[int, typer.Option(help="How long the certificate holds.", min=1)] = 730,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A new party: a key that stays in its folder, a certificate for its peers, and commented settings."""
    from plumbob.commands import party as work
    from plumbob.party.home import Settings

    settings = Settings(
        name=name,
        listen=listen,
        address=address,
        proxy=proxy,
        data="" if data is None else str(data.resolve()),
        id_column=id_column,
        label_column=label_column,
        engine=engine,
    )
    show(work.init(home, settings, days), as_json)


@party.command("renew")
def party_renew(
    days: Annotated[int, typer.Option(help="How long the new certificate holds.", min=1)] = 730,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A new certificate for the same key, before the old one ends or after; the peers must join it again."""
    from plumbob.commands import party as work

    show(work.renew(home, days), as_json)


@party.command("invite")
def party_invite(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """One line for a peer to join, and the fingerprint to read out over the telephone."""
    from plumbob.commands import party as work

    show(work.invite(home), as_json)


@party.command("join")
def party_join(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The line that the peer's `party invite` printed.")],
    address: Annotated[
        str | None, typer.Option(help="Dial it here, whatever its invitation says.", metavar="HOST:PORT")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a new identity take the place of the one pinned.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Pin a peer's certificate; the peer does the same with ours."""
    from plumbob.commands import party as work

    show(work.join(home, token, address, replace), as_json)


@party.command("doctor")
def party_doctor(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="A plan's TOML file, to compare it too.")] = None,
    peer: Annotated[list[str], typer.Option("--peer", help="Only this peer; may be repeated.", metavar="NAME")] = [],  # noqa: B006  # Typer copies it.
    wait: Annotated[float, typer.Option(help="Seconds to wait for the peers.", min=0)] = 60,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check the own table, then network, clock, versions, plan and message size with each peer, who runs it too."""
    from plumbob.commands import party as work

    tell = None if as_json else lambda line: show({"lines": [line]}, as_json=False)
    result = unless_interrupted(lambda: work.doctor(home, plan, peer, wait, progress(quiet), tell))
    if as_json:
        show(result, as_json)
    if not result["ready"]:
        raise typer.Exit(1)


@party.command("sign")
def party_sign(
    plan: PlanFile,
    accept_leaks: AcceptLeaks = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give this party's word for a plan, which everybody's training needs; a plan that leaks needs --accept-leaks."""
    from plumbob.commands import party_runs as work

    show(work.sign(home, plan, accept_leaks), as_json)


@party.command("align")
def party_align(
    plan: PlanFile,
    data: Annotated[Path | None, typer.Option(help="Another table than the settings name.", dir_okay=False)] = None,
    name: Annotated[
        str, typer.Option(help="Keep it under this name, the same at all parties: rows to predict, say.")
    ] = "",
    at_least: Annotated[
        int | None, typer.Option(help="The size first: go on to the ids only with so many in common.", min=1)
    ] = None,
    at_most: Annotated[int, typer.Option(help="Refuse a peer that brings more ids than these.", min=1)] = 5_000_000,
    is_new: Annotated[
        bool, typer.Option("--new", help="Begin anew, whatever was interrupted; the peers do the same.")
    ] = False,
    jobs: Jobs = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the rows that all parties have; ids that somebody lacks stay at home."""
    from plumbob.commands import party_runs as work

    wishes = work.AlignmentWishes(name, data, at_least, at_most, jobs, is_new)
    show(unless_interrupted(lambda: work.align(home, plan, wishes, quiet, progress(quiet))), as_json)


@party.command("train")
def party_train(
    plan: PlanFile,
    is_new: Annotated[bool, typer.Option("--new", help="Begin another run of a plan that was run before.")] = False,
    allow_test_keys: Annotated[
        bool, typer.Option("--allow-test-keys", help="Train with keys that are too short to protect anything.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """This party's part in training; started again after any interruption, it goes on where it was."""
    from plumbob.commands import party_runs as work

    def trained() -> dict[str, object]:
        return work.train(home, plan, is_new, quiet, progress(quiet), allow_test_keys=allow_test_keys)

    show(unless_interrupted(trained), as_json)


@party.command("predict")
def party_predict(
    plan: PlanFile,
    ids: Annotated[
        list[str], typer.Option("--ids", help="Only this row; may be repeated. Without it, all.", metavar="ID")
    ] = [],  # noqa: B006  # Typer copies it.
    data: Annotated[Path | None, typer.Option(help="Another table than the settings name.", dir_okay=False)] = None,
    name: Annotated[str, typer.Option(help="The name under which these rows were aligned.")] = "",
    most_rows: Annotated[
        int | None,
        typer.Option(
            help="Answer at most so many rows of this plan, over all sessions; without it, as the settings say.", min=1
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write (at the label party).", dir_okay=False)] = Path(
        "scores.csv"
    ),
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Scores of aligned rows: the label party gets them, the others answer."""
    from plumbob.commands import party_runs as work

    wishes = work.PredictionWishes(ids, name, data, most_rows, out)
    show(unless_interrupted(lambda: work.predict(home, plan, wishes, progress(quiet))), as_json)


@party.command("status")
def party_status(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """How far every run of this party is, and who waits for whom."""
    from plumbob.commands import party_runs as work

    show(work.status(home), as_json)


@party.command("forget")
def party_forget(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name, as `party status` has it.")],
    gives_up: Annotated[
        bool, typer.Option("--give-up", help="Also a run that is not over: it is deleted, and nobody can end it.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Wipe the secrets that a run keeps for a peer that will not come back; results stay."""
    from plumbob.commands import party_runs as work

    show(work.forget(home, run, gives_up), as_json)


def one_plan(files: list[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


def unless_interrupted(work: Callable[[], dict[str, object]]) -> dict[str, object]:
    """The work's result; what Ctrl-C stopped was said already, and Typer's versions leave with different codes."""
    try:
        return work()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def told_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """(paths, PARTY=FILE pairs): `--data a=1.csv b=2.csv` leaves its second pair among the arguments."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]


def progress(quiet: bool) -> Callable[[str], None]:
    """Where a verb tells how far it is: standard error, or nowhere."""
    console = Console(stderr=True, quiet=quiet)
    return lambda message: console.print(message, style="dim", markup=False, highlight=False, soft_wrap=True)


def show(result: dict[str, object], as_json: bool) -> None:
    """Print a result: its lines for people, all the rest for programs."""
    if as_json:
        typer.echo(json.dumps({name: value for name, value in result.items() if name != "lines"}, allow_nan=False))
        return
    console = Console()
    for line in cast("list[str]", result["lines"]):
        # As it is, however wide: a table cut at 80 columns cannot be read by the next program in a pipe.
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def printable(text: str) -> str:
    """Without control characters: what a record or a peer says must not steer the terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)
