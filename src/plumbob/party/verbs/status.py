"""`party status` and `party forget`: lists runs, how far they are, and erases what they keep for absent peers."""

import shutil
from contextlib import suppress
from pathlib import Path

from plumbob.caller import Outcome
from plumbob.errors import DataError, JournalError, PlanError
from plumbob.party.evidence import HEAD
from plumbob.party.home import GivenHome, Home
from plumbob.party.log import logged_verb
from plumbob.party.row_count import AnsweredRows, row_limit
from plumbob.party.runs import is_met, journal_contents, open_journal
from plumbob.party.verbs.train import LATE, OVER, PARTED
from plumbob.party.waiting import Status, read_status
from plumbob.protocol.journal import JournalContents
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder

SESSIONS = {"align": "alignment", "predict": "prediction"}
SHOWN = ("step", "steps", "connected", "absent", "waiting_for")


def status(home: GivenHome) -> Outcome:
    """List every run of this party, how far it is, and whom it waits for."""
    opened = Home.open(home)
    places = sorted(opened.runs.glob("*"))
    runs = [_run_fields(opened, place) for place in places]
    lines = [f"{_title(place)}: {run['status']}" for place, run in zip(places, runs, strict=True)]
    lines = lines or ["no run yet; to start one: plumbob party train PLAN"]
    return Outcome({"party": opened.identity.name, "runs": runs, "lines": lines})


def _run_fields(home: Home, place: Path) -> dict[str, object]:
    latest, journal = read_status(place), journal_contents(place)
    is_finished, sentence = _state(place, latest, journal)
    is_run = not _is_session(place)
    if is_finished:
        sentence += _rows_left(home, RunFolder(place).record())
    elif is_run and is_met(RunFolder(place)):
        sentence += "; not settled: not every party has signed its last message"
    if (journal.has_secrets or not is_run) and not (latest is not None and latest.is_alive):
        sentence += _what_is_left(place.name, journal, is_finished)
    shown = {"run": place.name, "finished": is_finished, "status": sentence, "keeps_secrets": journal.has_secrets}
    if is_run:
        shown["settled"] = is_finished
    if latest is None:
        return shown
    return {**shown, "alive": latest.is_alive, **{name: getattr(latest, name) for name in SHOWN}}


def _is_session(place: Path) -> bool:
    """Whether this is an alignment or a prediction, which leaves nothing here unless it was killed."""
    return place.name.partition("-")[0] in SESSIONS


def _rows_left(home: Home, record: RunRecord) -> str:
    """How many rows may still be scored, at a party that counts them, as the label party's peers do."""
    plan = record.parsed_plan
    is_asking = home.identity.name == plan.label_party.name
    limit = row_limit(plan, record.rows, 0 if is_asking else home.settings.most_rows)
    if limit is None:
        return ""
    if is_asking:
        return f"; the plan allows {limit.rows:,} scored rows, counted by the peers that answer"
    return f"; {limit.in_words(AnsweredRows.of(home, plan).answered(), home.identity.name)}"


def _title(place: Path) -> str:
    """What a folder's name stands for: it contains the hash that `plumbob plan show` prints."""
    session, separator, _ = place.name.partition("-")
    if separator and session in SESSIONS:
        return f"{SESSIONS[session]} ({place.name})"
    title = _title_of_plan(RunFolder(place))
    return f"run {place.name}" + (f" of plan {title!r}" if title else " (named after its plan's hash)")


def _title_of_plan(run: RunFolder) -> str:
    """The title that the plan's author gave it; nothing where no plan can be read."""
    try:
        return run.plan().title
    except (DataError, PlanError):
        return ""


def _state(place: Path, latest: Status | None, journal: JournalContents) -> tuple[bool, str]:
    """Whether a run is finished, and its state in words; a record that cannot be read hides no other run."""
    try:
        # Results that were on their way to the disk when the process died are made again from the journal.
        if (OVER in journal.facts or not journal.has_secrets) and RunFolder(place).is_finished():
            return True, "finished"
    except DataError:
        return False, "its run.json cannot be read: damaged, or written by another version"
    return False, latest.sentence() if latest is not None else "not begun"


def _what_is_left(run: str, journal: JournalContents, is_finished: bool) -> str:
    """What is here of a run or session that nobody is working on, and how to delete it."""
    if not is_finished:
        secrets = ", with the secrets in its journal" if journal.has_secrets else ""
        return f"; to give it up{secrets}: plumbob party forget {run} --give-up"
    late = journal.facts.get(LATE, b"a peer").decode()
    return (
        f"; its journal keeps secrets, because {late} has not said that it has everything: start the same command "
        f"again when it does, or give them up: plumbob party forget {run}"
    )


@logged_verb
def forget(home: GivenHome, run: str, *, give_up: bool = False, evidence: bool = False) -> Outcome:
    """Erase a run's secrets; results stay, and a run without results is deleted."""
    # Other verbs take a run's folder: it names the run here, too.
    run = Path(run).name
    place = next((place for place in Home.open(home).runs.glob("*") if place.name == run), None)
    if place is None:
        raise DataError(f"{run}: no run of this party has that name; plumbob party status lists them")
    if evidence:
        return _forget_evidence(place)
    is_left = _is_session(place) and give_up
    if not journal_contents(place).has_secrets and not is_left:
        line = f"{run}: keeps no secrets, there is nothing to forget"
        return Outcome({"run": run, "kept_results": True, "lines": [line]})
    # The journal's lock: not under a process that is at work.
    with open_journal(place) as journal:
        if journal.fact(OVER) is not None:
            # Peers that are late can then no longer finish the run.
            journal.note(PARTED, b"")
            journal.forget()
            line = (
                f"{run}: journal erased, results kept; a party that has not finished this run can no longer finish it"
            )
        elif give_up:
            # Overwritten first, if the disk has room for that: a file that is only removed can be brought back.
            with suppress(JournalError):
                journal.forget()
            shutil.rmtree(place)
            again = "type its command again" if _is_session(place) else "type --new on all sides"
            line = f"{run}: given up and deleted; to begin again, {again}"
        else:
            raise DataError(f"{run} has not finished; add --give-up to delete it anyway (it cannot be resumed)")
    return Outcome({"run": run, "kept_results": place.exists(), "lines": [line]})


def _forget_evidence(place: Path) -> Outcome:
    kept = [file.parent for file in place.rglob(HEAD)]
    for folder in kept:
        shutil.rmtree(folder)
    line = (
        f"{place.name}: evidence deleted; no replay can show any more that this party kept to the protocol in this run"
        if kept
        else f"{place.name}: there is no evidence here"
    )
    return Outcome({"run": place.name, "kept_results": True, "evidence_deleted": len(kept), "lines": [line]})
