"""Spendings of each person's row, over all runs: booked before anything leaves that depends on one.

One file per party. It holds a hash of each id under a key of its own, so that it names nobody, and what every run cost.
Two tables that share rows share their budget, row by row. A person is an id here: under another id column, the same
person is another one, and nothing of what was spent is seen.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from plumbob.crypto.randomness import SYSTEM_RANDOMNESS
from plumbob.errors import BudgetExceededError, DataError
from plumbob.plan import Plan
from plumbob.privacy.rows import RowSpending
from plumbob.protocol.journal import SqliteJournal

BOOKED_AS = "row budget"  # The fact in the journal under which name this run was booked.
VERSION = 1
ROWS = "rows"
"""What is counted. 0.1.0 also counted labels, in the same tables."""
SCHEMA = (
    "CREATE TABLE secret (key BLOB NOT NULL)",
    "CREATE TABLE runs (what TEXT, run TEXT, PRIMARY KEY (what, run)) WITHOUT ROWID",
    "CREATE TABLE spent (what TEXT, person BLOB, rho REAL NOT NULL, failure REAL NOT NULL, PRIMARY KEY (what, person))"
    " WITHOUT ROWID",
)
USUAL_DELTA = 1e-6
SLACK = 1e-6
"""Tolerance for epsilons, which are searched for: a run that spends exactly what is left must not fail."""
PATIENCE = 600.0
"""Seconds to wait for another run that is booking: with many rows that takes time."""


@dataclass(frozen=True)
class EpsilonLimit:
    """How much a party lets all runs together spend: its own figure if it set one, else what the plan promises.

    At one delta, so that figures of different plans compare: each plan has a delta of its own.
    """

    epsilon: float
    delta: float
    setting: str
    """The name of the setting in party.toml."""
    is_own: bool = True

    @classmethod
    def of(cls, plan: Plan, own_epsilon: float, own_delta: float, setting: str) -> Self:
        """The party's own limit or, with 0 as own epsilon, the plan's at the plan's delta."""
        if own_epsilon:
            return cls(own_epsilon, own_delta, setting)
        return cls(plan.epsilon, plan.delta, setting, is_own=False)

    def allows(self, epsilon: float) -> bool:
        return epsilon <= self.epsilon * (1 + SLACK)

    @property
    def words(self) -> str:
        """What is allowed and where that comes from, in words."""
        if self.is_own:
            return f"{self.setting} = {self.epsilon:g} in party.toml is the most at most_delta = {self.delta:g}"
        return f"the plan promises {self.epsilon:g} at delta {self.delta:g} for all runs together"


