"""A run's page shows what its record holds, and has no section for what it does not."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.filing import with_findings, with_predictions
from plumbob.lab.audit.redteam import audit
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import RunRecord
from plumbob.report.run import page_of, run_page
from tests.lab.audit.support import small_run


@pytest.fixture(scope="module")
def audited() -> RunRecord:
    """A run in the clear with noise, attacked."""
    run = small_run(epochs=2, batch_size=8, noise="std", noise_std=0.5, row_norm=1.0)
    return with_findings(run.record, audit(run, ["label-sign", "feature-single"]))


def headings(record: RunRecord) -> list[str]:
    """The headings of the page's sections."""
    return re.findall("<h2>(.*?)</h2>", page_of(record))


def test_an_audited_run(audited: RunRecord) -> None:
    """The result, then who learns what, then how it was done."""
    assert headings(audited) == [
        "The result",
        "The columns",
        "Who learns what",
        "What the attacks reached",
        "Prediction beside outcome",
        "What is not protected",
        "How it was done",
        "The receipt",
    ]


def test_one_party_on_its_own(audited: RunRecord) -> None:
    """Without the truth there are predictions, and they are called that."""
    own = replace(audited, parties=audited.parties[1:], findings=[], notes=[])
    found = with_predictions(own)
    assert headings(found)[:4] == ["The result", "The columns", "Who learns what, by the plan", "What is not protected"]
    page = page_of(found)
    assert "This run has not been attacked" in page
    assert "can read" not in page


@pytest.mark.parametrize("status", ["running", "interrupted at step 3 of 9", "failed at step 1 of 9"])
def test_a_run_that_did_not_end(status: str) -> None:
    """Its page says so, and shows the plan."""
    record = unfinished_record(Plan.for_columns((2, 3)), 40, status)
    assert headings(record) == [
        "The result",
        "Who learns what, by the plan",
        "What is not protected",
        "How it was done",
    ]
    assert f"The run did not finish: {status}." in page_of(record)


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (
            {"epochs": 0},
            "14 passes on all 40 rows (by the public rule)",
        ),
        ({"epochs": 3}, "3"),
        (
            {"epochs": 0, "noise": "rows"},
            "6 passes on all 40 rows (by the public rule)",
        ),
    ],
)
def test_epochs_by_the_public_rule(keys: dict[str, Any], shown: str) -> None:
    """The page shows how often the rows are walked through, never a 0 that stands for a rule."""
    plan = Plan.for_columns((2, 3), protocol="shares", **keys)
    settings = run_page(unfinished_record(plan, 40, "running")).plan.settings
    assert ["epochs", shown, "by the public rule"] in settings.rows


def test_disagreements_are_told_once(audited: RunRecord) -> None:
    """Where `check` was wrong stands beside its predictions, not among what is unprotected as well."""
    attacked = run_page(audited).attacked
    assert attacked is not None
    noted = run_page(replace(audited, notes=["A note.", *attacked.broken]))
    assert noted.limits[-1] == "A note."
    assert not set(attacked.broken) & set(noted.limits)


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


def test_the_gain_is_said_first() -> None:
    """What joining adds to the label party's own columns, what pooling would add, and the class of a score."""
    models: dict[str, dict[str, float | None]] = {
        "local-only": {"auc": 0.7},
        "joint": {"auc": 0.8},
        "pooled": {"auc": 0.8},
    }
    base = unfinished_record(Plan.for_columns((2, 3)), 40, "finished")
    run = replace(base, quality={"test rows": models}, predicted_class="bad", remarks=["few rows", "Drafted for few."])
    first, second, *_, remark, another = run_page(run).result
    assert first == (
        "On the test rows, the joint model has an AUC of 0.800: 0.100 more than label reaches alone (0.700), and as "
        "much as one model of all columns in one place."
    )
    assert second == "The model predicts the class bad."
    assert (remark, another) == ("Few rows.", "Drafted for few.")
    # Nothing is compared with what nobody measured.
    assert "AUC" not in " ".join(run_page(replace(base, quality={"rows": {"joint": {"auc": 0.8}}})).result)


def test_pages_are_small(audited: RunRecord, tmp_path: Path) -> None:
    """A page is well under a megabyte."""
    file = tmp_path / "page.html"
    file.write_text(page_of(audited), encoding="utf-8")
    assert file.stat().st_size < 300_000
