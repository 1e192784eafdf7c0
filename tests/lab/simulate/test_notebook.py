"""What a notebook's user meets: frames, names, warnings, progress, and objects that show themselves."""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import plumbob
from plumbob import LeakWarning, VerticalLogisticRegression
from plumbob.errors import DataError, PlanError, PlumbobError

ROWS = 200


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """People with numbers, a category and a gap."""
    generator = np.random.default_rng(3)
    numbers = {name: generator.normal(3.0, 2.0, ROWS) for name in ("age", "debt", "income")}
    whole = pd.DataFrame(numbers)
    whole["town"] = generator.choice(["Bonn", "Kiel", "Ulm"], ROWS)
    whole.loc[5, "town"] = None
    return whole


@pytest.fixture(scope="module")
def late(frame: pd.DataFrame) -> Any:
    """A label that depends on every column."""
    scores = frame["age"] - frame["debt"] + 0.5 * frame["income"].fillna(3.0) + 2.0 * (frame["town"] == "Ulm")
    return (scores > scores.median()).astype(int).to_numpy()


NUMBERS = ["age", "debt", "income"]


def fitted(X: Any, y: Any, split: Any, **keys: Any) -> VerticalLogisticRegression:
    """A model fitted in the clear, so that it is quick."""
    settings = {"protocol": "clear", "bins": 0, "random_state": 0, "epochs": 5, **keys}
    return VerticalLogisticRegression(split, **settings).fit(X, y)


def test_columns_are_given_by_name(frame: pd.DataFrame, late: Any) -> None:
    """Whoever names columns gets the model that counting gives, with coefficients in the order of X."""
    X = frame[NUMBERS]
    by_name = fitted(X, late, (["income"], ["debt", "age"]))
    counted = fitted(X[["income", "debt", "age"]], late, (1, 2))
    assert by_name.split_ == (1, 2)
    assert by_name.columns_ == {"label": ["income"], "features": ["debt", "age"]}
    assert by_name.coef_[0].tolist() == counted.coef_[0][[2, 1, 0]].tolist()
    assert by_name.decision_function(X) == pytest.approx(counted.decision_function(X[["income", "debt", "age"]]))


def test_parties_may_have_names(frame: pd.DataFrame, late: Any) -> None:
    """They are the plan's, so that findings speak of them."""
    model = fitted(frame[NUMBERS], late, {"bank": ["income"], "fund": ["age", "debt"]})
    assert [party.name for party in model.record_.parsed_plan.parties] == ["bank", "fund"]
    assert model.record_.parties[1].columns == ["age", "debt"]
    assert "bank (label, 1 columns)" in model.summary()
    arbitrated = {"protocol": "arbiter", "test_only_keys": True, "key_bits": 768, "epochs": 1, "batches": "full"}
    model = fitted(frame[NUMBERS], late, {"bank": ["income"], "fund": ["age", "debt"]}, **arbitrated)
    assert [party.name for party in model.record_.parsed_plan.parties] == ["bank", "fund", "arbiter"]


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ((["age"], ["debt", "incme"]), "'incme', which is no column of X; did you mean \"income\""),
        ((["age"], ["debt", "age", "income"]), "'age' more than once"),
        ((["age"], ["debt"]), "1 columns of X to nobody .'income'."),
        (({"bank": ["age", "debt", "income"]}), "at least two parties"),
        ((["age", "debt", "income"], []), "at least two parties"),
        (("age", ["debt", "income"]), "expected a list of column names for each party"),
    ],
    ids=str,
)
def test_a_wrong_split_by_name_is_told(frame: pd.DataFrame, late: Any, split: Any, message: str) -> None:
    """What is wrong with it, and nothing of the data."""
    with pytest.raises(DataError, match=message):
        fitted(frame[NUMBERS], late, split)


