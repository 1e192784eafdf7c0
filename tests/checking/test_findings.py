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
    """Of a plan that leaks."""
    return plumbob.check(LEAKING, rows=455)


def test_they_are_a_list(findings: Findings) -> None:
    """Whoever took what `check` returns for a list still may."""
    assert isinstance(findings, list)
    assert findings == list(findings)
    assert all(isinstance(one, Finding) for one in findings)
    assert isinstance(findings[0], Finding)
    assert isinstance(findings[:2], Findings)
    assert len(findings[:2]) == 2


def test_text_says_what_leaks_and_how_to_stop_it(findings: Findings) -> None:
    """The headline, a line for every finding, and the reason and the cure for each that leaks."""
    text = str(findings)
    assert text == repr(findings)
    assert text.splitlines()[0] == findings.summary
    assert findings.leaking
    for one in findings.leaking:
        assert one.why in text
        assert f"to stop it: {one.fix}" in text
    for one in findings:
        assert f"{one.verdict}" in text
        assert one.attack in text


def test_the_command_line_shows_the_same_table(findings: Findings) -> None:
    """`check --verbose` and a notebook do not tell two stories."""
    table = str(findings).splitlines()[2 : 2 + len(findings) + 1]
    assert table == lines_of(findings)[2 : 2 + len(findings) + 1]


def test_a_notebook_gets_a_table_without_scripts(findings: Findings) -> None:
    """What a plan says is text there, whatever it looks like."""
    hostile = replace(findings[0], by="<script>alert(1)</script>", why='<img src=x onerror="alert(2)">', fix="a & b")
    page = Findings([hostile])._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a &amp; b" in page
    assert page.count("<tr>") == 2


def test_one_of_a_kind_is_told_in_the_singular(findings: Findings) -> None:
    """The sentence is read aloud by whoever decides: one leaks, several leak."""
    verdicts = ("leaks", "degrades", "blocked", "not applicable")
    one_each = Findings(replace(findings[0], verdict=verdict) for verdict in verdicts)
    assert one_each.summary == (
        "1 of 4 findings leaks above the plan's tolerance; 1 degrades (how much depends on the data), 1 is blocked, "
        "1 is not applicable."
    )
    assert Findings([*one_each, *one_each]).summary == (
        "2 of 8 findings leak above the plan's tolerance; 2 degrade (how much depends on the data), 2 are blocked, "
        "2 are not applicable."
    )
    assert Findings(one_each[:1]).summary == "1 of 1 finding leaks above the plan's tolerance."


def test_nothing_found_is_said_too() -> None:
    """An empty list shows its sentence and no empty table."""
    assert str(Findings()) == "None of 0 findings leaks above the plan's tolerance."
    assert "<table" not in Findings()._repr_html_()


def test_rates_are_shown_where_there_are_some(findings: Findings) -> None:
    """After a run the table has what was reached, beside the baseline."""
    assert "baseline" not in str(findings).splitlines()[2]
    measured = Findings([replace(findings[0], rate=0.987, baseline=0.6), findings[1]])
    assert "baseline" in str(measured).splitlines()[2]
    assert "0.987" in str(measured)
    assert "0.987" in measured._repr_html_()


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
