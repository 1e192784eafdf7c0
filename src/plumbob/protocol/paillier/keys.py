"""Paillier keys in a session: each party makes its own and proves it, and what travels under them has a known width."""

from collections.abc import Collection

from plumbob.crypto import PrivateKey, ProofContext, PublicKey, Slots, admit_paillier, paillier, prove
from plumbob.crypto.profiles import Profile, for_key_bits, insecure_for_tests
from plumbob.data import largest_batch
from plumbob.errors import KeyRefusedError
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant, Session
from plumbob.protocol.messages import Kind
from plumbob.protocol.widths import Widths


def make_key(participant: Participant) -> PrivateKey:
    """Makes this party's Paillier key."""
    key = paillier.generate(profile_of(participant.plan), participant.engine, participant.draws.of("own key"))
    key.prepare()
    participant.keys.append(key)
    return key


def offer_key(participant: Participant, identity: bytes, own: PrivateKey) -> None:
    """Our public key to every peer, with a proof made for that peer and this session."""
    for peer, channel in participant.channels.items():
        proof = prove(own, ProofContext(identity, participant.name, peer))
        channel.send(Kind.PUBLIC_KEY, 0, own.public.to_bytes() + proof)


def admit_key(participant: Participant, session: Session, peer: str, known: Collection[int]) -> PublicKey:
    """A peer's key, if it passes every check; `known` are moduli that it must not repeat."""
    try:
        key = _admit_paillier(participant, session, peer, known)
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{peer}: {error}") from None
    key.prepare()
    participant.keys.append(key)
    return key


def _admit_paillier(participant: Participant, session: Session, peer: str, known: Collection[int]) -> PublicKey:
    profile = profile_of(participant.plan)
    size = profile.key_bits // 8
    body = participant.channels[peer].receive(Kind.PUBLIC_KEY, 0)
    context = ProofContext(session.identity, peer, participant.name)
    randomness = participant.draws.of("peer's key", peer)
    return admit_paillier(
        body[:size], body[size:], context, profile, participant.engine, known=known, randomness=randomness
    )


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
