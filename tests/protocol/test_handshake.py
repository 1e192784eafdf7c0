"""Before training: the same plan, rows and seed everywhere, or a clear refusal."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from plumbob.crypto import Draws
from plumbob.errors import PlumbobError, RemoteProtocolError, TransportError
from plumbob.plan import Plan
from plumbob.protocol.handshake import Hello, JointSession, SessionPurpose, agree, greet
from plumbob.protocol.messages import Kind
from plumbob.protocol.pair_masks import PairMasks, agree_pair_masks
from tests.protocol.support import Wire, changing, mirroring, outcomes, plan_for, seated, together

IDS = ("anna", "bert", "carl")
TWO, THREE = plan_for((2, 3), seed=0), plan_for((2, 2, 1), seed=0)


def agreements(plan: Any, wire: Wire | None = None, ids: dict[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """What every party of a handshake ends with."""
    return together(seated(plan, wire), lambda one: agree(one, (ids or {}).get(one.name, IDS)))


@pytest.mark.parametrize("plan", [TWO, THREE], ids=["two", "three"])
def test_all_parties_end_with_the_same_session(plan: Plan) -> None:
    """Identity and seed are equal at all parties, and others in every session."""
    first, second = (agreements(plan) for _ in range(2))
    identities = {session.identity for session in first.values()}
    seeds = {session.seed for session in first.values()}
    assert len(identities) == len(seeds) == 1
    assert identities != {session.identity for session in second.values()}
    assert seeds != {session.seed for session in second.values()}


def test_a_plans_seed_is_everybodys_seed() -> None:
    """With a seed in the plan no share of it is sent, and only the identity is fresh."""
    wire = Wire()
    first, second = agreements(TWO.replace(seed=5), wire), agreements(TWO.replace(seed=5))
    assert first["label"].seed == first["features"].seed == second["label"].seed
    assert first["label"].identity != second["label"].identity
    assert not wire.bodies(Kind.SEED_COMMITMENT)
    assert not wire.bodies(Kind.SEED_SHARE)


def drawn_from(label: int, features: int, purpose: SessionPurpose = "train") -> dict[str, Any]:
    """What two parties agree on that draw from these roots."""
    draws = {"label": Draws.begin(bytes([label]) * 32), "features": Draws.begin(bytes([features]) * 32)}
    return together(seated(TWO, draws=draws), partial(agree, ids=IDS, purpose=purpose))


def test_every_share_and_the_purpose_make_another_session() -> None:
    """One party's draw alone changes the joint seed, and the same nonces for another purpose another session."""
    assert len({drawn_from(*roots)["label"].seed for roots in ((1, 2), (1, 3), (4, 2))}) == 3
    purposes: tuple[SessionPurpose, ...] = ("train", "predict", "align")
    assert len({drawn_from(1, 2, purpose)["label"].identity for purpose in purposes}) == 3


def test_one_nonce_for_two_parties_is_refused() -> None:
    """A party that repeats another's nonce is not let in: the session would not be fresh for both."""
    end = drawn_from(0, 0)["label"]
    assert isinstance(end, RemoteProtocolError)
    assert "sent a nonce that another party has" in str(end)


def test_nobody_reveals_before_all_have_committed() -> None:
    """A party that keeps its commitment back sees nobody's share."""
    held_back = "features", Kind.SEED_COMMITMENT
    wire = Wire(lambda source, _target, message: b"" if (source, message.kind) == held_back else None)
    ends = agreements(THREE, wire)
    assert all(isinstance(end, PlumbobError) for end in ends.values())
    assert not wire.bodies(Kind.SEED_SHARE, sender="label")
    assert not wire.bodies(Kind.SEED_SHARE, sender="features-2")


