"""The command line in real processes that start fast; all that a process prints and logs lies in files afterwards."""

import csv
import json
import logging
import os
import resource
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plumbob import cli
from plumbob.arrays import Vector
from plumbob.crypto import Draws
from plumbob.data import Table
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.exchange.paillier import PublicKey
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.simulate import Run
from plumbob.party import signature, training
from plumbob.party.home import Home
from plumbob.party.rows import keep_aligned
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import AnyParty, party_at
from plumbob.protocol.shares.training import LatticeParty
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.run_folder import JOURNAL
from tests.party.processes import PATIENCE, context, free_port

LABEL = "outcome"
SHOWN_TO_PEERS = ("nonce", "share of the seed", "share of the start")


@dataclass(frozen=True)
class Circumstances:
    """The circumstances under which a command runs."""

    largest_file: int = 0
    """Bytes that a file may have, 0 for any number."""
    secrets: Path | None = None
    """A folder that gets everything that was drawn at random, and the masks and the noise that became of it."""
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
        self.plan, self.tables, self.folder = plan, tables, folder
        self.names = [party.name for party in plan.parties]
        self.plan_file = folder / "plan.toml"
        self.plan_file.write_text(plan.to_toml(), encoding="utf-8")
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
                label_column=LABEL if name == self.plan.label_party.name else "",
                patience=PATIENCE,
            )
            homes[name] = Home.create(self.home(name), replace(own, **settings.get(name, {})))  # type: ignore[arg-type]
        for first, name in enumerate(self.names):
            for second, other in enumerate(self.names):
                if name != other:
                    # Of two, the one that stands later in the plan dials.
                    address = None if first > second else ""
                    homes[name] = homes[name].join(homes[other].invitation(), address)

    def _agree(self, home: Home) -> None:
        ids = next(iter(self.tables.values())).ids
        keep_aligned(home, self.plan, Alignment(ids, "", len(ids), dict.fromkeys(self.tables, len(ids))))
        signature.sign(home, self.plan)

    def write_table(self, name: str, table: Table) -> Path:
        """Write the file that this party's settings name."""
        return write_table(self.folder / f"{name}.csv", table)

    def type(self, name: str, *words: str, **circumstances: object) -> Command:
        """Type `plumbob party WORDS` at this party's home, in its own process."""
        place = self.folder / f"{len(self.commands):02}-{name}-{words[0]}"
        place.mkdir()
        # These organisations' keys are too short for anything but tests, and each side says that it knows.
        allowed = ["--allow-test-keys"] if words[0] == "train" and self.plan.test_only_keys else []
        told = ["plumbob", "party", *words, *allowed, "--home", str(self.home(name))]
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
        """Every party holds what it holds in the simulation."""
        for name, part in run.model.parts.items():
            own = self.part(name)
            assert own.weights is not None
            assert part.weights is not None
            assert own.weights.tobytes() == part.weights.tobytes()

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
    if circumstances.secrets is not None:
        keep_secrets(circumstances.secrets)
    if circumstances.largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (circumstances.largest_file, resource.RLIM_INFINITY))
    if circumstances.hook is not None:
        cheat = partial(party_at, instead=hooked(LatticeParty, circumstances.hook))
        training.party_at = cheat  # type: ignore[attr-defined]  # No flag or file of a party could do this.
    sys.argv = words
    cli.main()


def keep_secrets(folder: Path) -> None:
    """From now on, keep what this process must not show in this folder too."""
    folder.mkdir(exist_ok=True)

    def keep_transcript(party: AnyParty) -> Vector | None:
        scores = run_to_its_quality(party)
        party.transcript().save(folder / "transcript.npz")
        return scores

    setattr(training, "run_to_its_quality", keep_transcript)  # noqa: B010  # A checker would refuse the assignment.
    random_mask, noise_of = PublicKey.random_mask, GradientParty._noise
    read_stream, restore_link, open_chain = Draws._read, Draws.restore, SqliteJournal.open_chain

    def keep(name: str, data: bytes) -> None:
        with (folder / name).open("ab") as handle:
            handle.write(data)

    def read(draws: Draws, purpose: str, peer: str, count: int) -> bytes:
        data = read_stream(draws, purpose, peer, count)
        if purpose not in SHOWN_TO_PEERS:
            keep("draws", data)
        if purpose == "own key":
            keep("own key", data)
        return data

    def restore(draws: Draws, link: bytes) -> None:
        keep("links", link)
        restore_link(draws, link)

    def keep_leaf(journal: SqliteJournal, draws: Draws) -> None:
        keep("leaf", draws.leaf)
        open_chain(journal, draws)

    def mask(key: PublicKey, count: int, bits: int) -> list[int]:
        masks = random_mask(key, count, bits)
        keep("masks", "".join(f"{value}\n" for value in masks).encode())
        return masks

    def noise(party: GradientParty, count: int) -> NDArray[np.int64]:
        values = noise_of(party, count)
        keep("noise", values.tobytes())
        return values

    # A checker cannot see that these are the same functions, with a copy.
    setattr(PublicKey, "random_mask", mask)  # noqa: B010  # A checker would refuse the assignment.
    setattr(GradientParty, "_noise", noise)  # noqa: B010  # The same.
    setattr(Draws, "_read", read)  # noqa: B010  # The same.
    setattr(Draws, "restore", restore)  # noqa: B010  # The same.
    setattr(SqliteJournal, "open_chain", keep_leaf)  # noqa: B010  # The same.
