"""What has been spent of each person's row, over all runs: booked before anything leaves that depends on one.

One file per party. It holds a hash of each id under a key of its own, so that it names nobody, and what every run
cost. Two tables that share rows share their budget, row by row. A person is an id here: under another id column, the
same person is another one, and nothing of what was spent is seen.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.errors import BudgetExceededError, DataError
from plumbob.party.epsilon_limit import EpsilonLimit
from plumbob.privacy.rows import RowSpending

VERSION = 1
SCHEMA = (
    "CREATE TABLE secret (key BLOB NOT NULL)",
    "CREATE TABLE runs (run TEXT PRIMARY KEY, rho REAL NOT NULL CHECK (rho > 0), failure REAL NOT NULL)",
    "CREATE TABLE spent (person BLOB PRIMARY KEY, rho REAL NOT NULL, failure REAL NOT NULL) WITHOUT ROWID",
)
FAILURE_OF_EARLIER_RUNS = 2.0**-30 + 2.0**-38
"""An earlier ledger did not say how often a run failed; none was allowed to fail, or to show something, more often."""
USUAL_DELTA = 1e-6
PATIENCE = 600.0
"""Seconds to wait for another run that is booking: with many rows it takes some."""


@dataclass(frozen=True)
class RowBudget:
    """A party's ledger of rows; without its file, nothing is spent."""

    file: Path

    def book(
        self, run: str, ids: Sequence[str], spending: RowSpending, limit: EpsilonLimit | None = None
    ) -> RowSpending:
        """Book a run on these rows, or refuse it; returns what the row that was used most has spent then.

        On the disk when it returns. A run that is resumed was booked when it began, and is not booked again. Without a
        limit nothing is refused.
        """
        delta = limit.delta if limit else USUAL_DELTA
        with self._open() as ledger:
            secrets = self._known_secrets(ledger)
            before = _spendings(ledger, secrets, ids)
            if ledger.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone():
                return _most(before, delta)
            # Which row has spent most may change with the run: what counts is what each has spent then.
            after = _most([one + spending for one in before], delta)
            if limit is not None and not limit.allows(after.epsilon(delta)):
                raise BudgetExceededError(_refusal(_most(before, delta), after, limit))
            ledger.execute("INSERT INTO runs VALUES (?, ?, ?)", (run, spending.rho, spending.failure))
            ledger.executemany(
                "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT (person) DO UPDATE"
                " SET rho = rho + excluded.rho, failure = failure + excluded.failure",
                ((_hash(secrets[0], one), spending.rho, spending.failure) for one in ids),
            )
            return after

    def spent(self, ids: Sequence[str], delta: float = USUAL_DELTA) -> RowSpending:
        """Of the row among these that was used most, which is the one with the largest epsilon at this delta."""
        with self._open() as ledger:
            return _most(_spendings(ledger, self._known_secrets(ledger), ids), delta)

    def _known_secrets(self, ledger: sqlite3.Connection) -> list[bytes]:
        if secrets := _secrets(ledger):
            return secrets
        raise DataError(
            f"{self.file}: the ledger of what rows have spent has lost the key under which it knows people; restore it"
            " from a copy"
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Alone from the first look at the file to the last word in it: what is read decides what is written."""
        try:
            with closing(sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None)) as ledger:
                self.file.chmod(0o600)
                ledger.execute("PRAGMA synchronous = FULL")
                ledger.execute("BEGIN IMMEDIATE")
                # Where it does not get to its end, closing takes everything back.
                _bring_up_to_date(ledger, self.file)
                yield ledger
                ledger.execute("COMMIT")
        except sqlite3.Error as error:
            raise DataError(
                f"{self.file}: expected the ledger of what rows have spent ({type(error).__name__}); restore it from a"
                " copy: without it nobody knows what is left"
            ) from error


def _bring_up_to_date(ledger: sqlite3.Connection, file: Path) -> None:
    """Make the tables, or take over those of an earlier version with the most that their runs can have failed."""
    [version] = ledger.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise DataError(f"{file}: a later version of Plumbob wrote this ledger of rows; use that version")
    if version == VERSION:
        return
    if ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'spent'").fetchone():
        # Nobody knows how many of the runs a person was in: all of them, at most.
        [runs] = ledger.execute("SELECT COUNT(*) FROM runs").fetchone()
        ledger.execute("ALTER TABLE runs ADD COLUMN failure REAL NOT NULL DEFAULT 0")
        ledger.execute("UPDATE runs SET failure = ?", (FAILURE_OF_EARLIER_RUNS,))
        ledger.execute("ALTER TABLE spent ADD COLUMN failure REAL NOT NULL DEFAULT 0")
        ledger.execute("UPDATE spent SET failure = ?", (runs * FAILURE_OF_EARLIER_RUNS,))
    else:
        for statement in SCHEMA:
            ledger.execute(statement)
    [people] = ledger.execute("SELECT COUNT(*) FROM spent").fetchone()
    # An earlier version left none where its first run was refused; people without one cannot be recognised.
    if not people and not _secrets(ledger):
        ledger.execute("INSERT INTO secret VALUES (?)", (SYSTEM_RANDOMNESS.draw(32),))
    ledger.execute(f"PRAGMA user_version = {VERSION}")


def _secrets(ledger: sqlite3.Connection) -> list[bytes]:
    """One; an earlier version made several where runs began at once, and people are booked under any of them."""
    return [secret for (secret,) in ledger.execute("SELECT key FROM secret ORDER BY rowid")]


def _hash(secret: bytes, identity: str) -> bytes:
    return hashlib.blake2b(identity.encode(), key=secret, digest_size=16).digest()


def _spendings(ledger: sqlite3.Connection, secrets: Sequence[bytes], ids: Sequence[str]) -> list[RowSpending]:
    """Of these rows, nothing included: for each failure that occurs, the most that one of them has spent."""
    ledger.execute("CREATE TEMP TABLE IF NOT EXISTS asked (person BLOB PRIMARY KEY, place INTEGER NOT NULL)")
    ledger.execute("DELETE FROM asked")
    asked = ((_hash(secret, one), place) for secret in secrets for place, one in enumerate(ids))
    ledger.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", asked)
    found = ledger.execute(
        "SELECT MAX(rho), failure FROM (SELECT SUM(rho) AS rho, SUM(failure) AS failure"
        " FROM spent JOIN asked USING (person) GROUP BY place) GROUP BY failure"
    )
    return [RowSpending(), *(RowSpending(rho, failure) for rho, failure in found)]


def _most(spendings: Iterable[RowSpending], delta: float) -> RowSpending:
    return max(spendings, key=lambda one: one.epsilon(delta))


def _refusal(before: RowSpending, after: RowSpending, limit: EpsilonLimit) -> str:
    shown = [f"{one.epsilon(limit.delta):.3g}" for one in (before, after)]
    return (
        f"these rows have spent epsilon {shown[0]} in earlier runs (at delta {limit.delta:g}); this one would make it"
        f" {shown[1]}, and {limit.words}. Nothing about them was sent; raise {limit.setting} in party.toml, or use"
        " other rows. The ledger counts by id: to it, a person under another id column is another person"
    )
