"""The messages of `shares`: who sends what, in which order and in how many bytes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations

from plumbob.crypto.lattice import Layout, ParameterSet, SlotLayout
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.protocol.account import HASH_BYTES
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import WEIGHTS, columns_of
from plumbob.protocol.schedules import Due, TrainingSchedule, names_of, pair_keys, to_all
from plumbob.protocol.shares.shape import LatticeShape, Stage

ELEMENT_BYTES = 16  # Of a share of a weight.
COMMITMENT_BYTES = 32  # Of one to the answer in a test of a key.


class SharesSchedule(TrainingSchedule):
    """The messages of `shares`: keys for all passes and their tests, then products, then openings."""

    @cached_property
    def shape(self) -> LatticeShape:
        return LatticeShape(self.plan, self.rows)

    def set_up(self) -> Iterator[Due]:
        yield from pair_keys(self.plan)
        for sender, receiver in permutations(names_of(self.plan), 2):
            size = ELEMENT_BYTES * columns_of(self.plan, sender)
            yield Due(Kind.START_SHARE, 0, sender, receiver, size, "step 0")
        for ends in permutations(names_of(self.plan), 2):
            owned, theirs = self._sets_between(*ends), self._sets_between(*reversed(ends))
            yield from tested_keys(ends, owned, theirs, "test of keys", "step 0")

    def _sets_between(self, owner: str, evaluator: str) -> list[ParameterSet]:
        """The parameter sets of all keys under which one party encrypts for another."""
        scores, gradients, _ = self.shape.sets_for(evaluator)
        names = names_of(self.plan)
        staged = sum(
            names.index(owner) in stage.owners and names.index(evaluator) in stage.evaluators
            for stage in self.shape.stages
        )
        slots = [self.shape.profile[2]] * staged
        return [
            one
            for _, shape in self.shape.keyed_passes
            for one in (scores, *[gradients] * len(shape.sum_blocks), *slots * len(shape.pieces))
        ]

    def step(self, number: int, rows: int) -> Iterator[Due]:
        shape = self.shape.at(rows)
        names = names_of(self.plan)
        yield from self._products(number, {name: shape.scores(name) for name in names}, "step 1")
        for piece in shape.pieces:
            for stage in shape.stages:
                yield from self._stage(number, stage, shape.slots(piece, is_turn=stage.is_turn))
        for layouts in zip(*map(shape.gradients, names), strict=True):
            yield from self._products(number, dict(zip(names, layouts, strict=True)), "step 3")
        yield from self._lifted_sums(number, shape)

    def _products(self, number: int, layouts: Mapping[str, Layout], where: str) -> Iterator[Due]:
        """Messages of products among all parties; a layout belongs to the party that multiplies."""
        for owner, evaluator in permutations(layouts, 2):
            size = SEED_BYTES + layouts[evaluator].request_bytes
            yield Due(Kind.LATTICE_REQUEST, number, owner, evaluator, size, where)
        for owner, evaluator in permutations(layouts, 2):
            yield Due(Kind.LATTICE_REPLY, number, evaluator, owner, layouts[evaluator].reply_bytes, where)

    def _stage(self, number: int, stage: Stage, layout: SlotLayout) -> Iterator[Due]:
        """Messages of one stage: the owners ask the evaluators, and all of them lift what they hold."""
        names = names_of(self.plan)
        pairs = [(names[owner], names[evaluator]) for owner in stage.owners for evaluator in stage.evaluators]
        for ends in pairs:
            yield Due(Kind.LATTICE_REQUEST, number, *ends, SEED_BYTES + layout.request_bytes, "step 2")
        for owner, evaluator in pairs:
            yield Due(Kind.LATTICE_REPLY, number, evaluator, owner, layout.reply_bytes, "step 2")
        if stage.is_masked:
            size = self.shape.staged(stage).size(layout.outputs * layout.rows)
            for place in stage.holders[1:]:
                yield Due(Kind.MASKED_SHARE, number, names[place], names[0], size, "step 2")

    def _lifted_sums(self, number: int, shape: LatticeShape) -> Iterator[Due]:
        if self.plan.is_between_two:
            return
        label, *others = names_of(self.plan)
        size = shape.lifted_sums.size(sum(columns_of(self.plan, name) for name in (label, *others)))
        for name in others:
            yield Due(Kind.MASKED_SHARE, number, name, label, size, "step 3")

    def finish(self) -> Iterator[Due]:
        pairs = list(permutations(names_of(self.plan), 2))
        if self.plan.opens_weights:
            yield from self.seals(0)
            for sender, receiver in pairs:
                size = WEIGHTS.size(columns_of(self.plan, receiver))
                yield Due(Kind.WEIGHT_SHARE, 0, sender, receiver, size, "step 5")
            yield from self.seals(0)
            return
        bound = [self.shape.profile[0]]
        for ends in pairs:
            yield from tested_keys(ends, bound, bound, "test for prediction", "step 5")
        for sender, receiver in pairs:
            size = SEED_BYTES + self.shape.scores(receiver, 1).request_bytes
            yield Due(Kind.BOUND_SHARE, 0, sender, receiver, size, "step 5")
        if not self.plan.is_between_two:
            names = names_of(self.plan)
            yield from to_all(Kind.BOUND_HASHES, names, HASH_BYTES * (len(names) - 1), where="step 5")


def tested_keys(
    ends: tuple[str, str], owned: Sequence[ParameterSet], theirs: Sequence[ParameterSet], test: str, where: str
) -> Iterator[Due]:
    """Messages of one end: its keys at once, then its part in the tests of both ends' keys, which may repeat."""
    owned_bytes, their_bytes = (sum(one.polynomial_bytes for one in sets) for sets in (owned, theirs))
    yield Due(Kind.LATTICE_KEYS, 0, *ends, owned_bytes, where)
    for kind, size in (
        (Kind.KEY_CHALLENGES, 2 * their_bytes),
        (Kind.KEY_COMMITMENTS, COMMITMENT_BYTES * len(owned)),
        (Kind.KEY_REVEALS, SEED_BYTES * len(theirs)),
        (Kind.KEY_NONCES, (1 + SEED_BYTES) * len(owned)),
    ):
        yield Due(kind, 0, *ends, size, where, again=test)
