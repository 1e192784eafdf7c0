"""What `check` says about a promise for whole rows."""

from typing import Any

import pytest

from plumbob.checking.check import check
from plumbob.checking.row_notes import noise_in_words, row_notes
from plumbob.plan import Plan

KEYS: dict[str, Any] = {
    "protocol": "clear",
    "noise": "rows",
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "learning_rate": 0.0,
    "momentum": 0.5,
    "epochs": 20,
}


def plan_for(**keys: Any) -> Plan:
    """A plan of credit's shape."""
    return Plan.for_columns((11, 12), **{**KEYS, **keys})


@pytest.mark.parametrize(
    ("epsilon", "factor", "coin"), [(1.0, "2.72", "731"), (2.0, "7.39", "881"), (4.0, "54.6", "982")]
)
def test_the_promise_is_said_in_numbers(epsilon: float, factor: str, coin: str) -> None:
    """The factor e^epsilon, against any other values in the row, and the bound for a coin's label."""
    text = " ".join(row_notes(plan_for(epsilon=epsilon), 27_000))
    assert f"a factor of at most {factor} " in text
    assert "compare this training with one that had any other values in this person's row" in text
    assert "That this person is in the table is not hidden" in text
    assert "Differential privacy" in text
    assert f"more than {coin} times in 1,000" in text


def test_the_price_stands_beside_the_promise() -> None:
    """The expected loss of AUC follows from rows, columns and epsilon, and only a small one is worth it."""
    cheap, dear = (" ".join(row_notes(plan_for(), rows)) for rows in (27_000, 1_000))
    assert "expected to cost 0.002 of AUC with 27,000 training rows and 20 passes" in cheap
    assert "hardly worth training for" in dear
    assert "hardly worth training for" not in cheap
    assert "with fewer than 2,000 rows it can be several times as much" in dear
    assert "several times" not in cheap


def test_the_rule_s_passes_are_proposed() -> None:
    """A plan with other passes than the rule's hears what the rule's would cost; one with the rule's hears nothing."""
    assert "--epochs 11" in " ".join(row_notes(plan_for(), 12_500))
    assert "--epochs" not in " ".join(row_notes(plan_for(), 27_000))


def test_the_passes_of_unknown_rows_are_not_counted() -> None:
    """They follow from the rows that a run will have: nothing is said of another number, and each pass is covered."""
    text = " ".join(row_notes(plan_for(epochs=0), 27_000))
    assert "it covers every pass over the rows" in text
    assert "This plan takes" not in text
    assert "it covers all 20 passes" in " ".join(row_notes(plan_for(epochs=0, rows=27_000), 27_000))


def test_held_out_rows_do_not_train() -> None:
    """The forecast is for the rows that are left after some are held out."""
    assert "20,000 training rows" in " ".join(check(plan_for(test_share=0.2), rows=25_000).notes)


def test_noise_for_labels_says_what_it_does_not_protect() -> None:
    """Whoever has it hears that it protects no whole row."""
    plan = Plan.for_columns((11, 12), protocol="exchange", noise="sound", row_norm=4.0)
    assert "protects no whole row" in " ".join(check(plan, rows=5_000).notes)


def test_what_is_not_covered_is_said() -> None:
    """Dishonest parties, further runs, and that `clear` protects nobody."""
    text = " ".join(check(plan_for(), rows=27_000).notes)
    for words in (
        "as long as they shorten rows as agreed",
        "is not bound by it",
        "spends the budget again",
        "this is an experiment and protects nobody",
    ):
        assert words in text


def test_a_replay_binds_the_label_party() -> None:
    """Where scores wait for it, false messages gain nothing, and no sentence warns of them."""
    keys: dict[str, Any] = {"noise": "rows", "epsilon": 5.0, "evidence": "keep", "release": "replayed"}
    waits = Plan.for_columns((11, 12), **keys, days=1, auditors={"label": "00" * 32})
    text = " ".join([*check(waits, rows=27_000).notes, *check(waits, 27_000).headlines.lines()])
    assert "A label party that does not gets no score, if its auditor is honest" in text
    assert "is not bound by it" not in text
    assert "that sends false messages" not in text


def test_other_plans_hear_nothing_of_it() -> None:
    """Without a promise about rows there is nothing to say."""
    assert list(row_notes(plan_for(noise="none"), 27_000)) == []


def test_the_receipt_names_what_was_used() -> None:
    """Norms, deviation, sensitivity, passes, share spent at home, accountant and both figures."""
    words = noise_in_words(plan_for())
    for part in (
        "clipped to 3.317, 3.464",
        "20 passes",
        "20 % of the budget",
        "epsilon 1 at delta 1e-06 (differential privacy by zCDP, proved)",
    ):
        assert part in words
    assert "not proved" in words
