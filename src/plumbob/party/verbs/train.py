"""`party train`: takes part in a run from wherever its journal stands, and signs the record.

`plumbob report` makes the run's page, and needs no key.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from plumbob.arrays import Vector
from plumbob.caller import IN_PYTHON, Caller, Outcome, Result
from plumbob.counting import counted, seconds
from plumbob.data import Batch
from plumbob.data.cells import inputs_of
from plumbob.errors import DataError, DivergenceError, TransportError
from plumbob.party.held_out import book_held_out, keep_scores, keep_trained_rows, quality_in_words
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_argument, plan_of, refuse_strangers
from plumbob.party.log import logged_verb
from plumbob.party.record_signature import sign_record, signature_of
from plumbob.party.row_count import AnsweredRows, row_limit
from plumbob.party.rows import aligned_table
from plumbob.party.runs import RUN_ONCE, beginnings, open_journal, open_run
from plumbob.party.session import ROOM, Peers, Session, session_at
from plumbob.party.signature import PlanSignature, own_signature, swap_signatures
from plumbob.party.waiting import Status
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import most_scored_rows, shows_quality
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.protocol.openings import ASSUMED_ROWS
from plumbob.protocol.outcome import (
    HELD_OUT,
    account_record,
    judge_at_home,
    party_record,
    run_record,
    run_to_its_quality,
    weights_alone,
)
from plumbob.protocol.party import AfterStep
from plumbob.protocol.scoring import largest_reply
from plumbob.protocol.shares.sizes import largest_body
from plumbob.protocol.shares.training import SharesParty
from plumbob.record import RunRecord
from plumbob.report.progress import StepProgress
from plumbob.run_folder import RunFolder

OVER = "over"  # The fact in the journal that all results are written,
PARTED = "parted"  # and that every peer has what it needs from here;
LATE = "late"  # until then, who did not say so.


@logged_verb
def train(home: GivenHome, plan: GivenPlan, *, new: bool = False, caller: Caller = IN_PYTHON) -> Outcome:
    """Train with the peers, from the beginning or from where it was interrupted; `new` begins a run again."""
    opened, agreed = Home.open(home), plan_of(plan)
    refuse_strangers(opened, agreed)
    signature, table = own_signature(opened, agreed), aligned_table(opened, agreed)
    run, rows = open_run(opened, agreed, new), len(table)
    session = session_at(
        opened,
        agreed,
        "train",
        table=table,
        folder=run.path,
        largest_message=largest_message(agreed, rows),
        tell=caller.tell,
    )
    if agreed.has_evidence_of(session.name):
        from plumbob.party.evidence import keeper_at  # Late: without evidence nothing is sealed.

        session = replace(session, evidence=keeper_at(opened, agreed, "train", run.path, rows))
    run.plan_file.write_text(agreed.to_toml(), encoding="utf-8")
    with (
        StepProgress(agreed.protocol, caller.quiet, agreed.step_nouns[0]) as progress,
        open_journal(run.path) as journal,
    ):
        if journal.last_state() is not None:
            caller.tell("resuming a run that was interrupted")
        if session.name != agreed.label_party.name:
            # Before anything is given away of these rows; once, however often the run is resumed.
            book_held_out(opened, agreed, journal, rows)
        record = take_part(session, journal, progress, signature=signature)
    result = _result_of(opened, agreed, record, run)
    has_room = has_room_for_all(opened, agreed, rows, beginnings(run))
    lines = [
        *result["lines"],
        *held_out_in_words(agreed, rows),
        *replay_in_words(agreed, session.name, run),
        *next_commands(agreed, plan_argument(plan), rows, has_room),
    ]
    return Outcome({**result, "lines": lines})


def largest_message(plan: Plan, rows: int = 0) -> int:
    """Bytes of the longest message of a training, never too few; without rows, for as many as a plan is drafted for."""
    known = rows or plan.rows or ASSUMED_ROWS
    longest = max(largest_body(plan, known - plan.held_out(known)), largest_reply(plan))
    return longest + HEADER.size + LONGEST_TEXT + ROOM


# The run itself: the same party as in a simulation, with a journal and real links.


def take_part(
    session: Session,
    journal: SqliteJournal,
    progress: AfterStep | None = None,
    *,
    signature: PlanSignature | None = None,
    root: bytes | None = None,
) -> RunRecord:
    """Train from wherever the journal stands; returns when the peers have what they need, or do not ask for it.

    Signatures are swapped before anything else. A test may have nobody to sign, and give the root of what is drawn.
    """
    _refuse_changed_data(session, journal)
    folder = RunFolder(session.folder)
    is_over = journal.fact(OVER) is not None
    if journal.fact(PARTED) is not None:
        journal.forget()
        return folder.record()
    # A run that is over draws nothing more, and its journal may have forgotten what it drew from.
    draws = None if is_over else session.draws(journal, root=root)
    started = time.perf_counter()
    status = Status("train", noun=session.plan.step_nouns[0])
    absurd = None
    try:
        # Whoever is over comes back only for a peer that died before its own end, and soon gives it up.
        with session.meet(journal, status, session.lingering if is_over else None) as peers:
            if draws is not None:
                _agree(session, peers, signature)
                participant = session.participant(peers, journal, draws)
                party = SharesParty(participant, session.rows, _follow(status, progress))
                scores = run_to_its_quality(party)
                accepted = () if signature is None else signature.accepted
                record, absurd = _file_results(session, journal, party, scores, accepted)
                folder.keep(replace(record, seconds=time.perf_counter() - started))
                folder.settle()
                journal.end(OVER)
            _leave(session, peers, journal)
    except TransportError as error:
        if not is_over:
            raise
        session.tell(f"the run was over already, and nobody asked for anything more ({error})")
    # Only now, with the peers gone: what we think of our weights is not theirs to know.
    if absurd is not None:
        raise absurd
    if journal.fact(PARTED) is not None:
        journal.forget()
    return folder.record()


def _follow(status: Status, progress: AfterStep | None) -> AfterStep:
    def follow(batch: Batch, steps: int) -> None:
        status.step, status.steps = batch.step, steps
        if progress is not None:
            progress(batch, steps)

    return follow


def _leave(session: Session, peers: Peers, journal: SqliteJournal) -> None:
    if late := peers.leave():
        journal.note(LATE, ", ".join(late).encode())
        session.tell(
            f"{', '.join(late)}: did not confirm that it received everything; if it is still waiting, "
            "run this command again"
        )
    else:
        journal.note(PARTED, b"")


def _agree(session: Session, peers: Peers, own: PlanSignature | None) -> None:
    """Go on only once everybody has signed the plan."""
    if own is None:
        return
    for name, signature in swap_signatures(peers.channels, own, session.plan).items():
        RunFolder(session.folder).keep_signature(name, signature)


def _file_results(
    session: Session, journal: SqliteJournal, party: SharesParty, scores: Vector | None, accepted: Sequence[str]
) -> tuple[RunRecord, DivergenceError | None]:
    """Write evidence and model part into the folder; returns the record, and what is wrong with it."""
    folder, participant = RunFolder(session.folder), party.participant
    part = party.model_part()
    if session.evidence is not None:
        session.evidence.close(journal, participant, part.to_json())
    shown = party_record(session.plan, session.name, part, participant, party.noise_draws)
    folder.make_party_folder(session.name)
    folder.keep_columns(session.name, inputs_of(party.table))
    part.save(folder.part_file(session.name))
    record = run_record(session.plan, party.engine_name, participant.draws, [shown], party.training_rows, party.seed)
    absurd = _divergence(party)
    notes = record.notes if absurd is None else [*record.notes, str(absurd)]
    held_out = [party.table.ids[row] for row in party.shard.held_out.tolist()]
    if session.name == session.plan.label_party.name:
        keep_trained_rows(folder, session.name, dict.fromkeys(party.table.ids, False) | dict.fromkeys(held_out, True))
    alone = None if scores is None else weights_alone(party)
    if scores is not None and alone is not None:
        found, curves = judge_at_home(party, scores, alone)
        keep_scores(folder, session.name, held_out, scores.tolist())
        record = replace(record, quality={HELD_OUT: found}, calibration=curves, test_rows=len(scores))
    record = replace(
        record,
        predicted_class="" if part.classes is None else str(part.classes[1]),
        accepted_leaks="leaks" in accepted,
        accepted_cheating="cheating" in accepted,
        accepted_evidence="evidence" in accepted,
    )
    return replace(record, notes=notes, account=account_record(participant)), absurd


def _divergence(party: SharesParty) -> DivergenceError | None:
    """The reason why this party's result is unusable, if it is."""
    try:
        party.refuse_result()
    except DivergenceError as error:
        return error
    return None


