"""The command line in real processes that start fast; all that a process prints and logs lies in files afterwards."""

import csv
import itertools
import json
import logging
import os
import resource
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from plumbob import cli
from plumbob.data import Table
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.simulate import Run
from plumbob.party import signature
from plumbob.party.home import Home
from plumbob.party.rows import keep_common_rows
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs import train as training
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.part import ModelPart
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import JOURNAL
from tests.party.processes import PATIENCE, context
from tests.world import free_port

LABEL = "outcome"
LAST_BITS = 1e-5


@dataclass(frozen=True)
class Circumstances:
    """The circumstances under which a command runs."""

    largest_file: int = 0
    """Bytes that a file may have, 0 for any number."""
    blow: tuple[Literal["pass", "write"], int, int] | None = None
    """The signal that the process gets once a pass is finished, or instead of the n-th write of a run's journal."""
    hook: Hook | None = None
    """What the red team's party puts in the place of its program's quantities; nothing that a user types does."""


@dataclass(frozen=True)
class Command:
    """One command that somebody typed."""

    process: BaseProcess
    place: Path

    def wait(self) -> int | None:
        """The exit code, None if the command is still at work after all patience."""
        self.process.join(PATIENCE)
        return self.process.exitcode

    @property
    def printed(self) -> str:
        return (self.place / "stdout").read_text(encoding="utf-8")

    @property
    def complained(self) -> str:
        return (self.place / "stderr").read_text(encoding="utf-8")


class Organisations:
    """The parties of a plan, each with a home; everybody has joined everybody, and the first ones listen.

    `aligned` tells the homes which rows are common, as if they had run `party align`, and signs the plan.
    """

    def __init__(
        self,
        plan: Plan,
        tables: Mapping[str, Table],
        folder: Path,
        *,
        hosts: Mapping[str, str] | None = None,
        aligned: bool = True,
        settings: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        # Parties draw the seed together: their plans have none.
        self.plan, self.tables, self.folder = plan.replace(seed=0), tables, folder
        self.names = [party.name for party in plan.parties]
        self.plan_file = folder / "plan.toml"
        self.plan_file.write_text(self.plan.to_toml(), encoding="utf-8")
        self.commands: list[Command] = []
        self._move_in(hosts or dict.fromkeys(self.names, "127.0.0.1"), settings or {})
        if aligned:
            for name in self.names:
                self._agree(Home.open(self.home(name)))

    def home(self, name: str) -> Path:
        return self.folder / name

    def run_folder(self, name: str) -> Path:
        return self.home(name) / "runs" / self.plan.hash()[:12]

    def journal(self, name: str) -> Path:
        return self.run_folder(name) / JOURNAL

    def _move_in(self, hosts: Mapping[str, str], settings: Mapping[str, Mapping[str, object]]) -> None:
        homes = {}
        for name in self.names:
            # The last one dials everybody: nobody calls it, and so it gives way to nobody.
            place = "" if name == self.names[-1] else f"{hosts[name]}:{free_port()}"
            own = HomeSettings(
                name,
                listen=place,
                address=place,
                data="" if name not in self.tables else str(self.write_table(name, self.tables[name])),
                label=LABEL if name == self.plan.label_party.name else "",
                patience=PATIENCE,
            )
            homes[name] = Home.create(self.home(name), replace(own, **settings.get(name, {})))
        for first, name in enumerate(self.names):
            for second, other in enumerate(self.names):
                if name != other:
                    # Of two, the one that stands later in the plan dials.
                    address = None if first > second else ""
                    homes[name] = homes[name].join(homes[other].invitation(), address)

    def _agree(self, home: Home) -> None:
        ids = next(iter(self.tables.values())).ids
        keep_common_rows(home, self.plan, Alignment(ids, "", len(ids), dict.fromkeys(self.tables, len(ids))))
        signature.sign(home, self.plan)

    def write_table(self, name: str, table: Table) -> Path:
        """Write the file that this party's settings name."""
        return write_table(self.folder / f"{name}.csv", table)

    def type(self, name: str, *words: str, **circumstances: object) -> Command:
        """Type `plumbob party WORDS` at this party's home, in its own process."""
        place = self.folder / f"{len(self.commands):02}-{name}-{words[0]}"
        place.mkdir()
        told = ["plumbob", "party", *words, "--home", str(self.home(name))]
        arguments = (told, place, Circumstances(**circumstances))  # type: ignore[arg-type]
        process = context.Process(target=run_command, args=arguments, daemon=True)
        process.start()
        self.commands.append(Command(process, place))
        return self.commands[-1]

    def train(self, name: str, **circumstances: object) -> Command:
        return self.type(name, "train", str(self.plan_file), "--quiet", **circumstances)

    def status(self, name: str) -> dict[str, object]:
        """What `party status` says of the run."""
        command = self.type(name, "status", "--json")
        assert command.wait() == 0, command.complained
        runs: list[dict[str, object]] = json.loads(command.printed)["runs"]
        return next((run for run in runs if run["run"] == self.plan.hash()[:12]), {"status": "not begun", "step": 0})

    def part(self, name: str) -> ModelPart:
        return ModelPart.load(self.run_folder(name) / "parties" / name / "part.json")

    def assert_same(self, run: Run) -> None:
        """Every party holds what it holds in the simulation, but for the last bits: each run draws other shares."""
        for name, part in run.model.parts.items():
            own = self.part(name)
            assert own.weights is not None
            assert part.weights is not None
            assert np.abs(own.weights - part.weights).max() < LAST_BITS

    def close(self) -> None:
        """End every process that is still at work."""
        for command in self.commands:
            command.process.kill()
            command.process.join()


def write_table(file: Path, table: Table) -> Path:
    """Write a table as a party would have it."""
    classes = table.classes or (0, 1)
    with file.open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["id", *(column.name for column in table.columns), *([LABEL] * (table.labels is not None))])
        for row, identity in enumerate(table.ids):
            values = [repr(float(column.values[row])) for column in table.columns]
            label = [] if table.labels is None else [classes[table.labels[row]]]
            rows.writerow([identity, *values, *label])
    return file


