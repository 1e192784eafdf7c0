"""The decision sheet: each sentence is one that the plan makes true."""

from dataclasses import replace
from typing import Any

import pytest

from plumbob.checking.check import check
from plumbob.checking.row_notes import noise_in_words
from plumbob.plan import Plan
from plumbob.privacy.rows import odds_factor
from plumbob.protocol.row_noise import promised_cost
from plumbob.record import RunRecord
from plumbob.report.decision import DecisionSheet, decision_on_plan, decision_on_run, summary_of, summary_page
from tests.browser.support import noisy_record, own_side


def decided(*features: int, **keys: Any) -> DecisionSheet:
    """The decision on a plan, before any run."""
    plan = Plan.for_columns(features or (8, 22), **{"rows": 455, **keys})
    return decision_on_plan(plan, check(plan), "0.1.0")


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """The record of an attacked run."""
    return noisy_record()


def test_the_odds_are_those_of_the_proof() -> None:
    """The factor is e to the proved epsilon, the chance is delta, and both are set against other values in that row."""
    plan = Plan.for_columns((8, 22), rows=455, noise="rows", epsilon=2.0, delta=1e-5)
    cost = promised_cost(plan, 455)
    assert cost is not None
    (sentence,) = [line for line in decided(noise="rows", epsilon=2.0, delta=1e-5).protected if "odds" in line]
    assert f"a factor of at most {odds_factor(cost.epsilon(1e-5)):.3g} (e^2)" in sentence
    assert "apart from a chance of one in 100,000" in sentence
    assert "compare this training with one that had any other values in this person's row" in sentence
    assert "That this person is in the table is not hidden" in sentence


def test_a_run_that_promised_too_much_is_shown_without_a_promise() -> None:
    """A run of an earlier version whose failures delta cannot pay for has a page and a receipt, and no odds in them."""
    plan = Plan.for_columns((3,) * 8, rows=300_000, noise="rows", epsilon=8.0, delta=1e-6)
    page = decision_on_plan(plan, [], "0.1.0")
    assert "nobody has proved what it promises" in " ".join(page.protected)
    assert not any("odds" in line for line in page.protected)
    assert "nothing is promised" in noise_in_words(plan, plan.rows)


def part_of(sheet: DecisionSheet, part: str) -> str:
    """One part of the sheet, as text."""
    parts = {"protected": sheet.protected, "opened": sheet.judgement.opened, "assumed": sheet.judgement.assumed}
    return " ".join({**parts, "limits": sheet.judgement.limits}[part])


OWN, NOISY_ROWS = {"open": "own"}, {"noise": "rows", "epsilon": 1.0, "delta": 1e-6, "open": "own"}
EXCHANGE: dict[str, Any] = {"protocol": "exchange", "row_norm": 1.0}
SOUND, STD = {**EXCHANGE, "noise": "sound"}, {**EXCHANGE, "noise": "std", "noise_std": 1.0}
SHORT_KEYS = {**EXCHANGE, "key_bits": 512, "test_only_keys": True}
SAYS: list[tuple[dict[str, Any], str, str]] = [
    # A coin's bound in times out of 100, whom the promise does not bind, and what a second run makes of the factor.
    (NOISY_ROWS, "protected", "is right at most 73.1 times in 100"),
    (NOISY_ROWS, "assumed", "the promise does not bind one that cheats"),
    (NOISY_ROWS, "assumed", "after a second run like this one, the factor is 4.2"),
    (OWN, "assumed", "what several runs tell adds up"),
    (OWN, "limits", "one equation about labels per column"),
    # No plan protects more than its protocol, keys and noise do.
    ({}, "protected", "there is no promise in numbers"),
    ({}, "protected", "rated at 2^128 operations"),
    (SOUND, "protected", "this person's label"),
    (SOUND, "protected", "Columns have no such promise"),
    (STD, "protected", "nobody has proved"),
    (EXCHANGE, "protected", "the gradient of its own columns in every step"),
    (SHORT_KEYS, "protected", "too short to protect anything"),
    ({"protocol": "clear"}, "protected", "Nothing, in this run"),
    # With two parties there is one other; with more, they may act together.
    ({}, "protected", "from the other:"),
    ({"columns": (8, 5, 5)}, "protected", "from all the others together if they keep to the protocol"),
    # Weights where they are opened, gradients where they are seen, scores with the plan's limit.
    ({}, "opened", "Nobody is sent a weight: the model stays split between the parties."),
    ({}, "opened", "the joint score of each of up to 455 people."),
    ({"test_share": 0.1}, "opened", "each of up to 455 people, 46 held out for testing included"),
    ({"most_rows": 50, "test_share": 0.1}, "opened", "each of up to 50 people"),
    (OWN, "opened", "When training ends, each party gets the weights of its own columns."),
    (EXCHANGE, "opened", "In every step"),
    (EXCHANGE, "opened", "every person that it asks about"),
    ({}, "assumed", "For the first headline: every organisation keeps to the protocol"),
    ({"protocol": "arbiter"}, "assumed", "arbiter, which holds the key"),
]
DOES_NOT_SAY = [(OWN, "assumed", "the promise"), (NOISY_ROWS, "limits", "one equation about labels per column")]


