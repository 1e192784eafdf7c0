"""The one primitive: a learner holds a matrix X, a helper a vector v and a key, and each ends with a share of v @ X.

    helper -> learner   the ciphertexts of v                                          Protocol 1, line 5
    learner -> helper   the packed sums v @ X plus a mask r, freshly randomised       lines 6 to 10
    helper              decrypts D = v @ X + r                                        line 11

The learner's share is -r, the helper's D. `exchange` hands D back, truncated.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from plumbob.errors import CiphertextRefusedError, KeyRefusedError
from plumbob.lab.exchange import engines, paillier
from plumbob.lab.exchange.engines import PaillierEngine
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey, PublicKey, Sendable, admit
from plumbob.lab.exchange.profiles import profile_of
from plumbob.lab.exchange.proof import ROOTS, ProofContext, admit_paillier, prove
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import JointSession
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant


@dataclass(frozen=True, repr=False)
class PaillierParticipant(Participant):
    """A participant with an engine for ciphertexts, and maybe an arbiter among its peers."""

    paillier: PaillierEngine = field(default_factory=engines.choose)

    @property
    def data_peers(self) -> dict[str, Channel]:
        """All peers but an arbiter, which takes part in training only and hears neither the seed nor ids."""
        arbiter = self.plan.arbiter
        return {peer: channel for peer, channel in self.channels.items() if arbiter is None or peer != arbiter.name}


def engine_of(participant: Participant) -> PaillierEngine:
    """The engine that this participant's ciphertexts are calculated with."""
    return participant.paillier if isinstance(participant, PaillierParticipant) else engines.choose()


class Helper:
    """The side that lends its key to one learner."""

    def __init__(self, channel: Channel, key: PrivateKey, slots: Slots) -> None:
        self._channel = channel
        self._key = key
        self._slots = slots
        self._lent: frozenset[bytes] = frozenset()

    def lend(self, step: int, enc_values: Sendable) -> None:
        data, size = enc_values.to_bytes(), self._key.public.ciphertext_bytes
        # None of them may come back unchanged.
        self._lent = frozenset(data[start : start + size] for start in range(0, len(data), size))
        self._channel.send(Kind.RESIDUALS, step, data)

    def open(self, step: int) -> list[int]:
        """Decrypt the learner's masked sums: this side's share."""
        data = self._channel.receive(Kind.MASKED_SUMS, step, self._slots.replies * self._key.public.ciphertext_bytes)
        return self._key.decrypt(admit_from(self._channel, self._key.public, data, self._slots.replies, self._lent))

    def hand_back(self, step: int, opened: Sequence[int]) -> None:
        self._channel.send(Kind.OPENED_SUMS, step, self._slots.to_bytes(self._slots.truncate(opened)))


class Learner:
    """The side that holds the matrix, toward one helper."""

    def __init__(self, channel: Channel, key: PublicKey, slots: Slots) -> None:
        self._channel = channel
        self._key = key
        self._slots = slots

    def lent(self, step: int, count: int) -> EncryptedVector:
        """Receive the ciphertexts that the helper lent."""
        data = self._channel.receive(Kind.RESIDUALS, step, count * self._key.ciphertext_bytes)
        return admit_from(self._channel, self._key, data, count)

    def ask(self, step: int, enc_sums: EncryptedVector) -> list[int]:
        """Send packed sums, masked; return the mask, minus which is this side's share."""
        # Lines 9 and 10; the paper subtracts its mask, here it is added.
        mask = self._key.random_mask(len(enc_sums), self._slots.masked_bits)
        # The old randomness is known to the key's owner: a fresh one hides X from it.
        masked = (enc_sums + mask).randomised()
        self._channel.send(Kind.MASKED_SUMS, step, masked.to_bytes())
        return mask

    def collect(self, step: int) -> list[int]:
        """Receive what the helper handed back, still masked."""
        return self._slots.from_bytes(self._channel.receive(Kind.OPENED_SUMS, step, self._slots.opened_bytes))


def admit_from(
    channel: Channel, key: PublicKey, data: bytes, count: int, sent: Collection[bytes] = ()
) -> EncryptedVector:
    """The same as `admit`, with the peer's name in its refusals."""
    try:
        return admit(key, data, count, sent=sent)
    except CiphertextRefusedError as error:
        raise CiphertextRefusedError(f"{channel.peer}: {error}") from None


# Keys: each party makes its own, and proves it to every peer.


def make_key(participant: Participant) -> PrivateKey:
    """Make this party's Paillier key."""
    key = paillier.generate(profile_of(participant.plan), engine_of(participant), participant.draws.of("own key"))
    key.prepare()
    return key


def offer_key(participant: Participant, identity: bytes, own: PrivateKey) -> None:
    """Send our public key to every peer, with a proof made for that peer and this session."""
    for peer, channel in participant.channels.items():
        proof = prove(own, ProofContext(identity, participant.name, peer))
        channel.send(Kind.PUBLIC_KEY, 0, own.public.to_bytes() + proof)


def admit_key(participant: Participant, session: JointSession, peer: str, known: Collection[int]) -> PublicKey:
    """Admit a peer's key if it passes every check; `known` are moduli that it must not repeat."""
    profile = profile_of(participant.plan)
    size = profile.key_bits // 8
    body = participant.channels[peer].receive(Kind.PUBLIC_KEY, 0, size * (1 + ROOTS))
    context = ProofContext(session.identity, peer, participant.name)
    randomness = participant.draws.of("peer's key", peer)
    try:
        key = admit_paillier(
            body[:size], body[size:], context, profile, engine_of(participant), known=known, randomness=randomness
        )
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{peer}: {error}") from None
    key.prepare()
    return key
