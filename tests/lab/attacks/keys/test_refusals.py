"""Every malformed key and every malformed ciphertext, on every path by which a peer can send one.

The peer is honest up to one message, which it sends through its channel in another form. Its victim must refuse that
message by name, before its secret key was used for anything that depends on it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from plumbob.errors import CiphertextRefusedError, KeyRefusedError, RemoteProtocolError
from plumbob.lab.exchange import arbiter, engines
from plumbob.lab.exchange import protocol as exchange
from plumbob.lab.exchange.engines.interface import Engine, Ring
from plumbob.lab.exchange.limbs import Limbs
from plumbob.lab.exchange.paillier import PrivateKey
from plumbob.lab.exchange.primitive import PaillierParticipant, offer_key
from plumbob.lab.exchange.proof import ProofContext
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import Kind
from plumbob.protocol.party import party_at
from tests.lab.exchange.malformed import CIPHERTEXTS, KEYS, PAILLIER_CIPHERTEXTS, Forger, Offer
from tests.lab.exchange.quick_keys import made_key, use_quick_keys
from tests.lab.exchange.support import CountingEngine
from tests.protocol.support import made_up, outcomes, plan_for, seated, tables_for

ROWS = 12
MALFORMED = CIPHERTEXTS | PAILLIER_CIPHERTEXTS
OTHER_SIZES = {"nothing", "a byte less", "a byte more", "one less", "one more"}
# A channel refuses these before anybody looks at a key.
KEYS_OF_OTHER_SIZE = {name for name, (_, reason) in KEYS.items() if "bytes, got" in reason}
SEEN = "our own, or one seen"


@dataclass(frozen=True)
class Path:
    """A path of a message: who sends what to whom under whose key, in which protocol."""

    protocol: str
    kind: Kind
    sender: str
    victim: str
    owner: str
    """The party whose key the message is, or is encrypted under."""
    split: tuple[int, ...] = (2, 3)

    def __str__(self) -> str:
        return f"{self.protocol}-{len(self.split)}-{self.kind.name}-from-{self.sender}"

    def plan(self) -> Plan:
        return plan_for(self.split, protocol=self.protocol, epochs=1, batches="full", key_bits=768)


def two_way(**more: Any) -> Iterator[Path]:
    """Paths where both parties own a key: each sends under its own and under the other's."""
    for kind in (Kind.PUBLIC_KEY, Kind.RESIDUALS):
        yield Path("exchange", kind, "features", "label", "features", **more)
    yield Path("exchange", Kind.MASKED_SUMS, "features", "label", "label", **more)


PATHS = [
    *two_way(),
    *two_way(split=(2, 2, 1)),
    Path("arbiter", Kind.PUBLIC_KEY, "arbiter", "label", "arbiter"),
    Path("arbiter", Kind.SCORES, "features", "label", "arbiter"),
    Path("arbiter", Kind.JOINT_RESIDUALS, "label", "features", "arbiter"),
    # The label party is the first whose sums it opens.
    Path("arbiter", Kind.MASKED_SUMS, "label", "arbiter", "arbiter"),
]


def every_kind_somewhere(paths: Sequence[Path], kinds: Iterable[str]) -> list[Any]:
    """Every kind on every path; `make test` has each kind on one path and each path with some kinds.

    That each kind is refused wherever something is admitted, tests/crypto/test_admission.py and test_vector.py hold.
    """
    return [
        pytest.param(path, kind, marks=() if (number - place) % len(paths) == 0 else pytest.mark.soak)
        for place, path in enumerate(paths)
        for number, kind in enumerate(kinds)
        # With an arbiter a party has no key of its own, and sees a single one.
        if (path.protocol, kind) != ("arbiter", SEEN)
    ]


KEY_CASES = every_kind_somewhere(
    [path for path in PATHS if path.kind is Kind.PUBLIC_KEY], [SEEN, *sorted(KEYS.keys() - {SEEN})]
)
CIPHERTEXT_CASES = every_kind_somewhere([path for path in PATHS if path.kind is not Kind.PUBLIC_KEY], sorted(MALFORMED))


def test_all_kinds_are_here() -> None:
    """Whatever carries a Paillier key or its ciphertexts has a path above; what is left carries neither."""
    others = {Kind.HELLO, Kind.SEED_COMMITMENT, Kind.SEED_SHARE, Kind.CONFIRMATION, Kind.PAIR_KEY}
    others |= {Kind.SIGNATURE, Kind.SEAL, Kind.NUMBERS}
    numbers = {Kind.OPENED_SUMS, Kind.START_SHARE, Kind.WEIGHT_SHARE, Kind.SCORE_SHARE}
    # Points of a curve, which have tests of their own.
    alignment = {kind for kind in Kind if 20 <= kind < 30}
    queries = {kind for kind in Kind if 30 <= kind < 40}
    lattices = {Kind.BOUND_SHARE} | {kind for kind in Kind if 40 <= kind < 50}
    proposals = {kind for kind in Kind if kind >= 50}
    assert {path.kind for path in PATHS} == set(Kind) - others - numbers - alignment - queries - lattices - proposals


