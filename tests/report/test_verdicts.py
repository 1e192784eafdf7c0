"""The two headlines on a page: their lines, their marks, and what to type."""

from dataclasses import replace

from plumbob.checking.headlines import headlines
from plumbob.record import Finding
from plumbob.report.verdicts import headline_blocks

READ = Finding("label-sign", "fund", "bank", "labels", "leaks", "Why.", "section 4", "--protocol shares")


def test_what_to_do_is_there_to_be_typed() -> None:
    """It is a piece of code of its own, and nothing follows that would be copied with it."""
    written = headline_blocks(headlines([READ]))
    assert "What helps: <code>--protocol shares</code>" in written
    assert 'class="badge leaks"' in written


def test_one_word_for_one_verdict() -> None:
    """A verdict has the word that `check` gives it, under the headline of what it assumes."""
    for verdict in ("leaks", "degrades"):
        written = headline_blocks(headlines([replace(READ, verdict=verdict, assumes="cheating")]))
        assert written.index("If someone cheats") < written.index(f">{verdict}</span>")


def test_names_are_text() -> None:
    """A party's name opens no tag."""
    assert "<script" not in headline_blocks(headlines([replace(READ, by="<script>alert(1)</script>")]))
