"""Scoring aligned rows: the label party asks and gets scores, the others answer as much as they are willing to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from plumbob.arrays import Vector
from plumbob.data import Table
from plumbob.errors import BudgetExceededError
from plumbob.party.row_count import AnsweredRows, row_limit
from plumbob.party.seals import SealKeeper
from plumbob.party.session import ROOM, Session
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import RowLimit
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.prediction import (
    BEYOND_ITS_OWN,
    BEYOND_THE_PLAN,
    VERDICT,
    Answerer,
    Asker,
    Served,
    SessionLedger,
)
from plumbob.protocol.scoring import ROWS_AT_ONCE, SCORE_BYTES, largest_reply

SECONDS_TO_HEAR = 10.0


def largest_message(plan: Plan) -> int:
    """Bytes of the longest message: a query, its answers, or, where weights stay shared, products for some rows."""
    return ROOM + max(largest_reply(plan) if plan.is_closed else 0, ROWS_AT_ONCE * SCORE_BYTES)


def ask(session: Session, journal: SqliteJournal, part: ModelPart, rows: Sequence[int]) -> Vector:
    """Ask, as the label party, for the joint scores of these rows of the aligned table."""
    with _meeting(session, journal, lambda: PredictionStart(part.to_json(), list(rows))) as participant:
        return _scores_of(participant, session.rows, part, rows)


def _scores_of(participant: Participant, table: Table, part: ModelPart, rows: Sequence[int]) -> Vector:
    asker = Asker(participant, table, part)
    asker.begin()
    scores = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        done = min(start + ROWS_AT_ONCE, len(rows))
        scores.append(asker.scores(rows[start:done], to_follow=len(rows) - done))
    asker.end()
    return np.concatenate(scores)


class PredictionStart(msgspec.Struct, frozen=True):
    """What a session of prediction starts from, and what a person decided before it."""

    part: bytes
    asked: list[int] | None = None
    """The rows that are asked for, at the label party."""
    answered: int = 0
    """How many rows were answered before, at the other parties."""
    most: int = 0
    """How many rows may be answered in all."""
    is_planned: bool = False
    """Whether that limit is the plan's."""

    def to_bytes(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return msgspec.msgpack.decode(data, type=cls)

    def limit(self, plan: Plan) -> RowLimit | None:
        """The plan's limit if that is what counts, whatever number the party stated; else the party's own."""
        trained = ModelPart.from_json(self.part, Path("brought")).training_rows
        return row_limit(plan, trained, 0 if self.is_planned else self.most)

    def may_refuse(self, plan: Plan, verdict: bytes) -> bool:
        """Whether this is how the party refuses a query once other sessions have used up its limit."""
        limit = self.limit(plan)
        refused, most, used = VERDICT.unpack(verdict)
        if limit is None or refused != (BEYOND_THE_PLAN if limit.is_planned else BEYOND_ITS_OWN):
            return False
        return bool(most == limit.rows and used >= self.answered)


def replay_prediction(participant: Participant, table: Table, brought: PredictionStart) -> None:
    """Repeat one party's side of a session."""
    part = ModelPart.from_json(brought.part, Path("brought"))
    if brought.asked is not None:
        _scores_of(participant, table, part, brought.asked)
        return
    ledger = SessionLedger(brought.answered)
    Answerer(participant, table, part, brought.limit(participant.plan), ledger).run()


def answer(
    session: Session, journal: SqliteJournal, part: ModelPart, ledger: AnsweredRows, limit: RowLimit | None
) -> Served:
    """Answer one session, as a feature party, until the label party ends it or the ledger is full."""
    most = RowLimit(0) if limit is None else limit

    def brought() -> PredictionStart:
        return PredictionStart(part.to_json(), None, ledger.answered(), most.rows, most.is_planned)

    with _meeting(session, journal, brought) as participant:
        served = Answerer(participant, session.rows, part, limit, ledger).run()
        if not served.queries:
            SealKeeper(session.finished_run or session.folder, participant.account).forget()
        return served


@contextmanager
def _meeting(session: Session, journal: SqliteJournal, brought: Callable[[], PredictionStart]) -> Iterator[Participant]:
    """Meet everybody, and part. Even at a limit the peers hear all that was said before our end."""
    with session.meet(journal) as peers:
        # Now, when the others hear of a ledger that cannot be read; nothing was said yet.
        participant = session.participant(peers, journal, session.draws(journal, brought().to_bytes()))
        try:
            yield participant
        except BudgetExceededError:
            _close(session, journal, participant)
            peers.leave(SECONDS_TO_HEAR)
            raise
        _close(session, journal, participant)
        peers.leave()


def _close(session: Session, journal: SqliteJournal, participant: Participant) -> None:
    """Close the evidence, once everybody has signed for the last time."""
    journal.flush()
    if session.evidence is not None:
        session.evidence.close(journal, participant)
