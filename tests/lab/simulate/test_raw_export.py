"""Models with bins, on the tables' own columns: every form gives the scores that the parties calculate."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from plumbob.data import Table, table_from
from plumbob.data.encoder import fit_encoder
from plumbob.data.encoding import restore_encoding
from plumbob.errors import DataError
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.export import export
from plumbob.lab.simulate.raw_export import raw_scores
from plumbob.plan import Plan

ROWS = 240
Columns = dict[str, list[Any]]


def columns(seed: int, unseen: bool = False) -> tuple[Columns, Columns]:
    """A bank's and a fund's columns, with gaps, rare levels and, if wished, what training never saw."""
    generator = np.random.default_rng(seed)
    numbers = [
        None if row % 9 == 0 else round(float(value), 2) for row, value in enumerate(generator.normal(size=ROWS))
    ]
    whole: list[float | None] = [float(value) for value in generator.integers(0, 4, ROWS)]
    town: list[str | None] = [("Bonn", "Kiel", "Ulm", "Jena")[place] for place in generator.integers(0, 4, ROWS)]
    town[:5] = [None] * 5
    town[5:8] = ["Rome"] * 3
    if unseen:
        town[8], whole[3] = "Oslo", None
        numbers[1:3] = [40.0, -40.0]
    return {"x": numbers, "n": whole}, {"town": town}


def tables(bank: Columns, fund: Columns) -> dict[str, Table]:
    """The tables of two parties."""
    labels = ["late" if row % 3 == 0 or value == "Ulm" else "paid" for row, value in enumerate(fund["town"])]
    return {"label": table_from(pa.table(bank), labels=labels), "features": table_from(pa.table(fund))}


@pytest.fixture(scope="module", params=["bins", "indicator", "plain"])
def run(request: pytest.FixtureRequest) -> Run:
    """Trained on four bins, or on numbers with marks for their gaps."""
    given = tables(*columns(1))
    keys: dict[str, Any] = {"bins": 4}
    if request.param == "indicator":
        keys = {"missing": "indicator", "categorical": "one-hot", "scale": "whitened"}
    if request.param == "plain":
        keys = {"bins": 4, "plain": True, "scale": "whitened"}
    plan = Plan.for_columns((1, 1), protocol="clear", seed=3, epochs=5, batch_size=60, **keys)
    widths = [len(fit_encoder(table, np.arange(ROWS), plan).names) for table in given.values()]
    return train(plan.replace(features=widths), given)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """The folder where the run was saved."""
    run.save(tmp_path)
    return tmp_path


def frame(bank: Columns, fund: Columns) -> Any:
    """The tables as a frame for scikit-learn."""
    pandas: Any = pytest.importorskip("pandas")
    return pandas.DataFrame({**bank, **fund}).replace({None: np.nan})


def test_skops_gives_the_scores(run: Run, folder: Path) -> None:
    """The pipeline reads raw columns, gaps and unseen levels as the parties do."""
    skops: Any = pytest.importorskip("skops.io")
    new = columns(2, unseen=True)
    file = export(folder, "skops")
    loaded = skops.load(file, trusted=skops.get_untrusted_types(file=file))
    np.testing.assert_allclose(loaded.decision_function(frame(*new)), run.model.scores(tables(*new)), atol=1e-9)


def test_onnx_gives_the_scores(run: Run, folder: Path) -> None:
    """The graph has one input for each column of the tables."""
    reference: Any = pytest.importorskip("onnx.reference")
    new = columns(2, unseen=True)
    session = reference.ReferenceEvaluator(export(folder, "onnx").read_bytes())
    bank = {
        name: np.array([[np.nan if value is None else value] for value in values]) for name, values in new[0].items()
    }
    town = np.array([["" if value is None else value] for value in new[1]["town"]], dtype=object)
    score, probability = session.run(None, {**bank, "town": town})
    expected = run.model.scores(tables(*new))
    np.testing.assert_allclose(score[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(probability[:, 0], 1 / (1 + np.exp(-expected)), atol=1e-5)


def test_json_holds_cuts_and_levels(run: Run, folder: Path) -> None:
    """Whoever reads the file can encode rows as training did."""
    stored = json.loads(export(folder, "json", party="features").read_text())
    (source,) = stored["sources"]
    assert source.pop("party") == "features"
    restored = restore_encoding(source)
    assert restored.encoded_names == run.model.parts["features"].encoder.names == tuple(stored["columns"])


def test_each_party_exports_its_own_part(run: Run, folder: Path) -> None:
    """Partial scores add up to the joint ones."""
    skops: Any = pytest.importorskip("skops.io")
    new = columns(4)
    total = np.zeros(ROWS)
    for party in ("label", "features"):
        file = export(folder, "skops", party=party)
        total += skops.load(file, trusted=skops.get_untrusted_types(file=file)).predict(frame(*new))
    np.testing.assert_allclose(total, run.model.scores(tables(*new)), atol=1e-9)


def test_one_name_at_two_parties_is_refused(run: Run) -> None:
    """Merged, nobody could tell the two columns apart."""
    parts: Mapping[str, Any] = run.model.parts
    with pytest.raises(DataError, match="two parties have one name: 'n', 'x'"):
        raw_scores([parts["label"], parts["label"]], None)
