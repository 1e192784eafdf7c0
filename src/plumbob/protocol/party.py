"""One party in training: what is the same in every protocol.

A party knows its own table, the plan and its channels. It agrees with its peers, prepares its own rows, walks through
the batches and can give a transcript. A protocol adds what is said in a step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector
from plumbob.crypto.fixed_point import Encoding
from plumbob.data import Batch, Shard, Table, all_steps, batches, build_shard, store
from plumbob.data.shards import RowTreatment
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.plan.mistakes import refuse_large_delta
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.protocol.account import Numbers
from plumbob.protocol.handshake import JointSession, agree, fix_numbers
from plumbob.protocol.journal import KEYS, Resumed, State
from plumbob.protocol.openings import ENTRY_INTEGER_BITS, columns_of
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant

Quantity = TypeVar("Quantity")
AfterStep = Callable[[Batch, int], None]
"""Called after each step with its batch and the number of steps in all."""


class TrainingParty(ABC):
    """A party that holds columns."""

    training_rows: int
    """How many rows are trained on."""
    seed: bytes = b""
    """The seed of the order of rows."""

    def __init__(self, participant: Participant, table: Table, progress: AfterStep | None = None) -> None:
        self.participant = participant
        self.plan = participant.plan
        self.table = table
        self.sigmoid = SIGMOIDS[self.plan.sigmoid]
        self.noise_draws = 0
        self._progress = progress

    session: JointSession
    shard: Shard
    start: Vector
    weights: Vector

    def run(self) -> None:
        """Run the whole training, from the greeting on; after a restart, what is left of it."""
        self.set_up()
        resumed = self.participant.take_up()
        self.settle_keys(resumed)
        if resumed is not None and resumed.phase != KEYS:
            self.restore(resumed)
        steps = all_steps(len(self.shard), self.plan)
        for batch in batches(self.session.seed, len(self.shard), self.plan):
            if resumed is not None and batch.step <= resumed.phase:
                continue
            self.participant.begin_step(batch.step)
            self.step(batch)
            self.participant.finish_step(batch.step, self.state())
            if self._progress is not None:
                self._progress(batch, steps)
        self.participant.begin_step(steps + 1)
        self.finish()

    def set_up(self) -> None:
        """Do everything before the first step. All that is drawn only once is drawn here."""
        refuse_large_delta(self.plan, len(self.table))
        self.session = agree(self.participant, self.table.ids)
        self.shard = self.own_rows()
        self.training_rows, self.seed = len(self.shard), self.session.seed
        encoding = self.feature_encoding()
        # All of them before a key is made: a run must not end in the middle because of a row that comes late.
        for piece in store.pieces(len(self.shard)):
            encoding.encode(self.shard.X[piece], "features")
        self.start = self.weights = self.own_start()
        self.take_numbers(fix_numbers(self.participant, self.own_numbers()))
        self.prepare()

    def own_rows(self) -> Shard:
        """Own rows as training sees them: encoded, scaled and limited."""
        trained = len(self.table) - self.plan.held_out(len(self.table))
        treatment = self._paid_treatment(trained) if self.plan.noise == "rows" else None
        key = self.participant.held_out_key or self.session.seed
        return build_shard(self.table, self.plan, self.participant.name, key, treatment)

    def _paid_treatment(self, trained: int) -> RowTreatment:
        """How own rows are scaled and limited under a promise about whole rows, once the run is paid for."""
        # Late: a plan without such a promise needs nothing of it.
        from plumbob.protocol.row_noise import HomeTreatment, run_failure, spending_of_a_run

        self.participant.spend_rows(spending_of_a_run(self.plan, trained))
        draw = self.participant.draws.of("noise at home").draw
        return HomeTreatment(self.plan.on(trained), self.participant.name, draw, run_failure(self.plan, trained))

    def own_start(self) -> Vector:
        """This party's part of the starting weights: zeros, where a study has no other start."""
        return np.zeros(self.columns)

    def own_numbers(self) -> Numbers:
        """Everything that depends on this party's data and shapes its messages."""
        nothing = np.zeros(0)
        signs = nothing if self.all_signs is None else self.all_signs
        return {"rows": self.shard.X, "signs": signs, "start": self.start, "penalty": np.asarray(self.penalties)}

    def take_numbers(self, numbers: Numbers) -> None:
        """Calculate with the numbers that were settled; floating point is settled as it is."""
        self.start = self.weights = numbers["start"]

    @property
    @abstractmethod
    def engine_name(self) -> str:
        """The name of the engine that calculates, for the record."""

    @abstractmethod
    def state(self) -> State:
        """The state that the next step depends on, beyond what `set_up` makes."""

    @abstractmethod
    def restore(self, resumed: Resumed) -> None:
        """Take up the state after the last finished step."""

    def use(self, name: str, step: int, value: Quantity) -> Quantity:
        """A named quantity just before this party uses it: unchanged. The red team's party overrides it."""
        return value

    @abstractmethod
    def prepare(self) -> None:
        """Make whatever must be there before the keys."""

    def settle_keys(self, resumed: Resumed | None) -> None:
        """Agree on the keys of all steps, or take those that an earlier start left."""
        return

    @abstractmethod
    def step(self, batch: Batch) -> None:
        """Take one step."""

    def finish(self) -> None:
        """Exchange what follows the last step: nothing, except in `shares`."""
        return

    def refuse_result(self) -> None:
        """Raise DivergenceError where the result is unusable, after the last message; no peer is told."""
        return

    def model_part(self) -> ModelPart:
        """The part of the model that this party keeps."""
        part = ModelPart.of(self.plan.party(self.participant.name), self.shard, self.weights, self.table.classes)
        return replace(part, run=self.session.identity.hex())

    def feature_encoding(self) -> Encoding:
        """The encoding of own rows; what does not fit is refused before anything depends on it."""
        return Encoding(self.plan.feature_bits, ENTRY_INTEGER_BITS)

    @property
    def columns(self) -> int:
        """How many columns this party has, the intercept included."""
        return columns_of(self.plan, self.participant.name)

    @property
    def penalties(self) -> Vector | Matrix:
        return self.shard.penalties(self.plan.l2)

    @cached_property
    def all_signs(self) -> Vector | None:
        """All labels as -1/+1, at the label party."""
        return None if self.shard.y is None else logistic.signs_of(self.shard.y)


def row_weights(plan: Plan, y: ArrayLike, given: Vector | None = None) -> Vector:
    """How much each training row counts, `given` by the label party; under the public rate none counts more than 1."""
    own: Vector = np.ones(len(np.asarray(y))) if given is None else logistic.rounded_weights(given)
    if plan.class_weight == "none":
        return own
    balanced = logistic.class_weights(y) if plan.learning_rate else logistic.bounded_class_weights(y)
    return balanced if given is None else logistic.rounded_weights(balanced * own)
