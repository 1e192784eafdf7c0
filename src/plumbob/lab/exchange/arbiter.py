"""`arbiter`: a third party holds the key and decrypts the gradients (Hardy et al. 2017, FATE's hetero-LR).

    feature parties -> label party   their scores, encrypted under the arbiter's key
    label party -> feature parties   the joint residuals, encrypted, freshly randomised
    every party -> arbiter           its packed, masked sums
    arbiter -> every party           what it decrypted, truncated

Masked sums tell the arbiter nothing. The plan can switch the masks off, as others ship it, so that an audit can show
the difference. The arbiter together with any one party can decrypt every residual: that they do not collude is assumed.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.study import widths_for
from plumbob.crypto import Encoded
from plumbob.data import Batch, all_steps
from plumbob.errors import RemoteProtocolError
from plumbob.lab import one_step
from plumbob.lab.exchange.packing import Slots, slots_for
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey
from plumbob.lab.exchange.party import GradientParty
from plumbob.lab.exchange.primitive import admit_from, admit_key, engine_of, make_key, offer_key
from plumbob.plan import Plan
from plumbob.protocol.handshake import fix_numbers, greet_peers
from plumbob.protocol.limits import shows_quality
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import columns_of
from plumbob.protocol.participant import Participant


class ArbitratedParty(GradientParty):
    """A party with columns; the label party is the one that adds the scores up."""

    arbiter_key: PublicKey

    def prepare(self) -> None:
        self.arbiter_key = admit_key(self.participant, self.session, arbiter_of(self.plan), ())

    def read_sums(self, batch: Batch) -> Vector:
        scores = self.own_scores(batch)
        own = one_step.partial_residuals(scores, self.signs(batch))
        released = self.use("residuals", batch.step, self.encode_released(batch, own))
        joint = self.use("encrypted residuals", batch.step, self.joint_residuals(batch, released))
        sums = self.opened_sums(batch, joint)
        if len(sums):
            own_sums = released.encoding.decode(released.values) @ self.shard.X[batch.rows]
            self.refuse_steering(batch, scores, sums - own_sums)
        # Last, because all gradients of a step must see the same weights.
        self.descend(batch, scores, sums)
        return sums

    def joint_residuals(self, batch: Batch, released: Encoded) -> EncryptedVector:
        """The sum of all parties' parts of the residuals, under the arbiter's key, at every party."""
        own = self.arbiter_key.encrypt(released)
        if not self._is_label_party:
            label_party = self.participant.channels[self.plan.label_party.name]
            label_party.send(Kind.SCORES, batch.step, own.to_bytes())
            received = label_party.receive(Kind.JOINT_RESIDUALS, batch.step, self._ciphertexts(batch))
            return admit_from(label_party, self.arbiter_key, received, len(batch))
        joint: EncryptedVector = own
        for party in self.plan.feature_parties:
            channel = self.participant.channels[party.name]
            scores = channel.receive(Kind.SCORES, batch.step, self._ciphertexts(batch))
            joint = joint + admit_from(channel, self.arbiter_key, scores, len(batch))
        for party in self.plan.feature_parties:
            # Without fresh randomness a feature party would divide by its own ciphertext and read the rest.
            self.participant.channels[party.name].send(Kind.JOINT_RESIDUALS, batch.step, joint.randomised().to_bytes())
        return joint

    def _ciphertexts(self, batch: Batch) -> int:
        """Bytes of one ciphertext for each row of a batch."""
        return len(batch) * self.arbiter_key.ciphertext_bytes

    def opened_sums(self, batch: Batch, enc_residuals: EncryptedVector) -> Vector:
        if not self.columns:
            return np.zeros(0)
        X = self.use("rows for gradients", batch.step, self.encoded_features(batch))
        enc_sums = self.use("encrypted sums", batch.step, self.slots.pack(enc_residuals @ X))
        mask = self._mask(len(enc_sums))
        arbiter = self.participant.channels[arbiter_of(self.plan)]
        arbiter.send(Kind.MASKED_SUMS, batch.step, (enc_sums + mask).randomised().to_bytes())
        body = arbiter.receive(Kind.OPENED_SUMS, batch.step, self.slots.opened_bytes)
        sums = self.use("opened sums", batch.step, self.slots.unpack(self.slots.from_bytes(body), mask))
        return self.widths.decode_sums(sums)

    def _mask(self, count: int) -> Sequence[int]:
        if self.plan.unmasked_gradients_for_the_arbiter:
            return public_mask(self.slots)
        return self.arbiter_key.random_mask(count, self.slots.masked_bits)

    @property
    def _is_label_party(self) -> bool:
        return self.participant.name == self.plan.label_party.name

    @cached_property
    def slots(self) -> Slots:
        """How this party's own sums travel."""
        return slots_for(self.plan, self.widths, self.columns, len(self.shard))


