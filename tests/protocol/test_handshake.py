"""Before training: the same plan, rows and seed everywhere, and keys that deserve to be used, or a clear refusal."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest

from plumbob.crypto import SYSTEM_RANDOMNESS, Draws
from plumbob.errors import KeyRefusedError, PlumbobError, RemoteProtocolError, TransportError
from plumbob.lab.exchange.primitive import admit_key, make_key, offer_key
from plumbob.lab.exchange.schedule import ExchangeSchedule
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant, Session, SessionPurpose, agree, agree_pair_masks, greet
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import PairMasks
from tests.protocol.support import Wire, changing, mirroring, outcomes, plan_for, seated, together

IDS = ("anna", "bert", "carl")
TWO = plan_for((2, 3), protocol="exchange", seed=0, key_bits=768)
THREE = plan_for((2, 2, 1), protocol="exchange", seed=0)
WITH_ARBITER = plan_for((2, 3), protocol="arbiter", seed=0)


def agreements(plan: Any, wire: Wire | None = None, ids: dict[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """What every party of a handshake ends with."""
    return together(seated(plan, wire), lambda one: agree(one, (ids or {}).get(one.name, IDS)))


def rewriting_hello(sender: str, **changes: Any) -> Wire:
    """Let `sender` say something else about itself."""

    def rewritten(body: bytes) -> bytes:
        hello = msgspec.json.decode(body) | changes
        return msgspec.json.encode({name: value for name, value in hello.items() if value != "gone"})

    return changing(Kind.HELLO, rewritten, sender)


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


def test_the_purpose_is_part_of_the_identity() -> None:
    """From the same nonces, a session to predict is another one than a session to train."""
    purposes: tuple[SessionPurpose, ...] = ("train", "predict", "align")
    identities = {
        together(seated(TWO, draws=constant(1, 2)), partial(agree, ids=IDS, purpose=purpose))["label"].identity
        for purpose in purposes
    }
    assert len(identities) == 3


def constant(label: int, features: int) -> dict[str, Draws]:
    """Draws of two parties from these roots."""
    return {"label": Draws.begin(bytes([label]) * 32), "features": Draws.begin(bytes([features]) * 32)}


def test_every_share_moves_the_seed() -> None:
    """One party's draw alone changes the joint seed: nobody chooses it alone."""
    seeds = {
        together(seated(TWO, draws=constant(*roots)), partial(agree, ids=IDS))["label"].seed
        for roots in ((1, 2), (1, 3), (4, 2))
    }
    assert len(seeds) == 3


def test_nobody_reveals_before_all_have_committed() -> None:
    """A party that keeps its commitment back sees nobody's share."""
    wire = Wire(lambda source, _target, message: b"" if (source, message.kind) == HELD_BACK else None)
    ends = agreements(THREE, wire)
    assert all(isinstance(end, PlumbobError) for end in ends.values())
    assert not wire.bodies(Kind.SEED_SHARE, sender="label")
    assert not wire.bodies(Kind.SEED_SHARE, sender="features-2")


HELD_BACK = ("features", Kind.SEED_COMMITMENT)


def test_another_share_than_committed_is_refused() -> None:
    """A party that reveals another share than it committed to is named and refused."""
    ends = agreements(TWO, changing(Kind.SEED_SHARE, lambda body: bytes(32)))
    assert isinstance(ends["label"], RemoteProtocolError)
    assert str(ends["label"]) == "features: its share of the seed is not the one it committed to"


def test_different_shares_to_different_peers_are_noticed() -> None:
    """A party that commits to one share toward one peer and to another toward the next cannot split the seed."""
    participants = seated(THREE)
    forger, fake = participants["features"], b"\x07" * 32
    original = hashlib.sha256

    def two_faced() -> Session:
        identity, _ = greet(forger, len(IDS))
        for channel in forger.channels.values():
            channel.break_free()
        for peer, share in (("label", bytes(32)), ("features-2", fake)):
            fields = (b"commitment", identity, b"features", share)
            commitment = original(b"".join(len(item).to_bytes(8, "little") + item for item in fields)).digest()
            forger.channels[peer].send(Kind.SEED_COMMITMENT, 0, commitment)
        forger.receive_all(Kind.SEED_COMMITMENT)
        forger.channels["label"].send(Kind.SEED_SHARE, 0, bytes(32))
        forger.channels["features-2"].send(Kind.SEED_SHARE, 0, fake)
        forger.receive_all(Kind.SEED_SHARE)
        forger.send_all(Kind.CONFIRMATION, bytes(32))
        return Session(identity, b"")

    tasks = {name: partial(agree, participant, IDS) for name, participant in participants.items()} | {
        "features": two_faced
    }
    ends = outcomes(tasks, participants)
    assert isinstance(ends["label"], RemoteProtocolError | TransportError)
    assert isinstance(ends["features-2"], RemoteProtocolError | TransportError)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "our version is 1, theirs is 2"),
        ({"name": "mallory"}, "our name is 'features', theirs is 'mallory'"),
        ({"purpose": "predict"}, "our purpose is 'train', theirs is 'predict'"),
        ({"purpose": "gone"}, "greeting cannot be read"),
        ({"plan": "0" * 64}, "our plan hash is"),
        ({"rows": 4}, "our number of aligned rows is 3, theirs is 4"),
        ({"rows": None}, "it did not report its number of aligned rows"),
        ({"rows": 0}, "it did not report its number of aligned rows"),
        ({"rows": -3}, "it did not report its number of aligned rows"),
        ({"rows": "3"}, "greeting cannot be read"),
        ({"nonce": "ab"}, "greeting cannot be read"),
        ({"nonce": "AB" * 32}, "greeting cannot be read"),
        ({"nonce": "zz" * 32}, "greeting cannot be read"),
        ({"nonce": "ab " * 32}, "greeting cannot be read"),
        ({"admin": True}, "greeting cannot be read"),
        ({"nonce": "gone"}, "greeting cannot be read"),
    ],
)
def test_a_greeting_that_differs_is_refused(changes: dict[str, Any], words: str) -> None:
    """Another version, name, plan, number of rows or form: refused with the peer's name and what differs."""
    end = agreements(TWO, rewriting_hello("features", **changes))["label"]
    assert isinstance(end, RemoteProtocolError)
    assert str(end).startswith("features: ")
    assert words in str(end)


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 4000, b"\xff\xfe", b"null", b'{"version": 1}'])
def test_a_greeting_that_is_none_is_refused(body: bytes) -> None:
    """Whatever is not a greeting is the peer's fault, never a crash of ours."""
    end = agreements(TWO, changing(Kind.HELLO, lambda _: body))["label"]
    assert isinstance(end, RemoteProtocolError)


