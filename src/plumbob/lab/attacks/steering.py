"""`steering`: a dishonest party moves the peers' weights, and reads their columns in the scores that follow.

View: own sums. Nothing binds what a party contributes to its peers' sums, so it can move their weights. In the next
step it reads single people's residuals through one-hot rows of its own. Cost: that of an honest run, in which the
attacker's own columns learn nothing.

Two ways:

- `exchange`: a helper adds to one opened sum what moves the peer's weight of one column by `push`. The residual of a
  person then moves by `push` times that person's value. One column of the peers for each epoch after the first.
- `arbiter`: nobody opens a peer's sums, but a party's own part of the joint residuals can hold anything. A large number
  in one person's place moves the peers' weights along that person's row. What moves in another person's residual is the
  inner product of the two rows. All of them give the peers' rows up to a rotation.

A party refuses sums beyond `protocol.party.steering_limit`. The attacker stays far below the limit: it changes the sign
of the push from step to step, so that nothing adds up, and divides by a number that it knows.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import Encoded, EncryptedVector
from plumbob.data import Batch, batches, largest_batch
from plumbob.lab.attacks.active import ActiveAttack, AttackingParty, Reading
from plumbob.lab.attacks.attacking_parties import AttackingArbitratedParty, AttackingExchangeParty
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.interface import Condition, NotApplicable, ValueClaim, View
from plumbob.plan import Party, Plan
from plumbob.privacy.noise_cost import label_scale
from plumbob.protocol.party import LARGEST_SCORE, TrainingParty
from plumbob.protocol.widths import columns_of

OF_THE_LIMIT = 0.02
"""The share of the limit that a push takes up, if the peers' columns are as large as the attacker's own."""
AGAINST_DRIFT = 5.0
"""How much larger it is in `exchange` where the peers' weights move without a push, too."""


