"""The claims of the paper and beyond it, from the experiments of every theorem and of section 7."""

from pathlib import Path

import pytest

from plumbob.lab.paper.findings import ExperimentOutcome
from plumbob.lab.paper.readings import Effort, ResultStore
from plumbob.lab.paper.theory import EXPERIMENTS, Experiment, book_of, packing
from tests.frozen.claims import COMMANDS, claims_of, frozen_claims
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
    outcome = packing(QUICK, key_bits=640)
    solving, auxiliary, one_hot, cut = outcome.figures[0].curves
    assert max(solving.means) < 0.5
    assert one_hot.means[0] == auxiliary.means[0] == 1.0
    assert cut.last < 0.2


def test_a_book_of_some(tmp_path: Path) -> None:
    """A second call takes stored results, and they are the same."""
    chosen = tuple(one for one in EXPERIMENTS if one.name in ("hardness", "parties", "batch-of-one"))
    first = book_of(ResultStore(tmp_path), QUICK, chosen)
    again = book_of(ResultStore(tmp_path), QUICK, tuple(Experiment(one.name, one.heading, _never) for one in chosen))
    assert again == first
    assert {claim.name for claim in first.claims} == {"hardness", "parties", "batch-of-one"}


def _never(effort: Effort) -> ExperimentOutcome:
    raise AssertionError("this was stored already")
