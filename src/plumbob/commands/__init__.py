"""The verbs that need neither a party's folder nor the lab: plans, and folders of runs.

The work is in the modules beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from plumbob.verb import JUDGED, Argument, Caller, Flag, Result, Verb, flags

PLANS, LOOK_AT_RUNS = "Plan and check", "Look at runs"
PlanToRead = Annotated[Path, Argument("Plan file (TOML).", "PLAN")]


@dataclass(frozen=True)
class NewPlan(
    Verb, words="plan new", section="Verbs", example="plan new --names bank,processor --features 5,18 --out joint.toml"
):
    """Write a plan with every default and a comment beside each key.

    Flags change its keys; tables give it their columns.
    """

    more_tables: Annotated[Sequence[str], Argument("More tables, after the first one of --data.", "PARTY=FILE")] = ()
    out: Annotated[Path | None, Flag("File to write (default: standard output).")] = None
    names: Annotated[str | None, Flag("The parties' names: bank,processor.")] = None
    from_fate: flags.FromFate = None
    from_secretflow: flags.FromSecretflow = None
    job_version: flags.JobVersion = None
    data: Annotated[
        Sequence[str],
        Flag("Table to fit the plan to: your own FILE, or PARTY=FILE for each party.", "FILE|PARTY=FILE ..."),
    ] = ()
    id_words: flags.IdColumnWords = ()
    label_column: flags.LabelColumn = None
    table: flags.TableFlags = flags.NOTHING_SAID
    keys: flags.PlanKeys = field(default_factory=dict)

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.plans import new

        return new(self)


@dataclass(frozen=True)
class ShowPlan(Verb, words="plan show", section="Verbs", example="plan show joint.toml"):
    """Print the whole plan as the parties will agree on it, with its hash."""

    plan: PlanToRead

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.plans import show

        return show(self.plan)


@dataclass(frozen=True)
class CheckPlan(Verb, words="check", section=PLANS, example="check joint.toml --estimate", codes=JUDGED):
    """Say before training what each party will be able to work out."""

    plan: Annotated[Path | None, Argument("Plan file (TOML); omit it to use flags only.", "PLAN")] = None
    estimate: Annotated[bool, Flag("Also estimate minutes, traffic and memory on this machine.")] = False
    positives: flags.Positives = None
    home: flags.HomeFolder = flags.HOME
    from_fate: flags.FromFate = None
    from_secretflow: flags.FromSecretflow = None
    job_version: flags.JobVersion = None
    strict: flags.Strict = False
    verbose: flags.ShowsAll = field(default=False, kw_only=True)
    keys: flags.PlanKeys = field(default_factory=dict)

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.check import run

        return run(self)

    def exit_code(self, result: Result) -> int:
        from plumbob.commands.check import exit_code

        return exit_code(result, self.strict)


@dataclass(frozen=True)
class WriteReport(Verb, words="report", section=LOOK_AT_RUNS, example="report run"):
    """Write a run's report: one HTML page that loads nothing from elsewhere."""

    folder: flags.RunFolderArgument
    out: Annotated[Path | None, Flag("File to write (default: report.html in the run's folder).", is_file=True)] = None

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.report import run

        return run(self.folder, self.out)
