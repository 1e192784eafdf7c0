"""Points per bin: their sum is the score, in the units that people in credit use."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from plumbob.data import Table, table_from
from plumbob.data.encoder import fit_encoder
from plumbob.data.encoding import Bins
from plumbob.errors import DataError
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.export import ScorecardScale, export, scorecard
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart

TOWNS = ("Bonn", "Kiel", "Ulm", None)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    """Numbers with gaps and a text, at two parties."""
    generator = np.random.default_rng(8)
    x = [None if row % 7 == 0 else float(value) for row, value in enumerate(generator.normal(size=200))]
    town = [TOWNS[place] for place in generator.integers(0, 4, 200)]
    labels = ["bad" if value == "Ulm" or row % 5 == 0 else "good" for row, value in enumerate(town)]
    bank = table_from(pa.table({"x": x}), labels=labels)
    return {"label": bank, "features": table_from(pa.table({"town": town, "debt": generator.normal(size=200)}))}


@pytest.fixture(scope="module")
def run(tables: Mapping[str, Table]) -> Run:
    """A run trained on bins."""
    keys = {"protocol": "clear", "bins": 4, "seed": 3, "epochs": 5, "batch_size": 50}
    plan = Plan.for_columns((1, 1), **keys)
    widths = [len(fit_encoder(table, np.arange(200), plan).names) for table in tables.values()]
    return train(plan.replace(features=widths), tables)


def points(part: ModelPart, table: Table, scale: ScorecardScale) -> list[float]:
    """Each row's points, added up by hand from the table of points."""
    lines = scorecard(part, scale)
    by_slot = {(line.column, line.slot): line.points for line in lines}
    totals = [by_slot["(base)", ""]] * len(table)
    for column, source in zip(table.columns, part.encoder.sources, strict=True):
        slots, places = source.slots, source.places(column)  # type: ignore[attr-defined]  # Bins or levels.
        totals = [total + by_slot[source.name, slots[place]] for total, place in zip(totals, places, strict=True)]
    return totals


def test_points_add_up_to_the_score(run: Run, tables: Mapping[str, Table]) -> None:
    """The parties' points of a person are base plus factor times the log-odds of the negative class."""
    scale = ScorecardScale(500, 20, 40)
    total = np.sum([points(run.model.parts[name], table, scale) for name, table in tables.items()], axis=0)
    scores = run.model.scores(tables)
    expected = 500 + 40 / math.log(2) * (-scores - math.log(20))
    np.testing.assert_allclose(total, expected, atol=1e-6)


def test_a_plain_column_adds_to_the_points_of_its_bins() -> None:
    """A bin's points are those of a row at the mean of its training rows, a gap's those of a row without a value."""
    generator = np.random.default_rng(9)
    debt = [None if row % 9 == 0 else float(value) for row, value in enumerate(generator.normal(size=300))]
    labels = [int((value or 0.0) + noise > 0) for value, noise in zip(debt, generator.normal(size=300), strict=True)]
    tables = {
        "label": table_from(pa.table({"x": generator.normal(size=300)}), labels=labels),
        "features": table_from(pa.table({"debt": debt})),
    }
    plan = Plan.for_columns((4, 5), protocol="clear", bins=4, plain=True, seed=3, l2=0.01)
    part, scale = train(plan, tables).model.parts["features"], ScorecardScale(500, 20, 40)
    _, bins = part.encoder.sources
    assert isinstance(bins, Bins)
    (base, *slots) = scorecard(part, scale)
    assert [line.slot for line in slots] == list(bins.slots)
    typical = table_from(pa.table({"debt": [*bins.means, None]}))
    expected = -scale.factor * part.partial_scores(typical)
    np.testing.assert_allclose([base.points + line.points for line in slots], expected, atol=1e-9)


def test_twice_the_odds_are_so_many_points_more() -> None:
    """At the base score the odds are those that were given, and PDO points more double them."""
    scale = ScorecardScale(600, 50, 20)
    assert scale.offset + scale.factor * math.log(50) == pytest.approx(600)
    assert scale.offset + scale.factor * math.log(100) == pytest.approx(620)


def test_each_party_writes_its_own(run: Run, tmp_path: Path) -> None:
    """A CSV file with every slot of the party's own columns, the reference at 0, and the base at the label party."""
    run.save(tmp_path)
    file = export(tmp_path, "scorecard", party="features")
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["column"] for row in rows} == {"(base)", "town", "debt"}
    town = [row for row in rows if row["column"] == "town"]
    assert [row["bin"] for row in town] == ["Bonn", "Kiel", "Ulm", "(gap)"]
    assert [row["points"] for row in town].count("0") >= 1
    assert sum(float(row["share of training rows"]) for row in town) == pytest.approx(1)
    with pytest.raises(DataError, match="name the party"):
        export(tmp_path, "scorecard")


def test_weights_that_were_never_opened_give_no_points(run: Run) -> None:
    """The message says what would open them."""
    part = run.model.parts["label"]
    closed = ModelPart(part.party, part.role, part.encoder, None, part.has_intercept, part.training_rows)
    with pytest.raises(DataError, match=r'never opened .*train with open = "own"'):
        scorecard(closed, ScorecardScale())


def test_a_scale_must_rise() -> None:
    """Odds and points that double them are above 0."""
    with pytest.raises(DataError, match="above 0"):
        ScorecardScale(600, 0, 20)
