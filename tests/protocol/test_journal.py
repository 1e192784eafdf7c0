"""A finished step's draws are really gone: from the journal's file and from the log beside it."""

import os
from pathlib import Path

import pytest

from plumbob.protocol.journal import SqliteJournal


def traces(path: Path, secret: bytes) -> list[str]:
    """Which of the journal's files still hold this."""
    return [file.name for file in path.parent.iterdir() if secret in file.read_bytes()]


def drawn_and_finished(path: Path, steps: int = 6) -> list[bytes]:
    """A journal in use: each step draws, sends, and is finished; the last step is under way."""
    journal, drawn = SqliteJournal(path, os.urandom), []
    for step in range(1, steps + 1):
        journal.begin(step)
        drawn.append(journal.draw(64))
        journal.sending("peer", b"a message")
        journal.finish(step, {}, {"state": bytes(8)})
    journal.begin(steps + 1)
    drawn.append(journal.draw(64))
    journal.sending("peer", b"the last message")
    return drawn


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
