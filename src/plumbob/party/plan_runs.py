"""The folders of one plan's runs and sessions at a party, by number and by name.

HOME/runs/
  HASH, HASH-2, ...          runs, by the first characters of the plan's hash; see `plumbob.run_folder`
  align-HASH[.NAME]          rows being aligned
  predict-HASH               a prediction under way
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from plumbob.errors import DataError
from plumbob.net.identity import make_private_folder
from plumbob.party.conversation import MET
from plumbob.party.home import RUNS, Home
from plumbob.party.status import read_status
from plumbob.plan import Plan
from plumbob.protocol.sqlite_journal import JournalContents, SqliteJournal, read_contents
from plumbob.run_folder import JOURNAL, RunFolder

SHORT = 12  # Characters of a plan's hash in a folder's name.
ENDED_EARLY = ("interrupted", "failed")


@dataclass(frozen=True)
class PlanRuns:
    """Finds the folders of one plan's runs and sessions; most methods make none."""

    home: Home
    plan: Plan

    def open_run(self, is_new: bool) -> RunFolder:
        """The last run of this plan, or the next one; a run that no peer ever met does not count."""
        runs = self._by_number()
        if runs and not is_new:
            return runs[max(runs)]
        if runs and is_unstarted(runs[max(runs)].path):
            shutil.rmtree(runs.pop(max(runs)).path)
        return RunFolder(self._make(self._name(max(runs, default=0) + 1)))

    def number(self, run: RunFolder) -> int:
        """The run's number, the same at every party."""
        return int(run.path.name.removeprefix(self._short).removeprefix("-") or "1")

    def renumber(self, run: RunFolder, number: int) -> RunFolder:
        """Move a run to the number that the parties agreed on; it is higher than that of any run here."""
        return RunFolder(run.path.rename(run.path.with_name(self._name(number))))

    def has_finished(self) -> bool:
        """Whether some run of this plan finished here."""
        return any(run.is_finished() for run in self._by_number().values())

    def last_finished(self) -> RunFolder:
        """The last run that finished; DataError if none did."""
        runs = self._by_number()
        for number in sorted(runs, reverse=True):
            if runs[number].is_finished():
                return runs[number]
        raise DataError("no finished run of this plan here; run: plumbob party train PLAN")

    def alignment_folder(self, list_name: str) -> Path:
        """The folder of an alignment. It is not made: an alignment that meets nobody leaves none."""
        return self.home.runs / f"align-{self._short}{f'.{list_name}' if list_name else ''}"

    def make_prediction_folder(self) -> Path:
        return self._make(f"predict-{self._short}")

    @property
    def _short(self) -> str:
        return self.plan.hash()[:SHORT]

    def _name(self, number: int) -> str:
        return self._short if number == 1 else f"{self._short}-{number}"

    def _make(self, name: str) -> Path:
        return make_run_folder(self.home.runs / name)

    def _by_number(self) -> dict[int, RunFolder]:
        short = self._short
        places = self.home.runs.glob(f"{short}*")
        numbered = ((place.name.removeprefix(short).removeprefix("-") or "1", place) for place in places)
        runs = {int(number): RunFolder(place) for number, place in numbered if number.isdigit()}
        for run in runs.values():
            self._refuse_other_plan(run)
        return runs

    def _refuse_other_plan(self, run: RunFolder) -> None:
        """Refuse a folder of another plan: its name is only the beginning of a hash, and two can be made alike."""
        if run.plan_file.exists() and Plan.load(run.plan_file).hash() != self.plan.hash():
            raise DataError(
                f"{run.path}: holds a run of another plan whose hash begins like this one's, which does not happen by "
                "chance; use the plan that was signed, and ask whoever sent this one"
            )


def make_run_folder(place: Path) -> Path:
    """Make a run's folder and the one that all runs are in, both for their owner alone."""
    make_private_folder(place.parent)
    make_private_folder(place)
    return place


def is_unstarted(folder: Path) -> bool:
    """Whether no peer was ever met (or, with all parties here, no step was finished) and no process works on it."""
    run = RunFolder(folder)
    status = read_status(folder)
    if status is not None and status.is_alive:
        return False
    if folder.parent.name == RUNS:
        # A journal that cannot be read may be one that a peer waits for.
        is_begun = "identity" in read_contents(run.journal_file).facts
        return not run.record_file.exists() and is_begun and not is_met(run)
    record = run.record()
    return record.status.startswith(ENDED_EARLY) and record.steps == 0


def is_met(run: RunFolder) -> bool:
    """Whether a peer was ever met in a party's run."""
    return any(name.startswith(MET) for name in read_contents(run.journal_file).facts)


@contextmanager
def open_journal(place: Path) -> Iterator[SqliteJournal]:
    """The journal of a run or session; JournalError while another process has it open."""
    journal = SqliteJournal(RunFolder(place).journal_file)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def one_session(place: Path) -> Iterator[SqliteJournal]:
    """A journal for a session that is never resumed: it can be asked for again, and nothing of it stays."""
    # The outer journal is only a lock: a second process must not take the first one's place.
    with open_journal(place):
        try:
            with open_journal(Path(tempfile.mkdtemp(dir=place))) as fresh:
                yield fresh
        finally:
            shutil.rmtree(place, ignore_errors=True)


def journal_contents(place: Path) -> JournalContents:
    """The contents of a run's journal, and of those that a killed prediction left beside it."""
    own = read_contents(RunFolder(place).journal_file)
    return replace(own, has_secrets=any(read_contents(file).has_secrets for file in place.rglob(JOURNAL)))
