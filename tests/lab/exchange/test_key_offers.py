"""Paillier keys before a run: none of a peer is used that is too short, malformed or without its proof."""

from collections.abc import Callable
from typing import Any

import pytest

from plumbob.errors import KeyRefusedError, RemoteProtocolError
from plumbob.lab.exchange.primitive import admit_key, make_key, offer_key
from plumbob.plan import Plan
from plumbob.protocol.handshake import JointSession
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.participant import Participant
from tests.protocol.support import Wire, changing, mirroring, plan_for, seated, together

TWO = plan_for((2, 3), protocol="exchange", seed=0, key_bits=768)
THREE = plan_for((2, 2, 1), protocol="exchange", seed=0)
SESSION = JointSession(b"\x05" * 32, b"seed")


def offered_keys(plan: Plan, wire: Wire, session: JointSession = SESSION) -> dict[str, Any]:
    """Every party offers a key and admits those of its peers."""

    def swap(participant: Participant) -> list[int]:
        participant.open_chain(session.identity, session.seed)
        own = make_key(participant)
        offer_key(participant, session.identity, own)
        known = [own.public.n]
        for peer in participant.channels:
            known.append(admit_key(participant, session, peer, known).n)
        return known

    return together(seated(plan, wire), swap)


def test_honest_keys_are_admitted() -> None:
    """Three parties end with the same three moduli."""
    ends = offered_keys(THREE, Wire())
    assert len({frozenset(moduli) for moduli in ends.values()}) == 1
    assert len(ends["label"]) == 3


def shorter(body: bytes) -> bytes:
    """The same body with a modulus one bit too short."""
    n = int.from_bytes(body[:96], "little")
    return (n >> 1 | 1).to_bytes(96, "little") + body[96:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shorter, "expected exactly 768 bits, got 767"),
        (lambda body: (int.from_bytes(body[:96], "little") - 1).to_bytes(96, "little") + body[96:], "even"),
        (lambda body: body[:96] + bytes(len(body) - 96), "not a unit"),
        (lambda body: body[:-96] + body[96:192], "does not fit its challenge"),
    ],
    ids=["too short", "even", "no proof", "wrong proof"],
)
def test_a_key_that_fails_a_check_is_refused(change: Callable[[bytes], bytes], words: str) -> None:
    """Too short, malformed, or without its proof: no key of a peer is used then."""
    end = offered_keys(TWO, changing(Kind.PUBLIC_KEY, change))["label"]
    assert isinstance(end, KeyRefusedError)
    assert str(end).startswith("features: key")
    assert words in str(end)


def test_a_key_of_another_size_is_refused() -> None:
    """A body of another length than the plan's keys have is not even looked at."""
    end = offered_keys(TWO, changing(Kind.PUBLIC_KEY, lambda body: body[:-8]))["label"]
    assert isinstance(end, RemoteProtocolError)


def test_a_replayed_proof_is_refused() -> None:
    """A key with the proof of an earlier session proves nothing in this one."""
    earlier = Wire()
    offered_keys(TWO, earlier, JointSession(b"\x04" * 32, b""))
    [stolen] = earlier.bodies(Kind.PUBLIC_KEY, sender="features")
    end = offered_keys(TWO, changing(Kind.PUBLIC_KEY, lambda _: stolen))["label"]
    assert isinstance(end, KeyRefusedError)
    assert "does not fit its challenge" in str(end)


def test_a_proof_for_somebody_else_is_refused() -> None:
    """What a peer proved to one party, another one does not believe."""
    wire = Wire()

    def pass_on(source: str, target: str, message: Message) -> bytes | None:
        if (source, target, message.kind) != ("features", "features-2", Kind.PUBLIC_KEY):
            return None
        [first] = wire.bodies(Kind.PUBLIC_KEY, sender="features", receiver="label")
        return Message(message.kind, message.step, message.sequence, first).encode()

    wire.tamper = pass_on
    assert isinstance(offered_keys(THREE, wire)["features-2"], KeyRefusedError)


def test_a_repeated_modulus_is_refused() -> None:
    """Our own key sent back to us, or one key for two parties, is refused."""
    end = offered_keys(TWO, mirroring(Kind.PUBLIC_KEY))["label"]
    assert isinstance(end, KeyRefusedError)
    assert "in use already" in str(end)


def test_nothing_secret_prints() -> None:
    """A key shows neither of its primes nor their product."""
    participant = seated(TWO)["label"]
    participant.open_chain(b"identity", b"seed")
    key = make_key(participant)
    assert str(key.public.n) not in repr(participant) + repr(key)
