"""Verdicts on a page: the two headlines, their marks, what to type, and every pair of party and target."""

from dataclasses import replace
from typing import Any

from plumbob.checking.check import check
from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import Headlines
from plumbob.plan import Party, Plan
from plumbob.record import Finding
from plumbob.report.templates import environment
from plumbob.report.verdicts import pairs_of, pairs_table

READ = Finding("label-sign", "fund", "bank", "labels", "leaks", "Why.", "section 4", "", changes={"protocol": "shares"})
PLAN = Plan.for_columns((5, 18), rows=3200).replace(
    parties=(Party("bank", "label", 5), Party("processor", "features", 18))
)


def headline_blocks(told: Headlines) -> str:
    """Both headlines, as pages show them."""
    parts: Any = environment().get_template("parts.html").module
    return str(parts.headline_blocks(told))


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


def test_whom_no_line_is_about_is_said_beside_the_lines() -> None:
    """They are named as in a terminal: silence about a party could be read either way."""
    found = check(Plan.for_columns((8, 22), rows=455))
    told = headlines(found, found.figures)
    assert told.honest.lines
    assert told.honest.nothing == "No known attack is shown to tell the feature party more."
    assert told.honest.nothing in headline_blocks(told)


def test_a_remedy_without_a_price_names_none() -> None:
    """What longer keys cost is not forecast; an empty price would look like a mistake."""
    short_keys = Plan.for_columns(
        (2, 3), rows=400, protocol="exchange", batches="full", test_only_keys=True, key_bits=512
    )
    found = check(short_keys)
    told = headlines(found, found.figures)
    assert told.honest.remedy
    assert not told.honest.price
    assert "Its price: ." not in headline_blocks(told)
    assert "  Its price: " not in told.lines()


def test_all_pairs_have_their_parties_names() -> None:
    """All pairs are there of which there is a finding, also where it is blocked."""
    pairs = pairs_of(PLAN, check(PLAN))
    assert list(pairs) == [
        ("processor", "bank's labels"),
        ("bank", "processor's columns and scores"),
        ("bank", "processor's weights"),
    ]
    assert pairs["bank", "processor's columns and scores"]["cheating"].verdict == "leaks"
    table = pairs_table(PLAN, check(PLAN))
    assert table is not None
    assert [(by, about) for by, about, *_ in table.rows] == list(pairs)
