"""A party's part of a model: read back as it was written, strictly, and good for the same scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbob.data import split_array
from plumbob.data.encoder import ColumnEncoder, Encoder
from plumbob.errors import DataError
from plumbob.protocol.part import ModelPart
from tests.protocol.support import made_up, plan_for, tables_for, trained


def example(**changes: Any) -> ModelPart:
    """A part with something in every field."""
    columns = (
        ColumnEncoder("age", has_plain=True, shares=(1.0,), mean=41.5, factor=0.1),
        ColumnEncoder("town", levels=("Bonn", "Köln", "Ulm"), shares=(0.2, 0.3, 0.5)),
    )
    encoder = Encoder(columns, np.array([40.0, 0.5, 0.5]), np.array([41.5, 0.1, 0.2]), np.array([0.1, 2.0, 3.0]))
    values: dict[str, Any] = {
        "party": "bank",
        "role": "label",
        "encoder": encoder,
        "weights": np.array([0.1, -0.2, 1 / 3, 4.0]),
        "has_intercept": True,
        "training_rows": 90,
        "classes": ("bad", "good"),
        "shares": {"bank": [2**191 + 1, 0], "fund": [5]},
    }
    return ModelPart(**(values | changes))


@pytest.mark.parametrize(
    "changes",
    [{}, {"weights": None}, {"classes": None}, {"classes": (0, 1)}, {"shares": {}}],
    ids=["whole", "never opened", "no classes", "number classes", "no shares"],
)
def test_saving_and_loading(tmp_path: Path, changes: dict[str, Any]) -> None:
    """What was saved is loaded: floats to the last bit, shares to the last digit."""
    part, path = example(**changes), tmp_path / "part.json"
    part.save(path)
    loaded = ModelPart.load(path)
    for name in ("party", "role", "has_intercept", "training_rows", "classes", "shares"):
        assert getattr(loaded, name) == getattr(part, name)
    assert loaded.encoder.names == part.encoder.names == ("age", "town=Bonn", "town=Köln")
    for name in ("fill", "shift", "factor"):
        assert np.array_equal(getattr(loaded.encoder, name), getattr(part.encoder, name))
    assert (loaded.weights is None) == (part.weights is None)
    if part.weights is not None and loaded.weights is not None:
        assert np.array_equal(loaded.weights, part.weights)


@pytest.mark.parametrize(
    "changes",
    [
        {"party": None},
        {"encoder": {"columns": [["age", None]]}},
        {"encoder": {"columns": [{"name": "age", "has_plain": True, "shares": [2.0]}]}},
        {"encoder": {"fill": [1.0]}},
        {"encoder": {"shift": []}},
        {"encoder": {"shift": ["1", "2", "3"]}},
        {"encoder": {"factor": [1.0, 2.0, 3.0, 4.0]}},
        {"encoder": {"factor": [1.0, 2.0, True]}},
        {"encoder": {"surprise": 1}},
        {"positive_share": float("nan")},
        {"bound_hashes": {"fund": "00"}},
        {"weights": [1.0, 2.0, 3.0]},
        {"weights": [[1.0]]},
        {"has_intercept": "yes"},
        {"training_rows": 1.5},
        {"classes": ["a", "b", "c"]},
        {"shares": []},
        {"shares": {"bank": ["1"]}},
        {"shares": {"bank": [1.0]}},
        {"format": 1},
        {"format": "2"},
        {"surprise": 1},
    ],
    ids=str,
)
def test_a_part_that_does_not_fit_together_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """A wrong type, a wrong number of weights, an unknown field: DataError with the file's name."""
    path = tmp_path / "part.json"
    example().save(path)
    stored = json.loads(path.read_text())
    inner = {name: {**stored[name], **change} for name, change in changes.items() if name == "encoder"}
    path.write_text(json.dumps(stored | changes | inner))
    with pytest.raises(DataError, match=r"part\.json"):
        ModelPart.load(path)


@pytest.mark.parametrize("number", [2, 7])
def test_another_format_is_named(tmp_path: Path, number: int) -> None:
    """A part of an earlier or a later version is told apart from a damaged one."""
    path = tmp_path / "part.json"
    path.write_text(f'{{"format": {number}, "something": "else"}}')
    with pytest.raises(DataError, match=f"format 5, got {number}"):
        ModelPart.load(path)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | st.just(b"[" * 5000))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_other_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """No bytes make loading fail with anything but DataError."""
    path = tmp_path / "part.json"
    path.write_bytes(data)
    with pytest.raises(DataError):
        ModelPart.load(path)


@given(st.integers(0, 600))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    """A file that was cut short is refused wherever it was cut."""
    path = tmp_path / "part.json"
    example().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: min(length, len(whole) - 1)])
    with pytest.raises(DataError):
        ModelPart.load(path)


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    """A missing file is a DataError: there is nothing to load."""
    with pytest.raises(DataError):
        ModelPart.load(tmp_path / "nowhere.json")


def test_input_units_give_the_same_scores() -> None:
    """Coefficients and offset in the table's own units score new rows as the part does."""
    plan = plan_for((2, 3), protocol="clear", start="normal")
    run, (X, _) = trained(plan), made_up()
    for name, own in zip(("label", "features"), (X[:, :2], X[:, 2:]), strict=True):
        part = run.model.parts[name]
        coefficients, offset = part.in_input_units()
        expected = part.partial_scores(tables_for(plan, X, None)[name])
        assert np.abs(own @ coefficients + offset - expected).max() < 1e-12


def test_weights_that_were_never_opened_cannot_be_used() -> None:
    """Neither scores nor coefficients come from a part without weights."""
    table = split_array(np.ones((2, 4)), None, (3, 1))[0]
    part = example(weights=None)
    with pytest.raises(DataError, match="never opened"):
        part.partial_scores(table)
    with pytest.raises(DataError, match="never opened"):
        part.in_input_units()


def test_it_prints_nothing_of_what_it_holds() -> None:
    """Weights and shares stay out of logs."""
    assert str(2**191 + 1) not in repr(example())
    assert "bank" not in repr(example())
