"""The claims of the paper and beyond it, from the experiments of every theorem and of section 7."""

from pathlib import Path
from typing import Any

import pytest

from plumbob.lab.audit.truth import Truth
from plumbob.lab.bounds import noisy_safe_steps, safe_steps
from plumbob.lab.paper.defences import packing
from plumbob.lab.paper.frames import ExperimentOutcome
from plumbob.lab.paper.joint import JointRun, promises
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.lab.paper.theorems import EXPERIMENTS, Experiment, book_of
from tests.frozen.claims import COMMANDS, claims_of, frozen_claims
from tests.lab.audit.support import small_run
from tests.lab.paper.support import QUICK, needs_data


@needs_data
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "command",
    [
        "credit --quick",
        "attacks --quick",
        # All of it takes minutes.
        pytest.param("attacks", marks=pytest.mark.soak),
    ],
)
def test_claims_are_the_frozen_ones(tmp_path: Path, command: str) -> None:
    """What holds, holds, and what is known not to, does not: statement, condition and verdict of every claim."""
    assert claims_of(command, tmp_path / "paper") == frozen_claims()[command], (
        "the commit that changes a claim says why"
    )


def test_every_command_is_frozen() -> None:
    """The file holds these commands and no others."""
    assert tuple(frozen_claims()) == COMMANDS


@needs_data
def test_packing() -> None:
    """With short keys, for the test: whole replies give every residual of a small batch, cut ones a few."""
    (frame,) = packing(QUICK, key_bits=640).frames
    solving, auxiliary, one_hot, cut = frame.curves.values()
    assert max(solving.means) < 0.5
    assert one_hot.means[0] == auxiliary.means[0] == 1.0
    assert cut.last < 0.2


def test_a_second_call_takes_what_is_stored(tmp_path: Path) -> None:
    """Experiments that are done are not run again, and their results are the same."""
    chosen = tuple(one for one in EXPERIMENTS if one.name in ("hardness", "parties", "batch-of-one"))
    first = book_of(ResultStore(tmp_path), QUICK, chosen)
    assert book_of(ResultStore(tmp_path), QUICK, tuple(map(_never, chosen))) == first
    assert {claim.name for claim in first.claims} == {"hardness", "parties", "batch-of-one"}


def _never(experiment: Experiment) -> Experiment:
    def run(effort: Effort) -> ExperimentOutcome:
        raise AssertionError("this was stored already")

    return Experiment(experiment.name, experiment.heading, run)


NOISY: dict[str, Any] = {"row_norm": 1.0, "learning_rate": 0.02, "intercept": False, "rows": 200}


@pytest.mark.parametrize(
    "keys",
    [{"noise": "std", "noise_std": 0.3}, {"noise": "heuristic", "epsilon": 2.0}, {"noise": "sound", "epsilon": 4.0}],
    ids=str,
)
def test_promises_are_kept(keys: dict[str, Any]) -> None:
    """Noise in gradients, loss and drift stay within what Lemma 6.3 and Theorems 6.4 and 6.6 allow."""
    found = promises(JointRun.of(Truth.of(small_run(**NOISY, **keys))))
    assert list(found) == ["Lemma 6.3", "Theorem 6.4", "Theorem 6.6"]
    assert all(promise.is_kept for promise in found.values())


def test_noise_is_measured_as_it_was() -> None:
    """A tenth of the deviation gives a tenth of the noise in gradients, of the promise and of what was measured."""
    small, large = (
        promises(JointRun.of(Truth.of(small_run(noise="std", noise_std=std, **NOISY))))["Lemma 6.3"]
        for std in (0.01, 0.1)
    )
    assert small.promised == pytest.approx(large.promised / 10)
    assert small.measured == pytest.approx(large.measured / 10, rel=0.05)


def test_weak_noise_promises_what_no_noise_does() -> None:
    """As noise vanishes, Theorem 6.6 becomes Corollary 4.5."""
    assert noisy_safe_steps(0.02, 1e-9, 0.0, 1.0) == safe_steps(0.02, 0.0, 1.0)