@dataclass(frozen=True)
class SpendingLedger:
    """A party's account of what its rows have spent; without its file, nothing is spent."""

    file: Path

    def book(
        self, run: str, ids: Sequence[str], spending: RowSpending, limit: EpsilonLimit | None = None
    ) -> RowSpending:
        """Book a run on these rows, or refuse it; returns what the row that was used most has spent then.

        On the disk when it returns. A run that is resumed was booked when it began, and is not booked again. Without a
        limit nothing is refused.
        """
        delta = limit.delta if limit else USUAL_DELTA
        with self._open() as database:
            before = self._spendings(database, ids)
            if database.execute("SELECT 1 FROM runs WHERE what = ? AND run = ?", (ROWS, run)).fetchone():
                return _most(before, delta)
            # Which row has spent most may change with the run: what counts is what each has spent then.
            after = _most([spent + spending for spent in before], delta)
            if limit is not None and not limit.allows(after.epsilon(delta)):
                raise BudgetExceededError(self._refusal(_most(before, delta), after, limit))
            database.execute("INSERT INTO runs VALUES (?, ?)", (ROWS, run))
            database.executemany(
                "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET rho = rho + excluded.rho, failure = failure + excluded.failure",
                ((ROWS, person, spending.rho, spending.failure) for person in self._people(database, ids)),
            )
            return after

    def spent(self, ids: Sequence[str]) -> RowSpending:
        """The spending of the most used of these rows: the one with the largest epsilon at the usual delta."""
        with self._open() as database:
            return _most(self._spendings(database, ids), USUAL_DELTA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger exclusively from the first read to the last write: what is read decides what is written."""
        try:
            with closing(sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None)) as database:
                self.file.chmod(0o600)
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN IMMEDIATE")
                # Where it does not get to its end, closing takes everything back.
                self._make_tables(database)
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise DataError(
                f"{self.file}: expected the ledger of what rows have spent ({type(error).__name__}); restore it"
                " from a copy: without it nobody knows what is left"
            ) from error

    def _make_tables(self, database: sqlite3.Connection) -> None:
        [version] = database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise DataError(f"{self.file}: a later version of Plumbob wrote this ledger; use that version")
        if version < VERSION:
            for statement in SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO secret VALUES (?)", (SYSTEM_RANDOMNESS.draw(32),))
            database.execute(f"PRAGMA user_version = {VERSION}")

    def _people(self, database: sqlite3.Connection, ids: Iterable[str]) -> Iterator[bytes]:
        """The ledger's hash of each id."""
        found = database.execute("SELECT key FROM secret").fetchone()
        if found is None:
            raise DataError(
                f"{self.file}: the ledger has lost the key under which it knows people; restore it from a copy"
            )
        for identity in ids:
            yield hashlib.blake2b(identity.encode(), key=found[0], digest_size=16).digest()

    def _spendings(self, database: sqlite3.Connection, ids: Sequence[str]) -> list[RowSpending]:
        """What these rows have spent: for each failure chance that occurs, the most that one of them has."""
        database.execute("CREATE TEMP TABLE IF NOT EXISTS asked (person BLOB PRIMARY KEY)")
        database.execute("DELETE FROM asked")
        asked = ((person,) for person in self._people(database, ids))
        database.executemany("INSERT OR IGNORE INTO asked VALUES (?)", asked)
        found = database.execute(
            "SELECT MAX(rho), failure FROM spent JOIN asked USING (person) WHERE what = ? GROUP BY failure",
            (ROWS,),
        )
        return [RowSpending(), *(RowSpending(rho, failure) for rho, failure in found)]

    def _refusal(self, before: RowSpending, after: RowSpending, limit: EpsilonLimit) -> str:
        earlier, now = (f"{spent.epsilon(limit.delta):.3g}" for spent in (before, after))
        return (
            f"these rows have spent epsilon {earlier} in earlier runs (at delta {limit.delta:g}); this one"
            f" would make it {now}, and {limit.words}. Nothing about them was sent; raise {limit.setting} in"
            " party.toml if that is acceptable, or use other rows. The ledger recognises people by"
            " id: if two plans use different id columns, it counts one person as two"
        )


@dataclass(frozen=True)
class RowBudget:
    """A party's ledger and limit, for runs with noise for whole rows."""

    ledger: SpendingLedger
    most_epsilon: float = 0.0
    """The most that runs may spend on a row together, at `most_delta`; 0 = what the plan promises."""
    most_delta: float = USUAL_DELTA

    def book(self, journal: SqliteJournal, plan: Plan, ids: Sequence[str], spending: RowSpending) -> None:
        """Book the run under a name that its journal keeps, so that a restart does not pay again."""
        run = journal.fact(BOOKED_AS)
        if run is None:
            run = SYSTEM_RANDOMNESS.draw(16)
            journal.note(BOOKED_AS, run)
        limit = EpsilonLimit.of(plan, self.most_epsilon, self.most_delta, "most_epsilon")
        self.ledger.book(run.hex(), ids, spending, limit)


def _most(spendings: Iterable[RowSpending], delta: float) -> RowSpending:
    return max(spendings, key=lambda spent: spent.epsilon(delta))
