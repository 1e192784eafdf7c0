"""Quality: three models on the same rows, epochs walked again from the transcripts, and no NaN in the record."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plumbob.lab import datasets
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.files import LoadedTables, load_tables
from plumbob.lab.simulate.quality import epoch_weights, with_quality
from plumbob.plan import Plan
from plumbob.protocol.outcome import measure_quality

MODELS = {"joint", "local-only", "pooled"}


def clear_plan(**keys: object) -> Plan:
    """Four epochs in the clear, unless told otherwise."""
    return Plan.for_columns((15, 15), **{"protocol": "clear", "batch_size": 64, "seed": 3, "epochs": 4, **keys})


def trained(plan: Plan) -> tuple[Run, LoadedTables]:
    """A run on bundled data, and the data."""
    loaded = load_tables(plan, ["breast-cancer"])
    return train(plan, loaded.tables), loaded


def test_models_side_by_side_on_the_test_part() -> None:
    """A data set's own test part is what all three models are judged on, and pooling is scikit-learn's result."""
    run, loaded = trained(clear_plan())
    record = with_quality(run, loaded.tables, loaded.test).record
    models = record.quality["test part"]
    assert set(models) == MODELS
    assert record.test_rows == 114
    X, y = datasets.load("breast-cancer")
    mean, std = X.mean(axis=0), X.std(axis=0)
    X_test, y_test = datasets.load("breast-cancer", "test")
    fitted = LogisticRegression(max_iter=1000).fit((X - mean) / std, y)
    expected = measure_quality(y_test.astype(np.float64), fitted.decision_function((X_test - mean) / std))
    assert models["pooled"] == pytest.approx(expected, abs=1e-6)
    pooled_auc, local_auc = models["pooled"]["auc"], models["local-only"]["auc"]
    assert pooled_auc is not None
    assert local_auc is not None
    assert pooled_auc > local_auc


def test_held_out_rows_are_not_trained_on() -> None:
    """Without a test part the held-out rows are used, as many as the plan says."""
    run, loaded = trained(clear_plan(test_share=0.2))
    record = with_quality(run, loaded.tables).record
    assert set(record.quality) == {"held-out rows"}
    assert (record.rows, record.test_rows, record.predicted_class) == (364, 91, "1")


def test_training_rows_are_called_so() -> None:
    """With neither, the rows are the training rows and the record says so."""
    run, loaded = trained(clear_plan())
    record = with_quality(run, loaded.tables).record
    assert set(record.quality) == {"training rows"}
    assert record.test_rows == 0


@pytest.mark.parametrize(
    "keys",
    [
        {"protocol": "clear", "sigmoid": "exact", "l2": 0.01, "start": "xavier"},
        {"protocol": "exchange", "key_bits": 512, "test_only_keys": True, "epochs": 2, "l2": 0.1},
        {"protocol": "arbiter", "key_bits": 512, "test_only_keys": True, "epochs": 2},
    ],
    ids=lambda keys: str(keys["protocol"]),
)
def test_epochs_end_at_the_final_weights(keys: dict[str, object]) -> None:
    """Walking again along the sums gives the weights that the party ended with, and one quality an epoch."""
    plan = clear_plan(**keys)
    run, loaded = trained(plan)
    for name, part in run.model.parts.items():
        walked = list(epoch_weights(plan, run.transcripts[name], part.penalties(plan.l2)))
        assert len(walked) == plan.epochs
        np.testing.assert_allclose(walked[-1], run.transcripts[name].weights, atol=1e-12)
    record = with_quality(run, loaded.tables, loaded.test).record
    assert [epoch["epoch"] for epoch in record.epochs] == list(range(1, plan.epochs + 1))
    last = {name: value for name, value in record.epochs[-1].items() if name != "epoch"}
    assert last == pytest.approx(record.quality["test part"]["joint"])


def test_shares_have_no_epochs() -> None:
    """Nobody knows a weight before the end there, so there is nothing to show by epoch."""
    plan = Plan.for_columns((15, 15), epochs=1)
    run, loaded = trained(plan)
    record = with_quality(run, loaded.tables, loaded.test).record
    assert record.epochs == []
    assert set(record.quality["test part"]) == MODELS


def test_label_party_without_columns() -> None:
    """Alone it can only know how frequent the classes are: an AUC of one half."""
    plan = Plan.for_columns((0, 30), protocol="clear", batch_size=64, seed=3)
    run, loaded = trained(plan)
    local = with_quality(run, loaded.tables, loaded.test).record.quality["test part"]["local-only"]
    assert local["auc"] == 0.5
    assert local["accuracy"] == local["majority"]


def test_undefined_is_none() -> None:
    """On rows of one class what needs both is None, and the record is still JSON."""
    values = measure_quality(np.ones(3), np.array([0.1, 2.0, -1.0]))
    assert values["auc"] is None
    assert values["ks"] is None
    assert json.loads(json.dumps(values, allow_nan=False))["accuracy"] == pytest.approx(2 / 3)
