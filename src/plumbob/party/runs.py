"""`party sign / align / train / predict / status / forget`: what one organisation does with its peers.

    HOME/
      signed/HASH.signature             plans that this party agreed to; HASH.leaks.signature: with their leaks
      aligned/PARTIES.json              the common ids, for every plan between these parties
      answered/HASH.json                how many rows of a plan were answered
      runs/HASH/                        a run: plan.toml, run.json, report.html, parties/NAME/..., journal.db

All files are the owner's alone. Every verb can be stopped and started again. What checks a plan or draws a page is
imported late: most of these verbs need neither.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.arrays import Vector
from plumbob.callbacks import Tell
from plumbob.crypto import Randomness
from plumbob.data import Table, canonical_ids, held_out_rows, in_agreed_order, read_table
from plumbob.errors import DataError, JournalError, UnsafePlanError, UnsignedPlanError
from plumbob.model.links import log_odds
from plumbob.party import alignment, prediction, receipts, signature, training
from plumbob.party.conversation import AnyConnector, OtherNumber
from plumbob.party.home import Home
from plumbob.party.label_budget import LabelBudget
from plumbob.party.outcome import GivenPlan, named, plan_of
from plumbob.party.party_run import PartyRun, party_run_at, refusals_told_at, refuse_strangers
from plumbob.party.rows import aligned_rows, aligned_table, choice_of_held_out, is_arbiter, own_ids, own_table
from plumbob.party.run_list import RUNS as RUNS
from plumbob.party.run_list import is_unstarted, listed
from plumbob.party.scores import refuse_unwritable, threshold_of, unusual_lines, write_scores
from plumbob.party.sizes import largest_message
from plumbob.party.status import Status, read_status
from plumbob.plan import PARTY_NAME, Plan
from plumbob.protocol.alignment import MOST_IDS
from plumbob.protocol.openings import most_scored_rows
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import RowLimit
from plumbob.protocol.quality import measured, shows_quality
from plumbob.protocol.sqlite_journal import JournalContents, SqliteJournal, remains_of
from plumbob.protocol.widths import ASSUMED_ROWS
from plumbob.record import Finding, RunRecord
from plumbob.report.progress import StepProgress
from plumbob.run_folder import JOURNAL, RunFolder
from plumbob.transport import Connection
from plumbob.transport.identity import make_private_folder

SESSIONS = {"align": "alignment", "predict": "prediction"}
SHORT = 12  # Characters of a plan's hash in a folder's name.
TEST = "test"
NEWEST = "all parties know which, and nothing else about the column that decided"
NEW_ROWS = (
    "for new rows type, on all sides: plumbob party align PLAN --name NAME --data FILE, then predict with the same "
    "--name and --data"
)
NOT_ALIGNED_YET = (
    f"These rows are not aligned yet, and the plan does not say how many there are: the findings assume "
    f"{ASSUMED_ROWS:,}. Run `plumbob party align` and sign again to judge the real number."
)


@dataclass(frozen=True)
class AlignmentOptions:
    """As the command line has them."""

    name: str = ""
    data: Path | None = None
    at_least: int | None = None
    at_most: int = MOST_IDS
    jobs: int | None = None
    is_new: bool = False
    split_by: str | None = None


@dataclass(frozen=True)
class PredictionOptions:
    """As the command line has them."""

    ids: Sequence[str] = ()
    name: str = ""
    data: Path | None = None
    most_rows: int | None = None
    out: Path = Path("scores.csv")
    threshold: str | None = None
    cost: str | None = None
    is_strict: bool = False
    test: Path | None = None
    """Rows of this party's own to judge the model on: they are aligned first."""


