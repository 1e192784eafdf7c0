"""A run's page shows what its record holds, and has no section for what it does not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.filing import with_predictions
from plumbob.lab.audit.filing import with_findings
from plumbob.lab.audit.redteam import audit
from plumbob.lab.audit.truth import Truth
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import AttackCurve, LedgerCurve, RunRecord
from plumbob.report import figures
from plumbob.report.audit import epoch_charts
from plumbob.report.run import page_of, sections_of
from tests.lab.audit.support import small_run


@pytest.fixture(scope="module")
def audited() -> RunRecord:
    """A run in the clear with noise, attacked."""
    run = small_run(epochs=2, batch_size=8, noise="std", noise_std=0.5, row_norm=1.0)
    return with_findings(run.record, Truth.of(run), audit(run, ["label-sign", "feature-single"]))


def headings(record: RunRecord) -> list[str]:
    """The headings of the page's sections."""
    return [section.heading for section in sections_of(record)]


def test_an_audited_run(audited: RunRecord) -> None:
    """The verdict first, what is not protected last, and between them how it came about."""
    assert headings(audited) == [
        "The verdict",
        "Who could learn what",
        "What the attacks reached",
        "Finding by finding",
        "Prediction beside outcome",
        "The paper's theorems beside this run",
        "The plan",
        "The receipt",
        "What is not protected",
    ]


def test_one_party_on_its_own(audited: RunRecord) -> None:
    """Without the truth there are predictions, and they are called that."""
    own = replace(audited, parties=audited.parties[1:], findings=[], curves=[], theorems={}, notes=[])
    found = with_predictions(own)
    assert headings(found)[:2] == ["What the plan lets happen", "Who could learn what"]
    page = page_of(found)
    assert "(as planned)" in page
    assert "This run has not been attacked" in page
    assert "can read" not in page


@pytest.mark.parametrize("status", ["running", "interrupted at step 3 of 9", "failed at step 1 of 9"])
def test_a_run_that_did_not_end(status: str) -> None:
    """Its page says so, and shows the plan."""
    record = unfinished_record(Plan.for_columns((2, 3)), 40, status)
    assert headings(record) == ["What the plan lets happen", "The plan", "What is not protected"]
    assert f"The run did not finish: {status}." in page_of(record)


@pytest.mark.parametrize(
    ("keys", "cells"),
    [
        (
            {"epochs": 0},
            '<td class="words">14 passes on all 40 rows (by the public rule)</td><td>by the public rule</td>',
        ),
        ({"epochs": 3}, "<td>3</td><td>by the public rule</td>"),
        (
            {"epochs": 0, "noise": "rows"},
            '<td class="words">6 passes on all 40 rows (by the public rule)</td><td>by the public rule</td>',
        ),
    ],
)
def test_epochs_by_the_public_rule(keys: dict[str, Any], cells: str) -> None:
    """The page shows how often the rows are walked through, never a 0 that stands for a rule."""
    plan = Plan.for_columns((2, 3), protocol="shares", **keys)
    assert f'<th scope="row">epochs</th>{cells}' in page_of(unfinished_record(plan, 40, "running"))


def test_disagreements_are_told_once(audited: RunRecord) -> None:
    """Where `check` was wrong stands beside its predictions, not among what is unprotected as well."""
    wrong = next(section for section in sections_of(audited) if section.heading == "Prediction beside outcome")
    noted = replace(audited, notes=["A note.", *wrong.sentences[1:]])
    last = list(sections_of(noted))[-1].special
    assert "A note." in last
    assert all(sentence not in last for sentence in wrong.sentences[1:])


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"protocol": "exchange"}, "each gradient is an equation"),
        ({"protocol": "shares", "open": "own"}, "weights opened at the end"),
        ({"protocol": "exchange", "noise": "sound", "row_norm": 1.0}, "differential privacy to single labels"),
        ({"protocol": "exchange", "label_flip_epsilon": 1.0}, "Flipped labels"),
    ],
)
def test_limits_fit_the_plan(keys: dict[str, object], word: str) -> None:
    """Each plan has its own, before those that hold for all."""
    lines = list(said(SaidWhere.LIMITS, Figures.of(Plan.for_columns((2, 3), **keys))))
    assert any(word in line for line in lines)
    assert lines[-1].startswith("Attacks that nobody has thought of")


def test_the_ledger_says_when_all_is_known() -> None:
    """The ledger says in words and numbers by which step the labels are fixed, or that they never are."""
    enough = LedgerCurve("fund", "labels", "bank", 30, [1, 2, 3], [12, 24, 36], [12, 24, 30], True, False)
    (chart,) = figures.ledger_charts([enough])
    assert "fund gets 36 equations about 30 labels; by step 3 they can fix all of them." in chart.says
    (other,) = figures.ledger_charts([replace(enough, independent=[1, 1, 1])])
    assert "too few" in other.says


def test_no_equation_at_all_is_a_sentence() -> None:
    """A flat line at zero says no more."""
    none = LedgerCurve("fund", "labels", "bank", 30, [1, 2, 3], [0, 0, 0], [0, 0, 0], True, False)
    assert list(figures.ledger_charts([none])) == []
    assert list(figures.idle_ledgers([none])) == ["fund gets no equation about bank's 30 labels."]


def test_two_epochs_are_no_curve() -> None:
    """Two points are as well said by numbers."""
    two = AttackCurve("label-sign", "fund", "bank", "labels", [1, 2], [0.9] * 2, [0.8] * 2, [1.0] * 2, 0.6, 0.5)
    assert list(epoch_charts([two])) == []
    (chart,) = epoch_charts([replace(two, epochs=[1, 2, 3], rates=[0.9] * 3, low=[0.8] * 3, high=[1.0] * 3)])
    assert [series.name for series in chart.series] == ["label-sign", "best baseline", "larger class"]


def test_pages_are_small(audited: RunRecord, tmp_path: Path) -> None:
    """A page is well under a megabyte."""
    file = tmp_path / "page.html"
    file.write_text(page_of(audited), encoding="utf-8")
    assert file.stat().st_size < 300_000
