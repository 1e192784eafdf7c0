"""The journals of a party's runs and sessions: opening and closing, discarding, and looking into them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from plumbob.protocol.sqlite_journal import JournalContents, SqliteJournal, read_contents
from plumbob.run_folder import JOURNAL, RunFolder


@contextmanager
def open_journal(place: Path) -> Iterator[SqliteJournal]:
    """The journal of a run or session; JournalError while another process has it open."""
    journal = SqliteJournal(RunFolder(place).journal_file)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def one_session(place: Path) -> Iterator[SqliteJournal]:
    """A journal for a session that is never resumed: it can be asked for again, and nothing of it stays."""
    # The outer journal is only a lock: a second process must not take the first one's place.
    with open_journal(place):
        try:
            with open_journal(Path(tempfile.mkdtemp(dir=place))) as fresh:
                yield fresh
        finally:
            shutil.rmtree(place, ignore_errors=True)


def journal_contents(place: Path) -> JournalContents:
    """The contents of a run's journal, and of those that a killed prediction left beside it."""
    own = read_contents(RunFolder(place).journal_file)
    return replace(own, has_secrets=any(read_contents(file).has_secrets for file in place.rglob(JOURNAL)))