def test_names_need_a_frame(frame: pd.DataFrame, late: Any) -> None:
    """An array has none to go by."""
    with pytest.raises(DataError, match="pass a data frame, or count the columns"):
        fitted(frame[NUMBERS].to_numpy(), late, (["age"], ["debt", "income"]))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_categories_and_gaps_of_a_frame(frame: pd.DataFrame, late: Any, kind: str) -> None:
    """A frame is encoded as a file is: the town helps, and new rows are read alike."""
    X: Any = frame if kind == "pandas" else pl.from_pandas(frame)
    split = (["age", "town"], ["debt", "income"])
    model = fitted(X, late, split, epochs=30)
    assert model.record_.parties[0].columns == ["age", "town=Kiel", "town=Ulm", "town=(gap)"]
    assert model.score(X, late) > fitted(frame[NUMBERS], late, (["age"], ["debt", "income"]), epochs=30).score(
        frame[NUMBERS], late
    )
    assert model.decision_function(X[:7]) == pytest.approx(model.decision_function(X)[:7])
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="with bins or categories"):
        model.coef_  # noqa: B018  # Asking is the point.
    assert "town=Ulm" in model.summary()


def test_a_category_of_numbers_is_a_category(frame: pd.DataFrame, late: Any) -> None:
    """Whoever gave a column that type does not mean the numbers' size, in training and in prediction."""
    X = frame[NUMBERS].assign(grade=pd.Categorical([1, 2, 3, 4] * 50))
    model = fitted(X, late, (["age"], ["debt", "income", "grade"]))
    assert model.record_.parties[1].columns == ["debt", "income", "grade=2", "grade=3", "grade=4"]
    assert model.decision_function(X[:5]) == pytest.approx(model.decision_function(X)[:5])


def test_text_where_training_had_numbers_is_refused_without_showing_it(frame: pd.DataFrame, late: Any) -> None:
    """scikit-learn's own message would quote the cell."""
    model = fitted(frame[NUMBERS], late, (1, 2))
    same = frame[NUMBERS].astype({"age": object})
    assert np.array_equal(model.predict(same), model.predict(frame[NUMBERS]))
    for cells, message in ((["forty-two"] * ROWS, "'age' holds text here"), ([42, "forty-two"] * 100, "'age' mixes")):
        with pytest.raises(DataError, match=message) as refused:
            model.predict(same.assign(age=cells))
        assert "forty" not in str(refused.value)


def test_bins_take_a_frame_with_everything(frame: pd.DataFrame, late: Any) -> None:
    """Texts and gaps get slots of their own."""
    model = fitted(frame, late, (2, 2), bins=4)
    assert model.score(frame, late) > 0.7


def test_a_second_fit_forgets_the_first(frame: pd.DataFrame, late: Any) -> None:
    """Coefficients of an earlier fit do not pass for those of this one."""
    model = VerticalLogisticRegression((1, 2), "clear", bins=0).fit(frame[NUMBERS], late)
    assert hasattr(model, "coef_")
    model.set_params(bins=4).fit(frame[NUMBERS], late)
    assert not hasattr(model, "coef_")


def test_odds_ratios_are_given_per_standard_deviation_too(frame: pd.DataFrame, late: Any) -> None:
    """One that does not depend on the column's unit stands beside the one that does."""
    metres, millimetres = frame[NUMBERS], frame[NUMBERS] * 1000.0
    first, second = (fitted(X, late, (1, 2), sigmoid="exact") for X in (metres, millimetres))
    assert first.feature_std_ == pytest.approx(np.nanstd(metres.to_numpy(), axis=0))
    per_unit, per_deviation = (
        np.exp(first.coef_[0]),
        np.exp(first.coef_[0] * first.feature_std_),
    )
    assert f"{per_unit[1]:.6g}" in first.summary()
    for place in range(3):
        assert f"{per_deviation[place]:.6g}" in first.summary()
        assert f"{per_deviation[place]:.6g}" in second.summary()


LEAKY = {"protocol": "exchange", "batch_size": 2, "epochs": 1, "test_only_keys": True, "key_bits": 768}


def test_a_leaking_plan_warns_where_the_command_line_refuses(frame: pd.DataFrame, late: Any) -> None:
    """The warning names the attack that gets furthest, and the parameters that would stop it."""
    with pytest.warns(LeakWarning, match="the plan leaks above its tolerance") as caught:
        fitted(frame[NUMBERS][:20], late[:20], (1, 2), **LEAKY)
    [warning] = [one for one in caught if issubclass(one.category, LeakWarning)]
    assert issubclass(warning.category, UserWarning)
    assert 'protocol="shares"' in str(warning.message)
    assert warning.filename == __file__


