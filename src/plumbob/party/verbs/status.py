"""`party status`: lists every run of this party, how far it is, and whom it waits for."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.party import training
from plumbob.party.answered_rows import AnsweredRows, row_limit
from plumbob.party.home import Home
from plumbob.party.journals import journal_contents
from plumbob.party.plan_runs import is_met
from plumbob.party.rows import is_arbiter
from plumbob.party.run_list import listed
from plumbob.party.status import Status, read_status
from plumbob.protocol.sqlite_journal import JournalContents
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder
from plumbob.verb import Result

SESSIONS = {"align": "alignment", "predict": "prediction"}
SHOWN = ("step", "steps", "connected", "absent", "waiting_for")


def status(folder: Path) -> Result:
    """List every run of this party, how far it is, and whom it waits for."""
    home = Home.open(folder)
    places = sorted(home.runs.glob("*"))
    runs = [_run_fields(home, place) for place in places]
    lines = [f"{_title(place)}: {run['status']}" for place, run in zip(places, runs, strict=True)]
    lines = lines or ["no run yet; to start one: plumbob party train PLAN"]
    return {"party": home.identity.name, "runs": runs, "lines": lines}


def _run_fields(home: Home, place: Path) -> dict[str, object]:
    latest, journal = read_status(place), journal_contents(place)
    is_finished, sentence = _state(place, latest, journal)
    is_run = not place.name.startswith(tuple(SESSIONS))
    if is_finished:
        sentence += _rows_left(home, RunFolder(place).record())
    elif is_run and is_met(RunFolder(place)):
        sentence += "; not settled: not every party has signed its last message"
    if journal.has_secrets and not (latest is not None and latest.is_alive):
        sentence += _why_secrets(place.name, journal, is_finished)
    shown = {"run": place.name, "finished": is_finished, "status": sentence, "keeps_secrets": journal.has_secrets}
    if is_run:
        shown["settled"] = is_finished
    if latest is None:
        return shown
    return {**shown, "alive": latest.is_alive, **{name: getattr(latest, name) for name in SHOWN}}


def _rows_left(home: Home, record: RunRecord) -> str:
    """How many rows may still be scored, at a party that counts them, as the label party's peers do."""
    plan = record.parsed_plan
    if is_arbiter(home, plan):
        return ""
    is_asking = home.identity.name == plan.label_party.name
    limit = row_limit(plan, record.rows, 0 if is_asking else home.settings.most_rows)
    if limit is None:
        return ""
    if is_asking:
        return f"; the plan allows {limit.rows:,} scored rows, counted by the peers that answer"
    return f"; {limit.in_words(AnsweredRows.of(home, plan).answered(), home.identity.name)}"


def _title(place: Path) -> str:
    """What a folder's name stands for: it contains the hash that `plumbob plan hash` prints."""
    session, separator, _ = place.name.partition("-")
    if separator and session in SESSIONS:
        return f"{SESSIONS[session]} ({place.name})"
    title = listed(place).title
    return f"run {place.name}" + (f" of plan {title!r}" if title else " (named after its plan's hash)")


def _state(place: Path, latest: Status | None, journal: JournalContents) -> tuple[bool, str]:
    """Whether a run is finished, and its state in words; a record that cannot be read hides no other run."""
    try:
        # Results that were on their way to the disk when the process died are made again from the journal.
        if (training.OVER in journal.facts or not journal.has_secrets) and RunFolder(place).is_finished():
            return True, "finished"
    except DataError:
        return False, "its run.json cannot be read: damaged, or written by another version"
    return False, latest.sentence() if latest is not None else "not begun"


def _why_secrets(run: str, journal: JournalContents, is_finished: bool) -> str:
    if not is_finished:
        return f"; to give it up, with the secrets in its journal: plumbob party forget {run} --give-up"
    late = journal.facts.get(training.LATE, b"a peer").decode()
    return (
        f"; its journal keeps secrets, because {late} has not said that it has everything: start the same command "
        f"again when it does, or give them up: plumbob party forget {run}"
    )
