"""The arguments and flags that several verbs share, and arguments that may be a file or PARTY=FILE, told apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from plumbob.plan import Plan

GivenPlan = Plan | str | Path
"""A plan, or its file."""
HOME = Path("party")

DataOption = Annotated[
    Sequence[str],
    typer.Option("--data", help="Name of a data set, or PARTY=FILE for each party.", metavar="DATASET|PARTY=FILE ..."),
]
IdColumnWords = Annotated[
    Sequence[str],
    typer.Option(
        "--id",
        help="Column that identifies each row; where its name differs, PARTY=COLUMN for each party, repeated.",
        metavar="[PARTY=]COLUMN",
    ),
]
IsByPlace = Annotated[
    bool,
    typer.Option(
        "--by-place",
        help="Instead of --id: pair rows by their place in the files, which must all be in the same order.",
    ),
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the larger data sets (default: PLUMBOB_DATA).")
]
RunFolderArgument = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder of a run.")]
PlanFile = Annotated[GivenPlan, typer.Argument(metavar="PLAN", help="Plan file (TOML).")]
PlanWords = Annotated[
    Sequence[str], typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
]
RunOut = Annotated[Path, typer.Option("--out", help="Folder to write to.", file_okay=False)]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="Column of the label party that holds the label.", metavar="COLUMN")
]
EngineOption = Annotated[
    str,
    typer.Option(help="Arithmetic backend; `ray` uses a cluster, for shares.", metavar="auto|native|python|ray"),
]
Jobs = Annotated[int | None, typer.Option(help="Number of cores to use (default: all).", min=1)]
AcceptLeaks = Annotated[
    bool,
    typer.Option(
        "--accept-leaks", help="Accept what leaks even if everyone keeps to the protocol (noted in the run record)."
    ),
]
AcceptCheating = Annotated[
    bool,
    typer.Option(
        "--accept-cheating", help="Accept what a cheating party could read without a trace (noted in the run record)."
    ),
]
AcceptEvidence = Annotated[
    bool,
    typer.Option(
        "--accept-evidence", help="Accept evidence that outlives the noise on whole rows (noted in the run record)."
    ),
]
IsNew = Annotated[
    bool, typer.Option("--new", help="Start over and replace the run, finished or interrupted, in this folder.")
]
ShowsAll = Annotated[
    bool, typer.Option("--verbose", help="Also show every finding with its numbers and reasons, and all notes.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Also exit with 4 where nothing leaks but something degrades.")]
Predicted = Annotated[
    int | None,
    typer.Option(help="Rows to be scored after training (default: as many as the plan allows).", min=0),
]
Only = Annotated[Sequence[str], typer.Option("--only", help="Attacks to run (default: all).", metavar="NAME ...")]
Threshold = Annotated[
    str | float | None,
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
    typer.Option(
        "--strict", help="Refuse rows with a level or a gap that training did not have (default: count them)."
    ),
]
TestFiles = Annotated[
    Sequence[str],
    typer.Option("--test", help="File of test rows of a party; may be repeated.", metavar="PARTY=FILE"),
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
TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def one_plan(files: Sequence[str]) -> Path | None:
    """The plan's file, if one is named."""
    if len(files) > 1:
        raise typer.BadParameter(f"expected one plan, got {', '.join(files)}; files with data are given as PARTY=FILE")
    return Path(files[0]) if files else None


def refuse_nameless(words: Sequence[str]) -> None:
    """Refuse a table that does not say whose it is: it would be taken for a plan or for a data set's name."""
    if nameless := [word for word in words if "=" not in word and word.lower().endswith(TABLE_ENDINGS)]:
        first = nameless[0]
        raise typer.BadParameter(
            f"{', '.join(nameless)}: whose table is it? files with data are given as PARTY=FILE, such as"
            f" {Path(first).name.partition('.')[0]}={first}"
        )


def told_apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(paths, PARTY=FILE pairs): `--data a=1.csv b=2.csv` leaves its second pair among the arguments."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]
