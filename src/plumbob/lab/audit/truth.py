"""The truth about a run, from all parties' transcripts together. Only the auditor has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.errors import DataError
from plumbob.lab.attacks import View
from plumbob.lab.simulate import Run
from plumbob.lab.transcript import Transcript
from plumbob.plan import Plan
from plumbob.record import RunRecord
from plumbob.run_folder import RunFolder


class Fitted(Protocol):
    """An estimator after `fit`."""

    @property
    def record_(self) -> RunRecord: ...


RunSource = RunRecord | Run | Fitted | str | Path
"""What an audit can take: a record that still has its transcripts, a run, a fitted model, or a run's folder."""


@dataclass(frozen=True, repr=False, eq=False)
class Truth:
    """Everybody's view of one run, side by side."""

    plan: Plan
    views: dict[str, View]
    """The view of each party with columns; an arbiter holds no rows, and has no view to attack from."""

    @classmethod
    def of(cls, source: RunSource) -> "Truth":
        """The truth from whatever holds the transcripts; refuses a run without them, or transcripts that do not fit."""
        record, transcripts = _open(source)
        plan = record.parsed_plan
        absent = [party.name for party in plan.learners if party.name not in transcripts]
        if absent:
            raise DataError(
                f"nothing was recorded of {', '.join(absent)}, so there is nothing to attack; train with record=True,"
                " or give the folder that `plumbob train` wrote"
            )
        views = {party.name: View.of(transcripts[party.name], plan) for party in plan.learners}
        _refuse_strangers(plan, views)
        return cls(plan, views)

    @cached_property
    def is_positive(self) -> NDArray[np.bool_]:
        """The labels of all training rows."""
        is_one: NDArray[np.bool_] = np.asarray(self.views[self.plan.label_party.name].y) == 1
        return is_one

    @property
    def rows(self) -> int:
        return len(self.is_positive)

    def parties_in(self, against: str) -> list[str]:
        """The parties that a claim is about: one, or several as `fund+shop`, where only their sum is known."""
        names = against.split("+")
        if unknown := [name for name in names if name not in self.views]:
            raise DataError(f"a claim against {', '.join(unknown)}, expected among {', '.join(self.views)}")
        return names

    def features(self, against: str) -> Matrix:
        """The party's columns as training saw them, without the intercept's; those of several side by side."""
        return np.hstack([self.views[name].X[:, : self.plan.party(name).features] for name in self.parties_in(against)])

    def weights(self, against: str) -> Vector:
        """The weights at the end, without the intercept's; those of several parties one after the other."""
        names = self.parties_in(against)
        return np.concatenate([self.views[name].weights[: self.plan.party(name).features] for name in names])

    def scores(self, against: str) -> Matrix:
        """The party's part of each row's score when it was last in a batch, NaN if it never was; of several, their sum.

        In `shares` nobody has the weights of that moment: those that were opened right after it stand for them.
        """
        total = np.zeros((self.rows, 1))
        for name in self.parties_in(against):
            total[:, 0] += _scores_at_last_visit(self.views[name])
        return total


def _open(source: RunSource) -> tuple[RunRecord, Mapping[str, Transcript]]:
    if isinstance(source, Run):
        return source.record, source.transcripts
    if not isinstance(source, RunRecord | str | Path):
        source = _record_of(source)
    if isinstance(source, RunRecord):
        return source, source.transcripts
    folder = RunFolder(Path(source))
    record = folder.record()
    if not record.is_finished:
        raise DataError(f"{folder.path}: the run did not finish ({record.status}); train it again")
    files = {party.name: folder.transcript_file(party.name) for party in record.parsed_plan.learners}
    return record, {name: Transcript.load(file) for name, file in files.items() if file.exists()}


def _record_of(model: Fitted) -> RunRecord:
    record = getattr(model, "record_", None)
    if not isinstance(record, RunRecord):
        kind = type(model).__name__
        raise DataError(f"expected a run's record, a fitted model or a run's folder, got {kind}; call fit first")
    return record


def _refuse_strangers(plan: Plan, views: Mapping[str, View]) -> None:
    """Refuse transcripts of other runs or of swapped parties, which would silently make every number wrong."""
    label = views[plan.label_party.name]
    for name, view in views.items():
        if view.party != name or view.plan != plan or view.seed != label.seed or view.rows != label.rows:
            raise DataError(f"the transcript of {name} is of another run; all parties' must come from the same one")


def _scores_at_last_visit(view: View) -> Vector:
    scores = np.full(view.rows, np.nan if view.X.shape[1] else 0.0)
    if view.has_sums:
        for batch, _, own_scores, _ in view.steps():
            scores[batch.rows] = own_scores
    elif len(view.weights):
        scores = view.X @ view.weights
    return scores
