"""Points per bin: their sum is the score, in the units that people in credit use."""

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from plumbob.data import Table, table_from
from plumbob.data.encoder import fit_encoder
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
    widths = [len(fit_encoder(table, plan).names) for table in tables.values()]
    return train(plan.replace(features=widths), tables)


def points_by_hand(file: Path, table: Table) -> list[float]:
    """Each row's points, added up from the file alone, as somebody with a pencil would."""
    with file.open(newline="", encoding="utf-8") as content:
        lines = list(csv.DictReader(content))
    base = next(float(line["points"]) for line in lines if line["column"] == "(base)")
    totals = [base] * len(table)
    for column in table.columns:
        own = [line for line in lines if line["column"] == column.name]
        for row, cell in enumerate(column.texts if column.is_text else column.numbers.tolist()):
            totals[row] += points_of(cell, own)
    return totals


def points_of(cell: str | float | None, lines: list[dict[str, str]]) -> float:
    """The points of one cell."""
    points = {line["bin"]: float(line["points"]) for line in lines}
    if cell is None or cell != cell:
        return points["(gap)"]
    if isinstance(cell, str):
        return points[cell if cell in points else "(any other)"]
    total = 0.0
    for line in lines:
        if line["bin"] == "(per unit)":
            low, high = float(line["lowest"] or "-inf"), float(line["highest"] or "inf")
            total += float(line["points"]) * min(max(cell, low), high)
        elif ends := re.match(r"\((.*), (.*)[])]", line["bin"]):
            total += float(line["points"]) * (float(ends[1]) < cell <= float(ends[2]))
    return total


def people(seed: int, rows: int, unseen: bool = False) -> dict[str, Table]:
    """A bank's and a fund's rows, with gaps, rare levels, large values and, if wished, what training never saw."""
    generator = np.random.default_rng(seed)
    income = np.round(generator.lognormal(size=rows), 2).tolist()
    age: list[float | None] = [float(value) for value in generator.integers(18, 80, rows)]
    debt = [None if row % 9 == 0 else round(float(value), 3) for row, value in enumerate(generator.normal(size=rows))]
    town: list[str | None] = [TOWNS[place] for place in generator.integers(0, 4, rows)]
    kind = [("a", "b")[place] for place in generator.integers(0, 2, rows)]
    town[:3] = ["Rome"] * 3
    if unseen:
        town[5], kind[6], age[7], income[8] = "Oslo", "c", None, 1e6
    labels = [
        "bad" if value == "Ulm" or (other or 0.0) > 0.5 else "good" for value, other in zip(town, debt, strict=True)
    ]
    bank = table_from(pa.table({"income": income, "age": age}), labels=labels)
    return {"label": bank, "features": table_from(pa.table({"town": town, "kind": kind, "debt": debt}))}


KEYS: dict[str, dict[str, Any]] = {
    "bins": {"bins": 4},
    "whitened bins": {"bins": 4, "scale": "whitened"},
    "bins that nothing clips": {"bins": 5, "scale": "standard"},
    "no bins": {"scale": "whitened"},
    "no bins that nothing clips": {"scale": "standard"},
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_scorecard_is_the_model(keys: dict[str, Any], tmp_path: Path) -> None:
    """A thousand rows are scored from the files alone, rows with what training never saw included, as by the model."""
    plan = Plan.for_columns((1, 1), protocol="clear", seed=3, epochs=5, batch_size=50, **keys)
    training = people(1, 600)
    widths = [len(fit_encoder(table, plan).names) for table in training.values()]
    run = train(plan.replace(features=widths), training)
    run.save(tmp_path)
    scale = ScorecardScale(500, 20, 40)
    new = people(2, 1000, unseen=True)
    files = [export(tmp_path, "scorecard", party=name, scale=scale) for name in new]
    total = np.sum([points_by_hand(file, table) for file, table in zip(files, new.values(), strict=True)], axis=0)
    expected = 500 + 40 / math.log(2) * (-run.model.scores(new) - math.log(20))
    np.testing.assert_allclose(total, expected, atol=1e-6)


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
    assert [row["bin"] for row in town] == ["Bonn", "Kiel", "Ulm", "(any other)", "(gap)"]
    assert [float(row["points"]) for row in town].count(0.0) >= 1
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
