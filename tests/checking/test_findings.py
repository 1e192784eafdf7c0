"""A list of findings shows itself: as text, as a table in a notebook, and as a frame."""

import sys
from dataclasses import replace
from typing import Any

import pytest

import plumbob
from plumbob.checking.findings import Findings, lines_of
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.record import Finding

LEAKING = Plan.for_columns((8, 22), protocol="exchange", batch_size=16, epochs=2)


@pytest.fixture(scope="module")
def findings() -> Findings:
    """The findings of a plan that leaks."""
    return plumbob.check(LEAKING, rows=455)


def test_they_are_a_list(findings: Findings) -> None:
    """Whoever took what `check` returns for a list still may."""
    assert isinstance(findings, list)
    assert findings == list(findings)
    assert all(isinstance(one, Finding) for one in findings)
    assert isinstance(findings[0], Finding)
    assert isinstance(findings[:2], Findings)
    assert len(findings[:2]) == 2


def test_text_is_both_headlines_and_every_finding(findings: Findings) -> None:
    """Whoever prints a list reads what `check` prints, and below it a line for every finding."""
    text = str(findings)
    assert text == repr(findings)
    assert text.startswith("If everyone keeps to the protocol:")
    assert text.splitlines()[: len(findings.headlines.lines())] == findings.headlines.lines()
    assert findings.leaking
    assert len(text.splitlines()) == len(findings.headlines.lines()) + 2 + len(findings)


def test_the_command_line_shows_the_same_table(findings: Findings) -> None:
    """`check --verbose` and a notebook do not tell two stories."""
    shown = str(findings).splitlines()
    assert lines_of(findings)[: len(shown)] == shown


def test_a_notebook_gets_a_table_without_scripts(findings: Findings) -> None:
    """What a plan says is text there, whatever it looks like."""
    hostile = replace(findings[0], by="<script>alert(1)</script>", why='<img src=x onerror="alert(2)">', fix="a & b")
    page = Findings([hostile])._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a &amp; b" in page
    assert page.count("<tr>") == 2


def test_nothing_found_is_said_too() -> None:
    """An empty list shows its sentences and no empty table."""
    assert str(Findings()).count("No attack of this kind was judged.") == 2
    assert "<table" not in Findings()._repr_html_()


def test_rates_are_shown_where_there_are_some(findings: Findings) -> None:
    """After a run the table has what was reached, beside the baseline."""
    assert "baseline" not in str(findings)
    measured = Findings([replace(findings[0], rate=0.987, baseline=0.6), findings[1]])
    assert "baseline" in str(measured)
    assert "98.7 %" in str(measured)
    assert "98.7 %" in measured._repr_html_()


def test_a_frame_has_every_field(findings: Findings) -> None:
    """One row for each finding, the JSON's fields as columns."""
    pytest.importorskip("pandas")
    frame: Any = findings.to_frame()
    assert list(frame.columns) == list(Finding.__dataclass_fields__)
    assert frame["verdict"].tolist() == [one.verdict for one in findings]


def test_without_pandas_the_error_says_what_to_type(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas is nobody's dependency here."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match="pip install pandas"):
        findings.to_frame()
