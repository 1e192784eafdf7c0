"""`feature-geometry`: all columns of the peers up to a rotation, and their scores."""

from typing import Any

import numpy as np
import pytest

from plumbob.checking.check import check
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.errors import DataError
from plumbob.lab.attacks.feature_geometry import (
    FEATURE_GEOMETRY_BY_FEATURE_PARTY,
    recover_geometry,
    with_known_rows,
)
from plumbob.lab.attacks.peer_scores import PEER_SCORES, PEER_SCORES_BY_FEATURE_PARTY, recover_scores
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.plan import PAPER, Plan
from plumbob.record import Finding
from tests.lab.attacks.support import Data, claimed, condition, gaussian, gram_error, views_of
from tests.protocol.support import trained


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        (2, {"batch_size": 4, "epochs": 12}),
        (4, {"batch_size": 10, "epochs": 20, "start": "xavier", "l2": 0.05}),
        (3, {"batch_size": 9, "epochs": 15, "learning_rate": 0.01}),
    ],
    ids=str,
)
def test_all_features_up_to_a_rotation(columns: int, keys: dict[str, Any]) -> None:
    """Inner products of all rows come out, and with a few known rows every feature.

    Each direction of the peer's weights is a condition, the longest first.
    """
    views = views_of((12, columns), gaussian(120, 12 + columns), **keys)
    truth, claim = views["features"].X, claimed(recover_geometry(views["label"]))
    sizes = [item.value for item in claim.conditions if "movement" in item.name]
    assert len(sizes) == columns
    assert sizes == sorted(sizes, reverse=True)
    assert claim.is_determined.all()
    assert claim.left_open == "rotation"
    assert gram_error(claim, truth) < 1e-6
    known = np.arange(columns + 2)
    turned = with_known_rows(claim, known, truth[known])
    assert turned.left_open == "nothing"
    assert np.abs(turned.values - truth).max() < 1e-4


@pytest.mark.parametrize("start", ["zero", "xavier"])
def test_full_batches_in_closed_form(start: str) -> None:
    """Full batches no larger than the label party's rank give the inner products too."""
    views = views_of((40, 3), gaussian(30, 43), batches="full", epochs=60, start=start)
    assert gram_error(claimed(recover_geometry(views["label"])), views["features"].X) < 1e-4


def test_an_encrypted_run() -> None:
    """Rounded residuals give the same to within their precision."""
    views = views_of((12, 2), gaussian(48, 14), protocol="exchange", batch_size=12, epochs=10, learning_rate=0.3)
    assert gram_error(claimed(recover_geometry(views["label"])), views["features"].X) < 1e-3


def test_several_peers_together() -> None:
    """With three parties it is the others' columns together that come out."""
    views = views_of((12, 1, 1), gaussian(120, 14), batch_size=10, epochs=12)
    claim = claimed(recover_geometry(views["label"]))
    assert claim.against == "features+features-2"
    assert gram_error(claim, np.hstack([views["features"].X, views["features-2"].X])) < 1e-6


def test_too_few_known_rows_leave_a_rotation_open() -> None:
    """One known row of two columns does not fix the rotation, and the claim says so; a wrong shape is refused."""
    views = views_of((12, 2), gaussian(100, 14), batch_size=10, epochs=10)
    claim = claimed(recover_geometry(views["label"]))
    turned = with_known_rows(claim, np.array([0]), views["features"].X[:1])
    assert turned.left_open == "rotation"
    assert not condition(turned, "known rows").is_met
    with pytest.raises(DataError, match="known rows"):
        with_known_rows(claim, np.array([0, 1]), views["features"].X[:1])


def test_scores_are_read_whatever_the_columns() -> None:
    """A determined batch gives the peer's part of every score, exact in clear."""
    views = views_of((16, 5), gaussian(160, 21), epochs=1)
    claim = claimed(recover_scores(views["label"]))
    truth = np.full(160, np.nan)
    for batch, _, scores, _ in views["features"].steps():
        truth[batch.rows] = scores
    assert claim.target == "scores"
    assert claim.is_determined.all()
    assert np.abs(claim.values[:, 0] - truth).max() < 1e-9


