"""The messages of `exchange` and `arbiter`: who sends what, in which order and in how many bytes."""

from collections.abc import Iterator
from functools import cached_property
from itertools import permutations

from plumbob.crypto import Slots
from plumbob.crypto.proof import ROOTS
from plumbob.protocol.messages import Kind
from plumbob.protocol.paillier.widths import slots_for, widths_for
from plumbob.protocol.schedule import Due
from plumbob.protocol.schedules import TrainingSchedule, names_of, pair_keys
from plumbob.protocol.widths import columns_of


class PaillierSchedule(TrainingSchedule):
    """The common parts of `exchange` and `arbiter`: keys with their proofs, ciphertexts and replies."""

    @property
    def ciphertext(self) -> int:
        """Bytes of one Paillier ciphertext."""
        return 2 * self.plan.key_bits // 8

    @property
    def public_key(self) -> int:
        """Bytes of one public key with its proof."""
        return self.plan.key_bits // 8 * (1 + ROOTS)

    @cached_property
    def slots(self) -> dict[str, Slots]:
        """How the sums of every party with columns travel."""
        widths = widths_for(self.plan, self.rows)
        return {
            name: slots_for(self.plan, widths, columns, self.rows)
            for name in names_of(self.plan)
            if (columns := columns_of(self.plan, name))
        }


class ExchangeSchedule(PaillierSchedule):
    """The paper's Protocol 1: in a step everybody helps every party with columns, and learns if it has columns."""

    def set_up(self) -> Iterator[Due]:
        for ends in permutations(names_of(self.plan), 2):
            yield Due(Kind.PUBLIC_KEY, 0, *ends, self.public_key)
        yield from pair_keys(self.plan, is_needed=not self.plan.is_between_two)

    def step(self, number: int, rows: int) -> Iterator[Due]:
        for helper, learner in self._directions():
            yield Due(Kind.RESIDUALS, number, helper, learner, rows * self.ciphertext, "line 5")
        for helper, learner in self._directions():
            size = self.slots[learner].replies * self.ciphertext
            yield Due(Kind.MASKED_SUMS, number, learner, helper, size, "line 10")
        yield from self.seals(number)
        for helper, learner in self._directions():
            yield Due(Kind.OPENED_SUMS, number, helper, learner, self.slots[learner].opened_bytes, "line 11")
        yield from self.seals(number)

    def _directions(self) -> list[tuple[str, str]]:
        return [ends for ends in permutations(names_of(self.plan), 2) if ends[1] in self.slots]


class ArbiterSchedule(PaillierSchedule):
    """The arbiter's protocol: scores to the label party, joint residuals back, and sums that the arbiter opens."""

    def set_up(self) -> Iterator[Due]:
        for name in names_of(self.plan):
            yield Due(Kind.PUBLIC_KEY, 0, self._arbiter, name, self.public_key)

    def step(self, number: int, rows: int) -> Iterator[Due]:
        label = self.plan.label_party.name
        for party in self.plan.feature_parties:
            yield Due(Kind.SCORES, number, party.name, label, rows * self.ciphertext)
        for party in self.plan.feature_parties:
            yield Due(Kind.JOINT_RESIDUALS, number, label, party.name, rows * self.ciphertext)
        for name, slots in self.slots.items():
            yield Due(Kind.MASKED_SUMS, number, name, self._arbiter, slots.replies * self.ciphertext)
            yield from self.seals(number, [(name, self._arbiter)])
            yield Due(Kind.OPENED_SUMS, number, self._arbiter, name, slots.opened_bytes)
            yield from self.seals(number, [(self._arbiter, name)])

    @property
    def _arbiter(self) -> str:
        return next(party.name for party in self.plan.parties if party not in self.plan.learners)
