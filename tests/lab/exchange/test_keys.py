"""lab/exchange/proof.py: which keys of peers we use, which we do not, and where a proof is worth nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gmpy2
import pytest
from scipy import stats

from plumbob.errors import KeyRefusedError, RemoteProtocolError
from plumbob.lab.exchange import paillier, profiles, proof, uniform
from plumbob.lab.exchange.paillier import PublicKey
from plumbob.lab.exchange.primitive import admit_key, make_key, offer_key
from plumbob.lab.exchange.profiles import Profile
from plumbob.lab.exchange.proof import ProofContext, admit_paillier, prove
from plumbob.plan import Plan
from plumbob.protocol.handshake import JointSession
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.participant import Participant
from tests.crypto.support import seeded
from tests.lab.exchange.malformed import BITS, ENGINE, KEYS, PROFILE, SIZE, Forger, Offer, honest_key
from tests.lab.exchange.support import CountingEngine, decrypt_signed
from tests.protocol.support import Wire, changing, mirroring, plan_for, seated, together

CONTEXT = ProofContext(session=b"session 1", prover="bank", verifier="shop")
FORGER = Forger(CONTEXT)


def accept(offer: Offer, profile: Profile = PROFILE, engine: Any = ENGINE) -> PublicKey:
    """Admit a key, as the verifier does."""
    return admit_paillier(offer.key, offer.proof, CONTEXT, profile, engine, known=offer.known)


@pytest.mark.parametrize("name", KEYS)
def test_malformed_keys_are_refused(name: str) -> None:
    """Each malformed key, and each forged, replayed or reordered proof, is refused for its own reason.

    No engine was asked for anything, and no number of the key's size is shown.
    """
    make, reason = KEYS[name]
    engine = CountingEngine(ENGINE)
    with pytest.raises(KeyRefusedError, match=reason) as caught:
        accept(make(FORGER), engine=engine)
    assert not engine.calls
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(("number", "profile"), [*((n, PROFILE) for n in range(6)), (0, profiles.STANDARD)])
def test_honest_keys_pass(number: int, profile: Profile) -> None:
    """Whatever `generate` makes is admitted with its proof; a short key's owner reads what is encrypted under it."""
    key = honest_key(number, profile)
    known = frozenset({honest_key(number + 1).public.n})
    admitted = accept(Offer(key.public.to_bytes(), prove(key, CONTEXT), known), profile)
    assert admitted.n == key.public.n
    if profile is PROFILE:
        assert decrypt_signed(key, admitted.encrypt([1, -2])) == [1, -2]


def test_every_root_is_checked() -> None:
    """A single forged root, wherever it stands, spoils the proof; so does one root eleven times."""
    honest = FORGER.honest()
    forged = uniform.unit(seeded("forged"), honest_key().public.n).to_bytes(SIZE, "little")
    for index in range(proof.ROOTS):
        spoilt = honest.proof[: index * SIZE] + forged + honest.proof[(index + 1) * SIZE :]
        with pytest.raises(KeyRefusedError, match=f"root {index} does not fit"):
            accept(replace(honest, proof=spoilt))
    with pytest.raises(KeyRefusedError, match="root 1 does not fit"):
        accept(replace(honest, proof=honest.proof[:SIZE] * proof.ROOTS))


def test_a_root_that_is_not_reduced_is_refused() -> None:
    """The root plus n, where it fits the width, is refused although its n-th power is right."""
    for number in range(20):
        key = paillier.generate(PROFILE, ENGINE, seeded(f"reduced {number}"))
        roots = prove(key, CONTEXT)
        raised = int.from_bytes(roots[:SIZE], "little") + key.public.n
        if raised < 1 << BITS:
            break
    with pytest.raises(KeyRefusedError, match="root 0 is not a unit"):
        accept(Offer(key.public.to_bytes(), raised.to_bytes(SIZE, "little") + roots[SIZE:]))