class SteeringParty(AttackingParty, TrainingParty):
    """Reads the same people in every epoch, and compares them with what they were in the first one."""

    def targets(self) -> NDArray[np.intp]:
        """Everybody, where a step reads a whole batch; otherwise the first rows, as many as a step surely reads."""
        is_everybody = largest_batch(len(self.shard), self.plan) <= self.columns
        return np.arange(len(self.shard) if is_everybody else min(self.columns, len(self.shard)), dtype=np.intp)

    @property
    def peer_columns(self) -> int:
        return sum(party.features for party in self._peers)

    @cached_property
    def push(self) -> float:
        """How far it moves a weight in a step."""
        label = self.sigmoid.label_weight * label_scale(self.plan.label_flip_epsilon)
        size = float(np.median(np.abs(self.shard.X).mean(axis=0)))
        limit = (label + LARGEST_SCORE) * size * self.plan.rate * self.sigmoid.gradient_scale
        return OF_THE_LIMIT * limit

    @property
    def looks(self) -> int:
        """Epochs for each direction: two where the peers' weights move without a push, too."""
        return looks_needed(self.plan, self.participant.name)

    def sign(self, step: int) -> float:
        """Of the push in effect at this step. From step to step, so that pushes do not fade; or from look to look."""
        turn = step if self.looks == 1 else self.schedule[step - 1].epoch
        return -1.0 if turn % 2 else 1.0

    def one_hot(self, batch: Batch, matrix: Encoded) -> Encoded:
        """In the place of own features: each sum is one target's residual."""
        values, places = np.zeros_like(matrix.values), self.places(batch)
        values[places, np.arange(len(places))] = 1
        return Encoded(values, matrix.encoding)

    def places(self, batch: Batch) -> NDArray[np.intp]:
        """Where the targets are in a batch."""
        return np.flatnonzero(np.isin(batch.rows, self.targets()))[: self.columns]

    def change(self, batch: Batch, directions: int) -> Vector:
        """What to add to this step's sums, in each direction, so that the next step sees its push and no other."""
        now, after = self._push_at(batch.step, directions), self._push_at(batch.step + 1, directions)
        return -(after - now) * len(batch) / (self.plan.rate * self.sigmoid.gradient_scale)

    def _push_at(self, step: int, directions: int) -> Vector:
        """The push in effect at a step: none in the first epoch, then one direction for each epoch."""
        pushed = np.zeros(directions)
        if step > len(self.schedule):
            return pushed
        direction = (self.schedule[step - 1].epoch - 2) // self.looks
        if 0 <= direction < directions:
            pushed[direction] = self.sign(step) * self.push
        return pushed

    @cached_property
    def schedule(self) -> list[Batch]:
        """Everybody knows it from the seed."""
        return list(batches(self.session.seed, len(self.shard), self.plan))

    def by_epoch(self) -> tuple[Matrix, Matrix]:
        """Per epoch and target: the residual that was read, NaN where none was, and the sign of the push then."""
        places = {int(row): place for place, row in enumerate(self.targets())}
        residuals = np.full((self.plan.passes(len(self.shard)), len(places)), np.nan)
        signs = np.ones_like(residuals)
        for reading in self.readings:
            epoch = self.schedule[reading.step - 1].epoch - 1
            columns = [places[int(row)] for row in reading.rows]
            residuals[epoch, columns] = reading.residuals
            signs[epoch, columns] = self.sign(reading.step)
        return residuals, signs

    def moved(self) -> Matrix:
        """Per direction that it got to and per target: how far a push of 1 would have moved the residual."""
        residuals, signs = self.by_epoch()
        if self.looks == 1:
            moved: Matrix = (residuals[1:] - residuals[0]) * signs[1:] / self.push
            return moved
        # A push and its opposite: half their difference is what it moved, but for what moved on its own in between.
        pairs = residuals[1 : len(residuals) - (len(residuals) - 1) % 2].reshape(-1, 2, residuals.shape[1])
        between = np.gradient(pairs.mean(axis=1), axis=0) / 2.0 if len(pairs) > 1 else pairs[:, 0] * 0.0
        halves: Matrix = (pairs[:, 0] - pairs[:, 1] + between) / (2.0 * self.push)
        return halves

    def believed(self, view: View) -> ValueClaim:
        values = np.full((view.rows, self.peer_columns), np.nan)
        values[self.targets()] = self.recovered()
        is_whole = ~np.isnan(values).any(axis=1)
        return ValueClaim(
            target="features",
            against=" + ".join(party.name for party in self._peers),
            values=values,
            is_determined=is_whole & (noise_on_residuals(view) == 0) & self.is_complete,
            left_open=self.left_open,
            conditions=self.conditions(),
            targets=self.targets(),
        )

    left_open: Literal["nothing", "rotation"] = "nothing"

    @abstractmethod
    def recovered(self) -> Matrix:
        """For each target the peers' columns; 0, the mean of a scaled column, for those that it did not get to."""

    @property
    def is_complete(self) -> bool:
        return self.plan.passes(len(self.shard)) > self.looks * self.peer_columns

    def conditions(self) -> tuple[Condition, ...]:
        name = f"epochs after the first, of which {self.looks} read a column"
        needed = f"{self.looks} for each of the peers' columns, {self.looks * self.peer_columns}"
        reference = "beyond the paper: opened sums are bound to nothing"
        return (Condition(name, float(self.plan.passes(len(self.shard)) - 1), needed, self.is_complete, reference),)

    @property
    def _peers(self) -> list[Party]:
        return [party for party in self.plan.learners if party.name != self.participant.name and party.features]


class SteeringExchangeParty(SteeringParty, AttackingExchangeParty):
    """One column of the peers after the other, by offsets on opened sums."""

    @cached_property
    def push(self) -> float:
        return super().push * (1.0 if self.looks == 1 else AGAINST_DRIFT)

    def encode_released(self, batch: Batch, residuals: Vector) -> Encoded:
        """Nothing, so that the peers' weights move by the pushes alone."""
        return Encoded(np.zeros(len(residuals), dtype=np.int64), self.widths.residuals)

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        return super().ask(batch, self.one_hot(batch, matrix))

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        places = self.places(batch)
        sums = self.slots.unpack(self.joint_replies(batch, masks), [0] * self.slots.replies)
        self.keep(batch, places, sums[: len(places)])
        return np.zeros(self.columns)

    def answer(self, batch: Batch) -> None:
        offsets = iter(self.change(batch, self.peer_columns))
        for learner, helper in self._helpers.items():
            own = np.array([next(offsets) for _ in range(self.plan.party(learner).features)])
            opened = self._shift_sums(learner, helper.open(batch.step), own)
            helper.hand_back(batch.step, self._hidden_among_helpers(learner, batch.step, opened))

    def _shift_sums(self, learner: str, opened: Sequence[int], offsets: Vector) -> list[int]:
        unit = self.widths.features.fraction_bits + self.widths.residuals.fraction_bits
        slots, changed = self._slots[learner], list(opened)
        for column, value in enumerate(offsets.tolist()):
            reply, place = divmod(column, slots.per_reply)
            changed[reply] += round(value * 2.0**unit) << (place * slots.slot_bits)
        return changed

    def recovered(self) -> Matrix:
        moved = self.moved()
        values = np.zeros((len(self.targets()), self.peer_columns))
        read = min(len(moved), self.peer_columns)
        values[:, :read] = moved[:read].T
        return values