def test_different_shares_to_different_peers_are_noticed() -> None:
    """A party that commits to one share toward one peer and to another toward the next cannot split the seed."""
    participants = seated(THREE)
    forger, fake = participants["features"], b"\x07" * 32
    original = hashlib.sha256

    def two_faced() -> JointSession:
        identity = greet(forger, len(IDS))
        for peer, share in (("label", bytes(32)), ("features-2", fake)):
            fields = (b"commitment", identity, b"features", share)
            commitment = original(b"".join(len(item).to_bytes(8, "little") + item for item in fields)).digest()
            forger.channels[peer].send(Kind.SEED_COMMITMENT, 0, commitment)
        forger.receive_all(Kind.SEED_COMMITMENT)
        forger.channels["label"].send(Kind.SEED_SHARE, 0, bytes(32))
        forger.channels["features-2"].send(Kind.SEED_SHARE, 0, fake)
        forger.receive_all(Kind.SEED_SHARE)
        forger.send_all(Kind.CONFIRMATION, bytes(32))
        return JointSession(identity, b"")

    tasks = {name: partial(agree, participant, IDS) for name, participant in participants.items()} | {
        "features": two_faced
    }
    ends = outcomes(tasks, participants)
    assert isinstance(ends["label"], RemoteProtocolError | TransportError)
    assert isinstance(ends["features-2"], RemoteProtocolError | TransportError)


def saying(**changes: Any) -> Wire:
    """Let the feature party greet otherwise."""
    return changing(Kind.HELLO, lambda body: replace(Hello.from_bytes(body), **changes).to_bytes())


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (saying(rows=4), "we have 3 aligned rows, it has 4"),
        (saying(rows=0), "we have 3 aligned rows, it has 0"),
        (saying(commitment=b""), "expected HELLO with 72 bytes, got 40"),
        (saying(nonce=bytes(32)), "its share of the seed is not the one it committed to"),
        (saying(commitment=bytes(31) + b"!"), "its share of the seed is not the one it committed to"),
    ],
    ids=["other rows", "no rows", "no commitment", "other nonce", "other commitment"],
)
def test_a_greeting_that_differs_is_refused(wire: Wire, words: str) -> None:
    """Another number of rows or size is named; another nonce or commitment makes another session."""
    end = agreements(TWO, wire)["label"]
    assert isinstance(end, RemoteProtocolError)
    assert str(end).startswith("features: ")
    assert words in str(end)


def test_another_plan_makes_another_session() -> None:
    """On a network the connection's greeting names what differs; here nothing that follows fits."""
    plans = {"label": TWO, "features": TWO.replace(epochs=3)}
    for end in agreements(plans).values():
        assert isinstance(end, RemoteProtocolError)


@pytest.mark.parametrize("theirs", [("bert", "anna", "carl"), ("anna", "bert", "dora"), ("annab", "ert", "carl")])
def test_different_ids_or_another_order_are_noticed(theirs: tuple[str, ...]) -> None:
    """As many rows, but others, in another order, or cut at another place: both sides hear of it."""
    for end in agreements(TWO, ids={"features": theirs}).values():
        assert isinstance(end, RemoteProtocolError)
        assert "ids, their order or its seed differ" in str(end)


def test_an_echo_confirms_nothing() -> None:
    """Who has other rows cannot pass by sending our own confirmation back."""
    ends = agreements(TWO, mirroring(Kind.CONFIRMATION), ids={"features": ("x", "y", "z")})
    assert isinstance(ends["label"], RemoteProtocolError)


SESSION = JointSession(b"\x05" * 32, b"seed")


def pair_keys(wire: Wire, session: JointSession = SESSION) -> dict[str, Any]:
    """The keys of every pair of three parties, or how a party ended."""
    participants = seated(THREE, wire)
    for participant in participants.values():
        participant.open_chain(session.identity, session.seed)
    ends = together(participants, lambda one: agree_pair_masks(one, session))
    return {name: end.keys if isinstance(end, PairMasks) else end for name, end in ends.items()}


def test_each_pair_has_a_key_of_its_own() -> None:
    """Both ends of a pair have the same key, and no two pairs, nor two sessions, have the same."""
    keys = pair_keys(Wire())
    assert keys["label"]["features"] == keys["features"]["label"]
    assert keys["features"]["features-2"] == keys["features-2"]["features"]
    assert keys["label"]["features-2"] == keys["features-2"]["label"]
    again = pair_keys(Wire())
    assert len({key for ends in (keys, again) for own in ends.values() for key in own.values()}) == 6
