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

A party refuses sums beyond `lab.exchange.party.steering_limit`. The attacker stays far below the limit: it
changes the sign of the push from step to step, so that nothing adds up, and divides by a number that it knows.
"""

from abc import abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import Encoded
from plumbob.data import largest_batch
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.hooks import Summing, SumsHook, attack_with_hook, label_size
from plumbob.lab.attacks.interface import Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.peer_scores import peers_name
from plumbob.lab.exchange.packing import slots_for
from plumbob.lab.exchange.party import LARGEST_SCORE
from plumbob.plan import Plan
from plumbob.protocol.openings import columns_of

OF_THE_LIMIT = 0.02
"""The share of the limit that a push takes up, if the peers' columns are as large as the attacker's own."""
AGAINST_DRIFT = 5.0
"""How much larger a push is in `exchange` where the peers' weights also move without it."""


class Steering(SumsHook):
    """Reads the same people in every epoch, and compares them with what they were in the first one."""

    left_open: Literal["nothing", "rotation"] = "nothing"

    def __init__(self, push: float | None = None) -> None:
        self._push = push

    def rows_for_gradients(self, me: Summing, step: int, matrix: Encoded) -> Encoded:
        """One-hot rows: each sum is one target's residual."""
        values, places = np.zeros_like(matrix.values), self.places(me, step)
        values[places, np.arange(len(places))] = 1
        return Encoded(values, matrix.encoding)

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        """No sums, so that its own weights stay where they are."""
        places = self.places(me, step)
        self.keep(me, step, places, sums[: len(places)])
        return [0] * len(sums)

    def places(self, me: Summing, step: int) -> NDArray[np.intp]:
        """The targets' places in a batch."""
        return np.flatnonzero(np.isin(self.batches_of(me)[step - 1].rows, self.targets(me)))[: me.columns]

    def targets(self, me: Summing) -> NDArray[np.intp]:
        """Everybody, if a step reads a whole batch; otherwise the first rows, as many as a step surely reads."""
        is_everybody = largest_batch(len(me.shard), me.plan) <= me.columns
        return np.arange(len(me.shard) if is_everybody else min(me.columns, len(me.shard)), dtype=np.intp)

    def push(self, me: Summing) -> float:
        """How far it moves a weight in a step."""
        if self._push is not None:
            return self._push
        size = float(np.median(np.abs(me.shard.X).mean(axis=0)))
        return OF_THE_LIMIT * (label_size(me) + LARGEST_SCORE) * size * me.plan.rate * me.sigmoid.gradient_scale

    def sign(self, me: Summing, step: int) -> float:
        """The sign of the push at this step: it alternates by step, so that pushes do not fade, or by look."""
        turn = step if looks_of(me) == 1 else self.batches_of(me)[step - 1].epoch
        return -1.0 if turn % 2 else 1.0

    def change(self, me: Summing, step: int, directions: int) -> Vector:
        """What to add to this step's sums in each direction, so that the next step sees its push and no other."""
        now, after = self._push_at(me, step, directions), self._push_at(me, step + 1, directions)
        rows = len(self.batches_of(me)[step - 1])
        return -(after - now) * rows / (me.plan.rate * me.sigmoid.gradient_scale)

    def _push_at(self, me: Summing, step: int, directions: int) -> Vector:
        """The push in effect at a step: none in the first epoch, then one direction for each epoch."""
        pushed = np.zeros(directions)
        if step > len(self.batches_of(me)):
            return pushed
        direction = (self.batches_of(me)[step - 1].epoch - 2) // looks_of(me)
        if 0 <= direction < directions:
            pushed[direction] = self.sign(me, step) * self.push(me)
        return pushed

    def by_epoch(self, me: Summing) -> tuple[Matrix, Matrix]:
        """The residual read of each target in each epoch, NaN where none was, and the sign of the push then."""
        places = {int(row): place for place, row in enumerate(self.targets(me))}
        residuals = np.full((me.plan.passes(len(me.shard)), len(places)), np.nan)
        signs = np.ones_like(residuals)
        for reading in self.readings:
            epoch = self.batches_of(me)[reading.step - 1].epoch - 1
            columns = [places[int(row)] for row in reading.rows]
            residuals[epoch, columns] = reading.residuals
            signs[epoch, columns] = self.sign(me, reading.step)
        return residuals, signs

    def moved(self, me: Summing) -> Matrix:
        """How far a push of 1 would have moved each target's residual, for each direction that it got to."""
        residuals, signs = self.by_epoch(me)
        if looks_of(me) == 1:
            moved: Matrix = (residuals[1:] - residuals[0]) * signs[1:] / self.push(me)
            return moved
        # A push and its opposite: half their difference is what it moved, but for what moved on its own in between.
        pairs = residuals[1 : len(residuals) - (len(residuals) - 1) % 2].reshape(-1, 2, residuals.shape[1])
        between = np.gradient(pairs.mean(axis=1), axis=0) / 2.0 if len(pairs) > 1 else pairs[:, 0] * 0.0
        halves: Matrix = (pairs[:, 0] - pairs[:, 1] + between) / (2.0 * self.push(me))
        return halves

    def believed(self, me: Summing, view: View) -> Claim:
        targets, values = self.targets(me), np.full((view.rows, peer_columns(me)), np.nan)
        values[targets] = self.recovered(me)
        is_whole = ~np.isnan(values).any(axis=1) & (noise_on_residuals(view) == 0) & is_complete(me)
        return Claim("features", peers_name(view), values, is_whole, self.left_open, self.conditions(me), targets)

    @abstractmethod
    def recovered(self, me: Summing) -> Matrix:
        """The peers' columns of each target; 0, the mean of a scaled column, for those that it did not get to."""

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        looks = looks_of(me)
        name = f"epochs after the first, of which {looks} read a column"
        needed = f"{looks} for each of the peers' columns, {looks * peer_columns(me)}"
        reference = "beyond the paper: opened sums are bound to nothing"
        return (Condition(name, float(me.plan.passes(len(me.shard)) - 1), needed, is_complete(me), reference),)