def steps_finished(journal: Path) -> int:
    """How far a run is, from outside."""
    if not journal.exists():
        return 0
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        try:
            return int(database.execute("SELECT COUNT(*) FROM results").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def run_command(words: list[str], place: Path, circumstances: Circumstances) -> None:
    """What a command's process does."""
    for number, file in enumerate((Path(os.devnull), place / "stdout", place / "stderr")):
        flags = os.O_RDWR | os.O_CREAT
        os.dup2(os.open(file, flags, 0o600), number)
    logging.basicConfig(filename=place / "log", level=logging.DEBUG)
    if circumstances.blow is not None:
        strike(*circumstances.blow)
    if circumstances.largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (circumstances.largest_file, resource.RLIM_INFINITY))
    if circumstances.hook is not None:
        # No flag or file of a party could do this.
        training.SharesParty = hooked(SharesParty, circumstances.hook)  # type: ignore[assignment, attr-defined]
    sys.argv = words
    cli.main()


def strike(moment: Literal["pass", "write"], number: int, blow: int) -> None:
    """From now on, this process gets that signal where the journal of a run has come so far."""
    finish, execute, writes = SqliteJournal.finish, SqliteJournal._execute, itertools.count()

    def on_finish(journal: SqliteJournal, step: int, state: Any, needs: Any) -> None:
        finish(journal, step, state, needs)
        if (moment, number) == ("pass", step):
            os.kill(os.getpid(), blow)

    def on_write(journal: SqliteJournal, statement: str, values: tuple[object, ...] = ()) -> Any:
        if moment == "write" and not statement.startswith("SELECT") and next(writes) == number:
            os.kill(os.getpid(), blow)
        return execute(journal, statement, values)

    setattr(SqliteJournal, "finish", on_finish)  # noqa: B010  # A checker would refuse the assignment.
    setattr(SqliteJournal, "_execute", on_write)  # noqa: B010  # The same.
