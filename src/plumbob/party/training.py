"""One organisation's part in training: the same party as in a simulation, with a journal and real links."""

import time
from dataclasses import replace

from plumbob.arrays import Vector
from plumbob.crypto.draws import Draws
from plumbob.data import Batch
from plumbob.data.cells import inputs_of
from plumbob.errors import DataError, DivergenceError, TransportError
from plumbob.party.conversation import Conversation
from plumbob.party.party_run import PartyRun
from plumbob.party.scores import keep_scores
from plumbob.party.signature import swap_signatures
from plumbob.party.waiting import Status
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.outcome import (
    HELD_OUT,
    account_record,
    judged_at_home,
    party_record,
    run_record,
    run_to_its_quality,
    weights_alone,
)
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, AnyParty, TrainingParty, party_at
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder

OVER = "over"  # The fact in the journal that all results are written,
PARTED = "parted"  # and that every peer has what it needs from here;
LATE = "late"  # until then, who did not say so.


def train(
    party_run: PartyRun, journal: SqliteJournal, progress: AfterStep | None = None, root: bytes | None = None
) -> RunRecord:
    """Train from wherever the journal stands; returns when the peers have what they need, or do not ask for it.

    A test may give the root of what is drawn.
    """
    _refuse_changed_data(party_run, journal)
    folder = RunFolder(party_run.folder)
    is_over = journal.fact(OVER) is not None
    if journal.fact(PARTED) is not None:
        journal.forget()
        return folder.record()
    # A run that is over draws nothing more, and its journal may have forgotten what it drew from.
    draws = None if is_over else party_run.draws(journal, root=root)
    started = time.perf_counter()
    status = Status("train", noun=party_run.plan.step_nouns[0])
    absurd = None
    try:
        # Whoever is over comes back only for a peer that died before its own end, and soon gives it up.
        with party_run.talk("train", journal, status, party_run.lingering if is_over else None) as talk:
            if draws is not None:
                participant = _agreed(party_run, talk, journal, draws)
                party = party_at(participant, party_run.table, _follow(status, progress))
                scores = run_to_its_quality(party)
                record, absurd = _filed(party_run, journal, party, scores)
                folder.keep(replace(record, seconds=time.perf_counter() - started))
                folder.settle()
                journal.note(OVER, b"")
            _leave(party_run, talk, journal)
    except TransportError as error:
        if not is_over:
            raise
        party_run.tell(f"the run was over already, and nobody asked for anything more ({error})")
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


def _leave(party_run: PartyRun, talk: Conversation, journal: SqliteJournal) -> None:
    if late := talk.leave():
        journal.note(LATE, ", ".join(late).encode())
        party_run.tell(
            f"{', '.join(late)}: did not confirm that it received everything; if it is still waiting, "
            "run this command again"
        )
    else:
        journal.note(PARTED, b"")


def _agreed(party_run: PartyRun, talk: Conversation, journal: SqliteJournal, draws: Draws) -> Participant:
    """The participant, once everybody has signed the plan."""
    if party_run.signature is not None:
        for name, signature in swap_signatures(talk.channels, party_run.signature, party_run.plan).items():
            RunFolder(party_run.folder).keep_signature(name, signature)
    return party_run.participant(talk, journal, draws)


def _filed(
    party_run: PartyRun, journal: SqliteJournal, party: AnyParty, scores: Vector | None
) -> tuple[RunRecord, DivergenceError | None]:
    """Write evidence and model part into the folder; returns the record, and what is wrong with it."""
    folder, participant = RunFolder(party_run.folder), party.participant
    part = party.model_part() if isinstance(party, TrainingParty) else None
    if party_run.keeping is not None:
        party_run.keeping.close(journal, participant, None if part is None else part.to_json())
    shown = party_record(party_run.plan, party_run.name, part, participant, getattr(party, "noise_draws", 0))
    folder.make_party_folder(party_run.name)
    if party_run.table is not None:
        folder.keep_columns(party_run.name, inputs_of(party_run.table))
    if part is not None:
        part.save(folder.part_file(party_run.name))
    record = run_record(party_run.plan, party.engine_name, participant.draws, [shown], party.training_rows, party.seed)
    absurd = _divergence(party)
    notes = record.notes if absurd is None else [*record.notes, str(absurd)]
    accepted = () if party_run.signature is None else party_run.signature.accepted
    alone = weights_alone(party) if scores is not None and isinstance(party, TrainingParty) else None
    if scores is not None and alone is not None and isinstance(party, TrainingParty):
        found, curves = judged_at_home(party, scores, alone)
        held_out = [party.table.ids[row] for row in party.shard.held_out.tolist()]
        keep_scores(folder, party_run.name, held_out, scores.tolist())
        record = replace(record, quality={HELD_OUT: found}, calibration=curves, test_rows=len(scores))
    record = replace(
        record,
        predicted_class="" if part is None or part.classes is None else str(part.classes[1]),
        accepted_leaks="leaks" in accepted,
        accepted_cheating="cheating" in accepted,
        accepted_evidence="evidence" in accepted,
    )
    return replace(record, notes=notes, account=account_record(participant)), absurd


def _divergence(party: AnyParty) -> DivergenceError | None:
    """The reason why this party's result is unusable, if it is."""
    try:
        if isinstance(party, TrainingParty):
            party.refuse_result()
    except DivergenceError as error:
        return error
    return None


def _refuse_changed_data(party_run: PartyRun, journal: SqliteJournal) -> None:
    """Refuse to resume with other rows than the run began with."""
    digest = b"" if party_run.table is None else party_run.table.digest()
    found = journal.fact("data")
    if found is None:
        journal.note("data", digest)
    elif found != digest:
        raise DataError(
            f"{party_run.name}: the rows, columns or labels have changed since this run started; restore them, or "
            "start a new run"
        )
