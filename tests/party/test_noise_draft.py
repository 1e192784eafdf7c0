"""Noise in a drafted plan: only where somebody asks for it, and offered with its price otherwise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.data import Table, read_table
from plumbob.data.summary import size_of
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.propose import _Drafts, noise_keys, offer_in_words, runs_in_words
from plumbob.party.verbs.setup import MOST_EPSILON
from plumbob.plan import Party, Plan
from plumbob.plan.encodings import TableSize

PARTIES = (Party("bank", "label", 2), Party("fund", "features", 3))


def table_of(tmp_path: Path, rows: int, *, is_curved: bool = False) -> Table:
    """Two columns; the label follows the first, or its distance from 0, which only bins can see."""
    generator = np.random.default_rng(3)
    first, second, chance = generator.normal(size=(3, rows))
    late = (np.abs(first) if is_curved else first) + 0.5 * chance > 0.6
    lines = [f"c{row},{first[row]:.4f},{second[row]:.4f},{int(late[row])}" for row in range(rows)]
    file = tmp_path / "bank.csv"
    file.write_text("\n".join(["id,a,b,late", *lines]))
    return read_table(file, "id", "late")


def chosen(table: Table, **keys: Any) -> tuple[Plan, _Drafts]:
    """The plan that a label party with this table ends up with."""
    drafts = _Drafts(table, keys)
    second, _ = drafts.choose(drafts.draft(PARTIES), [size_of(table), TableSize(len(table), 3, 0)])
    return second(PARTIES), drafts


@pytest.mark.parametrize("is_curved", [False, True])
def test_noise_is_offered_with_its_price(tmp_path: Path, is_curved: bool) -> None:
    """No draft has noise that nobody asked for; a line says what it costs here, and what the draft leaves open."""
    plan, drafts = chosen(table_of(tmp_path, 20_000, is_curved=is_curved))
    assert plan.noise == "none"
    assert plan.bins
    assert drafts.forecast is not None
    assert (drafts.forecast.from_encoding > 0.005) == is_curved
    line = offer_in_words(drafts.forecast, plan)
    assert "can read the row of a person of its choice" in line
    assert "--noise rows adds it" in line


@pytest.mark.parametrize(
    "keys", [{"noise": "none"}, {"noise": "rows", "epsilon": 1.0}, {"protocol": "exchange"}], ids=str
)
def test_whoever_says_what_noise_to_take_gets_it(tmp_path: Path, keys: dict[str, Any]) -> None:
    """Whoever chooses a noise, or a protocol without such noise, gets it."""
    plan, drafts = chosen(table_of(tmp_path, 300), **keys)
    assert drafts.forecast is None
    assert plan.noise == keys.get("noise", "none")


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
