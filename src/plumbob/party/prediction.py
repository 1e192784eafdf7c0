"""Scores of aligned rows: the label party asks and gets them, the others answer as much as they are willing to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

import msgspec
import numpy as np

from plumbob.arrays import Vector
from plumbob.callbacks import Progress
from plumbob.data import Table
from plumbob.errors import BudgetExceededError, DataError
from plumbob.net.identity import write_over
from plumbob.party import sizes
from plumbob.party.conversation import Conversation
from plumbob.party.evidence import Witness
from plumbob.party.file_lock import alone_at
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant
from plumbob.protocol.openings import most_scored_rows, shows_quality
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import (
    SCORE_BYTES,
    Answerer,
    Asker,
    RowLimit,
    Served,
    SessionLedger,
    refuse_beyond,
)
from plumbob.protocol.schedules import ROWS_AT_ONCE
from plumbob.protocol.shares.scoring import largest_reply
from plumbob.protocol.sqlite_journal import SqliteJournal

HELD_OUT = "held out"  # The fact in a run's journal that its held-out rows were counted.
SECONDS_TO_HEAR = 10.0


def largest_message(plan: Plan) -> int:
    """Bytes: a query, its answers, or, where weights stay shared, products for some rows."""
    return sizes.ROOM + max(largest_reply(plan) if plan.is_closed else 0, ROWS_AT_ONCE * SCORE_BYTES)


def ask(
    party_run: PartyRun,
    journal: SqliteJournal,
    part: ModelPart,
    rows: Sequence[int],
    progress: Progress = lambda done, rows: None,
) -> Vector:
    """At the label party: the joint scores of these rows of the aligned table."""
    with party_run.talk("predict", journal) as talk, _end_together(talk, journal):
        draws = party_run.draws(journal, Brought(part.brought(), list(rows)).to_bytes())
        return _asked(party_run.participant(talk, journal, draws), _rows_of(party_run), part, rows, progress)


def _asked(participant: Participant, table: Table, part: ModelPart, rows: Sequence[int], progress: Progress) -> Vector:
    asker = Asker(participant, table, part)
    asker.begin()
    scores = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        done = min(start + ROWS_AT_ONCE, len(rows))
        scores.append(asker.scores(rows[start:done], to_follow=len(rows) - done))
        progress(done, len(rows))
    asker.end()
    return np.concatenate(scores)


class Brought(msgspec.Struct, frozen=True):
    """What a session of prediction continues from, and what a person decided before it."""

    part: bytes
    asked: list[int] | None = None
    """At the label party, the rows."""
    answered: int = 0
    """At the others, how many rows were answered before,"""
    most: int = 0
    """how many are in all,"""
    is_planned: bool = False
    """and whether the plan says so."""

    def to_bytes(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return msgspec.msgpack.decode(data, type=cls)


def replay_prediction(participant: Participant, table: Table, brought: Brought) -> None:
    """One party's side of a session once more."""
    part = ModelPart.from_json(brought.part, Path("brought"))
    if brought.asked is not None:
        _asked(participant, table, part, brought.asked, lambda done, rows: None)
        return
    limit = RowLimit(brought.most, brought.is_planned) if brought.most else None
    Answerer(participant, table, part, limit, SessionLedger(brought.answered)).run()


def answer(
    party_run: PartyRun,
    journal: SqliteJournal,
    part: ModelPart,
    ledger: "AnsweredRows",
    limit: RowLimit | None,
) -> Served:
    """At a feature party: one session, until the label party ends it or the ledger is full."""
    most = RowLimit(0) if limit is None else limit
    with party_run.talk("predict", journal) as talk, _end_together(talk, journal):
        # With everybody there, who hear of a ledger that cannot be read; nothing was said yet.
        brought = Brought(part.brought(), None, ledger.answered(), most.rows, most.is_planned)
        here = party_run.about(talk.list_name)
        draws = here.draws(journal, brought.to_bytes())
        participant = here.participant(talk, journal, draws)
        return replace(Answerer(participant, _rows_of(here), part, limit, ledger).run(), list_name=talk.list_name)


@contextmanager
def _end_together(talk: Conversation, journal: SqliteJournal) -> Iterator[None]:
    """Also at a limit: the peers hear verdict and end, which are behind everything else, not only that we are gone."""
    try:
        yield
    except BudgetExceededError:
        _close(journal)
        talk.leave(SECONDS_TO_HEAR)
        raise
    _close(journal)
    talk.leave()


def _close(journal: SqliteJournal) -> None:
    """Everybody has signed for the last time."""
    journal.flush()
    if isinstance(journal.witness, Witness):
        journal.witness.close()
        journal.witness = None


def row_limit(plan: Plan, trained: int, own: int) -> RowLimit | None:
    """The smaller one of what the plan allows and what this party does; None where neither has a limit."""
    limits = (RowLimit(most_scored_rows(plan, trained), is_planned=True), RowLimit(own))
    return min((limit for limit in limits if limit.rows), key=lambda limit: limit.rows, default=None)


class Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a ledger's file holds."""

    rows: Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class AnsweredRows:
    """How many rows of a plan this party has answered over all sessions; without its file, none."""

    file: Path

    @classmethod
    def of(cls, home: Home, plan: Plan) -> Self:
        return cls(home.answered / f"{plan.hash()}.json")

    def answered(self) -> int:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=Count).rows
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError):
            raise DataError(
                f'{self.file}: expected how many rows were answered; restore it, or write {{"rows":N}} with '
                "the number that your last answer to predict printed"
            ) from None

    def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
        """Count these too, on the disk when it returns; BudgetExceededError, with nothing counted, beyond a limit.

        What another process counts at the same time is neither lost nor overlooked: training may begin while a session
        answers.
        """
        with alone_at(self.file):
            before = self.answered()
            refuse_beyond(limit, before, max(rows, announced))
            write_over(self.file, msgspec.json.encode(Count(before + rows)))


def book_held_out(home: Home, plan: Plan, journal: SqliteJournal, rows: int) -> None:
    """The rows whose scores are opened when training ends, once for a run, and before it begins.

    BudgetExceededError, with nothing booked, beyond what the plan allows: every new run would show other rows.
    """
    if not shows_quality(plan, rows) or journal.fact(HELD_OUT) is not None:
        return
    ledger, held_out = AnsweredRows.of(home, plan), plan.held_out(rows)
    try:
        ledger.add(held_out, most_scored_rows(plan, rows - held_out))
    except BudgetExceededError as error:
        raise BudgetExceededError(
            f"{error}, the plan's limit, and this run would score its held-out rows when it ends. Agree on a new plan "
            "that allows more, or that holds out fewer: plumbob party propose --most-rows N, or --test-share"
        ) from None
    journal.note(HELD_OUT, b"")


def _rows_of(party_run: PartyRun) -> Table:
    if party_run.table is None:
        raise DataError("an arbiter takes no part in prediction")
    return party_run.table