def test_the_default_plan_warns_of_nothing(frame: pd.DataFrame, late: Any) -> None:
    """It is not shown to leak."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VerticalLogisticRegression((1, 2), bins=0, epochs=1).fit(frame[NUMBERS], late)


def test_progress_goes_to_standard_error_where_it_is_asked_for(frame: pd.DataFrame, late: Any, capsys: Any) -> None:
    """Progress goes to standard error where it is asked for, and nowhere otherwise."""
    fitted(frame[NUMBERS], late, (1, 2))
    assert capsys.readouterr() == ("", "")
    fitted(frame[NUMBERS], late, (1, 2), verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "pass 5 of 5" in err


def test_the_report_is_shown_in_the_cell_and_saved(frame: pd.DataFrame, late: Any, tmp_path: Path) -> None:
    """The report is a frame whose content is the page; with an audit's findings, those are on it."""
    model = fitted(frame[NUMBERS], late, (1, 2))
    page = model.report(path=tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    assert "<!doctype html" in page.html.lower()
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("<") == 2
    assert "sandbox" in shown
    assert len(repr(page)) < 100
    findings = plumbob.audit(model.record_, only=["label-sign"])
    assert "has not been attacked" in page.html
    assert "has not been attacked" not in model.report(findings).html
    with pytest.raises(DataError, match="cannot be written"):
        page.save(tmp_path / "nowhere" / "report.html")


def test_a_record_has_a_short_repr_without_weights(frame: pd.DataFrame, late: Any) -> None:
    """A cell that ends with it shows one line, and no coefficient."""
    model = fitted(frame[NUMBERS], late, (1, 2))
    text = repr(model.record_)
    assert text.startswith("RunRecord(clear, finished, 200 training rows")
    assert len(text) < 200
    parties = repr(model.record_.parties)
    for coefficient in model.record_.parties[1].coefficients or ():
        assert repr(coefficient) not in parties
    assert "income" not in parties
    assert repr(model.model_) == "JointModel(clear; columns: label 1, features 2)"


def test_plumbob_errors_are_value_errors_where_those_are_expected(frame: pd.DataFrame, late: Any) -> None:
    """A wrong parameter and wrong data, as in scikit-learn; one `except PlumbobError` still catches both."""
    for error in (PlanError, DataError):
        assert issubclass(error, ValueError)
        assert issubclass(error, PlumbobError)
    with pytest.raises(ValueError, match="did you mean"):
        fitted(frame[NUMBERS], late, (1, 2), sigmoid="tailor")
    with pytest.raises(ValueError, match="does not fit 3 columns"):
        fitted(frame[NUMBERS], late, (1, 5))


def test_dir_lists_what_is_offered() -> None:
    """`dir` lists every name before anything was asked for, and each can be had."""
    program = "import plumbob; print(*dir(plumbob))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(plumbob.__all__) <= set(finished.stdout.split())
    for name in plumbob.__all__:
        assert getattr(plumbob, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        plumbob.nothing  # noqa: B018  # Asking is the point.


def test_a_model_with_names_can_be_cloned_and_pickled(frame: pd.DataFrame, late: Any) -> None:
    """A model can be cloned and pickled, as a search over parameters does."""
    import pickle

    model = fitted(frame, late, {"bank": ["age", "town"], "fund": ["debt", "income"]})
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # Our own bytes.
    assert np.array_equal(again.decision_function(frame), model.decision_function(frame))
    assert clone(model).fit(frame, late).split_ == (2, 2)


def test_a_fitted_model_can_be_audited_itself(frame: pd.DataFrame, late: Any) -> None:
    """Its record is what is attacked; one that was not fitted is told so."""
    model = fitted(frame[NUMBERS], late, (1, 2))
    assert plumbob.audit(model, only=["label-sign"]) == plumbob.audit(model.record_, only=["label-sign"])
    with pytest.raises(DataError, match="call fit first"):
        plumbob.audit(VerticalLogisticRegression(), only=["label-sign"])