def test_challenges_are_uniform() -> None:
    """Challenges spread evenly over [0, n), none is 0, and the index changes them."""
    n = honest_key().public.n
    drawn = [FORGER.challenge(n, index) for index in range(800)]
    assert len(set(drawn)) == 800
    assert all(0 < value < n and gmpy2.gcd(value, n) == 1 for value in drawn)
    tenths = [sum(10 * value // n == tenth for value in drawn) for tenth in range(10)]
    assert stats.chisquare(tenths).pvalue > 1e-6


# Which key lengths exist.


def test_a_plans_profile_has_its_length() -> None:
    """A plan names a profile by its key length; only the tests' own may be short, and says so."""
    for profile in (profiles.STANDARD, profiles.LONG_TERM):
        plan = plan_for((1, 1), protocol="exchange", key_bits=profile.key_bits, test_only_keys=False)
        assert profiles.profile_of(plan) is profile
    short = plan_for((1, 1), protocol="exchange", key_bits=512, test_only_keys=True)
    assert profiles.profile_of(short).name == profiles.TEST_ONLY.name == "test-only"
    for name in ("standard", "long-term", "mine"):
        with pytest.raises(KeyRefusedError, match="test-only"):
            Profile(name, 1024)
    for key_bits in (0, 64, 192, 300, 1000):
        with pytest.raises(KeyRefusedError, match="multiple of 64"):
            profiles.insecure_for_tests(key_bits)


# Before a run.

TWO = plan_for((2, 3), protocol="exchange", seed=0, key_bits=768)
THREE = plan_for((2, 2, 1), protocol="exchange", seed=0)
SESSION = JointSession(b"\x05" * 32, b"seed")


def offered_keys(plan: Plan, wire: Wire, session: JointSession = SESSION) -> dict[str, Any]:
    """Every party offers a key and admits those of its peers."""

    def swap(participant: Participant) -> list[int]:
        participant.open_chain(session.identity, session.seed)
        own = make_key(participant)
        assert str(own.public.n) not in repr(participant) + repr(own)
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


def replay(body: bytes) -> bytes:
    """The key with the proof of an earlier session."""
    earlier = Wire()
    offered_keys(TWO, earlier, JointSession(b"\x04" * 32, b""))
    [stolen] = earlier.bodies(Kind.PUBLIC_KEY, sender="features")
    return stolen


def shorten(body: bytes) -> bytes:
    """The same body with a modulus one bit too short."""
    return (int.from_bytes(body[:96], "little") >> 1 | 1).to_bytes(96, "little") + body[96:]


@pytest.mark.parametrize(
    ("wire", "error", "words"),
    [
        (lambda: changing(Kind.PUBLIC_KEY, shorten), KeyRefusedError, "features: key: expected exactly 768 bits"),
        (lambda: changing(Kind.PUBLIC_KEY, lambda body: bytes([body[0] & 254]) + body[1:]), KeyRefusedError, "even"),
        (lambda: changing(Kind.PUBLIC_KEY, lambda body: body[:96] + bytes(len(body) - 96)), KeyRefusedError, "root 0"),
        (lambda: changing(Kind.PUBLIC_KEY, lambda body: body[:-8]), RemoteProtocolError, "features"),
        (lambda: changing(Kind.PUBLIC_KEY, replay), KeyRefusedError, "does not fit its challenge"),
        (lambda: mirroring(Kind.PUBLIC_KEY), KeyRefusedError, "in use already"),
    ],
    ids=["too short", "even", "no proof", "another size", "replayed", "our own"],
)
def test_a_key_that_fails_a_check_is_refused(wire: Callable[[], Wire], error: type[Exception], words: str) -> None:
    """The party that was offered such a key names its peer, and uses no key of it."""
    end = offered_keys(TWO, wire())["label"]
    assert isinstance(end, error)
    assert str(end).startswith("features: ")
    assert words in str(end)


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