def sign(
    folder: Path,
    given: GivenPlan,
    accept_leaks: bool,
    *,
    is_verbose: bool = False,
    ask: Callable[[list[str]], bool] | None = None,
) -> dict[str, object]:
    """This party's word for a plan; one that leaks needs its word for that too. `ask` shows the lines, and may say no.

    Without `ask` the lines are among those of the result.
    """
    from plumbob.checking.check import check
    from plumbob.checking.refusal import refuse_leaks

    home, plan = Home.open(folder), plan_of(given)
    refuse_strangers(home, plan)
    rows = plan.rows or aligned_rows(home, plan) or None
    refuse_leaks(plan, rows, accept_leaks)
    findings, noted = check(plan, rows), _sign_notes(plan, rows)
    shown = [*_sign_lines(plan, rows, findings, noted, is_verbose), ""]
    if ask is not None and not ask(shown):
        raise UnsignedPlanError("nothing was signed; to change the plan, agree on another one: plumbob party propose")
    file = signature.sign(home, plan, accepts_leaks=accept_leaks)
    leaks = " and accepted its leaks" if accept_leaks else ""
    lines = [
        *(shown if ask is None else []),
        f"{home.identity.name} signed {plan.hash()}{leaks}",
        _after_signing(named(given), is_aligned=rows is not None or is_arbiter(home, plan)),
    ]
    return {
        "plan_hash": plan.hash(),
        "signature": str(file),
        "accepted_leaks": accept_leaks,
        "rows": rows or 0,
        "findings": [asdict(finding) for finding in findings],
        "notes": noted,
        "lines": lines,
    }


def _after_signing(file: str, *, is_aligned: bool) -> str:
    """Rows are aligned before anybody trains; an arbiter has none."""
    if is_aligned:
        return f"next, once all parties have signed: plumbob party train {file}"
    return f"next, on all sides: plumbob party align {file}; then plumbob party train {file}"


def _sign_lines(
    plan: Plan, rows: int | None, findings: Sequence[Finding], noted: Sequence[str], is_verbose: bool
) -> list[str]:
    """One screen; or everything that `check --verbose` shows."""
    from plumbob.checking.consent import consent_lines
    from plumbob.checking.findings import lines_of

    if is_verbose:
        return [*lines_of(findings), "", *(f"note: {note}" for note in noted)]
    return consent_lines(plan, rows or ASSUMED_ROWS, findings, "" if rows else noted[0])


def _sign_notes(plan: Plan, rows: int | None) -> list[str]:
    """All that `check` notes, and first what was assumed about rows that are not aligned yet."""
    from plumbob.checking.check import notes

    return notes(plan, rows) if rows is not None else [NOT_ALIGNED_YET, *notes(plan, ASSUMED_ROWS)]


def align(folder: Path, given: GivenPlan, options: AlignmentOptions, quiet: bool, tell: Tell) -> dict[str, Any]:
    """The rows that all parties have; with `at_least`, only if there are at least that many."""
    home, plan = Home.open(folder), plan_of(given)
    # Before there is a folder for the session: a refusal leaves none.
    refuse_strangers(home, plan)
    name, at_least = _list_name(options.name), options.at_least
    with refusals_told_at(home, plan, "align", tell, name):
        table = (own_ids if name else own_table)(home, plan, options.data)
        choose = None if name else choice_of_held_out(home, plan, options.split_by, options.data)
    place = home.folder / RUNS / f"align-{plan.hash()[:SHORT]}{f'.{name}' if name else ''}"
    if options.is_new:
        shutil.rmtree(place, ignore_errors=True)
    party_run = replace(party_run_at(home, plan, table, place, alignment.LARGEST_MESSAGE, tell), list_name=name)
    with (
        StepProgress("align", quiet) as progress,
        _folder_of_the_met(home, party_run) as party_run,
        _journal(place) as journal,
    ):
        go_on = None if at_least is None else lambda size: size >= at_least
        how = alignment.IntersectionOptions(
            go_on,
            options.jobs,
            lambda done, steps: progress(_Chunk(done), steps),
            most_ids=options.at_most,
            holds_out=not name,
            choose=choose,
        )
        found, peers_are_done = alignment.align(party_run, journal, _journaled_randomness(journal), how)
    # Before its journal goes: whoever is killed in between need not ask the peers again.
    file = None if found.ids is None else alignment.keep(home, plan, found, name)
    if peers_are_done:
        shutil.rmtree(place)
    result = {"size": found.size, "sizes": found.sizes, "order_hash": found.order_hash}
    sizes = ", ".join(f"{party} {size}" for party, size in found.sizes.items())
    if file is None:
        return {
            **result,
            "lines": [f"{found.size} rows in common ({sizes}); a party declined to continue, so no ids were revealed"],
        }
    lines = [
        f"{found.size} rows in common ({sizes})",
        f"hash of their order, the same at every party: {found.order_hash}",
        str(file),
    ]
    if found.held_out is not None:
        lines.append(f"{plan.held_out_by} chose {len(found.held_out)} of them to be held out: {NEWEST}")
    file_of_rows = f" --data {options.data}" if options.data else ""
    step = f"predict {named(given)} --name {name}{file_of_rows}" if name else f"sign {named(given)}"
    lines.append(f"next, on all sides: plumbob party {step}")
    return {**result, "file": str(file), "lines": lines}


