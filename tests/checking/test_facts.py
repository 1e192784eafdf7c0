"""One table of sentences: each place chooses from it, and no sentence about what a plan opens stands anywhere else."""

from pathlib import Path

import pytest

import plumbob
from plumbob.checking.facts import FACTS, SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.plan import Plan

SOURCE = Path(plumbob.__file__).parent
PLANS = [
    Plan.for_columns((2, 3)),
    Plan.for_columns((2, 3), open="own"),
    Plan.for_columns((2, 3), open="own", noise="rows"),
    Plan.for_columns((2, 2, 1), test_share=0.2),
    Plan.for_columns((2, 3), protocol="exchange", noise="sound", row_norm=1.0),
    Plan.for_columns((2, 3), protocol="exchange", noise="heuristic", row_norm=1.0, label_flip_epsilon=1.0),
    Plan.for_columns((2, 3), protocol="arbiter", unmasked_gradients_for_the_arbiter=True),
    Plan.for_columns((2, 3), protocol="exchange", key_bits=512, test_only_keys=True),
    Plan.for_columns((2, 3), protocol="clear"),
    Plan.for_columns((2, 3), evidence="keep"),
    Plan.for_columns((2, 3), evidence="keep", release="replayed"),
    Plan.for_columns((2, 3), row_weights=True),
]


@pytest.mark.parametrize("place", SaidWhere)
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.protocol} {plan.open} {plan.noise}")
def test_every_sentence_is_one(plan: Plan, place: SaidWhere) -> None:
    """Whatever holds of a plan is said in whole sentences, each once in its place."""
    sentences = list(said(place, Figures.of(plan, 1000)))
    assert len(set(sentences)) == len(sentences)
    assert all(text[0].isalnum() and text.endswith(".") and "{" not in text for text in sentences)
    assert not any("features'" in text for text in sentences)


def test_every_fact_holds_of_some_plan() -> None:
    """A sentence that no plan makes true would never be read."""
    unread = [says for facts in FACTS.values() for holds, says in facts if not any(map(holds, PLANS))]
    assert unread == []


def test_sentences_stand_in_the_table_alone() -> None:
    """The beginning of none of them is written a second time in the package."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "facts.py"}
    begun = [says[:40] for facts in FACTS.values() for _, says in facts if "{" not in says[:40]]
    assert [(path.name, start) for start in begun for path, text in texts.items() if start in text] == []
