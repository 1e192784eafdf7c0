"""Parties of `exchange` and `arbiter` that lay into their masked sums what they like, and keep what they read.

Everything else is as agreed: the number of ciphertexts, their masks, their fresh randomness. Nothing that the helper or
the arbiter receives looks different.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import EncryptedVector, PublicKey, Slots
from plumbob.crypto.packing import centred
from plumbob.data import Batch
from plumbob.lab.attacks.active import AttackingParty, Reading
from plumbob.model import logistic
from plumbob.protocol.arbiter import ArbitratedParty
from plumbob.protocol.exchange import ExchangeParty
from plumbob.protocol.messages import Kind
from plumbob.protocol.primitive import Learner

RowNumbers = Sequence[int] | NDArray[np.intp]
Lay = Callable[[EncryptedVector], EncryptedVector]
"""From the ciphertexts of residuals to what is sent in the place of their sums."""


class FreeLearner(Learner):
    """A learner that decides itself what it sends back."""

    def ask_for(self, step: int, received: int, bits: int, lay: Lay) -> list[int]:
        """Send what `lay` makes of the helper's ciphertexts, `bits` wide, masked and randomised like honest sums."""
        enc_laid = lay(self._receive_values(step, received))
        mask = self._key.random_mask(len(enc_laid), bits)
        self._channel.send(Kind.MASKED_SUMS, step, (enc_laid + mask).randomised().to_bytes())
        return mask


class AttackingExchangeParty(AttackingParty, ExchangeParty):
    """What it reads is the sum of its helpers' parts of the residuals."""

    @cached_property
    def free_learners(self) -> dict[str, FreeLearner]:
        """A learner toward every helper that may ask for anything, not only for honest sums."""
        return {
            peer: FreeLearner(self.participant.channels[peer], key, self.slots) for peer, key in self.peer_keys.items()
        }

    @property
    def slots(self) -> Slots:
        """How its sums come back."""
        return self._slots[self.participant.name]

    @property
    def reply_key(self) -> PublicKey:
        """A key of the length under which they come back."""
        return self.key.public

    def ask_for(self, batch: Batch, received: int, bits: int, lay: Lay) -> list[list[int]]:
        return [learner.ask_for(batch.step, received, bits, lay) for learner in self.free_learners.values()]

    def joint_replies(self, batch: Batch, masks: Sequence[Sequence[int]]) -> list[int]:
        """For each reply the sum over all helpers, unmasked, modulo what they hand back and centred."""
        replies = [learner.collect(batch.step) for learner in self.free_learners.values()]
        pairs = zip(zip(*replies, strict=True), zip(*masks, strict=True), self.slots.moduli, strict=True)
        return [centred(sum(values) - sum(hidden), modulus) for values, hidden, modulus in pairs]

    def keep(self, batch: Batch, places: RowNumbers, residuals: Sequence[int]) -> None:
        """Remember what was read at some places of a batch."""
        values = self.widths.residuals.decode([float(value) for value in residuals])
        self.readings.append(Reading(batch.step, batch.rows[np.asarray(places, dtype=np.intp)], values))


class AttackingArbitratedParty(AttackingParty, ArbitratedParty):
    """What it reads are the joint residuals, from which it takes its own part."""

    @property
    def slots(self) -> Slots:
        """How its sums come back."""
        return self._slots

    @property
    def reply_key(self) -> PublicKey:
        """The key under which they come back."""
        return self.arbiter_key

    def joint_replies(self, batch: Batch, enc_laid: EncryptedVector) -> list[int]:
        """What the arbiter decrypts of these, unmasked, modulo what it hands back and centred."""
        mask = self._mask(len(enc_laid))
        arbiter = self.participant.channels[self._arbiter]
        arbiter.send(Kind.MASKED_SUMS, batch.step, (enc_laid + mask).randomised().to_bytes())
        opened = self.slots.from_bytes(arbiter.receive(Kind.OPENED_SUMS, batch.step, self.slots.opened_bytes))
        pairs = zip(opened, mask, self.slots.moduli, strict=True)
        return [centred(value - hidden, modulus) for value, hidden, modulus in pairs]

    def keep(self, batch: Batch, places: RowNumbers, residuals: Sequence[int]) -> None:
        """Remember what was read at some places of a batch, without what this party added itself."""
        chosen = np.asarray(places, dtype=np.intp)
        own = logistic.partial_residuals(self.own_scores(batch), self.signs(batch))[chosen]
        joint = np.array([float(value) for value in residuals])
        others = joint - self.widths.residuals.encode(own, "own residuals").values
        self.readings.append(Reading(batch.step, batch.rows[chosen], self.widths.residuals.decode(others)))
