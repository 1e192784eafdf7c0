"""The rule for the encoding of a drafted plan: what the study of encodings found, kept as it was found."""

from itertools import pairwise
from pathlib import Path

import pytest

from plumbob.checking.check import check
from plumbob.party.verbs.sign import few_of_drafted
from plumbob.plan import Plan
from plumbob.plan.encodings import (
    LEAST_C,
    MOST_C,
    DraftedEncoding,
    TableSize,
    encoding_for,
    rows_drafted_for,
    suggested_keys,
)
from plumbob.plan.row_noise import bins_under_noise


@pytest.mark.parametrize(
    ("table", "encoding"),
    [
        ((100, 30, 0), (0, 0.13)),
        ((100, 5, 0), (3, 0.38)),
        ((600, 22, 1), (3, 0.086)),
        ((1500, 10, 17), (5, 0.089)),
        ((1500, 8, 0), (5, 0.18)),
        ((5000, 22, 1), (5, 0.064)),
        ((20_000, 22, 1), (10, 0.039)),
        ((5000, 3, 0), (10, 0.29)),
        ((10, 3, 0), (0, 1.0)),
        ((500, 0, 60), (0, 0.067)),
    ],
    ids=str,
)
def test_a_table_has_its_encoding(table: tuple[int, int, int], encoding: tuple[int, float]) -> None:
    """Small tables have plain columns and a penalty, larger ones a few bins beside them, large ones ten."""
    assert encoding_for(*table) == encoding


@pytest.mark.parametrize(
    ("rows", "numeric", "levels", "epsilon", "bins"),
    [
        (24_000, 23, 0, 4.0, 6),
        (24_000, 23, 0, 1.0, 3),
        (39_000, 6, 90, 4.0, 10),
        (800, 7, 40, 4.0, 0),
        (120_000, 60, 0, 4.0, 6),
        (24_000, 0, 60, 4.0, 0),
    ],
)
def test_noise_leaves_room_for_bins_where_its_burden_is_small(
    rows: int, numeric: int, levels: int, epsilon: float, bins: int
) -> None:
    """Rows and budget allow bins, columns and levels take the room."""
    assert bins_under_noise(rows, numeric, levels, epsilon, 1e-6) == bins


@pytest.mark.parametrize("numeric", [1, 5, 22, 60])
@pytest.mark.parametrize("levels", [0, 1, 30, 400])
def test_more_rows_never_give_fewer_bins(numeric: int, levels: int) -> None:
    """Whoever brings more rows loses no detail, and always keeps a penalty that was tried."""
    found = [encoding_for(rows, numeric, levels) for rows in (1, 30, 200, 600, 1500, 5000, 20_000, 10**6)]
    assert all(fewer[0] <= more[0] for fewer, more in pairwise(found))
    assert all(LEAST_C <= C <= MOST_C for _, C in found)


def test_more_columns_never_give_more_bins_or_a_weaker_penalty_at_the_same_bins() -> None:
    """What a column may cost falls with their number."""
    found = [encoding_for(5000, numeric, 10) for numeric in range(1, 200)]
    assert all(few[0] >= many[0] for few, many in pairwise(found))
    assert all(few[1] >= many[1] for few, many in pairwise(found) if few[0] == many[0])


def test_a_drafted_plan_has_the_values_and_the_reason(tmp_path: Path) -> None:
    """The smallest file without held-out rows decides; whoever signs is warned where far fewer rows are common."""
    keys, drafted = suggested_keys({}, [TableSize(625, 5, 0), TableSize(2000, 3, 0)])
    assert drafted == DraftedEncoding(500, 8, 0)
    assert (keys["bins"], keys["test_share"]) == (5, 0.2)
    assert keys["l2"] == pytest.approx(1 / (0.18 * 500), rel=1e-3)
    plan = Plan.for_columns((15, 9), **keys)
    file = tmp_path / "joint.toml"
    file.write_text(plan.to_toml(drafted.sentence))
    assert Plan.load(file).hash() == plan.hash()
    assert rows_drafted_for(file.read_text()) == 500
    assert not few_of_drafted(file, plan, 320)
    assert "drafted for 500 training rows, and only 240 are in common" in few_of_drafted(file, plan, 300)


@pytest.mark.parametrize(
    ("keys", "encoding"),
    [
        ({"bins": 7}, {"bins": 7}),
        ({"noise": "rows"}, {"bins": 0}),
        ({"noise": "rows", "bins": 2}, {"bins": 2}),
    ],
    ids=str,
)
def test_what_somebody_chose_is_kept(keys: dict[str, object], encoding: dict[str, object]) -> None:
    """An encoding of one's own has no drafted penalty; noise for whole rows leaves room for few bins."""
    drafted, _ = suggested_keys(keys, [TableSize(500, 8, 0)])
    assert drafted.items() >= encoding.items()
    assert "l2" not in drafted


def test_few_rows_for_a_column_are_noted() -> None:
    """`check` notes few rows before anybody trains, where the plan knows its rows."""
    plan = Plan.for_columns((30, 30))
    assert any("599 training rows for 60 encoded columns are fewer than 10" in note for note in check(plan, 599).notes)
    assert not any("fewer than 10 for each" in note for note in [*check(plan, 600).notes, *check(plan).notes])