@pytest.mark.parametrize(
    ("keys", "part", "words", "is_said"),
    [*((*row, True) for row in SAYS), *((*row, False) for row in DOES_NOT_SAY)],
)
def test_each_sentence_follows_from_the_plan(keys: dict[str, Any], part: str, words: str, is_said: bool) -> None:
    """What a plan makes true is said of it, and of no other plan."""
    columns = keys.get("columns", ())
    sheet = decided(*columns, **{name: value for name, value in keys.items() if name != "columns"})
    assert (words in part_of(sheet, part)) == is_said


def test_both_headlines_are_on_the_sheet() -> None:
    """The sheet has the headlines of `check`, whether or not anything leaks; without findings it says so."""
    for keys in ({"protocol": "exchange", "batch_size": 5}, {}):
        plan = Plan.for_columns((8, 22), rows=455, **keys)
        assert decided(**keys).judgement.headlines == check(plan).headlines
        page = summary_page(decided(**keys))
        assert all(block.heading in page for block in decided(**keys).judgement.headlines.blocks)
    assert "Nothing was checked" in decision_on_plan(Plan.for_columns((2, 3)), [], "0.1.0").basis


def test_what_was_not_tested(record: RunRecord) -> None:
    """Attacks that were left out, a run that nobody attacked, and one that did not finish."""
    assert "No attack was run." in decided().not_tested[0]
    partial = decision_on_run(replace(record, findings=record.findings[:1]))
    assert partial.not_tested[0].startswith("Attacks that were not run: ")
    assert "decides nothing" in partial.basis
    assert "settles nothing" in partial.judgement.headlines.honest.nothing
    assert "Calculated from the plan alone" in decision_on_run(own_side(record)).basis
    failed = decision_on_run(replace(own_side(record), status="failed at step 1"))
    assert failed.not_tested[0] == "The run did not finish: failed at step 1."
    assert "attacks on this run" in decision_on_run(record).basis


def test_the_page_has_every_part(record: RunRecord) -> None:
    """The page has every part in the order in which it is read, with room to sign and the hash of what is signed."""
    page = summary_of(record)
    parts = ["If someone cheats", "What is protected, from whom, and how strongly", "What is opened"]
    parts += ["What is not protected", "What is assumed", "What was not tested", "Date and signature", record.plan_hash]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_names_are_text(record: RunRecord) -> None:
    """A title that would like to be more is words on the page."""
    titled = replace(record, parsed_plan=record.parsed_plan.replace(title="<script>alert(1)</script>"))
    page = summary_of(titled)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
