"""The command line: parse, call, print.

Exit codes: 0 done, 1 failed with a message, 2 wrong usage, 3 (`check`, `audit`) done and something leaks above the
plan's tolerance, 4 (`audit`, `check`) done and nothing leaks, but attacks were not run (`--only`) or, with `--strict`,
something degrades, 130 interrupted by Ctrl-C. The work is done elsewhere, and imported late, so that every verb starts
in under a second.
"""

import errno
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from rich.console import Console

from plumbob import __version__
from plumbob.commands.flags import with_plan_flags
from plumbob.commands.table_flags import TableFlags, with_table_flags
from plumbob.errors import ROOM_ADVICE, PlumbobError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Data = Annotated[
    list[str],
    typer.Option("--data", help="A data set's name, or PARTY=FILE for each party.", metavar="DATASET|PARTY=FILE ..."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column that identifies each row.", metavar="COLUMN")]
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
    typer.Option(help="Arithmetic backend; `ray` uses a cluster, `cuda` a GPU.", metavar="auto|native|python|ray|cuda"),
]
Jobs = Annotated[int | None, typer.Option(help="Number of cores to use (default: all).", min=1)]
AcceptLeaks = Annotated[
    bool, typer.Option("--accept-leaks", help="Accept the plan's known leaks (noted in the run record).")
]
IsNew = Annotated[bool, typer.Option("--new", help="Start over and discard any interrupted run.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 4 if nothing leaks but something degrades.")]
Predicted = Annotated[
    int, typer.Option(help="Rows to be scored after training: judges what their scores give away.", min=0)
]
Only = Annotated[list[str], typer.Option("--only", help="The attacks to run; without it, all.", metavar="NAME ...")]

Threshold = Annotated[
    str | None,
    typer.Option(
        help="Probability above which a row is positive, or `balanced` (both classes weigh the same) (default: 0.5).",
        metavar="NUMBER|balanced",
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(help="Threshold from the costs of a false alarm and of a miss: 1:5.", metavar="FALSE_ALARM:MISSED"),
]
StrictRows = Annotated[
    bool,
    typer.Option("--strict", help="Refuse rows with a level or gap that training never saw (default: count them)."),
]
TestFiles = Annotated[
    list[str],
    typer.Option("--test", help="File of test rows, for each party; repeat it.", metavar="PARTY=FILE"),
]
SplitBy = Annotated[
    str | None,
    typer.Option("--split-by", help="Hold out the newest fifth of the rows by this column.", metavar="COLUMN"),
]

HomeFolder = Annotated[
    Path,
    typer.Option(
        "--home", envvar="PLUMBOB_HOME", help="This party's folder: key, certificate, peers, settings.", file_okay=False
    ),
]
HOME = Path("party")

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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
        advice = f"; {ROOM_ADVICE}" if error.errno in FULL_DISK else ""
        typer.echo(f"plumbob: {error.filename or 'a file'}: {error.strerror or type(error).__name__}{advice}", err=True)
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


FromFate = Annotated[
    Path | None,
    typer.Option(
        "--from-fate", help="FATE job to read instead of a plan: conf, DAG or pipeline script.", metavar="FILE"
    ),
]
FromSecretflow = Annotated[
    Path | None,
    typer.Option(
        "--from-secretflow", help="SecretFlow job to read instead of a plan: graph, node or script.", metavar="FILE"
    ),
]
JobVersion = Annotated[
    str | None,
    typer.Option(
        "--job-version", help="Version of FATE or SecretFlow, where the job does not say it.", metavar="VERSION"
    ),
]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.", file_okay=False)] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model three ways (exchange, exchange with noise, shares), attack each run and compare the results."""
    from plumbob.workshop import demo as work

    show(work.run(out, progress(quiet)), as_json)


@plans.command("new")
@with_plan_flags
@with_table_flags
def plan_new(
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
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
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Write a commented plan with every default; flags change it, and tables give it their columns."""
    from plumbob.commands import plans as work
    from plumbob.commands.origins import Origin

    if data:
        from plumbob.commands import plans_from_tables as fitting

        files = fitting.Files(data, id_column, label_column, table)
        show(fitting.new(keys, names, out, files), as_json)
    else:
        origin = Origin(None, from_fate, from_secretflow, job_version)
        show(work.new(keys, names, out, origin), as_json)


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
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
    ] = None,
    with_estimate: Annotated[
        bool, typer.Option("--estimate", help="Also minutes, traffic and memory, measured on this machine.")
    ] = False,
    attack: Annotated[
        str | None, typer.Option("--explain", help="Explain one attack, using this plan's numbers.", metavar="ATTACK")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs will use the same rows; leakage adds up.", min=1)] = 1,
    predicted: Predicted = 0,
    own_data: Annotated[
        str | None,
        typer.Option(
            "--data", help="Your own table, for sharper verdicts; it is not sent or stored.", metavar="[PARTY=]FILE"
        ),
    ] = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    from_fate: FromFate = None,
    from_secretflow: FromSecretflow = None,
    job_version: JobVersion = None,
    strict: Strict = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also every finding that does not leak, with its reason, and all notes.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
) -> None:
    """Say before training what each party will be able to work out; exits with 3 if something leaks above tolerance."""
    from plumbob.commands import check as work
    from plumbob.commands.origins import Origin

    checked, job = work.plan_for(Origin(plan, from_fate, from_secretflow, job_version), keys)
    home = work.known_at_home(checked, own_data, id_column, label_column) if own_data else None
    options = work.CheckOptions(runs, attack, with_estimate, verbose, predicted, home)
    result = work.run(checked, options, progress(quiet), job)
    show(result, as_json)
    if code := work.exit_code(result, strict):
        raise typer.Exit(code)


@app.command()
@with_plan_flags
@with_table_flags
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
    test: TestFiles = [],  # noqa: B006  # Typer copies it.
    split_by: SplitBy = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Train with all parties on this machine, exchanging the same bytes as over a network.

    The joint model is compared with local-only and pooled ones.

    If it is interrupted, run the same command again to resume.
    """
    files, pairs = told_apart(words or [])
    from plumbob.commands.tables import chosen
    from plumbob.workshop.commands import train as work
    from plumbob.workshop.simulation.files import Testing

    testing = Testing(test, split_by)
    inputs = work.Inputs([*data, *pairs], id_column, label_column, data_dir, chosen(table), testing)
    plan = work.plan_for(one_plan(files), keys, inputs)
    options = work.TrainingOptions(engine, jobs, accept_leaks, quiet, is_new)
    with ending_at_ctrl_c():
        show(work.run(plan, inputs, out, options), as_json)


@app.command()
@with_plan_flags
@with_table_flags
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
    test: TestFiles = [],  # noqa: B006  # Typer copies it.
    split_by: SplitBy = None,
    only: Only = [],  # noqa: B006  # Typer copies it.
    defences: Annotated[
        bool, typer.Option("--defences", help="The same data under one defence after the other, as one table.")
    ] = False,
    encrypted: Annotated[
        bool,
        typer.Option(
            "--encrypted",
            help="With --defences: run the real encrypted protocols, measure them, include active attacks.",
        ),
    ] = False,
    predicted: Predicted = 0,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Train, attack with everything each party saw, score, report; exit code 3 if something leaks above tolerance."""
    from plumbob.commands.check import exit_code
    from plumbob.commands.tables import chosen
    from plumbob.workshop.commands import attack as work
    from plumbob.workshop.commands.train import Inputs, TrainingOptions, plan_for
    from plumbob.workshop.simulation.files import Testing

    paths, pairs = told_apart(words or [])
    files, names = work.told_apart(paths, only)
    testing = Testing(test, split_by)
    inputs = Inputs([*data, *pairs], id_column, label_column, data_dir, chosen(table), testing)
    plan = plan_for(one_plan(files), keys, inputs)
    options = TrainingOptions(engine, jobs, accept_leaks, quiet, is_new)
    if encrypted and not defences:
        raise typer.BadParameter("--encrypted goes with --defences; a plain audit is as the plan says")
    if is_new and defences:
        raise typer.BadParameter("--new cannot be combined with --defences, which always starts over")
    if defences:
        from plumbob.workshop.commands import defences as comparison

        with ending_at_ctrl_c():
            result = comparison.run(plan, inputs, out, options, names, encrypted, progress(quiet))
    else:
        with ending_at_ctrl_c():
            result = work.audit_plan(plan, inputs, out, options, names, progress(quiet), predicted)
    show(result, as_json)
    if code := exit_code(result, strict):
        raise typer.Exit(code)


@app.command()
def attack(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="The folder of a run.")],
    only: Only = [],  # noqa: B006  # Typer copies it.
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the findings in the run record and regenerate its report.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The red team on a recorded run: what each party could work out from what it saw."""
    from plumbob.workshop.commands import attack as work

    folders, names = work.told_apart(words, only)
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    with ending_at_ctrl_c():
        show(work.run(Path(folders[0]), names, progress(quiet), keep), as_json)


@app.command()
def predict(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="The folder of a run; PARTY=FILE may follow.")],
    data: Data = [],  # noqa: B006  # Typer copies it.
    id_column: IdColumn = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.", dir_okay=False)] = Path("scores.csv"),
    threshold: Threshold = None,
    cost: Cost = None,
    gaps: Annotated[
        list[str], typer.Option("--na", help="Cell that means a gap, besides those of training.", metavar="MARK")
    ] = [],  # noqa: B006  # Typer copies it.
    is_strict: StrictRows = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score new rows and write a CSV file (for a named data set, its test split).

    Its columns are id, score, probability and predicted class.
    """
    folders, pairs = told_apart(words)
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    from plumbob.workshop.commands import predict as work
    from plumbob.workshop.commands.train import Inputs

    inputs = Inputs([*data, *pairs], id_column, data_dir=data_dir)
    choices = work.Choices(threshold, cost, tuple(gaps), is_strict)
    show(work.run(Path(folders[0]), inputs, out, choices), as_json)


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
    to: Annotated[str, typer.Option(help="Output format.", metavar="json|skops|onnx|scorecard")] = "json",
    party: Annotated[str | None, typer.Option(help="One party's own part; without it, all parts merged.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, in the run's folder.")] = None,
    base_score: Annotated[float, typer.Option(help="Scorecard: points at the base odds.")] = 600.0,
    odds: Annotated[float, typer.Option(help="Scorecard: odds of the negative class at the base score.")] = 50.0,
    pdo: Annotated[float, typer.Option(help="Scorecard: points that double the odds.")] = 20.0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export the model for other programs, in the units of the parties' own tables, or one party's scorecard."""
    from plumbob.workshop.commands import export as work

    show(work.run(folder, to, party, out, work.Scale(base_score, odds, pdo)), as_json)


@app.command()
def lab(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="RUN_DIR", help="Run to open: shows its report and loads its plan for editing."),
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

    options = work.LabOptions(folder, out, port, opens, data_dir)
    # Not even --quiet hides the address: without it nobody gets in.
    work.run(options, lambda result: show(result, as_json), progress(quiet))


@app.command()
def paper(
    part: Annotated[
        str, typer.Argument(metavar="mnist|credit|attacks", help="A data set of section 7, or the theorems.")
    ],
    out: Annotated[
        Path, typer.Option(help="Output folder; run again with the same folder to continue.", file_okay=False)
    ],
    preset: Annotated[
        str | None,
        typer.Option(help="Which reading of section 7 to use (default: both).", metavar="figures|text|both"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of every setting.", min=1)] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="One seed; the undefended and one defended run.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's figures and claims from the real data, and its theorems as experiments, beside what it says."""
    from plumbob.workshop.commands import paper as work

    options = work.PaperOptions(preset, seeds, quick, data_dir)
    with ending_at_ctrl_c():
        show(work.run(part, options, out, progress(quiet)), as_json)


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
@with_table_flags
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
    data: Annotated[Path | None, typer.Option(help="The file of this party's table.", dir_okay=False)] = None,
    id_column: Annotated[str, typer.Option("--id", help="Column that identifies each row.", metavar="COLUMN")] = "id",
    label_column: Annotated[
        str, typer.Option("--label", help="The column that holds the label, if this party has it.", metavar="COLUMN")
    ] = "",
    engine: Engine = "auto",
    days: Annotated[int, typer.Option(help="Validity of the certificate, in days.", min=1)] = 730,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    table: TableFlags,
) -> None:
    """Set up a party: its key, its certificate and its settings. Shows what its table gives, and its invitation."""
    from plumbob.commands.tables import chosen
    from plumbob.party import setup as work
    from plumbob.party.home import HomeSettings

    settings = HomeSettings(
        name=name,
        listen=listen,
        address=address,
        proxy=proxy,
        data="" if data is None else str(data.resolve()),
        id_column=id_column,
        label_column=label_column,
        engine=engine,
        reading=chosen(table),
    )
    show(work.init(home, settings, days), as_json)


@party.command("renew")
def party_renew(
    days: Annotated[int, typer.Option(help="How long the new certificate holds.", min=1)] = 730,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Issue a new certificate for the same key, before or after the old one expires; peers must join again."""
    from plumbob.party import setup as work

    show(work.renew(home, days), as_json)


@party.command("invite")
def party_invite(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print a one-line invitation for a peer, and your fingerprint to read out over the phone."""
    from plumbob.party import setup as work

    show(work.invite(home), as_json)


@party.command("join")
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
    """Pin a peer's certificate; the peer does the same with ours."""
    from plumbob.party import setup as work

    show(work.join(home, token, address, replace), as_json)


@party.command("propose")
@with_plan_flags
@with_table_flags
def party_propose(
    out: Annotated[Path, typer.Option(help="Plan file to write.", dir_okay=False)] = Path("joint.toml"),
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    keys: dict[str, Any],
    table: TableFlags,
) -> None:
    """Draft a plan with your peers from everybody's tables; only the number of columns is exchanged.

    Run it on all sides at once. The party that has the label may change the plan's keys with the flags below.
    """
    from plumbob.commands.tables import chosen
    from plumbob.party import proposing as work

    with ending_at_ctrl_c():
        show(work.run(home, keys, chosen(table), out, progress(quiet)), as_json)


@party.command("doctor")
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
    from plumbob.party import setup as work

    tell = None if as_json else lambda line: show({"lines": [line]}, as_json=False)
    with ending_at_ctrl_c():
        result = work.doctor(home, plan, peer, wait, progress(quiet), tell)
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
    """Sign a plan; training starts only once every party has signed. A plan that leaks also needs --accept-leaks."""
    from plumbob.party import runs as work

    show(work.sign(home, plan, accept_leaks), as_json)


@party.command("align")
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
    ] = 5_000_000,
    is_new: Annotated[
        bool, typer.Option("--new", help="Begin anew, whatever was interrupted; the peers do the same.")
    ] = False,
    jobs: Jobs = None,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the rows that all parties share, without revealing any other ids."""
    from plumbob.party import runs as work

    options = work.AlignmentOptions(name, data, at_least, at_most, jobs, is_new)
    with ending_at_ctrl_c():
        show(work.align(home, plan, options, quiet, progress(quiet)), as_json)


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
    """Train with your peers; if it is interrupted, run the same command again to resume."""
    from plumbob.party import runs as work

    def trained() -> dict[str, object]:
        return work.train(home, plan, is_new, quiet, progress(quiet), allow_test_keys=allow_test_keys)

    with ending_at_ctrl_c():
        show(trained(), as_json)


@party.command("predict")
def party_predict(
    plan: PlanFile,
    ids: Annotated[
        list[str], typer.Option("--ids", help="Only this row; may be repeated. Without it, all.", metavar="ID")
    ] = [],  # noqa: B006  # Typer copies it.
    data: Annotated[
        Path | None, typer.Option(help="Use this table instead of the one named in party.toml.", dir_okay=False)
    ] = None,
    name: Annotated[str, typer.Option(help="The name under which these rows were aligned.")] = "",
    most_rows: Annotated[
        int | None,
        typer.Option(
            help="Answer at most this many rows for this plan, across all sessions (default: the limit in party.toml).",
            min=1,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write (at the label party).", dir_okay=False)] = Path(
        "scores.csv"
    ),
    threshold: Threshold = None,
    cost: Cost = None,
    is_strict: StrictRows = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Scores of aligned rows: the label party gets them, the others answer."""
    from plumbob.party import runs as work

    options = work.PredictionOptions(ids, name, data, most_rows, out, threshold, cost, is_strict)
    with ending_at_ctrl_c():
        show(work.predict(home, plan, options, progress(quiet)), as_json)


@party.command("status")
def party_status(home: HomeFolder = HOME, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show the progress of each run and which peers it is waiting for."""
    from plumbob.party import runs as work

    show(work.status(home), as_json)


@party.command("forget")
def party_forget(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name, as `party status` has it.")],
    gives_up: Annotated[
        bool, typer.Option("--give-up", help="Also delete an unfinished run; no party will be able to complete it.")
    ] = False,
    home: HomeFolder = HOME,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erase the secrets a run keeps for a peer that will not return; results are kept."""
    from plumbob.party import runs as work

    show(work.forget(home, run, gives_up), as_json)


def one_plan(files: list[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


@contextmanager
def ending_at_ctrl_c() -> Iterator[None]:
    """What Ctrl-C stopped was said already, and Typer's versions leave with different codes."""
    try:
        yield
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
