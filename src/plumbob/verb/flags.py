"""The arguments and flags that several verbs share, and arguments that may be a file or PARTY=FILE, told apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.verb import Argument, Flag

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices
    from plumbob.data.ids import IdColumns

GivenPlan = Plan | str | Path
"""A plan, or its file."""
HOME = Path("party")
PlanKeys = Annotated[Mapping[str, Any], "keys of the plan"]
"""The type of the field in which a verb finds the keys of a plan whose flags were used (`plan_flags`)."""
PartyKeys = Annotated[Mapping[str, Any], "keys of a plan of parties"]
"""The same of a verb that drafts a plan for organisations, which has none of a study's keys."""

DataOption = Annotated[
    Sequence[str], Flag("Name of a data set, or PARTY=FILE for each party.", "DATASET|PARTY=FILE ...")
]
IdColumnWords = Annotated[
    Sequence[str],
    Flag(
        "Column that identifies each row; where its name differs, PARTY=COLUMN for each party, repeated.",
        "[PARTY=]COLUMN",
        "--id",
    ),
]
DataDir = Annotated[Path | None, Flag("Folder of the larger data sets (default: PLUMBOB_DATA).")]
RunFolderArgument = Annotated[Path, Argument("Folder of a run.", "RUN_DIR")]
PlanFile = Annotated[GivenPlan, Argument("Plan file (TOML).", "PLAN")]
PlanWords = Annotated[Sequence[str], Argument("Plan file (TOML); omit it to use flags only.", "PLAN")]
RunOut = Annotated[Path, Flag("Folder to write to.", is_folder=True)]
LabelColumn = Annotated[str | None, Flag("Column of the label party that holds the label.", "COLUMN", "--label")]
Jobs = Annotated[int | None, Flag("Number of cores to use (default: all).", low=1)]
AcceptLeaks = Annotated[
    bool, Flag("Accept what leaks even if everyone keeps to the protocol (noted in the run record).")
]
AcceptCheating = Annotated[
    bool, Flag("Accept what a cheating party could read without a trace (noted in the run record).")
]
AcceptEvidence = Annotated[
    bool, Flag("Accept evidence that outlives the noise on whole rows (noted in the run record).")
]
IsNew = Annotated[bool, Flag("Start over and replace the run, finished or interrupted, in this folder.", name="--new")]
ShowsAll = Annotated[bool, Flag("Also show every finding with its numbers and reasons, and all notes.")]
Strict = Annotated[bool, Flag("Also exit with 4 where nothing leaks but something degrades.")]
Predicted = Annotated[
    int | None, Flag("Rows to be scored after training (default: as many as the plan allows).", low=0)
]
Positives = Annotated[
    float | None,
    Flag("Share of rows with label 1 (default: unknown).", "SHARE"),
]
Only = Annotated[Sequence[str], Flag("Attacks to run (default: all).", "NAME ...")]
StrictRows = Annotated[
    bool, Flag("Refuse rows with a level or a gap that training did not have (default: count them).")
]
TestFiles = Annotated[Sequence[str], Flag("File of test rows of a party; may be repeated.", "PARTY=FILE")]
HomeFolder = Annotated[
    Path, Flag("This party's folder: key, certificate, peers, settings.", is_folder=True, envvar="PLUMBOB_HOME")
]
FromFate = Annotated[Path | None, Flag("FATE job to read instead of a plan: conf or DAG.", "FILE")]
FromSecretflow = Annotated[
    Path | None, Flag("SecretFlow job to read instead of a plan: graph, Kuscia job or node.", "FILE")
]
JobVersion = Annotated[str | None, Flag("Version of FATE or SecretFlow, where the job does not say it.", "VERSION")]
TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def plan_of(given: GivenPlan) -> Plan:
    """The plan itself; PlanError where its file cannot be read."""
    return given if isinstance(given, Plan) else Plan.load(given)


def plan_argument(given: GivenPlan) -> str:
    """The plan as an argument of the next command."""
    return "PLAN" if isinstance(given, Plan) else str(given)


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


# A party's own table: which columns, and how they are read. Every verb that reads one has these flags.


def _of_table(text: str, metavar: str | None = None, name: str = "") -> Flag:
    return Flag(text, metavar, name, panel="How the table is read")


@dataclass(frozen=True)
class TableFlags:
    """The flags about a table, as they were typed."""

    columns: Annotated[
        Sequence[str], _of_table("Columns to use, in this order, separated by commas (default: all).", "NAMES")
    ] = ()
    drop: Annotated[Sequence[str], _of_table("Columns to leave out, separated by commas.", "NAMES")] = ()
    category: Annotated[
        Sequence[str],
        _of_table("Columns that are text even if their cells are numbers, separated by commas.", "NAMES"),
    ] = ()
    gaps: Annotated[
        Sequence[str], _of_table("Cell that means a gap, besides empty ones and NA; may be repeated.", "MARK", "--na")
    ] = ()
    positive: Annotated[
        str | None, _of_table("Class to predict (default: the label's second class when sorted).", "CLASS")
    ] = None
    weight: Annotated[
        str | None,
        _of_table("Column of the label party that says how much a row counts in training, from 0 to 1.", "COLUMN"),
    ] = None

    def choices(self) -> "ColumnChoices":
        """The choices about a table that the flags make."""
        # Late: whoever asks for help does not wait for numpy.
        from plumbob.data import ColumnChoices

        return ColumnChoices(
            _names(self.columns) or None,
            _names(self.drop),
            _names(self.category),
            tuple(self.gaps),
            self.positive,
            self.weight,
        )


NOTHING_SAID = TableFlags()


def id_columns(words: Sequence[str]) -> "IdColumns":
    """The id columns from `--id`: one name for every file, or one for each party; None where nothing was said."""
    if not words:
        return None
    if not any("=" in word for word in words):
        # As with any flag that is given twice, the last one counts.
        return words[-1]
    columns: dict[str, str] = {}
    for word in words:
        party, _, column = word.partition("=")
        if not party or not column:
            raise DataError(f"--id {word}: expected one COLUMN for all files, or PARTY=COLUMN for each party")
        if party in columns:
            raise DataError(f"--id {word}: a second id column for {party}; expected one")
        columns[party] = column
    return columns


def own_id_column(words: Sequence[str], party: str) -> str | None:
    """This party's id column from `--id`, alone or as PARTY=COLUMN, so that one command line serves every side."""
    from plumbob.data.ids import id_column_of

    columns = id_columns(words)
    if not isinstance(columns, Mapping):
        return id_column_of(columns, party)
    if party not in columns:
        raise DataError(f"--id: no id column for {party}, only for {', '.join(columns)}; add --id {party}=COLUMN")
    return columns[party]


def _names(words: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas, or given one by one."""
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())
