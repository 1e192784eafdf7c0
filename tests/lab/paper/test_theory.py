"""Every theorem's experiment, quickly: what holds, holds, and what is known not to, does not."""

from pathlib import Path

import pytest

from plumbob.lab.paper.findings import ExperimentOutcome
from plumbob.lab.paper.readings import Effort, ResultStore
from plumbob.lab.paper.runs import Samples
from plumbob.lab.paper.theory import EXPERIMENTS, Experiment, book_of, packing
from tests.lab.paper.support import QUICK, needs_data

NOT_AS_STATED = {"printed-bound", "large-start", "stacked", "geometry", "batch-of-one"}
"""The bound for rows of norm 1 on longer rows; large starts on short rows; and what goes beyond the paper."""
ON_FEW_ROWS = {"stacked", "starts"}
"""Experiments of which some hundred rows show as much as thousands."""


class FewRows(Effort):
    """The same effort on the first rows of the data."""

    def credit(self, rows: int | None = None, column: int | None = None, is_first: bool = False) -> Samples:
        return super().credit(min(rows or 640, 640), column, is_first)


@needs_data
@pytest.mark.parametrize("experiment", [one for one in EXPERIMENTS if one.name != "packing"], ids=lambda one: one.name)
def test_experiments(experiment: Experiment) -> None:
    """Each gives at least one figure with curves and one claim, with the expected verdict."""
    outcome = experiment.run(FewRows(is_quick=True) if experiment.name in ON_FEW_ROWS else QUICK)
    assert outcome.figures
    assert all(curve.points for figure in outcome.figures for curve in figure.curves)
    assert outcome.claims
    for claim in outcome.claims:
        allowed = {"agrees", "disagrees"} if claim.name == "large-start" else {"agrees"}
        assert claim.verdict in ({"disagrees"} if claim.name in NOT_AS_STATED - {"large-start"} else allowed), claim


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