def train(
    folder: Path, given: GivenPlan, is_new: bool, quiet: bool, tell: Tell, *, allow_test_keys: bool = False
) -> dict[str, object]:
    """This party's part in a run, from its beginning or from where it was interrupted."""
    home, plan = Home.open(folder), plan_of(given)
    refuse_strangers(home, plan)
    with refusals_told_at(home, plan, "train", tell):
        _refuse_test_keys(plan, allow_test_keys)
        seal = signature.seal_of(home, plan)
        table = None if is_arbiter(home, plan) else aligned_table(home, plan)
    if plan.seed:
        tell(f"the plan fixes the seed ({plan.seed}): everybody knows batches and starting weights beforehand")
    rows = len(table) if table is not None else plan.rows
    place = _run_folder(home, plan, is_new)
    party_run = replace(party_run_at(home, plan, table, place, largest_message(plan, rows), tell), seal=seal)
    while True:
        try:
            record = _trained(home, replace(party_run, folder=place, number=_number_of(place, plan)), quiet, tell)
        except OtherNumber as other:
            # Nothing was sent yet; the journal is closed, and keeps its identity under the new name.
            place = _renumbered(place, plan, other.number)
            tell(f"this is run {other.number} of the plan on another side, so it is here too: {place}")
        else:
            told = _kept(home, plan, record, place)
            # An arbiter takes no part in prediction.
            if table is None:
                return told
            has_room = _has_room_for_all(home, plan, len(table), _number_of(place, plan))
            return {**told, "lines": [*told["lines"], *_after_training(plan, named(given), len(table), has_room)]}


def _trained(home: Home, party_run: PartyRun, quiet: bool, tell: Tell) -> RunRecord:
    """From wherever its journal stands to the end."""
    plan, table, place = party_run.plan, party_run.table, party_run.folder
    RunFolder(place).plan_file.write_text(plan.to_toml(), encoding="utf-8")
    with StepProgress(plan.protocol, quiet) as progress, _journal(place) as journal:
        if journal.resumed() is not None:
            tell("resuming a run that was interrupted")
        with party_run.refusals_told("train"):
            _book(home, plan, table, journal)
        return training.train(party_run, journal, _journaled_randomness(journal), progress)


def _book(home: Home, plan: Plan, table: Table | None, journal: SqliteJournal) -> None:
    """What the run will give away of this party's rows, before it does."""
    if table is None:
        return
    if home.identity.name == plan.label_party.name:
        LabelBudget.of(home).book(plan, journal.identity(), table.ids, home.settings.label_epsilon)
    else:
        prediction.book_held_out(home, plan, journal, len(table))


def _has_room_for_all(home: Home, plan: Plan, rows: int, runs: int) -> bool:
    """Whether every aligned row may still be scored, as far as this party knows: the label party keeps no count."""
    is_asking = home.identity.name == plan.label_party.name
    held_out = plan.held_out(rows) if shows_quality(plan, rows) else 0
    used = held_out * runs if is_asking else prediction.AnsweredRows.of(home, plan).answered()
    limit = _row_limit(plan, rows - plan.held_out(rows), 0 if is_asking else home.settings.most_rows)
    return limit is None or used + rows <= limit.rows


def _after_training(plan: Plan, file: str, rows: int, has_room: bool) -> list[str]:
    """What the plan allows, and the commands that it leaves room for."""
    limit = most_scored_rows(plan, rows - plan.held_out(rows))
    held_out = f", the {plan.held_out(rows):,} held-out ones of each run included" if shows_quality(plan, rows) else ""
    counted = f"the plan allows {limit:,} scored rows in all{held_out}"
    new_rows = (
        f"next, on all sides, for new rows: plumbob party align {file} --name NAME --data FILE, then plumbob party "
        f"predict {file} --name NAME --data FILE"
    )
    all_rows = f"; for the {rows:,} aligned rows: plumbob party predict {file}" if has_room else ""
    return [*([counted] if limit else []), new_rows + all_rows]


