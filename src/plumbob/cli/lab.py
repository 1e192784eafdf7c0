"""The verbs that need the lab: all parties on this machine, attacks, the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbob.caller import Caller, Outcome
from plumbob.cli.check import LOOK_AT_RUNS, code_of
from plumbob.cli.options import (
    JUDGED,
    DataDir,
    DataWords,
    FlagGroup,
    IdColumnWords,
    LabelColumn,
    PlanKeys,
    RunFolderArgument,
    ShowsAll,
    Strict,
    StrictRows,
    TableFlags,
    command,
    group_of,
    plan_from,
)

if TYPE_CHECKING:
    from plumbob.lab.commands import TrainingHere

START, HERE, TOOLS = "Start here", "Train with all parties on this machine", "Research and tools"
TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".feather")


@dataclass(frozen=True)
class TrainingFlags(FlagGroup):
    """The words and flags of a training with all parties on this machine."""

    words: Annotated[
        list[str] | None, typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
    ] = None
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder to write to.")] = Path("run")
    data: DataWords = None
    id: IdColumnWords = None
    label: LabelColumn = None
    data_dir: DataDir = None
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of cores to use (default: all).")] = None
    accept_leaks: Annotated[
        bool,
        typer.Option(
            "--accept-leaks", help="Accept what leaks even if everyone keeps to the protocol (noted in the run record)."
        ),
    ] = False
    new: Annotated[
        bool,
        typer.Option("--new", help="Start over and replace the run, finished or interrupted, in this folder."),
    ] = False
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="PARTY=FILE", help="File of test rows of a party; may be repeated."),
    ] = None

    def training(
        self, paths: Sequence[str], sources: Sequence[str], keys: PlanKeys, table: TableFlags
    ) -> "TrainingHere":
        """The training that is asked for: by the plan that is named, or by one that is drafted from the data."""
        from plumbob.lab.commands import TrainingHere
        from plumbob.lab.simulate.id_columns import id_columns

        refuse_nameless([*sources, *paths])
        file = one_plan(paths)
        return TrainingHere(
            plan=None if file is None and "features" not in keys and sources else plan_from(file, keys),
            keys=keys,
            sources=sources,
            ids=id_columns(self.id),
            label=self.label,
            reading=table.choices(),
            test=self.test or (),
            data_dir=self.data_dir,
            out=self.out,
            jobs=self.jobs,
            accept_leaks=self.accept_leaks,
            is_new=self.new,
        )


group = group_of("", "")


@command(group, START, "demo --out demo")
def demo(
    caller: Caller, out: Annotated[Path, typer.Option(file_okay=False, help="Folder to write to.")] = Path("demo")
) -> Outcome:
    """Train one model three ways (exchange, exchange with noise, shares), attack each run and compare the results."""
    from plumbob.lab import demo

    return Outcome(demo.run(out, caller.at))


@command(group, START, "lab --open")
def lab(
    caller: Caller,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Folder of runs (default: this one), or of one run, whose plan is then in the controls.",
        ),
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 = any free one.")] = 0,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> Outcome:
    """Open a page on this machine to try out plans and to read the reports of runs."""
    from plumbob.lab.commands import lab

    lab.run(folder, port, opens, caller)
    return Outcome({})


@command(group, HERE, "train joint.toml --data loans --out run")
def train(given: TrainingFlags, table: TableFlags, keys: PlanKeys, caller: Caller) -> Outcome:
    """Train with all parties on this machine, exchanging the same bytes as over a network.

    Compares the joint model with one of the label party's columns alone, and with one of all columns in one place.
    """
    from plumbob.lab.commands.train import run

    paths, sources = told_apart(given.words, given.data)
    return Outcome(run(given.training(paths, sources, keys, table), caller.quiet))


@command(group, HERE, "audit joint.toml --data loans --out audited", codes=JUDGED)
def audit(
    given: TrainingFlags,
    table: TableFlags,
    keys: PlanKeys,
    caller: Caller,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME ...", help="Attacks to run (default: all).")] = None,
    predicted: Annotated[
        int | None,
        typer.Option(min=0, help="Rows to be scored after training (default: as many as the plan allows)."),
    ] = None,
    strict: Strict = False,
    verbose: ShowsAll = False,
) -> Outcome:
    """Train, attack the run with everything each party saw, score the attacks and write a report.

    For the folder of a recorded run, attack that run: its report then shows the new findings.

    Each attack has a work budget, which the report states. On 27,000 rows and 23 columns all attacks together take
    about a minute; training with `exchange` takes longer than that.
    """
    from plumbob.lab.commands import attack

    paths, sources = told_apart(given.words, given.data)
    # Of `--only a b`, the second name arrives among the words.
    paths, attacks = attack.split_words(paths, only or ())
    asked = attack.Attacks(attacks, predicted, verbose)
    if not any(Path(path).is_dir() for path in paths):
        fields = attack.audit_plan(asked, given.training(paths, sources, keys, table), caller)
    elif sources or keys:
        raise typer.BadParameter("a recorded run has its plan and data; give its folder alone, or a plan with --data")
    else:
        fields = attack.audit_run(asked, one_run(paths), caller)
    return Outcome(fields, code_of(fields, strict))


def told_apart(words: Sequence[str] | None, data: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """(paths, sources of data): `--data a=1.csv b=2.csv` leaves its second pair among the arguments."""
    words = words or ()
    pairs = [word for word in words if "=" in word]
    return [word for word in words if "=" not in word], [*(data or ()), *pairs]


def one_plan(files: Sequence[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


def one_run(folders: Sequence[str]) -> Path:
    """The folder of the run that was named."""
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    return Path(folders[0])


def refuse_nameless(words: Sequence[str]) -> None:
    """Refuse a table that does not say whose it is: it would be taken for a plan or for a data set's name."""
    if nameless := [word for word in words if "=" not in word and word.lower().endswith(TABLE_ENDINGS)]:
        first = nameless[0]
        raise typer.BadParameter(
            f"{', '.join(nameless)}: whose table is it? files with data are given as PARTY=FILE, such as"
            f" {Path(first).name.partition('.')[0]}={first}"
        )


