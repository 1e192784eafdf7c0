"""Models with bins: the exported file says how to encode a row, and what its columns weigh."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from plumbob.data import Table, table_from
from plumbob.data.encoder import ColumnEncoder, fit_encoder
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.export import export
from plumbob.plan import Plan

ROWS = 240
Columns = dict[str, list[Any]]


def columns(seed: int) -> tuple[Columns, Columns]:
    """A bank's and a fund's columns, with gaps and rare levels."""
    generator = np.random.default_rng(seed)
    numbers = [
        None if row % 9 == 0 else round(float(value), 2) for row, value in enumerate(generator.normal(size=ROWS))
    ]
    whole: list[float | None] = [float(value) for value in generator.integers(0, 4, ROWS)]
    town: list[str | None] = [("Bonn", "Kiel", "Ulm", "Jena")[place] for place in generator.integers(0, 4, ROWS)]
    town[:5] = [None] * 5
    town[5:8] = ["Rome"] * 3
    return {"x": numbers, "n": whole}, {"town": town}


def tables(bank: Columns, fund: Columns) -> dict[str, Table]:
    """The tables of two parties."""
    labels = ["late" if row % 3 == 0 or value == "Ulm" else "paid" for row, value in enumerate(fund["town"])]
    return {"label": table_from(pa.table(bank), labels=labels), "features": table_from(pa.table(fund))}


@pytest.fixture(scope="module", params=["bins", "whitened bins", "none"])
def run(request: pytest.FixtureRequest) -> Run:
    """Trained on four bins beside each number, or on numbers with marks for their gaps."""
    given = tables(*columns(1))
    keys: dict[str, Any] = {"bins": 4}
    if request.param == "none":
        keys = {"bins": 0, "scale": "whitened"}
    if request.param == "whitened bins":
        keys = {"bins": 4, "scale": "whitened"}
    plan = Plan.for_columns((1, 1), protocol="clear", seed=3, epochs=5, batch_size=60, **keys)
    widths = [len(fit_encoder(table, plan).names) for table in given.values()]
    return train(plan.replace(features=widths), given)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """The folder where the run was saved."""
    run.save(tmp_path)
    return tmp_path


def test_json_holds_cuts_and_levels(run: Run, folder: Path) -> None:
    """Whoever reads the file can encode rows as training did."""
    stored = json.loads(export(folder, "json", party="features").read_text())
    (source,) = stored["sources"]
    assert source.pop("party") == "features"
    restored = msgspec.convert(source, ColumnEncoder)
    assert restored.names == run.model.parts["features"].encoder.names == tuple(stored["columns"])
