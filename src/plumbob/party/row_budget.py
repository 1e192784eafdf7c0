"""What has been spent of each person's row, over all runs: booked before anything leaves that depends on one.

One file per party. It holds a hash of each id under a key of its own, so that it names nobody, and what every run
cost. Two tables that share rows share their budget, row by row.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.errors import BudgetExceededError, DataError
from plumbob.privacy.accounting import zcdp_epsilon

SCHEMA = """
CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, rho REAL NOT NULL CHECK (rho > 0));
CREATE TABLE IF NOT EXISTS spent (person BLOB PRIMARY KEY, rho REAL NOT NULL) WITHOUT ROWID;
"""
SLACK = 1e-12
"""Sums of costs are floats; a run that spends exactly what is left must not fail on the last digit."""


@dataclass(frozen=True)
class RowBudget:
    """A party's ledger of rows; without its file, nothing is spent."""

    file: Path

    def book(self, run: str, ids: Sequence[str], rho: float, most_rho: float) -> float:
        """Book a run on these rows, or refuse it; returns what the row that was used most has spent then.

        On the disk when it returns. A run that is resumed was booked when it began, and is not booked again.
        """
        with self._open() as ledger, ledger:
            people = _hashes(ledger, ids)
            if ledger.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone():
                return _most_spent(ledger, people)
            before = _most_spent(ledger, people)
            if before + rho > most_rho * (1 + SLACK):
                raise BudgetExceededError(_refusal(before, rho, most_rho))
            ledger.execute("INSERT INTO runs VALUES (?, ?)", (run, rho))
            ledger.executemany(
                "INSERT INTO spent VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET rho = rho + excluded.rho",
                ((person, rho) for person in people),
            )
            return before + rho

    def spent(self, ids: Sequence[str]) -> float:
        """zCDP of the row among these that was used most."""
        with self._open() as ledger, ledger:
            return _most_spent(ledger, _hashes(ledger, ids))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.file, isolation_level="IMMEDIATE")) as ledger:
                self.file.chmod(0o600)
                ledger.execute("PRAGMA synchronous = FULL")
                ledger.executescript(SCHEMA)
                yield ledger
        except sqlite3.Error as error:
            raise DataError(
                f"{self.file}: expected the ledger of what rows have spent ({type(error).__name__}); restore it from a"
                " copy: without it nobody knows what is left"
            ) from error


def _hashes(ledger: sqlite3.Connection, ids: Sequence[str]) -> list[bytes]:
    found = ledger.execute("SELECT key FROM secret").fetchone()
    if found is None:
        found = (SYSTEM_RANDOMNESS.draw(32),)
        ledger.execute("INSERT INTO secret VALUES (?)", found)
    return [hashlib.blake2b(identity.encode(), key=found[0], digest_size=16).digest() for identity in ids]


def _most_spent(ledger: sqlite3.Connection, people: Sequence[bytes]) -> float:
    ledger.execute("CREATE TEMP TABLE IF NOT EXISTS asked (person BLOB PRIMARY KEY)")
    ledger.execute("DELETE FROM asked")
    ledger.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((person,) for person in people))
    [most] = ledger.execute("SELECT MAX(rho) FROM spent JOIN asked USING (person)").fetchone()
    return float(most or 0.0)


def _refusal(before: float, rho: float, most_rho: float) -> str:
    shown = [f"{zcdp_epsilon(value, 1e-6):.3g}" for value in (before, before + rho, most_rho)]
    return (
        f"these rows have spent epsilon {shown[0]} in earlier runs (at delta 1e-6); this one would make it"
        f" {shown[1]}, and {shown[2]} is the most that was agreed. Nothing about them was sent; raise most_epsilon in"
        " party.toml, or use other rows"
    )