def _kept(home: Home, plan: Plan, record: RunRecord, place: Path) -> dict[str, Any]:
    """Its page and its signed receipt; what was signed once keeps its date."""
    signed = receipts.signature_of(place)
    if signed.is_valid:
        told = _told_of(record, place)
        again = f"this run was finished already, and signed on {signed.date}; --new starts another run of the plan"
        return {**told, "lines": [again, *told["lines"]]}
    told = _reported(record, place)
    receipts.sign_record(home, place, [party.name for party in plan.parties])
    return told


def _refuse_test_keys(plan: Plan, are_allowed: bool) -> None:
    """A plan is the peer's proposal as much as ours, so the word for short keys is given here and not in it."""
    has_key_bits = plan.protocol != "clear" and plan.scheme != "lattice"
    if plan.test_only_keys and has_key_bits and not are_allowed:
        raise UnsafePlanError(
            f"the plan has keys of {plan.key_bits} bits for tests only, which can be factored; set key_bits = 2048 and "
            "test_only_keys = false, or, with made-up data, add --allow-test-keys"
        )


def _reported(record: RunRecord, place: Path) -> dict[str, Any]:
    """One party alone cannot score an attack: its page shows what the plan alone says."""
    from plumbob.checking.filing import with_predictions
    from plumbob.report.results import write_report

    shown = with_predictions(record)
    RunFolder(place).keep(shown)
    write_report(shown, place)
    return _told_of(shown, place)


def _told_of(record: RunRecord, place: Path) -> dict[str, Any]:
    from plumbob.report.results import lines_of

    lines = [*lines_of(record, place), f"to see the signed receipt: plumbob receipt {place}"]
    return {"out": str(place), "report": str(RunFolder(place).report_file), **record.to_dict(), "lines": lines}


def predict(folder: Path, given: GivenPlan, options: PredictionOptions, tell: Tell) -> dict[str, object]:
    """Scores of aligned rows at the label party; at the others, one session of answers."""
    home, plan = Home.open(folder), plan_of(given)
    labels = None
    if options.test is not None:
        with refusals_told_at(home, plan, "align", tell, TEST):
            labels = _test_labels(home, plan, options)
        aligned = AlignmentOptions(name=TEST, data=options.test, is_new=True)
        tell(align(folder, given, aligned, True, tell)["lines"][0])
        options = replace(options, name=TEST, data=options.test, test=None)
    name = _list_name(options.name)
    is_asking = home.identity.name == plan.label_party.name
    refuse_strangers(home, plan)
    with refusals_told_at(home, plan, "predict", tell, name):
        run = _finished_run(home, plan)
        part = ModelPart.load(run.part_file(home.identity.name))
        table = _table_to_predict(home, plan, part, options)
        rows = _rows_asked(table, options.ids) if is_asking else []
        threshold = threshold_of(options.threshold, options.cost, part)
        if is_asking:
            refuse_unwritable(options.out)
    unseen, rare = part.encoder.unseen(table), part.encoder.counted_as_rare(table)
    unusual = unusual_lines(home.identity.name, unseen, rare, len(table))
    place = _private(home, RUNS, f"predict-{plan.hash()[:SHORT]}")
    party_run = replace(party_run_at(home, plan, table, place, prediction.largest_message(plan), tell), list_name=name)
    with _one_session(place) as journal:
        if not is_asking:
            limit = _row_limit(plan, part.training_rows, options.most_rows or home.settings.most_rows)
            answered = _answered(party_run, journal, part, prediction.AnsweredRows.of(home, plan), limit)
            return {**answered, "lines": [*unusual, *answered["lines"]]}
        scores = prediction.ask(party_run, journal, _journaled_randomness(journal), part, rows)
    if part.classes is None:
        raise DataError("the label party's part names no classes; was it saved by another version?")
    # Ids with what is predicted of them: nobody else's business.
    options.out.touch(mode=0o600)
    ids = [table.ids[row] for row in rows]
    written = write_scores(options.out, ids, scores, part.classes, unusual, threshold, plan, _held_out(home, plan, run))
    return written if labels is None else {**written, **_judged(labels, ids, log_odds(plan, scores), written)}