@command(group, HERE, "predict run --data loans --out scores.csv")
def predict(
    words: Annotated[list[str], typer.Argument(metavar="RUN_DIR", help="Folder of a run.")],
    data: DataWords = None,
    id: IdColumnWords = None,
    out: Annotated[Path, typer.Option(dir_okay=False, help="CSV file to write.")] = Path("scores.csv"),
    gaps: Annotated[
        list[str] | None,
        typer.Option(
            "--na",
            metavar="MARK",
            help="Cell that means a gap, besides those given for training; may be repeated.",
        ),
    ] = None,
    strict: StrictRows = False,
    data_dir: DataDir = None,
) -> Outcome:
    """Score new rows and write a CSV file (for a named data set, its test split).

    Its columns are id, score, probability and predicted class.
    """
    folders, sources = told_apart(words, data)
    refuse_nameless([*sources, *folders])
    folder = one_run(folders)
    from plumbob.lab.commands.predict import predict
    from plumbob.lab.simulate.id_columns import id_columns

    ids = id_columns(id)
    return Outcome(predict(folder, sources, out=out, ids=ids, gaps=gaps or (), is_strict=strict, data_dir=data_dir))


@command(group, LOOK_AT_RUNS, "export run --to json")
def export(
    folder: RunFolderArgument,
    to: Annotated[str, typer.Option(metavar="json|scorecard", help="Output format.")] = "json",
    party: Annotated[
        str | None, typer.Option(help="Export only this party's part (default: all parts merged).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write (default: in the run's folder).")] = None,
    base_score: Annotated[float, typer.Option(help="Scorecard: points at the base odds.")] = 600.0,
    odds: Annotated[float, typer.Option(help="Scorecard: odds of the negative class at the base score.")] = 50.0,
    pdo: Annotated[float, typer.Option(help="Scorecard: points that double the odds.")] = 20.0,
) -> Outcome:
    """Export the model for other programs, in the units of your tables, or as a scorecard."""
    from plumbob.lab.commands.predict import export_model
    from plumbob.lab.simulate.export import ScorecardScale

    return Outcome(export_model(folder, to, party, out, ScorecardScale(base_score, odds, pdo)))


@command(group, TOOLS, "paper attacks --quick --out paper")
def paper(
    part: Annotated[
        str, typer.Argument(metavar="mnist|credit|attacks", help="A data set of section 7, or the theorems.")
    ],
    caller: Caller,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Output folder; run again with the same folder to continue.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(metavar="figures|text|both", help="Which reading of section 7 to use (default: both)."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of every setting.")] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, and only the undefended and one defended run.")
    ] = False,
    data_dir: DataDir = None,
) -> Outcome:
    """Reproduce the paper's figures, claims and theorems, beside what the paper says."""
    from plumbob.lab.commands.paper import run
    from plumbob.lab.paper.runs import Effort

    effort = Effort(seeds, quick, caller.tell, None if data_dir is None else str(data_dir))
    return Outcome(run(part, out, preset, effort))