def test_noise_leaves_no_geometry() -> None:
    """Under noise the inner products are wrong, and nothing is called determined."""
    keys: dict[str, Any] = {"noise": "std", "noise_std": 3.0, "row_norm": 1.0, "learning_rate": 0.01}
    views = views_of((12, 2), gaussian(100, 14), batch_size=10, epochs=8, **keys)
    claim = claimed(recover_geometry(views["label"]))
    assert not claim.is_determined.any()
    assert gram_error(claim, views["features"].X) > 0.5


def scores_of(split: tuple[int, int], data: Data, **keys: Any) -> tuple[Finding, str]:
    """What the audit finds of the peer's scores in a run of the paper's protocol, and what `check` says before."""
    plan = Plan.for_columns(split, **{**PAPER, "protocol": "clear", "seed": 3, "rows": len(data[1]), **keys})
    truth = Truth.of(trained(plan, data))
    [found] = scored(PEER_SCORES, "label", PEER_SCORES(truth.views["label"]), truth)
    [said] = [one.verdict for one in check(plan) if (one.by, one.target, one.assumes) == ("label", "scores", "honest")]
    return found, said


def test_who_is_alone_in_a_category_is_read_in_any_batch() -> None:
    """Batches of five rows per column: whoever is the only one of a category there has a residual of its own."""
    generator = np.random.default_rng(7)
    level = generator.permutation(np.repeat(np.arange(25), [30] * 24 + [480]))
    theirs = generator.normal(size=(1200, 3))
    y = (theirs.sum(axis=1) + 3.0 * generator.normal(size=1200) > 0).astype(np.int64)
    X = np.hstack([(level[:, None] == np.arange(24)).astype(float), theirs])
    found, said = scores_of((24, 3), (X, y), batch_size=128, epochs=20)
    assert (found.verdict, said) == (LEAKS, DEGRADES)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_feature_party_reads_the_label_partys_side(intercept: bool) -> None:
    """Remark 4.9 for any number of columns: labels first, then every score, then all columns up to a rotation."""
    keys = {**PAPER, "protocol": "clear", "seed": 3, "intercept": intercept, "batch_size": 10, "epochs": 30}
    plan = Plan.for_columns((3, 20), rows=200, **keys)
    truth = Truth.of(trained(plan, gaussian(200, 23)))
    found = {
        one.target: one.verdict
        for attack in (PEER_SCORES_BY_FEATURE_PARTY, FEATURE_GEOMETRY_BY_FEATURE_PARTY)
        for one in scored(attack, "features", attack(truth.views["features"]), truth)
    }
    assert found == {"scores": LEAKS, "features": LEAKS}
    said = {
        one.target: one.verdict for one in check(plan) if one.by == "features" and "feature-geometry" in one.attacks
    }
    assert said == {"scores": LEAKS, "features": DEGRADES if intercept else LEAKS}
    assert not [one for one in check(plan.replace(protocol="shares")) if "feature-geometry" in one.attacks]


def test_noise_of_single_visits_is_averaged_away() -> None:
    """Noise ten times as large as a score hides it in one visit, and not in a hundred."""
    data = gaussian(160, 20)
    keys = {"noise": "std", "row_norm": 4.0, "batch_size": 8, "learning_rate": 0.02}
    found, said = scores_of((10, 10), data, noise_std=3.2, epochs=100, **keys)
    assert (found.verdict, said) == (LEAKS, DEGRADES)
    found, said = scores_of((10, 10), data, noise_std=100.0, epochs=100, **keys)
    assert (found.verdict, said) == (BLOCKED, BLOCKED)


def test_a_large_start_stands_out_from_noise_that_hides_a_usual_score() -> None:
    """Scores of normal weights are four or five from the first step on, and slow training leaves them so."""
    keys = {"noise": "std", "noise_std": 44.0, "row_norm": 20.0, "start": "normal", "learning_rate": 0.0001}
    found, said = scores_of((10, 20), gaussian(200, 30), batch_size=8, epochs=200, **keys)
    assert (found.verdict, said) == (LEAKS, DEGRADES)
