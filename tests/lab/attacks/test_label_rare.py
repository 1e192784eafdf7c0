"""`label-rare`: few positives are named from far fewer equations than rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plumbob.arrays import Matrix
from plumbob.checking.check import check
from plumbob.lab.attacks.interface import Claim, View
from plumbob.lab.attacks.label_rare import LABEL_RARE, recover_rare_labels
from plumbob.lab.audit import audit
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from tests.lab.attacks.support import Data, refused
from tests.protocol.support import trained

ROWS, SPLIT = 6000, (11, 12)
FEW: dict[str, Any] = {"protocol": "clear", "epochs": 3, "learning_rate": 0.01, "batch_size": 256}


def made_up(seed: int, share: float, rows: int = ROWS) -> Data:
    """Correlated columns of several kinds, and a rare label that they predict in part."""
    generator = np.random.default_rng(seed)
    columns = sum(SPLIT)
    X: Matrix = 0.6 * generator.standard_normal((rows, 4)) @ generator.standard_normal((4, columns))
    X = X + generator.standard_normal((rows, columns))
    X[:, ::4] = np.exp(0.8 * X[:, ::4])
    X[:, 1::4] = X[:, 1::4] > np.quantile(X[:, 1::4], 0.8)
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ generator.standard_normal(columns) * 0.5
    scores = scores + generator.gumbel(size=rows)
    return X, (scores >= np.sort(scores)[-round(share * rows)]).astype(np.int64)


def run_of(data: Data, **keys: Any) -> Run:
    """A run with few passes, and batches of twenty times as many rows as the attacker has columns."""
    return trained(Plan.for_columns(SPLIT, **({"seed": 7, **FEW} | keys)), data)


def named(view: View, share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The rows that the attack calls positive."""
    claim = recover_rare_labels(view, share)
    assert isinstance(claim, Claim)
    return np.asarray(claim.beliefs > 0)


@pytest.mark.parametrize("guess", [0.01, 0.001])
@pytest.mark.parametrize(("seed", "share", "rows"), [(31, 0.005, 256), (32, 0.005, 256), (33, 0.002, 512)])
def test_most_rare_positives_are_named(seed: int, share: float, rows: int, guess: float) -> None:
    """Of a share that the attacker guesses ten times wrong, at least 80 % are named, and hardly anybody else."""
    truth = Truth.of(run_of(made_up(seed, share), batch_size=rows))
    found = named(truth.views["features"], guess)
    assert np.sum(found & truth.is_positive) >= 0.8 * truth.is_positive.sum()
    assert np.sum(found & ~truth.is_positive) <= 0.2 * truth.is_positive.sum()


def test_rare_negatives_are_named_too() -> None:
    """Which class is the rarer one, the first sums say."""
    X, y = made_up(34, 0.005)
    truth = Truth.of(run_of((X, 1 - y)))
    claim = recover_rare_labels(truth.views["features"])
    assert isinstance(claim, Claim)
    assert np.sum((claim.beliefs < 0) & ~truth.is_positive) >= 0.8 * np.sum(~truth.is_positive)


@pytest.mark.parametrize(
    "keys",
    [
        {"noise": "sound", "epsilon": 1.0, "row_norm": 1.0},
        {"start": "xavier"},
        {"batches": "full", "batch_size": ROWS},
    ],
)
def test_defences_hide_them(keys: dict[str, Any]) -> None:
    """Noise for labels, scores of a random start in large batches, or one full batch: hardly anybody is named."""
    truth = Truth.of(run_of(made_up(31, 0.005), **keys))
    assert np.sum(named(truth.views["features"], 0.01) & truth.is_positive) < 0.35 * truth.is_positive.sum()


def test_sums_of_other_labels_name_nobody() -> None:
    """The negative control: with labels that are dealt out anew, those named are the positives of that run alone."""
    X, y = made_up(35, 0.005)
    truth = Truth.of(run_of((X, np.random.default_rng(1).permutation(y))))
    found = named(truth.views["features"], 0.01)
    assert np.sum(found & truth.is_positive) >= 0.8 * truth.is_positive.sum()
    assert np.sum(found & (y == 1)) <= 0.2 * y.sum()


def test_an_encrypted_run_shows_as_much() -> None:
    """Fixed-point sums of an encrypted exchange name them too, and an audit says so where a check would."""
    keys = {"protocol": "exchange", "key_bits": 512, "test_only_keys": True, "rows": 1500}
    run = run_of(made_up(36, 0.01, rows=1500), **keys, batch_size=128)
    (found,) = audit(run, ["label-rare"])
    assert found.verdict == "leaks"
    plan = run.record.parsed_plan
    assert "leaks" in {one.verdict for one in check(plan, positives=0.01) if "label-rare" in one.attacks}


HIDDEN = {"noise": "sound", "epsilon": 1.0, "row_norm": 1.0}
DROWNED = {"noise": "std", "noise_std": 200.0, "row_norm": 1.0, "start": "xavier", "batch_size": 64}


@pytest.mark.parametrize(
    ("keys", "positives", "verdict"),
    [
        ({}, 0.005, "leaks"),
        ({}, None, "degrades"),
        ({}, 0.4, "no finding"),
        ({}, 0.0, "no finding"),
        ({"batches": "fixed"}, 0.005, "degrades"),
        (DROWNED, 0.005, "blocked"),
        (DROWNED, None, "blocked"),
        # From zero weights the sums show labels of groups, so its ranking is better than guessing, too.
        (HIDDEN, 0.005, "no finding"),
        (HIDDEN, None, "no finding"),
        ({"protocol": "clear", "class_weight": "balanced"}, 0.005, "no finding"),
    ],
)
def test_the_rule(keys: dict[str, Any], positives: float | None, verdict: str) -> None:
    """A plan is judged by the bits that its sums say; where nobody says how rare positives are, it may be so."""
    plan = Plan.for_columns(SPLIT, **{**FEW, "protocol": "exchange", "batch_size": 1024, **keys})
    found = [one.verdict for one in check(plan, 8000, positives=positives) if one.attack == "label-rare"]
    assert (found or ["no finding"]) == [verdict]


def test_nothing_to_work_on() -> None:
    """Weights of rows multiply every residual, and in shares there are no sums."""
    view = Truth.of(run_of(made_up(37, 0.01, rows=600))).views["features"]
    weighed = replace(view, plan=view.plan.replace(class_weight="balanced"))
    assert refused(LABEL_RARE(weighed), "weights multiply")
    assert refused(LABEL_RARE(replace(view, plan=Plan.for_columns(SPLIT))), "in shares nobody sees a gradient")
