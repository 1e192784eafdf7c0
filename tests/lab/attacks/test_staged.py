"""Attacks that have runs of their own and scores after them: other labels, rows, values or shares of a residual."""

from functools import cache

import numpy as np
import pytest

from plumbob.checking.check import check
from plumbob.lab.attacks.chosen_labels import read_rows
from plumbob.lab.attacks.model_difference import PEOPLE
from plumbob.lab.audit import audit
from plumbob.lab.audit.again import RunsAgain
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.record import Finding
from tests.protocol.support import made_up, trained
from tests.protocol.test_lattice_shares import lattice_plan

ROWS, SPLIT = 600, (3, 5)


@cache
def run_of(split: tuple[int, ...] = SPLIT, noise: str = "none", open: str = "never", epsilon: float = 4.0) -> Run:
    """An honest run, trained once for all tests."""
    keys = {"noise": noise, "epochs": 0, "epsilon": epsilon, "delta": 1e-5} if noise == "rows" else {"epochs": 6}
    plan = lattice_plan(split, open=open, scale="whitened", start="zero", learning_rate=0.0, **keys)
    return trained(plan, made_up(rows=ROWS if noise == "none" else 3 * ROWS, columns=plan.columns))


@cache
def doubtful_run(open: str, noise: str = "none") -> Run:
    """Labels that columns do not settle, so that everybody's residual is far from 0."""
    keys = {"noise": noise, "epsilon": 1.0, "delta": 1e-5} if noise == "rows" else {}
    plan = lattice_plan(SPLIT, open=open, scale="whitened", start="zero", learning_rate=0.0, epochs=0, **keys)
    generator = np.random.default_rng(1)
    X, weights = generator.standard_normal((ROWS, plan.columns)), generator.standard_normal(plan.columns)
    chances = 1.0 / (1.0 + np.exp(-2.0 * X @ weights / np.linalg.norm(weights)))
    return trained(plan, (X, (generator.random(ROWS) < chances).astype(np.int8)))


def found(run: Run, attack: str, predicted: int | None = None) -> Finding:
    """The findings by the label party, about the first feature party."""
    return next(one for one in audit(run, [attack], predicted=predicted) if one.against == "features")


@pytest.mark.parametrize("attack", ["chosen-labels", "false-residual"])
@pytest.mark.parametrize("split", [SPLIT, (2, 3, 3)], ids=str)
def test_a_row_is_read_that_was_never_scored(attack: str, split: tuple[int, ...]) -> None:
    """A row that was never scored is read, between two parties and among three, as `check` says before."""
    run = run_of(split)
    measured, said = found(run, attack), check(run.model.plan, ROWS)
    assert (measured.verdict, measured.assumes) == ("leaks", "cheating")
    assert measured.rate is not None
    assert measured.rate > 0.98
    assert {one.verdict for one in said if (one.attack, one.by) == (attack, "label")} == {"leaks"}


@pytest.mark.parametrize(("attack", "verdict"), [("chosen-labels", "not applicable"), ("false-residual", "blocked")])
def test_without_scores_nothing_comes_back(attack: str, verdict: str) -> None:
    """Without scores nothing comes back, neither in `check` nor in the audit."""
    run = run_of()
    assert found(run, attack, predicted=0).verdict == verdict
    [said] = [one for one in check(run.model.plan, ROWS, predicted=0) if (one.attack, one.by) == (attack, "label")]
    assert said.verdict == verdict


def test_opened_weights_do_not_stop_invented_labels() -> None:
    """Under `own` the peer's part of a score comes from its own weights, which point at the row as well."""
    assert found(run_of(open="own"), "chosen-labels").verdict == "leaks"


def test_noise_for_rows_stops_invented_labels_and_no_false_residual() -> None:
    """The promise is about inputs of anybody's choice, not about numbers of any size."""
    noisy = run_of(noise="rows")
    assert found(noisy, "chosen-labels").verdict == "blocked"
    falsified = found(noisy, "false-residual")
    assert falsified.verdict == "leaks"


def test_a_group_gives_the_sum_of_its_rows() -> None:
    """Label 1 for ten people gives the sum of their rows."""
    truth = Truth.of(run_of())
    group = list(range(10))
    [read] = read_rows(RunsAgain(truth, "label", ROWS), [group])
    wanted = truth.features("features")[group].sum(axis=0)
    assert np.corrcoef(read, wanted)[0, 1] > 0.98


def test_kept_evidence_names_other_software_only() -> None:
    """A replay names a false residual, so it degrades; invented labels are honest messages, and leak."""
    plan = run_of().model.plan.replace(evidence="keep", days=30, auditors={"label": "a" * 64, "features": "b" * 64})
    verdicts = {one.attack: one.verdict for one in check(plan, ROWS) if one.by == "label"}
    assert (verdicts["false-residual"], verdicts["chosen-labels"]) == ("degrades", "leaks")


def test_a_difference_of_two_models_names_the_label_of_who_joined() -> None:
    """A feature party with opened weights names the label more often than its part of the first model says."""
    [read] = [one for one in audit(doubtful_run("own"), ["model-difference"]) if one.target == "labels"]
    assert (read.by, read.against, read.verdict, read.n) == ("features", "label", "degrades", PEOPLE)
    assert read.rate is not None
    assert read.rate > 0.9


def test_a_difference_of_two_models_points_at_the_row_of_who_joined() -> None:
    """The label party, with known rows scored by both, points at the row; it never leaks, as it takes a second run."""
    [read] = [one for one in audit(doubtful_run("never"), ["model-difference"]) if one.verdict != "not applicable"]
    assert (read.verdict, read.n, read.assumes) == ("degrades", PEOPLE, "honest")
    assert read.rate is not None
    assert read.rate > 0.5
    assert "model-difference" not in {one.attack for one in audit(run_of(), ["label-counts"])}


def test_noise_for_rows_hides_who_joined() -> None:
    """Noise for rows hides both the row and the label, which becomes a coin: the promise is about one row."""
    found = {one.target: one for one in audit(doubtful_run("own", "rows"), ["model-difference"])}
    assert found["features"].verdict == "blocked"
    assert found["labels"].rate is not None
    # A coin gives as many once in 50,000 audits.
    assert found["labels"].rate < 0.9


@pytest.mark.parametrize(("open", "least", "most"), [("own", 0.9, 1.0), ("never", 0.0, 0.8)])
def test_values_of_its_choice_turn_decisions_round(open: str, least: float, most: float) -> None:
    """Nearly all where a feature party knows its weights, fewer where it does not, none where nobody is scored."""
    [moved] = [one for one in audit(run_of(open=open), ["score-control"]) if one.conditions]
    assert (moved.verdict, moved.stage, moved.against) == ("degrades", "prediction", "label")
    assert all(least <= condition["value"] <= most for condition in moved.conditions)
    assert not audit(run_of(open=open), ["score-control"], predicted=0)


def test_scores_rank_people_by_a_column_that_was_taken_for_the_label() -> None:
    """People of whom the label party knows nothing are ranked; whatever was measured, it degrades, as in `check`."""
    run = run_of()
    (measured,) = audit(run, ["chosen-column"])
    assert (measured.verdict, measured.assumes) == ("degrades", "cheating")
    assert measured.rate is not None
    assert measured.rate > (measured.baseline or 0.0) + 0.3
    assert measured.n == ROWS - ROWS // 4


def test_a_column_of_nobody_who_is_scored_is_not_ranked() -> None:
    """The negative control: without scores there is nothing to rank by."""
    (measured,) = audit(run_of(open="own"), ["chosen-column"], predicted=0)
    assert measured.verdict == "not applicable"
