"""Runs that an attack has to itself, and scores of rows after them: what the auditor sets the stage with."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import Table
from plumbob.lab.attacks import View
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.audit.again import in_clear, plan_again, tables_again
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run, train
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.program import party_class


@dataclass(frozen=True, repr=False, eq=False)
class RunsAgain:
    """One attacker's stage: the same rows and plan, with its labels or its hook."""

    truth: Truth
    by: str
    scored: int

    @property
    def view(self) -> View:
        return self.truth.views[self.by]

    def known(self, rows: NDArray[np.intp]) -> Matrix:
        return np.hstack([self.truth.features(name)[rows] for name in self._peers])

    def scores(self, rows: NDArray[np.intp], labels: NDArray[np.int8] | None = None, hook: Any = None) -> Vector:
        return self._from_clear(rows, labels) if hook is None else self._from_shares(rows, hook)

    @property
    def _peers(self) -> list[str]:
        plan = self.truth.plan
        return [party.name for party in plan.learners if party.name != self.by and party.features]

    def _from_clear(self, rows: NDArray[np.intp], labels: NDArray[np.int8] | None) -> Vector:
        """Honest messages about these labels: what is calculated is the same without cryptography."""
        tables = tables_again(self.truth)
        own = tables[self.by]
        run = train(in_clear(plan_again(self.truth.plan)), {**tables, self.by: replace(own, labels=labels)})
        parts = [self.truth.features(name)[rows] @ run.transcripts[name].weights for name in self._peers]
        scores: Vector = np.sum(parts, axis=0)
        if not self.truth.plan.is_closed:
            return scores
        unit = 2.0**OPENED_SCORES.fraction_bits
        offset = float(run.transcripts[self.by].weights[-1]) if self.truth.plan.intercept else 0.0
        return np.asarray(np.rint((scores + offset) * unit) / unit, dtype=np.float64)

    def _from_shares(self, rows: NDArray[np.intp], hook: Hook) -> Vector:
        tables = tables_again(self.truth)
        asked = {name: table.take(rows) for name, table in tables.items()}
        asked[self.by] = _at_their_mean(tables[self.by], asked[self.by])
        return acted_out(self.truth, self.by, hook).model.scores(asked)

    def scores_of_own_rows(self, rows: NDArray[np.intp], hook: Hook) -> Vector:
        """Joint scores of training rows as they are, after a run with this hook."""
        asked = {name: table.take(rows) for name, table in tables_again(self.truth).items()}
        return acted_out(self.truth, self.by, hook).model.scores(asked)


def acted_out(truth: Truth, by: str, hook: Hook) -> Run:
    """The same training with a hook on one party's quantities."""
    plan = plan_again(truth.plan)
    return train(plan, tables_again(truth), instead={by: hooked(party_class(plan.kind), hook)})


def _at_their_mean(every: Table, asked: Table) -> Table:
    """Own columns that add nothing to a score but a constant."""
    means = [float(np.mean(column.values)) for column in every.columns]
    columns = tuple(
        replace(column, values=np.full(len(asked), mean)) for column, mean in zip(asked.columns, means, strict=True)
    )
    return replace(asked, columns=columns)
