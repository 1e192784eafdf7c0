"""A claim and the truth give the numbers that docs/check.md promises."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from plumbob.arrays import Matrix
from plumbob.errors import DataError
from plumbob.lab.attacks import Condition, NotApplicable
from plumbob.lab.audit.score import aligned, scored
from plumbob.lab.audit.truth import Truth
from plumbob.model import intervals
from plumbob.model.metrics import as_many_positive
from plumbob.record import Finding
from tests.lab.audit.support import attack, label_claim, signs, small_run, value_claim


@pytest.fixture(scope="module")
def truth() -> Truth:
    """The truth of a small run in the clear."""
    return Truth.of(small_run(rows=200))


def finding(truth: Truth, claim: object, by: str = "features", name: str = "label-toy") -> Finding:
    """The one finding about a claim."""
    (only,) = scored(attack(claim, name, by), by, claim, truth)  # type: ignore[arg-type]
    return only


def rotation(size: int, seed: int = 3) -> np.ndarray:
    """An orthogonal matrix."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


# Labels.


def test_right_labels_leak(truth: Truth) -> None:
    """All right: rate and AUC 1, an advantage near 1, a way out, and the numbers in the sentence."""
    found = finding(truth, label_claim(signs(truth), is_determined=np.ones(200, dtype=bool)))
    assert (found.rate, found.auc, found.balanced_accuracy, found.coverage, found.determined) == (1, 1, 1, 1, 1)
    assert (found.by, found.against, found.target, found.n) == ("features", "label", "labels", 200)
    assert found.verdict == "leaks"
    assert found.advantage is not None
    assert 0.8 < found.advantage < 1
    assert "100 % of 200 labels" in found.why


def test_rates_are_those_of_scikit_learn(truth: Truth) -> None:
    """Accuracy, AUC and balanced accuracy, and Wilson's interval about the first."""
    beliefs = signs(truth) + np.random.default_rng(1).normal(0.0, 1.5, 200)
    found = finding(truth, label_claim(beliefs))
    right = int(np.sum((beliefs > 0) == truth.is_positive))
    assert found.rate == right / 200
    assert found.auc == pytest.approx(roc_auc_score(truth.is_positive, beliefs))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth.is_positive, beliefs > 0))
    assert found.interval == intervals.wilson(right, 200)


def test_no_answer_is_the_larger_class(truth: Truth) -> None:
    """A row without an answer, or with a belief of 0, counts as the larger class, and stands between the others."""
    beliefs = signs(truth)
    beliefs[:50], beliefs[50:80] = np.nan, 0.0
    found = finding(truth, label_claim(beliefs))
    larger = truth.is_positive.mean() > 0.5
    assert found.coverage == 0.6
    assert found.rate == pytest.approx((120 + np.sum(truth.is_positive[:80] == larger)) / 200)
    assert found.auc == pytest.approx(roc_auc_score(truth.is_positive, np.nan_to_num(beliefs)))


def test_baselines_are_the_prior_and_the_own_part(truth: Truth) -> None:
    """The better of the larger class and the attacker's own scores, cut where the prior says."""
    found = finding(truth, label_claim(signs(truth)))
    view = truth.views["features"]
    scores = view.X @ view.weights
    positives = int(truth.is_positive.sum())
    guesses = scores >= np.sort(scores)[-positives]
    assert guesses.sum() == positives
    prior = max(truth.is_positive.mean(), 1 - truth.is_positive.mean())
    assert found.baseline == max(prior, np.mean(guesses == truth.is_positive))
    assert found.baseline_auc == pytest.approx(roc_auc_score(truth.is_positive, scores))


def test_what_the_own_part_says_is_no_finding(truth: Truth) -> None:
    """An attack that gives back the attacker's own predictions is blocked, however right they are."""
    view = truth.views["features"]
    scores = view.X @ view.weights
    threshold = np.sort(scores)[-int(truth.is_positive.sum())] - 1e-9
    found = finding(truth, label_claim(scores - threshold))
    assert found.rate == found.baseline
    assert found.advantage is not None
    assert found.advantage == 0
    assert found.verdict == "blocked"


def test_advantage_is_the_largest_of_three(truth: Truth) -> None:
    """A ranking without a threshold is judged by its AUC: the lower end, over what the baseline leaves."""
    found = finding(truth, label_claim(signs(truth) + 10.0))
    low = intervals.auc(truth.is_positive, signs(truth))[0]
    assert found.baseline_auc is not None
    assert found.rate == truth.is_positive.mean()
    assert found.advantage == pytest.approx((low - found.baseline_auc) / (1 - found.baseline_auc))


