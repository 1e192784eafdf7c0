"""Prediction: the label party asks for rows of the aligned list, the others answer, and only it gets scores.

Opened weights: each feature party answers with its part of the scores. With three or more parties it adds masks that
cancel in the sum over all of them, so that the label party gets that sum and nothing of a single one. A mask belongs to
its row: whoever asks two parties for different rows gets nothing. With two parties the sum is the peer's part.

Weights that were never opened stay shared (`shares`); what is opened is the joint score.

One session serves several queries, a step each, until the label party ends it or a feature party's limit is reached.
Where several parties answer, they begin once the label party has told them that all will: one alone can refuse a query,
and nobody then answers or counts it. Everybody signs at the end, however it comes.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from plumbob.arrays import Vector
from plumbob.counting import counted
from plumbob.data import Table
from plumbob.errors import BudgetExceededError, LocalProtocolError, RemoteProtocolError
from plumbob.protocol import signing
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import agree
from plumbob.protocol.limits import RowLimit, refuse_beyond
from plumbob.protocol.messages import Kind
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.scoring import Scoring, scoring_of

ROW = struct.Struct("<Q")
QUERY = struct.Struct("<QQ")  # Rows of this query, and of this and all that will follow it.
VERDICT = struct.Struct("<BQQ")  # One of those below, and after a refusal the limit and the rows used.
WILL_ANSWER, BEYOND_THE_PLAN, BEYOND_ITS_OWN = range(3)


@dataclass(frozen=True)
class Served:
    """What a feature party answered in one session."""

    queries: int
    rows: int


class Asker:
    """The label party of a session: `run`, or `begin`, `scores` as often as wanted, `end`."""

    def __init__(self, participant: Participant, table: Table, part: ModelPart) -> None:
        self.participant, self.table, self.part = participant, table, part
        self._step = 0

    _scoring: Scoring

    def run(self, queries: Iterable[Sequence[int]]) -> list[Vector]:
        """The joint scores of each query's rows."""
        self.begin()
        scores = [self.scores(rows) for rows in queries]
        self.end()
        return scores

    def begin(self) -> None:
        self._scoring = begin_session(self.participant, self.table, self.part)

    def scores(self, rows: Sequence[int], to_follow: int = 0) -> Vector:
        """The joint scores of these rows, counted from 0 in the aligned list; BudgetExceededError if a peer refuses.

        A peer that has no room for the rows that are `to_follow` in later queries refuses these already.
        """
        self._refuse(rows)
        self._step += 1
        self.participant.begin_step(self._step)
        self.participant.send_all(Kind.QUERY, QUERY.pack(len(rows), len(rows) + to_follow), self._step)
        self.participant.send_all(Kind.QUERY_ROWS, b"".join(map(ROW.pack, rows)), self._step)
        verdicts = self.participant.receive_all(Kind.QUERY_VERDICT, VERDICT.size, self._step)
        if len(verdicts) > 1:
            self.participant.send_all(Kind.QUERY_DECISION, b"".join(verdicts.values()), self._step)
        if refusals := refusals_in(verdicts):
            signing.meet(self.participant, self._step)
            raise BudgetExceededError(f"{counted(len(rows) + to_follow, 'row')} asked for; {'; '.join(refusals)}")
        scores = self._scoring.collect(self._step, rows)
        self.participant.finish_step(self._step)
        return scores

    def end(self) -> None:
        """Say that nothing more will be asked, and end the session."""
        self._step += 1
        self.participant.send_all(Kind.QUERY, QUERY.pack(0, 0), self._step)
        signing.meet(self.participant, self._step)

    def _refuse(self, rows: Sequence[int]) -> None:
        if not len(rows) or len(set(rows)) != len(rows) or min(rows) < 0 or max(rows) >= len(self.table):
            raise LocalProtocolError(
                f"a query asks for at least one of the {len(self.table)} aligned rows, each once, counted from 0"
            )


@dataclass(frozen=True)
class Query:
    """A query of the label party; without rows it ends the session."""

    rows: Sequence[int] = ()
    in_all: int = 0
    """How many rows all queries ask for together, as the label party announces."""


class RowLedger(Protocol):
    """Counts what a party has answered, in all sessions; others may count there at the same time."""

    def answered(self) -> int:
        """How many rows were answered so far."""

    def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
        """Count these; BudgetExceededError, with nothing counted, where they or those announced exceed a limit.

        Fewer than none takes back what was counted and never answered.
        """


@dataclass
class SessionLedger:
    """A ledger in memory, for a single session."""

    rows: int = 0

    def answered(self) -> int:
        return self.rows

    def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
        refuse_beyond(limit, self.rows, max(rows, announced))
        self.rows += rows