def _test_labels(home: Home, plan: Plan, options: PredictionOptions) -> dict[str, int] | None:
    """By id, at the label party; read before anybody is met, so that a file without labels is refused here."""
    if options.name or options.data is not None or options.ids:
        raise DataError("--test goes without --name, --data and --ids: all rows of that file are aligned and judged")
    run = _finished_run(home, plan)
    if home.identity.name != plan.label_party.name:
        return None
    reading = replace(home.settings.reading, columns=(), drop=(), types={}, stepped=(), monotone=(), ranges={})
    table = read_table(
        options.test or home.data_file, home.settings.id_column, home.settings.label_column, choices=reading
    )
    if table.labels is None or table.classes != ModelPart.load(run.part_file(home.identity.name)).classes:
        raise DataError(f"--test {options.test}: its labels have other classes than those of training; correct them")
    return dict(zip(canonical_ids(table.ids), table.labels.tolist(), strict=True))


def _judged(labels: dict[str, int], ids: Sequence[str], odds: Vector, written: dict[str, Any]) -> dict[str, Any]:
    """The model's quality on the user's own test rows."""
    found = measured([labels[identity] for identity in ids], odds)
    shown = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in found.items() if value is not None)
    return {"quality": found, "lines": [*written["lines"], f"on the {len(ids)} test rows: {shown}"]}


def _held_out(home: Home, plan: Plan, run: RunFolder) -> dict[str, bool]:
    """Of every row that was aligned for training, whether the run held it out."""
    aligned = alignment.kept_for(home, plan)
    ids = aligned.ids
    if plan.held_out_by and aligned.held_out is not None:
        held_out = np.array(aligned.held_out, dtype=np.intp)
    else:
        _, held_out = held_out_rows(ids, plan.held_out(len(ids)), bytes.fromhex(run.record().seed))
    return dict.fromkeys(ids, False) | dict.fromkeys((ids[row] for row in held_out.tolist()), True)


def _row_limit(plan: Plan, trained: int, own: int) -> RowLimit | None:
    """The smaller one of what the plan allows and what this party does; None where neither has a limit."""
    limits = (RowLimit(most_scored_rows(plan, trained), is_planned=True), RowLimit(own))
    return min((limit for limit in limits if limit.rows), key=lambda limit: limit.rows, default=None)


def status(folder: Path) -> dict[str, object]:
    """Every run of this party: how far it is, and whom it waits for."""
    home = Home.open(folder)
    runs = []
    for place in sorted((home.folder / RUNS).glob("*")):
        found = read_status(place)
        remains = _remains(place)
        is_finished, sentence = _state_of(place, found, remains)
        if remains.has_secrets and not (found is not None and found.is_alive):
            sentence += _why_secrets(place.name, remains, is_finished)
        if is_finished:
            sentence += _rows_left(home, RunFolder(place))
        shown = {"run": place.name, "finished": is_finished, "status": sentence, "keeps_secrets": remains.has_secrets}
        runs.append({**shown, **_told(found)})
    lines = [f"{_introduced(home.folder / RUNS / str(run['run']))}: {run['status']}" for run in runs]
    lines = lines or ["no run yet; to start one: plumbob party train PLAN"]
    return {"party": home.identity.name, "runs": runs, "lines": lines}


def _rows_left(home: Home, run: RunFolder) -> str:
    """How many rows may still be scored, at a party that counts them; the label party's peers do."""
    record = run.record()
    plan = record.parsed_plan
    if is_arbiter(home, plan):
        return ""
    is_asking = home.identity.name == plan.label_party.name
    limit = _row_limit(plan, record.rows, 0 if is_asking else home.settings.most_rows)
    if limit is None:
        return ""
    if is_asking:
        return f"; the plan allows {limit.rows:,} scored rows, counted by the peers that answer"
    return f"; {limit.in_words(prediction.AnsweredRows.of(home, plan).answered(), home.identity.name)}"


def _introduced(place: Path) -> str:
    """What a folder's name stands for: it is made of the hash that `plumbob plan hash` prints."""
    session, separator, _ = place.name.partition("-")
    if separator and session in SESSIONS:
        return f"{SESSIONS[session]} ({place.name})"
    title = listed(place).title
    return f"run {place.name}" + (f" of plan {title!r}" if title else " (named after its plan's hash)")


def _state_of(place: Path, found: Status | None, remains: JournalContents) -> tuple[bool, str]:
    """Whether a run is finished, and in words; one record that cannot be read hides no other run."""
    try:
        # Results that were on their way to the disk when the process died are made again from the journal.
        if (training.OVER in remains.facts or not remains.has_secrets) and RunFolder(place).is_finished():
            return True, "finished"
    except DataError:
        return False, "its run.json cannot be read: damaged, or written by another version"
    return False, found.sentence() if found is not None else "not begun"


