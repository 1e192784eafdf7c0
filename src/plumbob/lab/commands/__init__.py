"""The verbs that need the lab: all parties on this machine, attacks, the paper. Other modules do the work."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from plumbob.verb import AUDITED, Argument, Caller, Flag, Result, Verb, flags

START, HERE, LOOK_AT_RUNS, TOOLS = (
    "Start here",
    "Train with all parties on this machine",
    "Look at runs",
    "Research and tools",
)
RunWords = Annotated[Sequence[str], Argument("Folder of a run.", "RUN_DIR")]


@dataclass(frozen=True)
class Demo(Verb, words="demo", section=START, example="demo --out demo"):
    """Train one model three ways (exchange, exchange with noise, shares), attack each run and compare the results."""

    out: Annotated[Path, Flag("Folder to write to.", is_folder=True)] = Path("demo")

    def do(self, caller: Caller) -> Result:
        from plumbob.lab import demo

        return demo.run(self.out, caller.at)


@dataclass(frozen=True)
class OpenLab(Verb, words="lab", section=START, example="lab --open"):
    """Open a page on this machine to try out plans and to read the reports of runs."""

    folder: Annotated[
        Path,
        Argument("Folder of runs (default: this one), or of one run, whose plan is then in the controls.", "FOLDER"),
    ] = Path()
    port: Annotated[int, Flag("Port on 127.0.0.1; 0 = any free one.", low=0, high=65535)] = 0
    opens: Annotated[bool, Flag("Open the page in the browser.", name="--open")] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.lab.commands.lab import run

        # Not even --quiet hides the address: without it nobody gets in.
        run(self, caller.show, caller.tell)
        return {}


@dataclass(frozen=True)
class TrainingVerb(Verb):
    """A verb that trains with all parties here: the flags of `train`, which `audit` has too."""

    plan_words: flags.PlanWords = ()
    out: flags.RunOut = Path("run")
    data: flags.DataOption = ()
    id_columns: flags.IdColumnWords = ()
    label_column: flags.LabelColumn = None
    data_dir: flags.DataDir = None
    jobs: flags.Jobs = None
    accept_leaks: flags.AcceptLeaks = False
    is_new: flags.IsNew = False
    test: flags.TestFiles = ()
    table: flags.TableFlags = field(default=flags.NOTHING_SAID, kw_only=True)
    keys: flags.PlanKeys = field(default_factory=dict, kw_only=True)

    @property
    def paths(self) -> list[str]:
        """The words that are no PARTY=FILE."""
        return flags.told_apart(self.plan_words)[0]

    @property
    def sources(self) -> list[str]:
        """Where the data come from: a data set's name, or PARTY=FILE for each party."""
        return [*self.data, *flags.told_apart(self.plan_words)[1]]

    @property
    def source(self) -> str:
        """A data set's name, or a word that it was files."""
        return "files" if "=" in "".join(self.sources) else "".join(self.sources)


@dataclass(frozen=True)
class TrainHere(TrainingVerb, words="train", section=HERE, example="train joint.toml --data loans --out run"):
    """Train with all parties on this machine, exchanging the same bytes as over a network.

    The joint model is compared with local-only and pooled ones.
    """

    def do(self, caller: Caller) -> Result:
        from plumbob.lab.commands.train import run

        return run(self, caller.quiet)


@dataclass(frozen=True)
class PredictHere(Verb, words="predict", section=HERE, example="predict run --data loans --out scores.csv"):
    """Score new rows and write a CSV file (for a named data set, its test split).

    Its columns are id, score, probability and predicted class.
    """

    run_words: RunWords
    data: flags.DataOption = ()
    id_words: flags.IdColumnWords = ()
    out: Annotated[Path, Flag("CSV file to write.", is_file=True)] = Path("scores.csv")
    gaps: Annotated[
        Sequence[str], Flag("Cell that means a gap, besides those given for training; may be repeated.", "MARK", "--na")
    ] = ()
    strict: flags.StrictRows = False
    data_dir: flags.DataDir = None

    def do(self, caller: Caller) -> Result:
        folders, pairs = flags.told_apart(self.run_words)
        flags.refuse_nameless([*self.data, *folders])
        folder = one_run(folders)
        from plumbob.lab.commands.predict import predict

        return predict(folder, [*self.data, *pairs], self)


@dataclass(frozen=True)
class Audit(
    TrainingVerb,
    words="audit",
    section=HERE,
    example="audit joint.toml --data loans --out audited",
    codes=AUDITED,
):
    """Train, attack the run with everything each party saw, score the attacks and write a report.

    For the folder of a recorded run, attack that run: its report then shows the new findings.

    Each attack has a work budget, which the report states. On 27,000 rows and 23 columns all attacks together take
    about a minute; training with `exchange` takes longer than that.
    """

    only: flags.Only = ()
    predicted: flags.Predicted = None
    strict: flags.Strict = False
    verbose: flags.ShowsAll = field(default=False, kw_only=True)

    def do(self, caller: Caller) -> Result:
        from plumbob.lab.commands import attack

        paths, names = attack.told_apart(self.paths, self.only)
        if not any(Path(path).is_dir() for path in paths):
            return attack.audit_plan(self, paths, names, caller)
        if self.sources or self.keys:
            raise typer.BadParameter(
                "a recorded run has its plan and data; give its folder alone, or a plan with --data"
            )
        return attack.audit_run(self, one_run(paths), names, caller)

    def exit_code(self, result: Result) -> int:
        from plumbob.commands.check import exit_code

        return exit_code(result, self.strict)


@dataclass(frozen=True)
class Export(Verb, words="export", section=LOOK_AT_RUNS, example="export run --to json"):
    """Export the model for other programs, in the units of your tables, or as a scorecard."""

    folder: flags.RunFolderArgument
    to: Annotated[str, Flag("Output format.", "json|scorecard")] = "json"
    party: Annotated[str | None, Flag("Export only this party's part (default: all parts merged).")] = None
    out: Annotated[Path | None, Flag("File to write (default: in the run's folder).")] = None
    base_score: Annotated[float, Flag("Scorecard: points at the base odds.")] = 600.0
    odds: Annotated[float, Flag("Scorecard: odds of the negative class at the base score.")] = 50.0
    pdo: Annotated[float, Flag("Scorecard: points that double the odds.")] = 20.0

    def do(self, caller: Caller) -> Result:
        from plumbob.lab.commands.predict import export_model

        return export_model(self)


@dataclass(frozen=True)
class Paper(Verb, words="paper", section=TOOLS, example="paper attacks --quick --out paper"):
    """Reproduce the paper's figures, claims and theorems, beside what the paper says."""

    part: Annotated[str, Argument("A data set of section 7, or the theorems.", "mnist|credit|attacks")]
    out: Annotated[Path, Flag("Output folder; run again with the same folder to continue.", is_folder=True)]
    preset: Annotated[str | None, Flag("Which reading of section 7 to use (default: both).", "figures|text|both")] = (
        None
    )
    seeds: Annotated[int, Flag("Repetitions of every setting.", low=1)] = 5
    quick: Annotated[bool, Flag("One seed, and only the undefended and one defended run.")] = False
    data_dir: flags.DataDir = None

    def do(self, caller: Caller) -> Result:
        from plumbob.lab.commands.paper import run

        return run(self, caller.tell)


def one_run(folders: Sequence[str]) -> Path:
    """The folder of the run that was named."""
    if len(folders) != 1:
        raise typer.BadParameter(f"expected one folder of a run, got {', '.join(folders) or 'none'}")
    return Path(folders[0])
