"""The verbs that need neither a party's folder nor the lab: plans, and folders of runs.

The work is in the modules beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from plumbob.verb import CONSISTENT, JUDGED, Caller, Result, Verb
from plumbob.verb.flags import (
    HOME,
    FromFate,
    FromSecretflow,
    HomeFolder,
    IdColumnWords,
    JobVersion,
    LabelColumn,
    Predicted,
    RunFolderArgument,
    ShowsAll,
    Strict,
)
from plumbob.verb.plan_flags import PlanKeys
from plumbob.verb.table_flags import NOTHING_SAID, TableFlags

PLANS, LOOK_AT_RUNS = "Plan and check", "Look at runs"
PlanToRead = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file (TOML).")]


@dataclass(frozen=True)
class NewPlan(
    Verb, words="plan new", section="Verbs", example="plan new --names bank,processor --features 5,18 --out joint.toml"
):
    """Write a plan with every default and a comment beside each key.

    Flags change its keys; tables give it their columns.
    """

    more_tables: Annotated[
        Sequence[str], typer.Argument(metavar="PARTY=FILE", help="More tables, after the first one of --data.")
    ] = ()
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None
    names: Annotated[str | None, typer.Option(help="The parties' names: bank,processor.")] = None
    from_fate: FromFate = None
    from_secretflow: FromSecretflow = None
    job_version: JobVersion = None
    data: Annotated[
        Sequence[str],
        typer.Option(
            "--data",
            help="Table to fit the plan to: your own FILE, or PARTY=FILE for each party.",
            metavar="FILE|PARTY=FILE ...",
        ),
    ] = ()
    id_words: IdColumnWords = ()
    label_column: LabelColumn = None
    table: TableFlags = NOTHING_SAID
    keys: PlanKeys = field(default_factory=dict)

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
class HashPlan(Verb, words="plan hash", section="Verbs", example="plan hash joint.toml"):
    """Print the plan's hash, which must be the same at every party."""

    plan: PlanToRead

    def do(self, caller: Caller) -> Result:
        from plumbob.plan import Plan

        found = Plan.load(self.plan).hash()
        return {"hash": found, "lines": [found]}


@dataclass(frozen=True)
class CheckPlan(Verb, words="check", section=PLANS, example="check joint.toml --estimate", codes=JUDGED):
    """Say before training what each party will be able to work out."""

    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan file (TOML); omit it to use flags only.")
    ] = None
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Also estimate minutes, traffic and memory on this machine.")
    ] = False
    attack: Annotated[
        str | None, typer.Option("--explain", help="Explain one attack, using this plan's numbers.", metavar="ATTACK")
    ] = None
    runs: Annotated[int, typer.Option(help="How many runs will use the same rows; leakage adds up.", min=1)] = 1
    predicted: Predicted = None
    own_data: Annotated[
        str | None,
        typer.Option(
            "--data", help="Your own table, for sharper verdicts; it is not sent or stored.", metavar="[PARTY=]FILE"
        ),
    ] = None
    id_words: IdColumnWords = ()
    label_column: LabelColumn = None
    home: HomeFolder = HOME
    from_fate: FromFate = None
    from_secretflow: FromSecretflow = None
    job_version: JobVersion = None
    strict: Strict = False
    verbose: ShowsAll = field(default=False, kw_only=True)
    keys: PlanKeys = field(default_factory=dict)

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.check import run

        return run(self, caller.tell)

    def exit_code(self, result: Result) -> int:
        from plumbob.commands.check import exit_code

        return exit_code(result, self.strict)


@dataclass(frozen=True)
class ListRuns(Verb, words="runs", section=LOOK_AT_RUNS, example="runs"):
    """List the runs in a folder, with dates, titles and verdicts."""

    folders: Annotated[
        Sequence[Path], typer.Argument(metavar="[FOLDER]...", help="Folders that hold runs (default: this one).")
    ] = ()
    delete_unstarted: Annotated[
        bool, typer.Option("--delete-unstarted", help="Delete the runs that never started.")
    ] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.runs import run

        return run(self.folders or [Path()], self.delete_unstarted)


@dataclass(frozen=True)
class WriteReport(Verb, words="report", section=LOOK_AT_RUNS, example="report run"):
    """Write a run's report: one HTML page that loads nothing from elsewhere."""

    folder: RunFolderArgument
    out: Annotated[
        Path | None,
        typer.Option(help="File to write (default: report.html in the run's folder).", dir_okay=False),
    ] = None
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also print both pages to PDF files, with the system's Chromium.")
    ] = False

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.report import run

        return run(self.folder, self.out, self.pdf)


@dataclass(frozen=True)
class ShowReceipt(Verb, words="receipt", section=LOOK_AT_RUNS, example="receipt run", codes=CONSISTENT):
    """Show which protections a run really used, or compare two parties' records of it."""

    folders: Annotated[
        Sequence[Path],
        typer.Argument(metavar="RUN_DIR...", help="Folder of a run, or of each party's side of one run."),
    ]
    home: Annotated[
        Path | None,
        typer.Option(
            "--home",
            envvar="PLUMBOB_HOME",
            help="A party's folder: signatures are verified by the certificates pinned there.",
            file_okay=False,
        ),
    ] = None
    fingerprint: Annotated[
        Sequence[str], typer.Option(help="Fingerprint of a signer's certificate, as you compared it (repeatable).")
    ] = ()

    statement: Annotated[
        Path | None,
        typer.Option(help="An auditor's statement about a peer's replay, to check against this run.", dir_okay=False),
    ] = None

    def do(self, caller: Caller) -> Result:
        from plumbob.commands.receipt import compare, run
        from plumbob.party.home import Home
        from plumbob.party.receipts import KnownCertificates

        known = KnownCertificates.given(None if self.home is None else Home.open(self.home), self.fingerprint)
        return run(self.folders[0], known, self.statement) if len(self.folders) == 1 else compare(self.folders, known)

    def exit_code(self, result: Result) -> int:
        return 0 if result["consistent"] and (result["verified"] or not self.fingerprint) else 1