def _remains(place: Path) -> JournalContents:
    """Of its journal, and of those that a prediction which was killed left beside it."""
    own = remains_of(RunFolder(place).journal_file)
    return replace(own, has_secrets=any(remains_of(file).has_secrets for file in place.rglob(JOURNAL)))


def _why_secrets(run: str, remains: JournalContents, is_finished: bool) -> str:
    if not is_finished:
        return f"; to give it up, with the secrets in its journal: plumbob party forget {run} --give-up"
    late = remains.facts.get(training.LATE, b"a peer").decode()
    return (
        f"; its journal keeps secrets, because {late} has not said that it has everything: start the same command "
        f"again when it does, or give them up: plumbob party forget {run}"
    )


def forget(folder: Path, run: str, gives_up: bool) -> dict[str, object]:
    """What a run keeps for peers that will not come back leaves the disk; results stay, a run without them goes."""
    home = Home.open(folder)
    place = next((place for place in (home.folder / RUNS).glob("*") if place.name == run), None)
    if place is None:
        raise DataError(f"{run}: no run of this party has that name; plumbob party status lists them")
    if not _remains(place).has_secrets:
        return {"run": run, "kept_results": True, "lines": [f"{run}: keeps no secrets, there is nothing to forget"]}
    # The journal's lock: not under a process that is at work.
    with _journal(place) as journal:
        if journal.fact(training.OVER) is not None:
            training.give_up_the_late(journal)
            line = (
                f"{run}: journal erased, results kept; a party that has not finished this run can no longer finish it"
            )
        elif gives_up:
            # Overwritten first, if the disk has room for that: a file that is only removed can be brought back.
            with suppress(JournalError):
                journal.forget()
            shutil.rmtree(place)
            line = f"{run}: given up and deleted; to begin again, type --new on all sides"
        else:
            raise DataError(f"{run} has not finished; add --give-up to delete it anyway (it cannot be resumed)")
    return {"run": run, "kept_results": place.exists(), "lines": [line]}


def _told(found: Status | None) -> dict[str, object]:
    if found is None:
        return {}
    return {
        "alive": found.is_alive,
        "step": found.step,
        "steps": found.steps,
        "connected": found.connected,
        "absent": found.absent,
        "waiting_for": found.waiting_for,
    }


def _answered(
    party_run: PartyRun,
    journal: SqliteJournal,
    part: ModelPart,
    ledger: prediction.AnsweredRows,
    limit: RowLimit | None,
) -> dict[str, Any]:
    served = prediction.answer(party_run, journal, _journaled_randomness(journal), part, ledger, limit)
    in_all = ledger.answered()
    asker = party_run.plan.label_party.name
    queries = "1 query" if served.queries == 1 else f"{served.queries} queries"
    line = f"answered {served.rows} rows in {queries} of {asker}, {in_all} rows of this plan in all"
    return {"queries": served.queries, "rows": served.rows, "rows_in_all": in_all, "lines": [line]}


def _list_name(name: str) -> str:
    """It becomes part of a file's name, and both ends must say the same."""
    if name and not PARTY_NAME.fullmatch(name):
        raise DataError(
            '--name: expected up to 32 letters, digits, "-" and "_", starting with a letter or '
            f'digit, got "{name[:40]}"'
        )
    return name


def _rows_asked(table: Table, ids: Sequence[str]) -> list[int]:
    if not ids:
        return list(range(len(table)))
    position = {identity: row for row, identity in enumerate(table.ids)}
    if unknown := sum(identity not in position for identity in ids):
        raise DataError(f"{unknown} of {len(ids)} ids are not among the {len(table)} aligned rows")
    return [position[identity] for identity in ids]


def _table_to_predict(home: Home, plan: Plan, part: ModelPart, options: PredictionOptions) -> Table:
    """Only the model's columns: rows to predict need no label."""
    reading = part.encoder.reading
    gaps = tuple(dict.fromkeys([*reading.gaps, *home.settings.reading.gaps]))
    file = options.data or home.data_file
    table = read_table(file, home.settings.id_column, choices=replace(reading, gaps=gaps))
    common = in_agreed_order(table, alignment.kept_for(home, plan, options.name).ids, NEW_ROWS)
    if options.is_strict:
        part.encoder.refuse_unseen(common)
    return common


