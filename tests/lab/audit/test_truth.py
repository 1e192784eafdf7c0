"""The auditor's truth comes from all parties' transcripts, of one whole run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import plumbob
from plumbob.errors import DataError
from plumbob.lab.attacks import View
from plumbob.lab.audit.again import in_clear
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.protocol.outcome import unfinished_record
from plumbob.run_folder import RunFolder
from tests.lab.audit.support import small_run
from tests.protocol.support import made_up, plan_for, trained


@pytest.fixture(scope="module")
def run() -> Run:
    """A small run in the clear."""
    return small_run()


def test_all_ways_lead_to_the_same_truth(run: Run, tmp_path: Path) -> None:
    """A run, its record in memory and its folder are the same to the auditor."""
    run.save(tmp_path)
    for source in (run, run.record, tmp_path, str(tmp_path)):
        truth = Truth.of(source)
        np.testing.assert_array_equal(truth.is_positive, run.transcripts["label"].y == 1)
        np.testing.assert_array_equal(truth.features("features"), run.transcripts["features"].X)
        # Without the intercept.
        np.testing.assert_array_equal(truth.features("label"), run.transcripts["label"].X[:, :2])


def test_estimator_without_recording() -> None:
    """`record=False` keeps nothing to attack, and the audit says so."""
    X, y = made_up()
    model = plumbob.VerticalLogisticRegression(protocol="clear", record=False, batch_size=16).fit(X, y)
    with pytest.raises(DataError, match=r"nothing was recorded of label, features.*record=True"):
        plumbob.audit(model.record_)
    assert plumbob.VerticalLogisticRegression(protocol="clear", batch_size=16).fit(X, y).record_.transcripts


def test_unfinished_run(run: Run, tmp_path: Path) -> None:
    """A run that never came to its end is not audited."""
    RunFolder(tmp_path).save_record(unfinished_record(run.model.plan, 40, "interrupted at step 3 of 8"))
    with pytest.raises(DataError, match="did not finish"):
        Truth.of(tmp_path)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"sums": np.zeros((3, 3))}, "sums of steps and columns"),
        ({"X": np.zeros((40, 2))}, "own columns"),
        ({"start": np.zeros(2)}, "starting weights"),
        ({"weights": np.zeros(2)}, "expected weights"),
    ],
    ids=["steps", "columns", "start", "weights"],
)
def test_views_of_the_wrong_shape(run: Run, part: dict[str, np.ndarray], message: str) -> None:
    """A truncated or foreign transcript is refused with what was expected and what came."""
    with pytest.raises(DataError, match=f"transcript of features.*{message}"):
        View.of(replace(run.transcripts["features"], **part))  # type: ignore[arg-type]


def test_label_party_without_labels(run: Run) -> None:
    """The label party's view has its labels, one a row."""
    for y in (None, np.zeros(3, dtype=np.int8)):
        with pytest.raises(DataError, match="expected labels"):
            View.of(replace(run.transcripts["label"], y=y))


@pytest.mark.parametrize("stranger", ["another seed", "another plan", "the other party"])
def test_strangers_are_refused(run: Run, stranger: str) -> None:
    """Transcripts of different runs do not make a truth."""
    other = {
        "another seed": small_run(seed=8).transcripts["features"],
        "another plan": small_run(learning_rate=0.2).transcripts["features"],
        "the other party": run.transcripts["label"],
    }[stranger]
    mixed = replace(run, transcripts={**run.transcripts, "features": other})
    with pytest.raises(DataError, match="of another run"):
        Truth.of(mixed)


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        ((2, 3), {"protocol": "exchange"}),
        ((2, 2, 2), {"protocol": "exchange"}),
        ((2, 3), {"protocol": "arbiter"}),
        ((2, 2, 1), {"protocol": "arbiter"}),
    ],
    ids=["exchange", "three parties", "arbiter", "arbiter and three"],
)
def test_encrypted_views_are_those_of_clear(split: tuple[int, ...], keys: dict[str, str]) -> None:
    """What a party sees of an encrypted run is what it sees in `clear`, to the encoding's rounding.

    So figures about `clear` are figures about the real protocol.
    """
    plan = plan_for(split, **keys)
    encrypted, clear = Truth.of(trained(plan)), Truth.of(trained(in_clear(plan)))
    for name, view in encrypted.views.items():
        other = clear.views[name]
        np.testing.assert_array_equal(view.X, other.X)
        np.testing.assert_array_equal(view.start, other.start)
        assert [batch.rows.tolist() for batch in view.batches] == [batch.rows.tolist() for batch in other.batches]
        # Up to 24 residuals, each rounded at every helper.
        allowed = 64 * 2.0**-plan.residual_bits * np.abs(view.X).max()
        np.testing.assert_allclose(view.sums, other.sums, atol=allowed)
        np.testing.assert_allclose(view.weights_before, other.weights_before, atol=allowed)
        assert (view.y is None) == (other.y is None)


def test_shares_show_no_sums() -> None:
    """In `shares` a view holds weights and nothing of any step."""
    truth = Truth.of(trained(plan_for((2, 3), protocol="shares")))
    for view in truth.views.values():
        assert not view.has_sums
        assert view.sums.size == 0
