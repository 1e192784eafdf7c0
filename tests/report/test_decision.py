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
from plumbob.report.decision import Decision, decision_on_run, summary_of, summary_page
from plumbob.report.plan_page import decision_on_plan
from tests.browser.support import noisy_record, own_side


def decided(*features: int, **keys: Any) -> Decision:
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


def test_the_promise_has_an_example_and_its_conditions() -> None:
    """A coin's bound in times out of 100, whom the promise does not bind, and what a second run makes of the factor."""
    page = decided(noise="rows", epsilon=1.0, delta=1e-6, open="own")
    assert "is right at most 73.1 times in 100" in " ".join(page.protected)
    assumed = " ".join(page.judgement.assumed)
    assert "the promise does not bind one that cheats" in assumed
    assert "after a second run like this one, the factor is 4.2" in assumed
    assert "one equation about labels per column" not in " ".join(page.judgement.limits)
    without = decided(open="own")
    assert "the promise" not in " ".join(without.judgement.assumed)
    assert "what several runs tell adds up" in " ".join(without.judgement.assumed)
    assert "one equation about labels per column" in " ".join(without.judgement.limits)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "there is no promise in numbers"),
        ({"protocol": "exchange", "noise": "sound", "row_norm": 1.0}, "this person's label"),
        ({"protocol": "exchange", "noise": "sound", "row_norm": 1.0}, "Columns have no such promise"),
        ({"protocol": "exchange", "noise": "std", "noise_std": 1.0, "row_norm": 1.0}, "nobody has proved"),
        ({"protocol": "clear"}, "Nothing, in this run"),
        ({"protocol": "exchange"}, "the gradient of its own columns in every step"),
        ({"protocol": "exchange", "key_bits": 512, "test_only_keys": True}, "too short to protect anything"),
        ({}, "rated at 2^128 operations"),
    ],
)
def test_how_strong_it_is_follows_from_the_plan(keys: dict[str, Any], words: str) -> None:
    """No plan is said to protect more than its protocol, keys and noise do."""
    assert words in " ".join(decided(**keys).protected)


def test_shares_protect_against_all_others_together() -> None:
    """With two parties there is one other; with more, they may act together."""
    assert "from the other:" in decided().protected[0]
    assert "from all the others together if they keep to the protocol" in decided(8, 5, 5).protected[0]


def test_what_is_opened() -> None:
    """Weights where they are opened, gradients where they are seen, scores with the plan's limit."""
    assert "Nobody is sent a weight: the model stays split between the parties." in decided().judgement.opened[0]
    assert "the joint score of each of up to 455 people." in decided().judgement.opened[0]
    assert "each of up to 455 people, 46 held out for testing included" in decided(test_share=0.1).judgement.opened[0]
    assert "each of up to 50 people" in decided(most_rows=50, test_share=0.1).judgement.opened[0]
    assert (
        decided(open="own").judgement.opened[0] == "When training ends, each party gets the weights of its own columns."
    )
    opened = decided(protocol="exchange").judgement.opened
    assert "In every step" in opened[0]
    assert "every person that it asks about" in opened[1]


def test_that_parties_keep_to_the_protocol_is_assumed() -> None:
    """First of all, and for the first headline only."""
    assert decided().judgement.assumed[0].startswith("For the first headline: every organisation keeps to the protocol")
    assert any("arbiter, which holds the key" in line for line in decided(protocol="arbiter").judgement.assumed)


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
