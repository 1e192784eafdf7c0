"""One organisation's part in training: the same party as in a simulation, with a journal and real links."""

import time
from collections.abc import Sequence
from dataclasses import replace

from plumbob.arrays import Vector
from plumbob.data import Batch
from plumbob.data.cells import inputs_of
from plumbob.errors import DataError, DivergenceError, TransportError
from plumbob.party.scores import keep_scores
from plumbob.party.session import ROOM, Peers, Session
from plumbob.party.signature import PlanSignature, swap_signatures
from plumbob.party.waiting import Status
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
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
from plumbob.run_folder import RunFolder

OVER = "over"  # The fact in the journal that all results are written,
PARTED = "parted"  # and that every peer has what it needs from here;
LATE = "late"  # until then, who did not say so.


def largest_message(plan: Plan, rows: int = 0) -> int:
    """Bytes of the longest message of a training, never too few; without rows, for as many as a plan is drafted for."""
    known = rows or plan.rows or ASSUMED_ROWS
    longest = max(largest_body(plan, known - plan.held_out(known)), largest_reply(plan))
    return longest + HEADER.size + LONGEST_TEXT + ROOM


def train(
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
                record, absurd = _filed(session, journal, party, scores, accepted)
                folder.keep(replace(record, seconds=time.perf_counter() - started))
                folder.settle()
                journal.note(OVER, b"")
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


def give_up_the_late(journal: SqliteJournal) -> None:
    """Erase what is kept for late peers: results stay here, but those peers can no longer finish the run."""
    journal.note(PARTED, b"")
    journal.forget()


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


def _filed(
    session: Session, journal: SqliteJournal, party: SharesParty, scores: Vector | None, accepted: Sequence[str]
) -> tuple[RunRecord, DivergenceError | None]:
    """Write evidence and model part into the folder; returns the record, and what is wrong with it."""
    folder, participant = RunFolder(session.folder), party.participant
    part = party.model_part()
    if session.keeping is not None:
        session.keeping.close(journal, participant, part.to_json())
    shown = party_record(session.plan, session.name, part, participant, party.noise_draws)
    folder.make_party_folder(session.name)
    folder.keep_columns(session.name, inputs_of(party.table))
    part.save(folder.part_file(session.name))
    record = run_record(session.plan, party.engine_name, participant.draws, [shown], party.training_rows, party.seed)
    absurd = _divergence(party)
    notes = record.notes if absurd is None else [*record.notes, str(absurd)]
    alone = None if scores is None else weights_alone(party)
    if scores is not None and alone is not None:
        found, curves = judge_at_home(party, scores, alone)
        held_out = [party.table.ids[row] for row in party.shard.held_out.tolist()]
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
