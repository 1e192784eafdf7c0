"""The folder of one run: which files it holds, whose they are, and when they are really on the disk.

    RUN/
      plan.toml, run.json                        what may be shown
      report.html, summary.html                  in a simulation, or after `plumbob report`: the page, and the decision
                                                 sheet, the same on one page for whoever says yes or no
      parties/NAME/part.json                     one party's part of the model, for its owner alone
      parties/NAME/columns.json                  on a network: the columns of its own table with their ends, for itself
      parties/NAME/transcript.npz                in a simulation: what each party saw
      parties/NAME/rows.csv                      at the label party: which rows were held out
      receipt.json                               on a network, the record signed by whoever kept it
      signatures/NAME.signature                  on a network, everybody's word for the plan
      seals/SESSION.json                         on a network, everybody's last signature in each session
      journal.db, status.json                    on a network, while the run lasts
      earlier-run/                               a finished run that lay here before, until the new one is finished too

run.json is there from the start and replaced in one move, so the folder says at any moment what it holds: its status is
`finished` only at the end.
"""

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from plumbob.counting import size
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.record import InputColumn, PartyRecord, RunRecord

RECORD = "run.json"
LARGEST_RECORD = 1 << 20  # Bytes: a peer's record is parsed too.
JOURNAL = "journal.db"
REPORT = "report.html"
SUMMARY = "summary.html"
STATUS = "status.json"
RECEIPT = "receipt.json"
EARLIER = "earlier-run"
RUN_FILES = ("plan.toml", RECORD, REPORT, SUMMARY, "parties", "signatures")


class FileHere:
    """A file of a run's folder, as an attribute of `RunFolder`: its path."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: "RunFolder", _owner: object = None) -> Path:
        return folder.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """One run's files by name; nothing is read or written before it is asked for."""

    path: Path

    plan_file = FileHere("plan.toml")
    report_file = FileHere(REPORT)
    summary_file = FileHere(SUMMARY)
    record_file = FileHere(RECORD)
    journal_file = FileHere(JOURNAL)
    status_file = FileHere(STATUS)
    receipt_file = FileHere(RECEIPT)

    def party_folder(self, name: str) -> Path:
        return self.path / "parties" / name

    def part_file(self, name: str) -> Path:
        """The file of one party's part of the model."""
        return self.party_folder(name) / "part.json"

    def columns_file(self, name: str) -> Path:
        """The file of the lowest and highest values of a party's columns: run.json may be sent to a peer."""
        return self.party_folder(name) / "columns.json"

    def keep_columns(self, name: str, inputs: list[InputColumn]) -> None:
        self.columns_file(name).write_bytes(msgspec.json.encode(inputs))

    def with_columns(self, record: RunRecord) -> RunRecord:
        """The record with the columns that lie here beside it, for the eyes of whoever holds their table."""
        # A plan's names are names of folders; a record may say anything.
        planned = {party.name for party in record.parsed_plan.parties}
        known = [
            replace(party, inputs=self._columns(party)) if party.name in planned else party for party in record.parties
        ]
        return replace(record, parties=known)

    def _columns(self, party: PartyRecord) -> list[InputColumn]:
        file = self.columns_file(party.name)
        try:
            return msgspec.json.decode(file.read_bytes(), type=list[InputColumn]) if file.exists() else party.inputs
        except msgspec.DecodeError as error:
            raise DataError(f"{file}: damaged, or written by another version; delete it to go on") from error

    def transcript_file(self, name: str) -> Path:
        """The file, in a simulation, of what one party saw and did."""
        return self.party_folder(name) / "transcript.npz"

    def scored_file(self, party: str) -> Path:
        """The rows that were scored after training, where all parties are on one machine."""
        return self.party_folder(party) / "scored.txt"

    def rows_file(self, name: str) -> Path:
        """The file, at the label party, of all rows of training and which of them were held out."""
        return self.party_folder(name) / "rows.csv"

    def make_party_folder(self, name: str) -> None:
        """Make a party's folder, readable by its owner alone."""
        self.party_folder(name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def record(self) -> RunRecord:
        """The record of the run; DataError where there is none that can be read."""
        try:
            if self.record_file.stat().st_size > LARGEST_RECORD:
                raise DataError(f"{self.record_file}: larger than {size(LARGEST_RECORD)}, which no run's record is")
            stored = json.loads(self.record_file.read_text(encoding="utf-8"))
        except DataError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(
                f"{self.path}: {self._lack()}; name the folder that `train` wrote its report to (a party's runs are in "
                "party/runs)"
            ) from error
        return RunRecord.from_dict(stored, self.record_file)

    def _lack(self) -> str:
        if not self.path.is_dir():
            return "there is no such folder"
        return f"its {RECORD} cannot be read" if self.record_file.exists() else f"there is no run here (no {RECORD})"

    def save_record(self, record: RunRecord) -> None:
        """Save the record in one move, so that an interrupted write or a loss of power leaves no half of it."""
        draft = self.record_file.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as handle:
            handle.write(record.to_json())
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(self.record_file)

    def plan(self) -> Plan:
        return self.record().parsed_plan

    def is_finished(self) -> bool:
        """Whether a run finished here; DataError where its record cannot be read."""
        return self.record_file.exists() and self.record().is_finished

    def keep(self, record: RunRecord) -> None:
        """Keep the record, and the plan beside it in its own file."""
        self.plan_file.write_text(record.plan, encoding="utf-8")
        self.save_record(record)

    def keep_pages(self, report: str, summary: str) -> None:
        self.report_file.write_text(report, encoding="utf-8")
        self.summary_file.write_text(summary, encoding="utf-8")

    def keep_signature(self, name: str, signature: bytes) -> None:
        """Keep one party's signature of the plan."""
        folder = self.path / "signatures"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.signature").write_bytes(signature)

    @property
    def earlier(self) -> "RunFolder":
        """The folder in which a finished run is set aside."""
        return RunFolder(self.path / EARLIER)

    def finished_work(self) -> str:
        """What was finished in this folder, in words; empty where a new run replaces nothing of value.

        A record that cannot be read counts: it may be a finished run's, of another version.
        """
        try:
            is_finished = self.is_finished()
        except DataError:
            return f"a run whose {RECORD} cannot be read"
        return "a finished run" if is_finished else ""

    def set_finished_run_aside(self) -> None:
        """Set a finished run aside: hours of training must not be lost to a mistake in the next call."""
        if self.finished_work():
            self.earlier.remove_run()
            self.earlier.path.mkdir(exist_ok=True)
            for file in self._files_here():
                file.rename(self.earlier.path / file.name)
        # An earlier run's pages must not be taken for those of one which did not end.
        self.report_file.unlink(missing_ok=True)
        self.summary_file.unlink(missing_ok=True)

    def remove_run(self) -> None:
        """Remove what a run left, and nothing else that somebody may have put there."""
        for file in self._files_here():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        if self.path.exists() and not any(self.path.iterdir()):
            self.path.rmdir()

    def settle(self) -> None:
        """Force all that the run left to the disk, before what could make it again is deleted."""
        files = self._files_here()
        inside = [path for folder in files if folder.is_dir() for path in folder.rglob("*")]
        # The parent too: it holds the name of this folder.
        _settle([self.path.parent, self.path, *files, *inside])

    def _files_here(self) -> list[Path]:
        return [self.path / name for name in RUN_FILES if (self.path / name).exists()]


def _settle(paths: Iterable[Path]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
