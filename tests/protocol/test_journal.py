"""A finished step's draws are really gone, from every file, and what a restart needs is there byte for byte."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from plumbob.errors import JournalError
from plumbob.protocol.bodies import LONG
from plumbob.protocol.channel import digest_of
from plumbob.protocol.sqlite_journal import SqliteJournal


def traces(path: Path, secret: bytes) -> list[str]:
    """Which of the journal's files still hold this."""
    return [file.name for file in path.parent.iterdir() if secret in file.read_bytes()]


def drawn_and_finished(path: Path, steps: int = 6) -> list[bytes]:
    """A journal in use: each step sends and is finished, the last one is under way; the links, the set-up's first."""
    journal = SqliteJournal(path)
    draws = journal.draws()
    draws.open(b"session", b"seed")
    journal.open_chain(draws)
    links = [draws.link]
    for step in range(1, steps + 1):
        journal.begin(step)
        draws.leave_set_up(b"")
        journal.sending("peer", b"a message")
        journal.finish(step, {}, {"draws": draws.advance(b"")})
        links.append(draws.link)
    journal.begin(steps + 1)
    journal.sending("peer", b"the last message")
    return links


def test_finished_draws_are_erased(tmp_path: Path) -> None:
    """While the journal is still open, as a thief of the disk would find it; what is under way is there."""
    *finished, current = drawn_and_finished(tmp_path / "journal.db")
    assert [traces(tmp_path / "journal.db", secret) for secret in finished] == [[]] * len(finished)
    assert traces(tmp_path / "journal.db", current)


def test_without_erasing_they_could_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch: deleted rows stay in the log until it happens to be written over."""
    monkeypatch.setattr(SqliteJournal, "_erase", lambda self: None)
    *finished, _ = drawn_and_finished(tmp_path / "journal.db")
    assert any(traces(tmp_path / "journal.db", secret) for secret in finished)


def test_long_messages_stand_beside_the_database(tmp_path: Path) -> None:
    """They come back byte for byte after a restart, their files are used again, and nothing of them stays."""
    path = tmp_path / "journal.db"
    for step in range(1, 6):
        journal = SqliteJournal(path)
        journal.begin(step)
        sent, received = os.urandom(LONG + step), os.urandom(2 * LONG)
        journal.keep("peer", received, digest_of(received))
        assert journal.sending("peer", sent)
        journal.close()
        journal = SqliteJournal(path)
        assert journal.link_state("peer").unconfirmed[-1] == sent
        journal.begin(step)
        assert not journal.sending("peer", sent)
        assert journal.arrived("peer") == received
        journal.confirm("peer", step)
        journal.finish(step, {}, {})
        journal.flush()
        journal.close()
    bodies = list(tmp_path.glob("journal.db-body-*"))
    assert 1 <= len(bodies) <= 3
    assert {file.stat().st_mode & 0o777 for file in bodies} == {0o600}
    journal = SqliteJournal(path)
    journal.forget()
    journal.close()
    assert not list(tmp_path.glob("journal.db-body-*"))


def test_a_message_is_not_written_over_before_its_step_is_over_on_the_disk(tmp_path: Path) -> None:
    """A restart between a step's end and the next commit finds the step's messages as they were."""
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    journal.begin(1)
    first = os.urandom(LONG)
    journal.sending("peer", first)
    journal.confirm("peer", 1)
    journal.finish(1, {}, {})
    journal.begin(2)
    journal.keep("peer", os.urandom(LONG), bytes(32))
    journal.close()
    journal = SqliteJournal(path)
    assert journal.resumed() is None
    journal.begin(1)
    assert not journal.sending("peer", first)
    journal.close()


def test_what_a_step_needs_vanishes_with_it(tmp_path: Path) -> None:
    """Keys of later passes are there after a restart; of finished ones, and of how they were agreed on, nothing is."""
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    journal.sending("peer", b"setting up")
    journal.begin_keys()
    draws = journal.draws()
    draws.open(b"session", b"seed")
    journal.open_chain(draws)
    drawn, needs = draws.link, {1: os.urandom(32), 2: os.urandom(32)}
    journal.sending("peer", b"keys")
    assert traces(path, drawn)
    journal.hand_on({"channel": b"after the keys"}, needs)
    journal.begin(1)
    journal.sending("peer", b"first step")
    assert not traces(path, drawn)
    assert all(traces(path, need) for need in needs.values())
    journal.finish(1, {}, {})
    journal.begin(2)
    journal.sending("peer", b"second step")
    assert not traces(path, needs[1])
    journal.close()
    journal = SqliteJournal(path)
    assert journal.handed_on() == ({"channel": b"after the keys"}, {2: needs[2]})
    journal.forget()
    assert journal.handed_on() is None
    assert not traces(path, needs[2])
    journal.close()


def test_a_journal_of_another_format_is_refused(tmp_path: Path) -> None:
    """It is neither taken up nor written over."""
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE facts SET value = CAST('2' AS BLOB) WHERE name = 'format'")
        database.commit()
    with pytest.raises(JournalError, match="another version"):
        SqliteJournal(path)
