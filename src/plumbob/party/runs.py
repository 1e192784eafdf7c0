"""The folders of one plan's run and sessions at a party, by the plan's hash.

HOME/runs/
  HASH                       the run, by the first characters of the plan's hash; see `plumbob.run_folder`
  HASH/earlier/1, 2, ...     what is left of beginnings that came to no result: their evidence, without their journal
  align-HASH[.NAME]          rows being aligned
  predict-HASH               a prediction under way

A plan is run once: a run that finished is never replaced. One that ended without a result begins again in its folder.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from plumbob.errors import DataError, JournalError
from plumbob.net.identity import make_private_folder
from plumbob.party.home import Home
from plumbob.party.session import MET
from plumbob.plan import Plan
from plumbob.protocol.journal import JournalContents, SqliteJournal, read_contents
from plumbob.run_folder import JOURNAL, RunFolder

SHORT = 12  # Characters of a plan's hash in a folder's name.
EARLIER = "earlier"
LOCK = "journal.lock"
RUN_ONCE = "a plan is run once: change its title for another run, and sign it again"


def _run_of(home: Home, plan: Plan) -> RunFolder:
    """The plan's run, begun or not; DataError where another plan's lies there."""
    run = RunFolder(home.runs / plan.hash()[:SHORT])
    if run.plan_file.exists() and Plan.load(run.plan_file).hash() != plan.hash():
        raise DataError(
            f"{run.path}: holds a run of another plan whose hash begins like this one's, which does not happen by "
            "chance; use the plan that was signed, and ask whoever sent this one"
        )
    return run


def open_run(home: Home, plan: Plan, is_new: bool) -> RunFolder:
    """The plan's run, made if it was never begun; with `is_new` it begins again. A finished run is refused."""
    run = _run_of(home, plan)
    make_run_folder(run.path)
    if is_new:
        if run.is_finished():
            raise DataError(f"{run.path}: this plan's run has finished; {RUN_ONCE}")
        set_beginning_aside(run)
    return run


def finished_run(home: Home, plan: Plan) -> RunFolder:
    """The run, once it has finished; DataError before."""
    run = _run_of(home, plan)
    if not run.is_finished():
        raise DataError("no finished run of this plan here; run: plumbob party train PLAN")
    return run


def make_session_folder(home: Home, plan: Plan, purpose: Literal["align", "predict"], list_name: str = "") -> Path:
    """The folder of a session that leaves nothing behind, made if it is not there."""
    return make_run_folder(home.runs / f"{purpose}-{plan.hash()[:SHORT]}{f'.{list_name}' if list_name else ''}")


def set_beginning_aside(run: RunFolder) -> None:
    """Erase the journal of a run that came to no result, and keep what else it left apart from the next beginning."""
    with open_journal(run.path) as journal:
        has_begun = is_met(run)
        # Overwritten first, if the disk has room for that: a file that is only removed can be brought back.
        with suppress(JournalError):
            journal.forget()
    for file in run.path.glob(f"{JOURNAL}*"):
        file.unlink()
    left = [file for file in run.path.iterdir() if file.name not in (EARLIER, LOCK)]
    earlier = run.path / EARLIER / str(beginnings(run))
    make_private_folder(earlier.parent)
    make_private_folder(earlier)
    for file in left:
        file.rename(earlier / file.name)
    if not has_begun:
        # Nobody was met: there is nothing to answer for.
        shutil.rmtree(earlier)


def beginnings(run: RunFolder) -> int:
    """How often a run was begun with a peer that was met, this time included."""
    return 1 + len(list((run.path / EARLIER).glob("*")))


def make_run_folder(place: Path) -> Path:
    """Make a run's folder and the one that all runs are in, both for their owner alone."""
    make_private_folder(place.parent)
    make_private_folder(place)
    return place


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
