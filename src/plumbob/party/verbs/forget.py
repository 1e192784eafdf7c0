"""`party forget`: erases what a run keeps for peers that will not come back."""

import shutil
from contextlib import suppress
from pathlib import Path

from plumbob.errors import DataError, JournalError
from plumbob.party import training
from plumbob.party.evidence import HEAD
from plumbob.party.home import Home
from plumbob.party.journals import journal_contents, open_journal
from plumbob.party.verbs import Forget
from plumbob.verb import Result


def forget(asked: Forget) -> Result:
    """Erase a run's secrets; results stay, and a run without results is deleted."""
    home, run = Home.open(asked.home), asked.run
    place = next((place for place in home.runs.glob("*") if place.name == run), None)
    if place is None:
        raise DataError(f"{run}: no run of this party has that name; plumbob party status lists them")
    if asked.evidence:
        return _forget_evidence(place)
    if not journal_contents(place).has_secrets:
        return {"run": run, "kept_results": True, "lines": [f"{run}: keeps no secrets, there is nothing to forget"]}
    # The journal's lock: not under a process that is at work.
    with open_journal(place) as journal:
        if journal.fact(training.OVER) is not None:
            training.give_up_the_late(journal)
            line = (
                f"{run}: journal erased, results kept; a party that has not finished this run can no longer finish it"
            )
        elif asked.give_up:
            # Overwritten first, if the disk has room for that: a file that is only removed can be brought back.
            with suppress(JournalError):
                journal.forget()
            shutil.rmtree(place)
            line = f"{run}: given up and deleted; to begin again, type --new on all sides"
        else:
            raise DataError(f"{run} has not finished; add --give-up to delete it anyway (it cannot be resumed)")
    return {"run": run, "kept_results": place.exists(), "lines": [line]}


def _forget_evidence(place: Path) -> Result:
    kept = [file.parent for file in place.rglob(HEAD)]
    for folder in kept:
        shutil.rmtree(folder)
    line = (
        f"{place.name}: evidence deleted; no replay can show any more that this party kept to the protocol in this run"
        if kept
        else f"{place.name}: there is no evidence here"
    )
    return {"run": place.name, "kept_results": True, "evidence_deleted": len(kept), "lines": [line]}