class LyingChannel(Channel):
    """Sends one kind of message in another form."""

    lie: tuple[Kind, Callable[[bytes], bytes]]

    def send(self, kind: Kind, step: int, body: bytes) -> None:
        super().send(kind, step, self.lie[1](body) if kind is self.lie[0] else body)


class Opened(CountingEngine):
    """Counts logarithms modulo a secret prime: that is what decrypting is."""

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self.openings = 0

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        self.openings += 1
        return super().logarithms(rings, values, scales)


@dataclass
class Stage:
    """The parties of a path, with keys that are made once; a test's lies are told by `sender`."""

    path: Path
    engine: Opened = field(default_factory=lambda: Opened(engines.choose(threads=1)))
    """The victim's engine."""

    def play(self, lie: Callable[[bytes], bytes] = lambda body: body) -> dict[str, Any]:
        plan = self.path.plan()
        participants = seated(plan)
        tables = tables_for(plan, *made_up(ROWS, plan.columns))
        victim = participants[self.path.victim]
        assert isinstance(victim, PaillierParticipant)
        participants[self.path.victim] = replace(victim, paillier=self.engine)
        self._teach(participants[self.path.sender], lie)
        return outcomes(
            {name: party_at(participant, tables.get(name)).run for name, participant in participants.items()},
            participants,
        )

    def _teach(self, participant: Participant, lie: Callable[[bytes], bytes]) -> None:
        honest = participant.channels[self.path.victim]
        liar = LyingChannel(honest.peer, honest._link, honest._patience)
        liar.lie = self.path.kind, lie
        liar.break_free()
        participant.channels[self.path.victim] = liar  # type: ignore[index]  # A dictionary, as `seated` makes it.

    def key(self, owner: str) -> PrivateKey:
        return made_key(owner, self.path.plan())

    def refuses(self, ends: dict[str, Any], error: type[Exception], reason: str) -> None:
        """The victim named the sender, and had not decrypted anything by then."""
        end = ends[self.path.victim]
        assert isinstance(end, error), end
        assert str(end).startswith(f"{self.path.sender}: ")
        assert re.search(reason, str(end))
        assert self.engine.openings == 0


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused does not depend on the honest parties' keys."""
    use_quick_keys(monkeypatch)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_the_honest_message_is_taken(path: Path) -> None:
    """The same peer with nothing changed ends the run, and the count that must be 0 below is not 0 then."""
    stage = Stage(path)
    ends = stage.play()
    assert not [end for end in ends.values() if isinstance(end, Exception)]
    has_key = path.protocol != "arbiter" or path.victim == "arbiter"
    assert (stage.engine.openings > 0) == has_key


@pytest.mark.parametrize(("path", "name"), CIPHERTEXT_CASES, ids=str)
def test_malformed_ciphertexts_are_refused(path: Path, name: str) -> None:
    """The channel refuses them by size, otherwise the admission does; the secret key meets none of them."""
    stage = Stage(path)
    key = stage.key(path.owner)
    ends = stage.play(lambda honest: MALFORMED[name](key, honest))
    if name in OTHER_SIZES:
        stage.refuses(ends, RemoteProtocolError, f"expected {path.kind.name} with")
    else:
        stage.refuses(ends, CiphertextRefusedError, "ciphertext")


@pytest.mark.parametrize(("path", "name"), KEY_CASES, ids=str)
def test_malformed_keys_are_refused(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each for its own reason, before anything was encrypted under it."""
    stage = Stage(path)
    make, reason = KEYS[name]
    forged: list[Offer] = []

    def offer(participant: Participant, identity: bytes, own: PrivateKey) -> None:
        if participant.name == path.sender:
            forged.append(make(Forger(ProofContext(identity, path.sender, path.victim))))
        offer_key(participant, identity, own)

    for module in (arbiter, exchange):
        monkeypatch.setattr(module, "offer_key", offer)
    own = stage.key(path.victim).public.to_bytes()
    ends = stage.play(lambda honest: (own if name == SEEN else forged[0].key) + forged[0].proof)
    if name in KEYS_OF_OTHER_SIZE:
        stage.refuses(ends, RemoteProtocolError, "expected PUBLIC_KEY with")
    else:
        stage.refuses(ends, KeyRefusedError, reason)
    assert not stage.engine.calls