class SteeringReplies(Steering):
    """Steering in `exchange`: one column of the peers after the other, by offsets on opened sums."""

    def push(self, me: Summing) -> float:
        return super().push(me) * (1.0 if looks_of(me) == 1 or self._push is not None else AGAINST_DRIFT)

    def residuals(self, me: Summing, step: int, released: Encoded) -> Encoded:
        """No residuals, so that the peers' weights move by the pushes alone."""
        return super().residuals(me, step, Encoded(np.zeros_like(released.values), released.encoding))

    def replies_for_peers(self, me: Summing, step: int, opened: dict[str, list[int]]) -> dict[str, list[int]]:
        offsets = iter(self.change(me, step, peer_columns(me)))
        return {
            learner: shifted(me, learner, values, [next(offsets) for _ in range(me.plan.party(learner).features)])
            for learner, values in opened.items()
        }

    def recovered(self, me: Summing) -> Matrix:
        moved = self.moved(me)
        values = np.zeros((len(self.targets(me)), peer_columns(me)))
        read = min(len(moved), peer_columns(me))
        values[:, :read] = moved[:read].T
        return values


def shifted(me: Summing, learner: str, opened: list[int], offsets: list[float]) -> list[int]:
    """The opened sums for a learner, with these offsets added."""
    unit = me.widths.features.fraction_bits + me.widths.residuals.fraction_bits
    slots = slots_for(me.plan, me.widths, columns_of(me.plan, learner), len(me.shard))
    changed = list(opened)
    for column, value in enumerate(offsets):
        reply, place = divmod(column, slots.per_reply)
        changed[reply] += round(value * 2.0**unit) << (place * slots.slot_bits)
    return changed


class SteeringResiduals(Steering):
    """Steering in `arbiter`: one row of the peers after the other, by large numbers in the joint residuals."""

    left_open = "rotation"

    def residuals(self, me: Summing, step: int, released: Encoded) -> Encoded:
        """Only the push, which moves all peers' weights along one target's row."""
        rows, targets = self.batches_of(me)[step - 1].rows, self.targets(me)
        values = np.zeros(len(rows))
        for target, value in zip(targets, self.change(me, step, len(targets)), strict=True):
            values[rows == target] = value
        pushed = np.rint(values * 2.0**released.encoding.fraction_bits).astype(np.int64)
        return super().residuals(me, step, Encoded(pushed, released.encoding))

    def recovered(self, me: Summing) -> Matrix:
        """The targets' rows up to a rotation: inner products with some of them fix those between all (Nystrom)."""
        moved = self.moved(me)
        read = min(len(moved), len(self.targets(me)))
        products = moved[:read].T
        values = np.zeros((len(products), peer_columns(me)))
        if not np.isfinite(products).all():
            return values
        core = (products[:read] + products[:read].T) / 2.0
        sizes, directions = np.linalg.eigh(core)
        kept = np.argsort(sizes)[::-1][: values.shape[1]]
        kept = kept[sizes[kept] > 1e-6 * max(float(sizes.max()), 1e-300)]
        values[:, : len(kept)] = products @ directions[:, kept] / np.sqrt(sizes[kept])
        return values


def peer_columns(me: Summing) -> int:
    """All peers' columns together."""
    return sum(party.features for party in me.plan.learners if party.name != me.participant.name)


def is_complete(me: Summing) -> bool:
    """Whether the run has an epoch for every look at every column."""
    return me.plan.passes(len(me.shard)) > looks_of(me) * peer_columns(me)


def looks_of(me: Summing) -> int:
    """How many epochs each direction takes: two where the peers' weights also move without a push.

    Whoever gets no residuals stays where it starts: at zero, if it has no labels of its own.
    """
    return 1 if me.plan.start == "zero" and me.participant.name == me.plan.label_party.name else 2


def arm(plan: Plan, name: str) -> Steering | NotApplicable:
    """A hook where sums or residuals of a peer can be moved, and single residuals be read."""
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
        return SteeringReplies()
    if plan.batches != "full":
        return NotApplicable(f'batches = "{plan.batches}": the person who is pushed along is not in the next batch')
    return SteeringResiduals()


ATTACKS = (
    attack_with_hook("steering", "label", arm),
    attack_with_hook("steering", "features", arm, "features"),
)