def _refuse_changed_data(session: Session, journal: SqliteJournal) -> None:
    """Refuse to resume with other rows than the run began with."""
    digest = session.rows.digest()
    found = journal.fact("data")
    if found is None:
        journal.note("data", digest)
    elif found != digest:
        raise DataError(
            f"{session.name}: the rows, columns or labels have changed since this run started; restore them, or "
            "start a new run"
        )


# What is said of a run that is over.


def _result_of(home: Home, plan: Plan, record: RunRecord, run: RunFolder) -> Result:
    """Sign the record, unless that was done before: what was signed once keeps its date."""
    lines = [
        *_quality_lines(record),
        *record.remarks,
        f"for its page: plumbob report {run.path}",
        f"to see the signed receipt: plumbob party receipt {run.path}",
    ]
    receipt = signature_of(run)
    if receipt.is_valid:
        lines = [
            f"this run was finished already, and signed on {receipt.date}; {RUN_ONCE}",
            *lines,
        ]
    else:
        sign_record(home, run, [party.name for party in plan.parties])
    return {"out": str(run.path), **record.to_dict(), "lines": lines}


def _quality_lines(record: RunRecord) -> list[str]:
    """How long it took and, at the label party, how good each model is."""
    steps = counted(record.steps, *record.parsed_plan.step_nouns)
    took = f"{record.status}: {record.rows:,} training rows, {steps}, {seconds(record.seconds)}"
    return [
        took,
        *([f"a score speaks for the class {record.predicted_class}"] if record.predicted_class else []),
        *(quality_in_words(rows, models) for rows, models in record.quality.items()),
    ]