def test_small_advantages_degrade(truth: Truth) -> None:
    """An advantage above 0 and within the plan's tolerance degrades."""
    tolerant = Truth(truth.plan.replace(tolerance_labels=1.0), truth.views)
    assert finding(tolerant, label_claim(signs(truth))).verdict == "degrades"


def test_few_determined_labels_are_not_nothing(truth: Truth) -> None:
    """A rate over all rows does not move for forty labels, but who is among the forty is known."""
    beliefs, rows = np.full(200, np.nan), np.arange(40)
    beliefs[rows] = signs(truth)[rows]
    assert finding(truth, label_claim(beliefs)).verdict == "blocked"
    assert finding(truth, label_claim(beliefs, is_determined=np.isfinite(beliefs))).verdict == "degrades"
    assert finding(truth, label_claim(-beliefs, is_determined=np.isfinite(beliefs))).verdict == "blocked"


def test_targets_are_judged_alone(truth: Truth) -> None:
    """Of an active attack its chosen rows count; coverage stays a share of all."""
    rows = np.arange(60)
    beliefs = np.full(200, np.nan)
    beliefs[rows] = signs(truth)[rows]
    found = finding(truth, label_claim(beliefs, targets=rows))
    assert (found.rate, found.n, found.coverage, found.verdict) == (1, 60, 0.3, "leaks")


def test_targets_of_one_class(truth: Truth) -> None:
    """Where only one class is, accuracy alone is defined."""
    rows = np.flatnonzero(truth.is_positive)
    found = finding(truth, label_claim(signs(truth), targets=rows))
    assert (found.auc, found.baseline_auc, found.balanced_accuracy) == (None, None, None)
    assert found.rate == 1


def test_without_weights_the_prior_is_left() -> None:
    """Weights that were never opened predict nothing."""
    truth = Truth.of(small_run())
    view = replace(truth.views["features"], weights=np.zeros(0))
    blind = Truth(truth.plan, {**truth.views, "features": view})
    found = finding(blind, label_claim(signs(truth)))
    assert found.baseline == max(truth.is_positive.mean(), 1 - truth.is_positive.mean())
    assert found.baseline_auc == 0.5


def test_ties_at_the_threshold() -> None:
    """As many positives as the prior says, as near as ties allow; a constant score says the larger class."""
    assert as_many_positive(np.array([3.0, 1.0, 2.0, 0.0]), 2).tolist() == [True, False, True, False]
    assert not as_many_positive(np.zeros(10), 3).any()
    assert as_many_positive(np.zeros(10), 7).all()


# Scores and features.


@pytest.mark.parametrize("left_open", ["nothing", "sign", "rotation"])
def test_features_up_to_what_is_left_open(truth: Truth, left_open: str) -> None:
    """The claim is turned back before it is judged, but only as far as the attack says that it must be."""
    turned = {"nothing": np.eye(3), "sign": -np.eye(3), "rotation": rotation(3)}[left_open]
    values = truth.features("features") @ turned
    found = finding(truth, value_claim(values, left_open=left_open), "label", "feature-toy")
    assert found.rate == pytest.approx(1)
    assert (found.verdict, found.against, found.target) == ("leaks", "features", "features")
    assert found.auc is None
    if left_open != "nothing":
        held_to_it = finding(truth, value_claim(values), "label", "feature-toy")
        assert (held_to_it.rate or 0.0) < 0.9


def test_rotation_may_have_fewer_columns() -> None:
    """A claim of lower rank is one with zeros; without a rotation it is of the wrong shape."""
    target = np.random.default_rng(1).normal(size=(50, 3)) * [1.0, 1.0, 0.0]
    truth = Truth.of(small_run(rows=50))
    view = replace(truth.views["features"], X=target)
    flat = Truth(truth.plan, {**truth.views, "features": view})
    turned = rotation(2)
    claim = value_claim(target[:, :2] @ turned, left_open="rotation")
    assert finding(flat, claim, "label", "feature-toy").rate == pytest.approx(1)


def own_columns(truth: Truth, name: str) -> Matrix:
    """What a party holds before any message."""
    view = truth.views[name]
    return view.X if view.y is None else np.column_stack([view.X, view.y])


def test_the_values_baseline_is_a_regression(truth: Truth) -> None:
    """R^2 of the victim's columns on the attacker's own, labels included, as scikit-learn has it."""
    own, target = own_columns(truth, "label"), truth.features("features")
    expected = LinearRegression().fit(own, target).score(own, target, sample_weight=None)
    found = finding(truth, value_claim(target), "label", "feature-toy")
    # Standardised columns weigh alike, so the mean over columns is the R^2 over all.
    assert found.baseline == pytest.approx(expected, abs=1e-4)


