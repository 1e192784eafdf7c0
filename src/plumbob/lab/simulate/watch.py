"""The joint quality after each epoch, while the parties still train: for whoever watches the simulation.

On a network nobody has all parts, and nobody could draw this curve. In `shares` nobody has any part before the end, and
`clear` is over before a curve could grow: both have none.
"""

import threading
from collections.abc import Callable, Mapping

import numpy as np

from plumbob.arrays import Vector
from plumbob.data import Batch, Table, steps_per_epoch
from plumbob.model.links import log_odds
from plumbob.plan import Plan
from plumbob.protocol.outcome import Metrics, measured
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import TrainingParty, party_class

WATCHABLE = ("exchange", "arbiter")

AfterEpoch = Callable[[int, Metrics], None]
"""Called with an epoch's number and its metrics, from the thread of the party that ended it last."""


class EpochWatch:
    """Collects what each party's part scores on the judged rows; the last one to end an epoch completes it."""

    def __init__(self, plan: Plan, judged_on: Mapping[str, Table], tell: AfterEpoch) -> None:
        self._plan = plan
        self._tables = judged_on
        self._tell = tell
        self._lock = threading.Lock()
        self._scores: dict[int, dict[str, Vector]] = {}

    def watched(self) -> dict[str, type[TrainingParty]]:
        """The protocol's own parties, which also tell when an epoch is over."""
        if self._plan.protocol not in WATCHABLE:
            return {}
        return {party.name: _telling(party_class(self._plan.kind), self._note) for party in self._plan.learners}

    def _note(self, epoch: int, name: str, part: ModelPart) -> None:
        scores = part.partial_scores(self._tables[name])
        with self._lock:
            parts = self._scores.setdefault(epoch, {})
            parts[name] = scores
            is_complete = len(parts) == len(self._plan.learners)
        if is_complete:
            joint: Vector = np.sum(list(self._scores.pop(epoch).values()), axis=0)
            labels = np.asarray(self._tables[self._plan.label_party.name].labels, dtype=np.float64)
            self._tell(epoch, measured(labels, log_odds(self._plan, joint)))


def _telling(party_class: type[TrainingParty], note: Callable[[int, str, ModelPart], None]) -> type[TrainingParty]:
    class Telling(party_class):  # type: ignore[valid-type, misc]  # The class is chosen by the plan.
        def step(self, batch: Batch) -> Vector:
            sums: Vector = super().step(batch)
            if batch.step % steps_per_epoch(len(self.shard), self.plan) == 0:
                note(batch.epoch, self.participant.name, self.model_part())
            return sums

    return Telling
