"""Prediction and outcome stand side by side, and a disagreement is shown."""

import numpy as np
import pytest

from plumbob.checking import filing
from plumbob.checking.filing import agreements, predictions, with_predictions
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.attacked import agreement_sentence
from tests.protocol.support import made_up, trained

TEST_KEYS = {"test_only_keys": True, "key_bits": 512}
PLAN = Plan.for_columns((2, 3), protocol="exchange", batch_size=16)


def finding(verdict: str, attack: str = "label-toy") -> Finding:
    """A finding by the feature party."""
    return Finding(attack, "features", "label", "labels", verdict, "", "", "")


@pytest.mark.parametrize(
    ("predicted", "found", "word"),
    [
        ("leaks", "leaks", "as predicted"),
        ("blocked", "blocked", "as predicted"),
        ("blocked", "leaks", "more than predicted"),
        ("degrades", "leaks", "more than predicted"),
        ("leaks", "blocked", "less than predicted"),
    ],
)
def test_words(monkeypatch: pytest.MonkeyPatch, predicted: str, found: str, word: str) -> None:
    """More is more and less is less."""
    monkeypatch.setattr(filing, "check", lambda *asked: [finding(predicted)])
    (one,) = agreements(predictions(PLAN, 40), [finding(found)])
    assert (one.predicted, one.found, one.word) == (predicted, found, word)


def test_disagreements_come_first_and_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said how many verdicts were right, and each that was not; also what was never predicted."""
    monkeypatch.setattr(filing, "check", lambda *asked: [finding("leaks"), finding("blocked", "label-other")])
    items = agreements(
        predictions(PLAN, 40), [finding("leaks"), finding("leaks", "label-other"), finding("leaks", "label-new")]
    )
    assert [one.attack for one in items] == ["label-other", "label-new", "label-toy"]
    assert agreement_sentence(items).startswith("1 of 3 verdicts")
    assert "check said blocked, the red team found leaks; more than predicted" in str(items[0])
    assert "check said nothing" in str(items[1])


def test_the_share_of_positives_comes_from_the_run() -> None:
    """Whoever trains on one machine has the labels: what is said of its run is said of rare ones, if they are."""
    plan = Plan.for_columns((2, 6), protocol="exchange", seed=1, batches="full", epochs=1, **TEST_KEYS)
    y = np.zeros(400, dtype=np.int64)
    y[:2] = 1
    run = trained(plan, (made_up(rows=400, columns=8)[0], y))
    [known] = [one for one in with_predictions(run.record).predicted if one.attack == "label-rare"]
    [unknown] = [one for one in predictions(plan, 400) if one.attack == "label-rare"]
    assert ("if that label is rare" in known.can, "if that label is rare" in unknown.can) == (False, True)


def test_check_is_asked_about_the_training_rows() -> None:
    """Held-out rows were taken away already."""
    plan = PLAN.replace(test_share=0.5)
    (one,) = agreements(predictions(plan, 16), [finding("leaks", "label-sign")])
    assert one.predicted


@pytest.mark.parametrize("noise", ["none", "rows"])
def test_a_record_counts_the_people_that_sign_counted(noise: str) -> None:
    """Held-out rows are scored, too: a receipt must not speak of fewer people than the plan that was signed."""
    plan = Plan.for_columns((20, 15), test_share=0.2, noise=noise)
    said = " ".join(f"{found.can} {found.why}" for found in predictions(plan, 1820))
    assert "2,275 scored people" in said
    assert "1,820 scored people" not in said
