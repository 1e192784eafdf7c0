"""`exchange`: the paper's Protocol 1, for two and for more parties. Each party ends every step with its own gradient.

Line numbers are those of Protocol 1, in which B helps A; here everybody does both at once. Lines 5 to 11 are in
primitive.py.

    1-4   every helper computes its part of the residuals and encrypts it     `encode_released`, `lend`
    5     and sends it                                                        `lend`
    6-8   the learner multiplies it with its own columns                      `ask`
    9-10  masks the sums and sends them                                       `ask`
    11    the helper decrypts and sends back                                  `answer`
    12    the learner takes the mask off and adds its own part                `collect`, `one_step.residual_sums`
    out   its gradient is the sums' mean over the batch, over 4               `descend`, `one_step.gradient`

In a step every party is a helper to all others and a learner toward all others. With three and more, a learner gets
only the sum over its helpers: each helper adds a mask that cancels against the other helpers', so that the view is the
same as with one helper, also for a learner that cheats.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.lab import one_step
from plumbob.lab.exchange.packing import Slots, slots_for
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.primitive import Helper, Learner, admit_key, make_key, offer_key
from plumbob.protocol.openings import columns_of
from plumbob.protocol.pair_masks import PairMasks, agree_pair_masks


class ExchangeParty(GradientParty):
    """A party of Protocol 1; the label party's residuals carry the labels, otherwise all are alike."""

    key: PrivateKey
    peer_keys: dict[str, PublicKey]
    pair_masks: PairMasks

    def prepare(self) -> None:
        self.key = make_key(self.participant)
        offer_key(self.participant, self.session.identity, self.key)
        self.peer_keys = {}
        for peer in self.participant.channels:
            known = {self.key.public.n, *(key.n for key in self.peer_keys.values())}
            self.peer_keys[peer] = admit_key(self.participant, self.session, peer, known)
        self.pair_masks = agree_pair_masks(self.participant, self.session)

    def read_sums(self, batch: Batch) -> Vector:
        # Lines 1 to 4.
        scores = self.own_scores(batch)
        residuals = one_step.partial_residuals(scores, self.signs(batch))
        released = self.use("residuals", batch.step, self.encode_released(batch, residuals))
        # Line 5.
        self.lend(batch, released)
        # Lines 6 to 10.
        masks = self.ask(batch, self.use("rows for gradients", batch.step, self.encoded_features(batch)))
        # Line 11.
        self.answer(batch)
        # Line 12.
        helper_sums = self.collect(batch, masks)
        self.refuse_steering(batch, scores, helper_sums)
        own = self.own_part(residuals, released)
        sums = one_step.residual_sums(self.shard.X[batch.rows], own, helper_sums)
        # Last, because both gradients of a step must see the same weights.
        self.descend(batch, scores, sums)
        return sums

    def lend(self, batch: Batch, released: Encoded) -> None:
        """Encrypt once, with one draw of noise, and send the same ciphertexts to every learner."""
        enc_released = self.key.encrypt(released)
        for helper in self._helpers.values():
            helper.lend(batch.step, enc_released)

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        masks = []
        for learner in self._learners.values():
            lent = self.use("encrypted residuals", batch.step, learner.lent(batch.step, len(batch)))
            enc_sums = self.use("encrypted sums", batch.step, self.slots.pack(lent @ matrix))
            masks.append(learner.ask(batch.step, enc_sums))
        return masks

    def answer(self, batch: Batch) -> None:
        """Open what learners asked for."""
        opened = {learner: helper.open(batch.step) for learner, helper in self._helpers.items()}
        for learner, values in self.use("replies for peers", batch.step, opened).items():
            # Masks cancel in the sum over all helpers.
            moduli = self._peer_slots[learner].moduli
            hidden = self.pair_masks.hide(learner, batch.step, values, range(len(values)), moduli)
            self._helpers[learner].hand_back(batch.step, hidden)

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        """Collect the sum over all helpers, and nothing of any single one."""
        replies = [learner.collect(batch.step) for learner in self._learners.values()]
        if not replies:
            return np.zeros(0)
        joint_reply = [sum(values) for values in zip(*replies, strict=True)]
        joint_mask = [sum(values) for values in zip(*masks, strict=True)]
        sums = self.use("opened sums", batch.step, self.slots.unpack(joint_reply, joint_mask))
        return self.widths.decode_sums(sums)

    @cached_property
    def slots(self) -> Slots:
        """How this party's own sums travel."""
        return self._slots_for(self.use("claimed columns", 0, self.columns))

    @cached_property
    def _peer_slots(self) -> dict[str, Slots]:
        """How every peer's sums travel; key lengths are equal, so any key serves to say."""
        return {peer: self._slots_for(columns_of(self.plan, peer)) for peer in self.peer_keys}

    def _slots_for(self, columns: int) -> Slots:
        return slots_for(self.plan, self.widths, columns, len(self.shard))

    @cached_property
    def _helpers(self) -> dict[str, Helper]:
        """A helper toward every peer that has columns to learn for."""
        return {
            peer: Helper(self.participant.channels[peer], self.key, self._peer_slots[peer])
            for peer in self.peer_keys
            if columns_of(self.plan, peer)
        }

    @cached_property
    def _learners(self) -> dict[str, Learner]:
        if not self.columns:
            return {}
        return {peer: Learner(self.participant.channels[peer], key, self.slots) for peer, key in self.peer_keys.items()}