def _run_folder(home: Home, plan: Plan, is_new: bool) -> Path:
    """The last run of this plan, or the next one; a run that no peer ever met does not count."""
    runs = _runs_of(home, plan)
    if runs and not is_new:
        return runs[max(runs)]
    if runs and is_unstarted(runs[max(runs)]):
        shutil.rmtree(runs.pop(max(runs)))
    return _private(home, RUNS, _run_name(plan, max(runs, default=0) + 1))


def _run_name(plan: Plan, number: int) -> str:
    """Of the plan's first run its hash, then HASH-2 and so on; the same at every party."""
    short = plan.hash()[:SHORT]
    return short if number == 1 else f"{short}-{number}"


def _number_of(place: Path, plan: Plan) -> int:
    """The other way round."""
    return int(place.name.removeprefix(plan.hash()[:SHORT]).removeprefix("-") or "1")


def _renumbered(place: Path, plan: Plan, number: int) -> Path:
    """Under the number that the parties agreed on; it is higher than that of any run here."""
    return place.rename(place.with_name(_run_name(plan, number)))


def has_finished_run(home: Home, plan: Plan) -> bool:
    """Whether some run of this plan finished here."""
    return any(RunFolder(place).is_finished() for place in _runs_of(home, plan).values())


def _finished_run(home: Home, plan: Plan) -> RunFolder:
    """The last one that came to its end; DataError if none did."""
    runs = _runs_of(home, plan)
    for number in sorted(runs, reverse=True):
        run = RunFolder(runs[number])
        if run.is_finished():
            return run
    raise DataError("no finished run of this plan here; run: plumbob party train PLAN")


def _runs_of(home: Home, plan: Plan) -> dict[int, Path]:
    """By number: HASH is the first, HASH-2 the second."""
    short = plan.hash()[:SHORT]
    places = (home.folder / RUNS).glob(f"{short}*")
    numbered = ((place.name.removeprefix(short).removeprefix("-") or "1", place) for place in places)
    runs = {int(number): place for number, place in numbered if number.isdigit()}
    for place in runs.values():
        _refuse_other_plan(place, plan)
    return runs


def _refuse_other_plan(place: Path, plan: Plan) -> None:
    """A folder's name is the beginning of a hash, and whoever writes two plans can make these alike."""
    file = RunFolder(place).plan_file
    if file.exists() and Plan.load(file).hash() != plan.hash():
        raise DataError(
            f"{place}: holds a run of another plan whose hash begins like this one's, which does not happen by chance; "
            "use the plan that was signed, and ask whoever sent this one"
        )


def _private(home: Home, *names: str) -> Path:
    place = home.folder
    for name in names:
        place = place / name
        make_private_folder(place)
    return place


@contextmanager
def _journal(place: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(RunFolder(place).journal_file)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def _one_session(place: Path) -> Iterator[SqliteJournal]:
    """A session is not taken up again: what was answered can be asked for once more, and nothing of it stays."""
    # The outer journal is only a lock: a second process must not take the first one's place.
    with _journal(place):
        try:
            with _journal(Path(tempfile.mkdtemp(dir=place))) as fresh:
                yield fresh
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _journaled_randomness(journal: SqliteJournal) -> Randomness:
    return Randomness(journal.draw, is_kernel=True)


@contextmanager
def _folder_of_the_met(home: Home, party_run: PartyRun) -> Iterator[PartyRun]:
    """A session that ends before any peer was there leaves no folder: nobody could resume it, and it is no run."""
    is_new = not party_run.folder.exists()
    _private(home, RUNS, party_run.folder.name)
    met: list[str] = []

    def connector_for(on_connection: Callable[[Connection], None]) -> AnyConnector:
        def attach(connection: Connection) -> None:
            # From its greeting on, the peer knows this journal and wants no other.
            met.append(connection.peer)
            on_connection(connection)

        return party_run.connector_for(attach)

    try:
        yield replace(party_run, connector_for=connector_for)
    except BaseException:
        if is_new and not met:
            shutil.rmtree(party_run.folder)
        raise


class _Chunk:
    """What the progress bar asks of a batch."""

    def __init__(self, step: int) -> None:
        self.step, self.epoch = step, 0
