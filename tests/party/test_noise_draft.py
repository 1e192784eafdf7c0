"""Noise in a drafted plan: only where somebody asks for it, and offered with its price otherwise."""

from typing import Any

import numpy as np
import pytest

from plumbob.data import Table, table_from
from plumbob.data.summary import size_of
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.propose import _Drafts, noise_keys, offer_in_words, runs_in_words
from plumbob.party.verbs.setup import MOST_EPSILON
from plumbob.plan import Party, Plan
from plumbob.plan.encodings import TableSize

PARTIES = (Party("bank", "label", 2), Party("fund", "features", 3))


def table_of(rows: int) -> Table:
    """Two columns and a label."""
    first, second = np.random.default_rng(3).normal(size=(2, rows))
    return table_from(np.column_stack([first, second]), labels=(first > 0).astype(int))


def chosen(table: Table, **keys: Any) -> tuple[Plan, _Drafts]:
    """The plan that a label party with this table ends up with."""
    drafts = _Drafts(table, keys)
    drafts.draft(PARTIES)
    plan, _ = drafts.draft(PARTIES, [size_of(table), TableSize(len(table), 3, 0)])
    return plan, drafts


def test_noise_is_offered_with_its_price() -> None:
    """No draft has noise that nobody asked for; a line says what it costs, and what the draft leaves open."""
    plan, drafts = chosen(table_of(20_000))
    assert plan.noise == "none"
    assert plan.bins
    assert drafts.may_offer_noise
    line = offer_in_words(plan, 16_000)
    assert "of AUC with 16,000 training rows" in line
    assert "can read the row of a person of its choice" in line
    assert "--noise rows adds it" in line


@pytest.mark.parametrize(
    ("keys", "bins"),
    [({"noise": "none"}, 10), ({"noise": "rows", "epsilon": 4.0}, 10), ({"protocol": "exchange"}, 10)],
    ids=str,
)
def test_whoever_says_what_noise_to_take_gets_it(keys: dict[str, Any], bins: int) -> None:
    """Whoever chooses a noise, or a protocol without such noise, gets it, with the bins that it leaves room for."""
    plan, drafts = chosen(table_of(20_000), **keys)
    assert not drafts.may_offer_noise
    assert plan.noise == keys.get("noise", "none")
    assert plan.bins == bins


@pytest.mark.parametrize("rows", [300, 27_000, 1_000_000, 30_000_000])
def test_a_delta_is_below_one_in_ten_times_the_rows(rows: int) -> None:
    """However many people there are, the promise fails for none of them in particular."""
    assert noise_keys(rows)["delta"] < 1 / (10 * rows)


@pytest.mark.parametrize(("most", "runs"), [(MOST_EPSILON, "2 runs"), (0.0, "one run"), (1.0, "no run")])
def test_a_budget_is_told_in_runs(most: float, runs: str) -> None:
    """Each party reads how many runs of this plan its own limit allows, and where the limit stands."""
    plan = Plan.for_columns((11, 12), noise="rows", epsilon=4.0)
    (line,) = runs_in_words(plan, HomeSettings("bank", most_epsilon=most), 27_000)
    assert f"your budget allows {runs} of this plan on the same people" in line
    assert ("most_epsilon" in line) == bool(most)
    assert list(runs_in_words(Plan.for_columns((11, 12)), HomeSettings("bank"), 27_000)) == []