class SteeringArbitratedParty(SteeringParty, AttackingArbitratedParty):
    """One row of the peers after the other, by large numbers in one's part of the joint residuals."""

    left_open = "rotation"

    def encode_released(self, batch: Batch, residuals: Vector) -> Encoded:
        """Nothing but the push, which moves all peers' weights along one target's row."""
        values = np.zeros(len(batch))
        change = self.change(batch, len(self.targets()))
        for target, value in zip(self.targets(), change, strict=True):
            values[batch.rows == target] = value
        encoding = self.widths.residuals
        self._lent = np.rint(values * 2.0**encoding.fraction_bits).astype(np.int64)
        return Encoded(self._lent, encoding)

    def opened_sums(self, batch: Batch, enc_residuals: EncryptedVector) -> Vector:
        places = self.places(batch)
        one_hot = self.one_hot(batch, self.encoded_features(batch))
        replies = self.joint_replies(batch, self.slots.pack(enc_residuals @ one_hot))
        sums = self.slots.unpack(replies, [0] * self.slots.replies)[: len(places)]
        others = np.array([float(value) for value in sums]) - self._lent[places]
        self.readings.append(Reading(batch.step, batch.rows[places], self.widths.residuals.decode(others)))
        return np.zeros(self.columns)

    def recovered(self) -> Matrix:
        """Inner products with some of the targets' rows fix those between all of them (Nystrom)."""
        read = min(len(self.moved()), len(self.targets()))
        products = self.moved()[:read].T
        values = np.zeros((len(products), self.peer_columns))
        if not np.isfinite(products).all():
            return values
        core = (products[:read] + products[:read].T) / 2.0
        sizes, directions = np.linalg.eigh(core)
        kept = np.argsort(sizes)[::-1][: self.peer_columns]
        kept = kept[sizes[kept] > 1e-6 * max(float(sizes.max()), 1e-300)]
        values[:, : len(kept)] = products @ directions[:, kept] / np.sqrt(sizes[kept])
        return values


def looks_needed(plan: Plan, name: str) -> int:
    """Whoever gets no residuals stays where it starts: at zero, if it has no labels of its own."""
    return 1 if plan.start == "zero" and name == plan.label_party.name else 2


def arm(plan: Plan, name: str) -> type[TrainingParty] | NotApplicable:
    """Where sums or residuals of a peer can be moved, and single residuals be read."""
    if not (plan.kind.is_encrypted and plan.kind.shows_gradients):
        return NotApplicable(f'protocol "{plan.protocol}": nobody contributes to a sum that a peer then sees')
    if not columns_of(plan, name):
        return NotApplicable("a party without columns gets no replies")
    if not any(party.features for party in plan.learners if party.name != name):
        return NotApplicable("no peer has columns")
    if plan.sigmoid != "taylor":
        return NotApplicable(f'sigmoid "{plan.sigmoid}": built against residuals that are sums of the parties\' parts')
    if plan.passes_without_sample < 2:
        return NotApplicable("one epoch only: nobody comes back after a push")
    if plan.kind.lends_keys:
        return SteeringExchangeParty
    if plan.batches != "full":
        return NotApplicable(f'batches = "{plan.batches}": the person who is pushed along is not in the next batch')
    return SteeringArbitratedParty


STEERING_BY_LABEL_PARTY = ActiveAttack(name="steering", by="label", target="features", arm=arm)
STEERING_BY_FEATURE_PARTY = ActiveAttack(name="steering", by="features", target="features", arm=arm)
ATTACKS = (STEERING_BY_LABEL_PARTY, STEERING_BY_FEATURE_PARTY)