def has_room_for_all(home: Home, plan: Plan, rows: int, begun: int) -> bool:
    """Whether every aligned row may still be scored, as far as this party knows: the label party keeps no count.

    Scores of held-out rows are with the label party already, and are not asked for again.
    """
    is_asking = home.identity.name == plan.label_party.name
    held_out = plan.held_out(rows) if shows_quality(plan, rows) else 0
    used = held_out * begun if is_asking else AnsweredRows.of(home, plan).answered()
    limit = row_limit(plan, rows - plan.held_out(rows), 0 if is_asking else home.settings.most_rows)
    return limit is None or used + rows - held_out <= limit.rows


def held_out_in_words(plan: Plan, rows: int) -> Iterator[str]:
    """What held-out rows mean for comparing two runs, and how to train on all rows."""
    if held_out := plan.held_out(rows):
        yield (
            f"{held_out:,} of {rows:,} rows were held out to measure the model. Every run draws them anew, so the"
            " figures of two runs are of different people. To train on all rows, agree on a plan with test_share = 0:"
            " plumbob party propose --test-share 0"
        )


def replay_in_words(plan: Plan, own: str, run: RunFolder) -> Iterator[str]:
    """What has to happen before the first score, where the plan opens scores only after a replay."""
    label = plan.label_party.name
    if not plan.is_replayed:
        return
    if own == label:
        yield (
            f"scores stay shut until your auditor has replayed this training: plumbob auditor replay {run.path} "
            "--auditor KEYS, on the auditor's machine; give the statement that it writes to your peer"
        )
    else:
        yield (
            f"scores stay shut until the statement of {label}'s auditor is here: plumbob party receipt {run.path} "
            "--statement FILE"
        )


def next_commands(plan: Plan, plan_file: str, rows: int, has_room: bool) -> list[str]:
    """What the plan allows, and the commands that it leaves room for."""
    limit = most_scored_rows(plan, rows - plan.held_out(rows))
    shown = f"; the {plan.held_out(rows):,} held-out rows count once for every time that the run was begun"
    held_out = shown if shows_quality(plan, rows) else ""
    allowed = f"the plan allows {limit:,} scored rows in all{held_out}"
    new_rows = (
        f"next, on all sides, for new rows: plumbob party align {plan_file} --name NAME --data FILE, then "
        f"plumbob party predict {plan_file} --name NAME --data FILE"
    )
    all_rows = f"; for the {rows:,} aligned rows: plumbob party predict {plan_file}" if has_room else ""
    return [*([allowed] if limit else []), new_rows + all_rows]