def test_what_own_columns_explain_is_no_finding() -> None:
    """A claim that is the regression itself is blocked."""
    truth = Truth.of(small_run(rows=200))
    target = truth.features("label") @ np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]) + 0.1 * truth.features("features")
    copy = Truth(truth.plan, {**truth.views, "features": replace(truth.views["features"], X=target)})
    own = own_columns(truth, "label")
    fitted = LinearRegression().fit(own, target).predict(own)
    found = finding(copy, value_claim(fitted), "label", "feature-toy")
    assert found.rate == pytest.approx(found.baseline)
    assert found.verdict == "blocked"


def test_unknown_values_count_as_the_mean(truth: Truth) -> None:
    """Half of the rows exactly right explain half of the variance."""
    values = truth.features("features").copy()
    values[::2] = np.nan
    found = finding(truth, value_claim(values), "label", "feature-toy")
    assert found.rate == pytest.approx(0.5, abs=0.1)
    assert found.coverage == 0.5


def test_nonsense_is_blocked(truth: Truth) -> None:
    """A claim that is worse than the mean has no rate and no advantage, and says so in words."""
    values = 100 * np.random.default_rng(2).normal(size=(200, 3))
    found = finding(truth, value_claim(values), "label", "feature-toy")
    assert (found.rate, found.advantage, found.verdict) == (None, 0.0, "blocked")
    assert "worse" in found.why


def test_what_does_not_vary_cannot_leak(truth: Truth) -> None:
    """A column of zeros has no R^2."""
    empty = Truth(truth.plan, {**truth.views, "features": replace(truth.views["features"], X=np.zeros((200, 3)))})
    found = finding(empty, value_claim(np.zeros((200, 3))), "label", "feature-toy")
    assert (found.rate, found.interval, found.verdict) == (None, None, "blocked")


def test_scores_are_those_of_the_last_visit(truth: Truth) -> None:
    """The truth about scores is replayed from the victim's own sums."""
    view, expected = truth.views["features"], np.zeros((200, 1))
    for batch, _, own_scores, _ in view.steps():
        expected[batch.rows, 0] = own_scores
    found = finding(truth, value_claim(expected, target="scores"), "label", "feature-toy")
    assert (found.rate, found.target, found.verdict) == (1, "scores", "leaks")


def test_several_victims_have_one_finding() -> None:
    """Where only the sum of two parties' scores is known, the finding is about both, as in `check`."""
    truth = Truth.of(small_run((2, 2, 2)))
    claim = value_claim(truth.scores("features+features-2"), target="scores", against="features+features-2")
    found = finding(truth, claim, "label", "feature-toy")
    assert (found.against, found.rate) == ("features+features-2", 1.0)


# Both.


def test_a_refused_attack_says_why(truth: Truth) -> None:
    """A finding with the attack's own reason and no numbers; with nothing to work on there is no finding."""
    met = Condition("rank", np.inf, "3", np.bool_(False), "Lemma 0")  # type: ignore[arg-type]
    reason = NotApplicable("ended the run", (met,), is_refused=True)
    found = finding(truth, reason, "label", "feature-toy")
    assert (found.verdict, found.why, found.against, found.rate) == ("blocked", "ended the run", "features", None)
    assert found.conditions == (
        {"name": "rank", "value": None, "needed": "3", "is_met": False, "reference": "Lemma 0"},
    )
    assert finding(truth, reason).against == "label"
    json.dumps(found.conditions, allow_nan=False)
    assert scored(attack(reason, "feature-toy", "label"), "label", NotApplicable("nothing to work on"), truth) == []


@pytest.mark.parametrize(
    "claim",
    [
        label_claim(np.ones(199)),
        label_claim(np.ones(200), is_determined=np.ones(3, dtype=bool)),
        value_claim(np.ones((200, 2))),
        value_claim(np.ones((199, 3))),
        value_claim(np.ones((200, 2)), target="scores"),
        value_claim(np.ones((200, 3)), against="nobody"),
    ],
    ids=["rows", "marks", "columns", "rows of values", "columns of scores", "victim"],
)
def test_misshapen_claims_are_refused(truth: Truth, claim: object) -> None:
    """A claim that does not fit the run is an error, not a rate."""
    with pytest.raises(DataError, match="expected"):
        finding(truth, claim)


def test_rotations_are_orthogonal() -> None:
    """Alignment never stretches: a claim of the wrong length stays wrong."""
    target = np.random.default_rng(4).normal(size=(30, 2))
    turned = aligned(3 * target @ rotation(2), target, "rotation")
    np.testing.assert_allclose(turned, 3 * target, atol=1e-12)
