"""A model that left the house gives the same scores as the one that stayed: as JSON, and as points by hand."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from plumbob.data import Table, table_from
from plumbob.data.encoder import ColumnEncoder, fit_encoder
from plumbob.errors import DataError
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.export import ScorecardScale, export
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.run_folder import RunFolder

TOWNS = ("Bonn", "Kiel", "Ulm", None)


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


@pytest.fixture(scope="module", params=list(KEYS.values()), ids=list(KEYS))
def run(request: pytest.FixtureRequest) -> Run:
    """A run on each kind of encoding."""
    training = people(1, 600)
    keys = {"protocol": "clear", "sigmoid": "exact", "seed": 3, "epochs": 5, "batch_size": 50, **request.param}
    plan = Plan.for_columns((1, 1), **keys)
    widths = [len(fit_encoder(table, plan).names) for table in training.values()]
    return train(plan.replace(features=widths), training)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """The folder of the run."""
    run.save(tmp_path)
    return tmp_path


def by_hand(stored: dict[str, Any], tables: dict[str, Table]) -> Any:
    """The scores of a JSON file, from the file alone: clip(X, low, high) @ coefficients + intercept."""
    pieces = []
    for source in stored["sources"]:
        table = tables[source.pop("party")]
        encoder = msgspec.convert(source, ColumnEncoder)
        columns = np.empty((len(table), encoder.width))
        encoder.write(next(column for column in table.columns if column.name == encoder.name), columns)
        pieces.append(columns)
    X = np.hstack(pieces)
    X = np.where(np.isnan(X), stored["fill"], X)
    if stored["low"] is not None:
        X = np.clip(X, stored["low"], stored["high"])
    return X @ np.array(stored["coefficients"]) + stored["intercept"]


def test_json_gives_the_scores(run: Run, folder: Path) -> None:
    """Rows far out, with gaps and with what training never saw, have the scores of `predict`, whole or part by part."""
    new = people(2, 400, unseen=True)
    stored = json.loads(export(folder, "json").read_text())
    assert (stored["kind"], stored["classes"]) == ("logistic regression", ["bad", "good"])
    np.testing.assert_allclose(by_hand(stored, new), run.model.scores(new), atol=1e-9)
    parts = {name: export(folder, "json", party=name) for name in run.model.parts}
    assert parts["label"] == folder / "parties" / "label" / "model.json"
    stored_parts = [json.loads(file.read_text()) for file in parts.values()]
    assert {one["kind"] for one in stored_parts} == {"partial score"}
    np.testing.assert_allclose(sum(by_hand(one, new) for one in stored_parts), run.model.scores(new), atol=1e-9)
    encoders = (part.encoder for part in run.model.parts.values())
    assert stored["columns"] == [name for encoder in encoders for name in encoder.names]


# Scorecards.


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


def test_a_scorecard_is_the_model(run: Run, folder: Path) -> None:
    """A thousand rows are scored from the files alone, rows with what training never saw included, as by the model."""
    new = people(2, 1000, unseen=True)
    files = [export(folder, "scorecard", party=name, scale=ScorecardScale(500, 20, 40)) for name in new]
    total = np.sum([points_by_hand(file, table) for file, table in zip(files, new.values(), strict=True)], axis=0)
    expected = 500 + 40 / math.log(2) * (-run.model.scores(new) - math.log(20))
    np.testing.assert_allclose(total, expected, atol=1e-6)


def test_a_scorecard_has_every_slot(run: Run, folder: Path) -> None:
    """A CSV file with every slot of the party's own columns, the reference at 0, and the base."""
    with export(folder, "scorecard", party="features").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["column"] for row in rows} == {"(base)", "town", "kind", "debt"}
    town = [row for row in rows if row["column"] == "town"]
    assert [row["bin"] for row in town] == ["Bonn", "Kiel", "Ulm", "(any other)", "(gap)"]
    assert [float(row["points"]) for row in town].count(0.0) >= 1
    assert sum(float(row["share of training rows"]) for row in town) == pytest.approx(1)


def test_twice_the_odds_are_so_many_points_more() -> None:
    """At the base score the odds are those that were given, and PDO points more double them; a scale must rise."""
    scale = ScorecardScale(600, 50, 20)
    assert scale.offset + scale.factor * math.log(50) == pytest.approx(600)
    assert scale.offset + scale.factor * math.log(100) == pytest.approx(620)
    with pytest.raises(DataError, match="above 0"):
        ScorecardScale(600, 0, 20)


# Refusals.


def test_refusals(tmp_path: Path) -> None:
    """An unknown form, an unknown party, a joint scorecard and a run without a model each get their sentence."""
    tables = people(1, 60)
    plan = Plan.for_columns((1, 1), protocol="clear", seed=3)
    plan = plan.replace(features=[len(fit_encoder(table, plan).names) for table in tables.values()])
    train(plan, tables).save(tmp_path)
    for to, party, words in (
        ("onnx", None, r"expected json, .* or scorecard"),
        ("json", "nobody", "expected a party's part"),
        ("scorecard", None, "name the party"),
    ):
        with pytest.raises(DataError, match=words):
            export(tmp_path, to, party=party)
    RunFolder(tmp_path).save_record(unfinished_record(plan, 10, "interrupted at step 3 of 9"))
    with pytest.raises(DataError, match=r"not finished \(interrupted at step 3 of 9\)"):
        export(tmp_path, "json")


def test_points_need_log_odds(tmp_path: Path) -> None:
    """The paper's approximations fit scores that are no log-odds, so no number of points doubles the odds there."""
    tables = people(1, 60)
    plan = Plan.for_columns((1, 1), protocol="clear", seed=3, sigmoid="taylor", batch_size=20)
    train(plan.replace(features=[len(fit_encoder(table, plan).names) for table in tables.values()]), tables).save(
        tmp_path
    )
    with pytest.raises(DataError, match='with sigmoid = "taylor" a score is no log-odds'):
        export(tmp_path, "scorecard", party="label")
    assert export(tmp_path, "json", party="label").exists()


def test_weights_that_were_never_opened(tmp_path: Path) -> None:
    """They cannot be exported, and the message says what would open them."""
    tables = people(1, 60)
    plan = Plan.for_columns((2, 3), protocol="shares", open="never", epochs=1)
    widths = [len(fit_encoder(table, plan).names) for table in tables.values()]
    train(plan.replace(features=widths), tables).save(tmp_path)
    with pytest.raises(DataError, match="never opened"):
        export(tmp_path, "json")
    # Nobody is asked for a party's name first.
    for party in ("features", None):
        with pytest.raises(DataError, match=r'never opened .*train with open = "own"'):
            export(tmp_path, "scorecard", party=party)
