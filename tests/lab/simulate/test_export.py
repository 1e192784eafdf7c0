"""A model that left the house gives the same scores as the one that stayed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.data import Table, split_array, table_from
from plumbob.errors import DataError
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.export import export, merged
from plumbob.lab.simulate.files import load_tables
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.run_folder import RunFolder


@pytest.fixture(scope="module")
def run() -> Run:
    """A finished run on bundled data."""
    plan = Plan.for_columns((15, 15), protocol="clear", batch_size=64, seed=3)
    return train(plan, load_tables(plan, ["breast-cancer"]).tables)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """The folder of the run."""
    run.save(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def new_tables() -> dict[str, Table]:
    """Rows that it was not trained on."""
    return load_tables(Plan.for_columns((15, 15), protocol="clear"), ["breast-cancer"]).test


def features(tables: dict[str, Table]) -> Any:
    """All parties' columns side by side, in their own units."""
    return np.column_stack([column.values for table in tables.values() for column in table.columns]).astype(np.float64)


def test_json_gives_the_scores(run: Run, folder: Path, new_tables: dict[str, Table]) -> None:
    """Coefficients are in input units and named, so that a score is one product."""
    stored = json.loads(export(folder, "json").read_text())
    scores = features(new_tables) @ np.array(stored["coefficients"]) + stored["intercept"]
    np.testing.assert_allclose(scores, run.model.scores(new_tables), atol=1e-9)
    assert stored["columns"][:2] == ["mean radius", "mean texture"]
    assert stored["classes"] == [0, 1]


def test_what_training_clipped_is_clipped_elsewhere_too(tmp_path: Path) -> None:
    """Rows far out get the scores of `predict` from every form: JSON says the limits, the others keep to them."""
    X, y = np.random.default_rng(5).normal(size=(200, 4)) * [1, 50, 0.1, 3] + [0, 7, 2, -1], np.arange(200) % 2
    X[::2, 1] += 40
    X[:, 2] = 2.0
    plan = Plan.for_columns((2, 2), protocol="clear", scale="whitened", batches="full", seed=3)
    names = ("label", "features")
    run = train(plan, dict(zip(names, split_array(X, y, (2, 2)), strict=True)))
    run.save(tmp_path)
    rows = X[:20] + X.std(axis=0) * np.linspace(-20, 20, 20)[:, None]
    rows[3, 0] = np.nan
    expected = run.model.scores(dict(zip(names, split_array(rows, None, (2, 2)), strict=True)))
    assert not np.allclose(np.diff(expected[:3]), np.diff(expected[8:11]), atol=1e-3)
    stored = json.loads(export(tmp_path, "json").read_text())
    filled = np.where(np.isnan(rows), stored["fill"], rows)
    by_hand = np.clip(filled, stored["low"], stored["high"]) @ np.array(stored["coefficients"]) + stored["intercept"]
    np.testing.assert_allclose(by_hand, expected, atol=1e-9)


def test_parts_add_up(run: Run, folder: Path, new_tables: dict[str, Table]) -> None:
    """Each party's own part gives its partial scores; together they are the joint ones."""
    total = np.zeros(114)
    for party in ("label", "features"):
        target = export(folder, "json", party=party)
        assert target == folder / "parties" / party / "model.json"
        stored = json.loads(target.read_text())
        assert stored["classes"] is None
        total += features({party: new_tables[party]}) @ np.array(stored["coefficients"]) + stored["intercept"]
    np.testing.assert_allclose(total, run.model.scores(new_tables), atol=1e-9)


def test_missing_values_and_categories() -> None:
    """Encoded columns are named after their category; gaps are filled as in training."""
    generator = np.random.default_rng(0)
    n = 60
    label = table_from(generator.normal(size=(n, 1)), labels=np.array(["bad", "good"])[np.arange(n) % 2])
    numbers = generator.normal(size=n)
    numbers[::7] = np.nan
    frame = _frame({"size": numbers.tolist(), "kind": [["a", "b"][row % 2] for row in range(n)]})
    tables = {"label": label, "features": table_from(frame)}
    plan = Plan.for_columns(
        (1, 3),
        protocol="clear",
        batch_size=20,
        seed=3,
        epochs=2,
        scale="standard",
    )
    model = train(plan, tables).model
    exported = merged(model)
    assert exported.columns == ("x0", "size", "size=(gap)", "kind=b")
    encoded = np.column_stack([label.columns[0].values, numbers, np.isnan(numbers), np.arange(n) % 2 == 1])
    filled = np.where(np.isnan(encoded.astype(np.float64)), np.asarray(exported.fill), encoded.astype(np.float64))
    scores = filled @ exported.coefficients + exported.intercept
    np.testing.assert_allclose(scores, model.scores(tables), atol=1e-9)
    assert exported.classes == ("bad", "good")


def test_refusals(folder: Path) -> None:
    """An unknown form, an unknown party and a run without a model each get their sentence."""
    with pytest.raises(DataError, match=r"expected json, .* or scorecard"):
        export(folder, "onnx")
    with pytest.raises(DataError, match="expected a party's part"):
        export(folder, "json", party="nobody")
    RunFolder(folder).save_record(unfinished_record(Plan.for_columns((15, 15)), 10, "interrupted at step 3 of 9"))
    with pytest.raises(DataError, match=r"not finished \(interrupted at step 3 of 9\)"):
        export(folder, "json")


def test_weights_that_were_never_opened(tmp_path: Path) -> None:
    """Weights that were never opened cannot be exported."""
    plan = Plan.for_columns((15, 15), protocol="shares", open="never", epochs=1)
    train(plan, load_tables(plan, ["breast-cancer"]).tables).save(tmp_path)
    with pytest.raises(DataError, match="never opened"):
        export(tmp_path, "json")


def _frame(columns: dict[str, list[Any]]) -> Any:
    import pyarrow

    return pyarrow.table(columns)
