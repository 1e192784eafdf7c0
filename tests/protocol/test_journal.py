"""A finished step's draws are really gone, from every file, and what a restart needs is there byte for byte."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from plumbob.errors import JournalError, LocalProtocolError
from plumbob.protocol.channel import digest_of
from plumbob.protocol.journal import KEYS, LONG, Resumed, SqliteJournal
from plumbob.protocol.messages import Kind, Message
from tests.fuzz.decoders import honest_journal, read_journal


def traces(path: Path, secret: bytes) -> list[str]:
    """Which of the journal's files still hold this."""
    return [file.name for file in path.parent.iterdir() if secret in file.read_bytes()]


def sent_by(journal: SqliteJournal, data: bytes) -> bool:
    """A message as a channel hands it over."""
    message = message_of(data)
    return journal.log_sent("peer", message, message.digest)


def message_of(data: bytes) -> Message:
    """A message with this body."""
    return Message(Kind.SEED_SHARE, 0, 0, data)


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
        sent_by(journal, b"a message")
        journal.finish(step, {"draws": draws.advance(b"")}, {})
        links.append(draws.link)
    journal.begin(steps + 1)
    sent_by(journal, b"the last message")
    return links


def test_finished_draws_are_erased(tmp_path: Path) -> None:
    """Draws are erased while the journal is open, as a thief of the disk would find it; what is under way is there."""
    *finished, current = drawn_and_finished(tmp_path / "journal.db")
    assert [traces(tmp_path / "journal.db", secret) for secret in finished] == [[]] * len(finished)
    assert traces(tmp_path / "journal.db", current)


def test_without_erasing_they_could_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch: deleted rows stay in the log until it happens to be written over."""
    monkeypatch.setattr(SqliteJournal, "_erase", lambda self: None)
    *finished, _ = drawn_and_finished(tmp_path / "journal.db")
    assert any(traces(tmp_path / "journal.db", secret) for secret in finished)


def test_long_messages_stand_beside_the_database(tmp_path: Path) -> None:
    """What came is there after a restart, byte for byte; files are used again, and nothing of them stays."""
    path = tmp_path / "journal.db"
    for step in range(1, 6):
        journal = SqliteJournal(path)
        journal.begin(step)
        sent, received = os.urandom(LONG + step), os.urandom(2 * LONG)
        journal.keep("peer", received, digest_of(received))
        assert sent_by(journal, sent)
        journal.close()
        journal = SqliteJournal(path)
        journal.begin(step)
        assert sent_by(journal, sent)
        assert journal.next_logged("peer") == received
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
    sent_by(journal, first)
    journal.confirm("peer", 1)
    journal.finish(1, {}, {})
    journal.begin(2)
    journal.keep("peer", os.urandom(LONG), bytes(32))
    journal.close()
    journal = SqliteJournal(path)
    assert journal.last_state() is None
    journal.begin(1)
    assert sent_by(journal, first)
    journal.begin(1)
    with pytest.raises(LocalProtocolError, match="different bytes from those already sent"):
        sent_by(journal, b"other bytes")
    journal.close()


def test_a_message_is_kept_if_its_step_is_over_before_the_peer_has_it(tmp_path: Path) -> None:
    """What can be calculated again is not written; what cannot any more is, and is the link's to send again."""
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    sent_by(journal, b"setting up")
    journal.begin(1)
    early, late = os.urandom(LONG), os.urandom(LONG)
    sent_by(journal, early)
    sent_by(journal, late)
    journal.confirm("peer", 2)
    journal.finish(1, {"state": b""}, {})
    journal.begin(2)
    sent_by(journal, b"under way")
    journal.close()
    journal = SqliteJournal(path)
    link = journal.link_state("peer")
    assert (link.first, link.unconfirmed, link.sent) == (2, [message_of(late).encode()], 4)
    assert not sent_by(journal, b"setting up")
    journal.begin(2)
    assert sent_by(journal, b"under way")
    journal.close()


def test_what_a_step_needs_vanishes_with_it(tmp_path: Path) -> None:
    """Keys of later passes are there after a restart; of finished ones, and of how they were agreed on, nothing is."""
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    sent_by(journal, b"setting up")
    journal.begin(KEYS)
    draws = journal.draws()
    draws.open(b"session", b"seed")
    journal.open_chain(draws)
    drawn, needs = draws.link, {1: os.urandom(32), 2: os.urandom(32)}
    sent_by(journal, b"keys")
    assert traces(path, drawn)
    journal.finish(KEYS, {"channel": b"after the keys"}, needs)
    journal.begin(1)
    sent_by(journal, b"first step")
    assert not traces(path, drawn)
    assert all(traces(path, need) for need in needs.values())
    journal.finish(1, {"channel": b"after the step"}, {})
    journal.begin(2)
    sent_by(journal, b"second step")
    assert not traces(path, needs[1])
    # It held the link of the first step, from which those of all later ones follow.
    assert not traces(path, b"after the keys")
    journal.close()
    journal = SqliteJournal(path)
    assert journal.last_state() == Resumed(1, {"channel": b"after the step"}, {2: needs[2]})
    journal.forget()
    assert journal.last_state() is None
    assert not traces(path, needs[2])
    journal.close()


def test_a_journal_of_another_format_is_refused(tmp_path: Path) -> None:
    """A journal of another format is neither resumed nor overwritten."""
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE facts SET value = CAST('2' AS BLOB) WHERE name = 'format'")
        database.commit()
    with pytest.raises(JournalError, match="another version"):
        SqliteJournal(path)


DAMAGE = (
    "UPDATE facts SET value = 'x' WHERE name = 'sent/shop'",
    "UPDATE facts SET value = 7 WHERE name = 'identity'",
    "UPDATE facts SET value = x'ff' WHERE name = 'identity'",
    "UPDATE facts SET value = x'c1' WHERE name = 'state'",
    "UPDATE facts SET value = 'x' WHERE name = 'finished'",
    "UPDATE received SET phase = 0, body = 7",
    "UPDATE received SET phase = 0, body = 'x'",
)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_journal_is_said_to_be_one(damage: str, tmp_path: Path) -> None:
    """Whatever stands in a row of the file, reading it ends in a JournalError that names the file."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(honest_journal())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(damage)
    with pytest.raises(JournalError, match=r"journal\.sqlite"):
        read_journal(path)