def greeted(participant: Participant) -> tuple[bytes, int]:
    """The session's identity, and the number of aligned rows, which an arbiter hears from the others."""
    identity, heard = greet_peers(participant, 0, "train")
    named = set(heard.values())
    if len(named) != 1 or not all(named):
        raise RemoteProtocolError(f"{', '.join(heard)}: they name different numbers of rows, or none; align again")
    return identity, named.pop()


class Arbiter:
    """Holds the key, and no data."""

    training_rows: int
    """How many rows are trained on, which it hears from the others."""
    seed = b""
    """An arbiter never hears the seed of the order of rows."""

    key: PrivateKey
    """The arbiter's key, made in `run`; it stays in this object."""
    sums: dict[str, Matrix]
    """The sums that it could read, by party; none where they were masked."""

    def __init__(self, participant: Participant) -> None:
        self.participant = participant
        self.plan = participant.plan

    @property
    def engine_name(self) -> str:
        return engine_of(self.participant).name

    def run(self) -> None:
        """Decrypt what each party sends, step by step."""
        identity, rows = greeted(self.participant)
        fix_numbers(self.participant, {})
        key = self.key = make_key(self.participant)
        offer_key(self.participant, identity, key)
        training_rows = self.training_rows = rows - self.plan.held_out(rows)
        widths = widths_for(self.plan, training_rows)
        slots = {
            name: slots_for(self.plan, widths, columns_of(self.plan, name), training_rows)
            for name in self.participant.channels
            if columns_of(self.plan, name)
        }
        results = []
        for step in range(1, all_steps(training_rows, self.plan) + 1):
            self.participant.begin_step(step)
            read = {}
            for name, layout in slots.items():
                opened = self._open(key, layout, name, step)
                if self.plan.unmasked_gradients_for_the_arbiter:
                    read[name] = widths.decode_sums(layout.unpack(opened, public_mask(layout))).tobytes()
            self.participant.finish_step(step)
            results.append(read)
        self.participant.begin_step(len(results) + 1)
        if shows_quality(self.plan, rows):
            fix_numbers(self.participant, {})
        self.sums = {name: np.array([np.frombuffer(read[name]) for read in results]) for name in results[-1]}

    def _open(self, key: PrivateKey, slots: Slots, name: str, step: int) -> list[int]:
        channel = self.participant.channels[name]
        data = channel.receive(Kind.MASKED_SUMS, step, slots.replies * key.public.ciphertext_bytes)
        opened = slots.truncate(key.decrypt(admit_from(channel, key.public, data, slots.replies)))
        channel.send(Kind.OPENED_SUMS, step, slots.to_bytes(opened))
        return opened


def arbiter_of(plan: Plan) -> str:
    """The party that holds the key; the plan has one where the protocol needs it."""
    return next(party.name for party in plan.parties if party.role == "arbiter")


def public_mask(slots: Slots) -> list[int]:
    """A number that everybody knows in place of a mask, which only keeps negative sums from wrapping around n."""
    return [1 << slots.masked_bits] * slots.replies
