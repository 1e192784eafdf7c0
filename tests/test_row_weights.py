"""Rows that count differently: a column of the label party, no feature, and an input that nobody else can check."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plumbob import VerticalLogisticRegression, check
from plumbob.data import ColumnChoices, read_table
from plumbob.errors import DataError
from plumbob.lab.simulate import train
from plumbob.lab.simulate.files import draft_for
from plumbob.plan import Plan
from tests.protocol.support import made_up, tables_for

WEIGHED = ColumnChoices(weight="w")


def table(folder: Path, cells: list[str]) -> Path:
    """A label party's file with these weights."""
    file = folder / "bank.csv"
    rows = [f"p{row},{row % 3},{cell},{row % 2}" for row, cell in enumerate(cells)]
    file.write_text("\n".join(["id,a,w,late", *rows, ""]), encoding="utf-8")
    return file


def test_a_column_of_weights_is_no_feature(tmp_path: Path) -> None:
    """Rows keep their weights when they are chosen, and a plan drafted from such a table lets the label party weigh."""
    bank = read_table(table(tmp_path, ["0.5", "1", "0", "0.25"]), "id", "late", choices=WEIGHED)
    assert [column.name for column in bank.columns] == ["a"]
    picked = bank.select(["p3", "p0"])
    assert picked.weights is not None
    assert picked.weights.tolist() == [0.25, 0.5]
    assert bank.digest() != read_table(table(tmp_path, ["1", "1", "0", "0.25"]), "id", "late", choices=WEIGHED).digest()
    fund = read_table(table(tmp_path, ["1"] * 4), "id", choices=ColumnChoices(drop=("late",)))
    assert draft_for({"bank": bank, "fund": fund}, {})[0].row_weights


@pytest.mark.parametrize("cells", [["1", "1.5"], ["1", "-0.1"], ["1", ""], ["0", "0"], ["much", "little"]], ids=str)
def test_weights_are_numbers_from_0_to_1(tmp_path: Path, cells: list[str]) -> None:
    """Anything else is refused with what to do."""
    with pytest.raises(DataError, match=r"--weight w: expected a number from 0 to 1 in every row"):
        read_table(table(tmp_path, cells), "id", "late", choices=WEIGHED)


def test_table_and_plan_must_agree() -> None:
    """Weights that the plan does not know, or a plan without its weights, are refused before training."""
    weighed = Plan.for_columns((2, 3), protocol="clear", row_weights=True)
    data = made_up()
    for plan, other, words in (
        (weighed, weighed.replace(row_weights=False), "name its column with --weight"),
        (weighed.replace(row_weights=False), weighed, "the plan weighs no rows"),
    ):
        with pytest.raises(DataError, match=words):
            train(plan, tables_for(other, *data))


def test_a_fit_with_sample_weights_is_that_of_scikit_learn() -> None:
    """Weights of any size are divided by the largest; the penalty stays that of the mean loss."""
    X, y = made_up(rows=200)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
    keys: dict[str, Any] = {"scale": "none", "sigmoid": "exact", "learning_rate": 1.0, "batches": "full"}
    ours = VerticalLogisticRegression(
        (2, 3), protocol="clear", epochs=3000, l2=0.01, momentum=0.0, feature_bits=30, **keys
    )
    ours.fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(C=1.0 / (0.01 * len(y)), tol=1e-10, max_iter=10_000)
    theirs.fit(X, y, sample_weight=weights / weights.max())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_what_weights_let_a_label_party_read_is_said() -> None:
    """A row that counts 1 while all others count 0 is read like one with a label of its own; check names both ways."""
    plan = Plan.for_columns((2, 3), row_weights=True)
    (found,) = (one for one in check(plan, 1000) if one.attack == "chosen-labels")
    assert found.verdict == "leaks"
    assert "if it lets that row count 1 and all others 0 (row_weights)" in found.why
