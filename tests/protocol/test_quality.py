"""Quality at the end of a run between organisations: who gets it, from which rows, and what it stands beside."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plumbob.model.logistic import fit_logistic
from plumbob.protocol.messages import Kind
from plumbob.protocol.outcome import judge_at_home, weights_alone
from plumbob.protocol.party import TrainingParty
from tests.protocol.support import Wire, made_up, plan_for, played

RUNS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3), {"protocol": "exchange"}),
    ((2, 3), {"protocol": "arbiter"}),
    ((2, 3), {}),
    ((2, 2, 1), {"open": "never"}),
]


@pytest.mark.parametrize(("split", "keys"), RUNS, ids=str)
def test_the_label_party_gets_the_scores_of_held_out_rows(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """In every protocol only the label party gets them, and they are those of the finished model."""
    plan = plan_for(split, **{"epochs": 1, **keys}, test_share=0.3)
    wire = Wire()
    run = played(plan, made_up(rows=60, columns=plan.columns), wire, quality=True)
    scores, label = run.ends, run.parties["label"]
    assert [name for name, values in scores.items() if values is not None] == ["label"]
    assert isinstance(label, TrainingParty)
    assert len(scores["label"]) == 18 == len(label.shard.X_test)
    assert not wire.bodies(Kind.SCORE_SHARE, sender="label")
    alone = weights_alone(label)
    assert alone is not None
    found, curves = judge_at_home(label, scores["label"], alone)
    assert set(found) == {"joint", "local-only"} == set(curves)
    auc, low, high = (found["joint"][name] for name in ("auc", "auc_low", "auc_high"))
    assert auc is not None
    assert low is not None
    assert high is not None
    assert 0 <= low <= auc <= high <= 1


def test_the_fit_at_home_is_that_of_scikit_learn() -> None:
    """Newton's method ends where scikit-learn's solver does, with and without a penalty worth speaking of."""
    X, y = made_up(rows=120)
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((120, 1))])
    for C, counts in ((1.0, None), (0.01, np.linspace(0.0, 1.0, 120))):
        theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X[:, :-1], y, counts)
        penalty = np.diag([1.0] * 5 + [0.0]) / (C * 120)
        ours = fit_logistic(X, y, penalty, counts)
        np.testing.assert_allclose(ours[:-1], theirs.coef_[0], atol=1e-4)
        assert ours[-1] == pytest.approx(theirs.intercept_[0], abs=1e-4)


def test_a_label_party_without_columns_has_nothing_alone() -> None:
    """Its own model then says the same of every row."""
    plan = plan_for((0, 5), epochs=1, test_share=0.25)
    label = played(plan).parties["label"]
    assert isinstance(label, TrainingParty)
    alone = weights_alone(label)
    assert alone is not None
    assert len(set(label.shard.X_test @ alone)) == 1
