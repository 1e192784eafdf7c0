"""Scores of aligned rows: the label party asks and gets them, the others answer as much as they are willing to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from plumbob.crypto import Randomness
from plumbob.data import Table
from plumbob.errors import BudgetExceededError, DataError
from plumbob.party import sizes
from plumbob.party.conversation import Conversation
from plumbob.party.seat import Seat
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.part import Part
from plumbob.protocol.prediction import SCORE_BYTES, Answerer, Asker, Served
from plumbob.protocol.shares import PREDICTED_AT_ONCE
from plumbob.protocol.transcript import Vector

SECONDS_TO_HEAR = 10.0
ROWS_AT_ONCE = 4096  # Of one query.
Progress = Callable[[int, int], None]


def largest_message(plan: Plan) -> int:
    """Bytes: a query, its answers, or, where weights stay shared, ciphertexts for some rows or columns."""
    ciphertexts = max(PREDICTED_AT_ONCE, plan.columns + 1) * 2 * plan.key_bits // 8
    return sizes.ROOM + max(ciphertexts, ROWS_AT_ONCE * SCORE_BYTES)


def ask(
    seat: Seat,
    journal: SqliteJournal,
    randomness: Randomness,
    part: Part,
    rows: Sequence[int],
    progress: Progress = lambda done, rows: None,
) -> Vector:
    """At the label party: the joint scores of these rows of the aligned table."""
    with seat.talk("predict", journal) as talk, _ended_together(talk, journal):
        asker = Asker(seat.desk(talk, journal, randomness), _rows_of(seat), part)
        asker.begin()
        scores = []
        for start in range(0, len(rows), ROWS_AT_ONCE):
            scores.append(asker.scores(rows[start : start + ROWS_AT_ONCE]))
            progress(min(start + ROWS_AT_ONCE, len(rows)), len(rows))
        asker.end()
    return np.concatenate(scores)


def answer(
    seat: Seat, journal: SqliteJournal, randomness: Randomness, part: Part, most_rows: int | None = None
) -> Served:
    """At a feature party: one session, until the label party ends it."""
    with seat.talk("predict", journal) as talk, _ended_together(talk, journal):
        return Answerer(seat.desk(talk, journal, randomness), _rows_of(seat), part, most_rows).run()


@contextmanager
def _ended_together(talk: Conversation, journal: SqliteJournal) -> Iterator[None]:
    """Also at a limit: the peers hear verdict and end, which are behind everything else, not only that we are gone."""
    try:
        yield
    except BudgetExceededError:
        journal.flush()
        talk.part(SECONDS_TO_HEAR)
        raise
    journal.flush()
    talk.part()


def _rows_of(seat: Seat) -> Table:
    if seat.table is None:
        raise DataError("an arbiter takes no part in prediction")
    return seat.table
