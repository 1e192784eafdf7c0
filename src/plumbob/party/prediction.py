"""Scores of aligned rows: the label party asks and gets them, the others answer as much as they are willing to."""

from collections.abc import Callable, Iterator, Sequence
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
from plumbob.party.file_lock import alone_at
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant
from plumbob.protocol.openings import most_scored_rows, shows_quality
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import (
    BEYOND_ITS_OWN,
    BEYOND_THE_PLAN,
    SCORE_BYTES,
    VERDICT,
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
    with _session(party_run, journal, lambda: Brought(part.brought(), list(rows))) as (here, participant):
        return _asked(participant, _rows_of(here), part, rows, progress)


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

    def limit(self, plan: Plan) -> RowLimit | None:
        """By the plan, whatever the party said that it is."""
        trained = ModelPart.from_json(self.part, Path("brought")).training_rows
        return row_limit(plan, trained, 0 if self.is_planned else self.most)

    def may_refuse(self, plan: Plan, verdict: bytes) -> bool:
        """Whether this is how the party refuses a query once other sessions have used up its limit."""
        limit = self.limit(plan)
        refused, most, used = VERDICT.unpack(verdict)
        if limit is None or refused != (BEYOND_THE_PLAN if limit.is_planned else BEYOND_ITS_OWN):
            return False
        return bool(most == limit.rows and used >= self.answered)


def replay_prediction(participant: Participant, table: Table, brought: Brought) -> None:
    """One party's side of a session once more."""
    part = ModelPart.from_json(brought.part, Path("brought"))
    if brought.asked is not None:
        _asked(participant, table, part, brought.asked, lambda done, rows: None)
        return
    ledger = SessionLedger(brought.answered)
    Answerer(participant, table, part, brought.limit(participant.plan), ledger).run()


def answer(
    party_run: PartyRun,
    journal: SqliteJournal,
    part: ModelPart,
    ledger: "AnsweredRows",
    limit: RowLimit | None,
) -> Served:
    """At a feature party: one session, until the label party ends it or the ledger is full."""
    most = RowLimit(0) if limit is None else limit

    def brought() -> Brought:
        return Brought(part.brought(), None, ledger.answered(), most.rows, most.is_planned)

    with _session(party_run, journal, brought) as (here, participant):
        served = Answerer(participant, _rows_of(here), part, limit, ledger).run()
        return replace(served, list_name=here.list_name)


@contextmanager
def _session(
    party_run: PartyRun, journal: SqliteJournal, brought: Callable[[], Brought]
) -> Iterator[tuple[PartyRun, Participant]]:
    """Meets everybody about one list, and parts. Also at a limit the peers hear all that was said, not only our end."""
    with party_run.talk("predict", journal) as talk:
        # Now, when the others hear of a ledger that cannot be read; nothing was said yet.
        before, here = brought().to_bytes(), party_run.about(talk.list_name)
        participant = here.participant(talk, journal, here.draws(journal, before))
        try:
            yield here, participant
        except BudgetExceededError:
            _close(here, journal, participant)
            talk.leave(SECONDS_TO_HEAR)
            raise
        _close(here, journal, participant)
        talk.leave()


def _close(party_run: PartyRun, journal: SqliteJournal, participant: Participant) -> None:
    """Everybody has signed for the last time."""
    journal.flush()
    if party_run.keeping is not None:
        party_run.keeping.close(journal, participant)


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
