"""The messages of `exchange` and `arbiter`: who sends what, in which order and in how many bytes.

The widths of what travels under a Paillier key follow from public numbers only: the plan, its rows and columns. They
are proved here, before a run starts, to hold whatever an honest party can have to say.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import permutations

from plumbob.checking.study import Widths, widths_for
from plumbob.data import largest_batch
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.profiles import Profile, for_key_bits, insecure_for_tests
from plumbob.lab.exchange.proof import ROOTS
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import columns_of
from plumbob.protocol.schedules import Due, TrainingSchedule, names_of, pair_keys, to_all


def profile_of(plan: Plan) -> Profile:
    """The encryption parameters for the plan's key length."""
    return insecure_for_tests(plan.key_bits) if plan.test_only_keys else for_key_bits(plan.key_bits)


def slots_for(plan: Plan, widths: Widths, columns: int, training_rows: int) -> Slots:
    """How a learner's sums travel under a helper's key."""
    # In `arbiter` the joint residuals hold the learner's own part too.
    helpers = len(plan.learners) - (1 if plan.arbiter is None else 0)
    bits, profile = widths.sums(largest_batch(training_rows, plan), helpers), profile_of(plan)
    if plan.replies == "packed":
        return Slots.packed(profile, columns, bits, plan.reply_slots)
    return Slots.paper(profile, columns, bits)


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
        yield from to_all(Kind.PUBLIC_KEY, names_of(self.plan), self.public_key)
        yield from pair_keys(self.plan)

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
            yield Due(Kind.PUBLIC_KEY, 0, arbiter_of(self.plan), name, self.public_key)

    def step(self, number: int, rows: int) -> Iterator[Due]:
        label = self.plan.label_party.name
        for party in self.plan.feature_parties:
            yield Due(Kind.SCORES, number, party.name, label, rows * self.ciphertext)
        for party in self.plan.feature_parties:
            yield Due(Kind.JOINT_RESIDUALS, number, label, party.name, rows * self.ciphertext)
        for name, slots in self.slots.items():
            yield Due(Kind.MASKED_SUMS, number, name, arbiter_of(self.plan), slots.replies * self.ciphertext)
            yield from self.seals(number, [(name, arbiter_of(self.plan))])
            yield Due(Kind.OPENED_SUMS, number, arbiter_of(self.plan), name, slots.opened_bytes)
            yield from self.seals(number, [(arbiter_of(self.plan), name)])


def arbiter_of(plan: Plan) -> str:
    """The party that holds the key; the plan has one where the protocol needs it."""
    return next(party.name for party in plan.parties if party.role == "arbiter")