class Answerer:
    """A feature party of a session; `limit` is what it answers in all, None for any number.

    The ledger is asked with every query, before anything is answered, because other sessions may have counted since.
    """

    def __init__(
        self,
        participant: Participant,
        table: Table,
        part: ModelPart,
        limit: RowLimit | None = None,
        ledger: RowLedger | None = None,
    ) -> None:
        self.participant, self.table, self.part = participant, table, part
        self._limit, self._ledger = limit, ledger or SessionLedger()
        self._asker = participant.plan.label_party.name

    def run(self) -> Served:
        """Answer until the label party ends the session; BudgetExceededError at the limit."""
        scoring = begin_session(self.participant, self.table, self.part)
        queries = rows = 0
        while (query := self._next_query(queries + 1)).rows:
            self._spend(queries + 1, query)
            scoring.answer(queries + 1, query.rows)
            queries, rows = queries + 1, rows + len(query.rows)
            # What was answered need not be kept: a session that breaks off starts over.
            self.participant.finish_step(queries)
        signing.meet(self.participant, queries + 1)
        return Served(queries, rows)

    def _next_query(self, step: int) -> Query:
        """The next query; without rows at the end."""
        self.participant.begin_step(step)
        count, in_all = QUERY.unpack(self._channel.receive(Kind.QUERY, step, QUERY.size))
        if count > len(self.table):
            raise RemoteProtocolError(f"{self._asker}: it asks for {count} rows of {len(self.table)}, so some repeat")
        if not count:
            return Query()
        body = self._channel.receive(Kind.QUERY_ROWS, step, ROW.size * count)
        rows = [row for (row,) in ROW.iter_unpack(body)]
        if len(set(rows)) != count or max(rows) >= len(self.table):
            raise RemoteProtocolError(
                f"{self._asker}: expected rows below {len(self.table)}, each once in a query; some are not"
            )
        # An announcement of less than is asked for allows nothing.
        return Query(rows, max(count, in_all))

    def _spend(self, step: int, query: Query) -> None:
        """Say whether we will answer, and hear whether all will, before anything is calculated."""
        # First, so that a session that breaks off has counted too much rather than too little.
        verdict = self.participant.journal.decide(self._verdict(query))
        self._channel.send(Kind.QUERY_VERDICT, step, verdict)
        refusals = self._decision(step, verdict)
        if not refusals:
            return
        if verdict[0] == WILL_ANSWER:
            self._ledger.add(-len(query.rows))
        signing.meet(self.participant, step)
        asked = f"{self._asker} asked for {counted(query.in_all, 'row')}"
        raise BudgetExceededError(f"{asked}; {'; '.join(refusals)}. Nobody has answered this query")

    def _decision(self, step: int, own: bytes) -> list[str]:
        """Everybody's refusals in words; both sides of a refusal have the same numbers."""
        names = [party.name for party in self.participant.plan.feature_parties]
        verdicts = {self.participant.name: own}
        if len(names) > 1:
            decided = self._channel.receive(Kind.QUERY_DECISION, step, VERDICT.size * len(names))
            verdicts = {peer: decided[at * VERDICT.size :][: VERDICT.size] for at, peer in enumerate(names)}
        if verdicts[self.participant.name] != own:
            raise RemoteProtocolError(f"{self._asker}: it tells everybody that we decided otherwise than we did")
        return refusals_in(verdicts, self.participant.name)

    def _verdict(self, query: Query) -> bytes:
        limit = self._limit or RowLimit(0)
        try:
            self._ledger.add(len(query.rows), limit.rows, query.in_all)
        except BudgetExceededError:
            refused = BEYOND_THE_PLAN if limit.is_planned else BEYOND_ITS_OWN
            return VERDICT.pack(refused, limit.rows, self._ledger.answered())
        return VERDICT.pack(WILL_ANSWER, 0, 0)

    @property
    def _channel(self) -> Channel:
        return self.participant.channels[self._asker]


def begin_session(participant: Participant, table: Table, part: ModelPart) -> Scoring:
    """Start a session on the same plan and aligned rows; returns the way in which this plan's scores are opened."""
    session = agree(participant, table.ids, "predict", part.model)
    return scoring_of(participant, session, table, part)


def refusals_in(verdicts: Mapping[str, bytes], reader: str = "") -> list[str]:
    """Who refuses a query, and by which limit, in words for one of the parties; empty where all answer."""
    refusals = []
    for peer, verdict in verdicts.items():
        refused, most, used = VERDICT.unpack(verdict)
        limit = RowLimit(most, refused == BEYOND_THE_PLAN)
        raising = "raise yours: --most-rows, or most_rows in party.toml"
        cure = limit.cure(raising if peer == reader else f"ask {peer} to raise its --most-rows")
        if refused != WILL_ANSWER:
            who = "" if peer == reader else f"{peer} refused: "
            refusals.append(f"{who}{limit.in_words(used, peer)}; {cure}")
    return refusals