def test_a_peers_words_cannot_draw_on_the_terminal() -> None:
    """Control characters of a peer are shown as such, and long texts cut."""
    end = agreements(TWO, rewriting_hello("features", name="\x1b[2J" + "x" * 2000))["label"]
    assert "\x1b" not in str(end)
    assert len(str(end)) < 200


def test_different_plans_are_noticed_on_both_sides() -> None:
    """Each side is told that the plans differ, with both hashes."""
    plans = {"label": TWO, "features": TWO.replace(learning_rate=0.2)}
    ends = agreements(plans)
    for end in ends.values():
        assert isinstance(end, RemoteProtocolError)
        assert "plan hash" in str(end)
        assert all(plan.hash() in str(end) or plan.hash()[:60] in str(end) for plan in plans.values())


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


def test_one_nonce_for_two_parties_is_refused() -> None:
    """A party that repeats another's nonce is not let in: the session would not be fresh for both."""
    end = together(seated(TWO, draws=constant(0, 0)), partial(agree, ids=IDS))["label"]
    assert isinstance(end, RemoteProtocolError)
    assert "same nonce" in str(end)


def test_an_arbiter_hears_the_rows_and_nothing_else() -> None:
    """It is greeted, learns how many rows there are, and no share of the seed nor hash over ids reaches it."""
    wire = Wire()
    participants = seated(WITH_ARBITER, wire)
    tasks: dict[str, Any] = {name: partial(agree, participant, IDS) for name, participant in participants.items()}
    ends = outcomes(tasks | {"arbiter": partial(greet, participants["arbiter"])}, participants)
    assert ends["arbiter"] == (ends["label"].identity, 3)
    assert {message.kind for _, target, message in wire.log if target == "arbiter"} == {Kind.HELLO}


@pytest.mark.parametrize("rows", [None, 0, -1, 4])
def test_an_arbiter_is_not_told_different_rows(rows: int | None) -> None:
    """A party that tells the arbiter no rows, or others than its peer, is refused there."""
    participants = seated(WITH_ARBITER)
    tasks: dict[str, Any] = {
        "label": partial(greet, participants["label"], 3),
        "features": partial(greet, participants["features"], rows),
    }
    ends = outcomes(tasks | {"arbiter": partial(greet, participants["arbiter"])}, participants)
    assert isinstance(ends["arbiter"], RemoteProtocolError)


SESSION = Session(b"\x05" * 32, b"seed")


def offered_keys(plan: Plan, wire: Wire, session: Session = SESSION) -> dict[str, Any]:
    """Every party offers a key and admits those of its peers."""

    def swap(participant: Participant) -> list[int]:
        participant.open_chain(session.identity, session.seed)
        participant.follow(ExchangeSchedule(plan, len(IDS)).set_up)
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
    offered_keys(TWO, earlier, Session(b"\x04" * 32, b""))
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


def pair_keys(wire: Wire, session: Session = SESSION) -> dict[str, Any]:
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


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31)])
def test_a_point_of_small_order_is_refused(point: bytes) -> None:
    """A pair key that would be the same for everybody is the peer's fault, and named."""
    end = pair_keys(changing(Kind.PAIR_KEY, lambda _: point))["label"]
    assert isinstance(end, RemoteProtocolError)
    assert str(end).startswith("features: its pair key")


def test_nothing_secret_prints() -> None:
    """A participant, a session and a key show neither keys nor seeds."""
    participant = seated(TWO)["label"]
    participant.open_chain(b"identity", b"seed")
    key = make_key(participant)
    shown = repr(participant) + repr(Session(b"identity", b"seed")) + repr(key) + repr(SYSTEM_RANDOMNESS)
    assert "seed'" not in shown
    assert str(key.public.n) not in shown
