"""Keys for lattice products, all of them made, handed over and tested before the first one.

Between two parties a key serves one kind of product in all passes. Three and more have a key for each product of each
pass, because a label party that cheats can carry out a whole key behind the masks of one pass.

The owner of a key encrypts a vector under it; the other party, the evaluator, multiplies. An evaluator that used a key
as it came could have its own numbers read from it, so every key proves first that it decrypts what was encrypted for
it (`crypto.lattice.key_test`, four messages). One to three of a hundred honest tests have to be repeated. With several
peers, all of them are told something before any is heard, so that nobody waits for one that waits for another.
"""

import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from plumbob.crypto.lattice import (
    MOST_TESTS,
    KeyContext,
    KeyProof,
    KeyTest,
    LatticeEngine,
    OwnerKey,
    ParameterSet,
    TestedKey,
)
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.products import polynomials
from plumbob.errors import CiphertextRefusedError, KeyRefusedError
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import Kind
from plumbob.protocol.shares.schedule import COMMITMENT_BYTES

PASSED, AGAIN = b"\1", b"\0"
ENDED = object()


class KeyedProduct(NamedTuple):
    """A product that needs its own key, with one evaluator or with several; each of them tests the key."""

    context: KeyContext
    parameters: ParameterSet
    evaluators: tuple[str, ...]

    @property
    def ends(self) -> set[str]:
        """All parties of the product."""
        return {self.context.owner, *self.evaluators}

    def is_between(self, one: str, other: str) -> bool:
        owner = self.context.owner
        return (one == owner and other in self.evaluators) or (other == owner and one in self.evaluators)


def key_context(session: bytes, kind: str, last: int, owner: str, evaluators: Sequence[str]) -> KeyContext:
    """The context of a key up to that pass. The evaluators' names stand together, because they share the key."""
    return KeyContext(session, owner, " & ".join(evaluators), kind, last)


@dataclass(frozen=True, repr=False)
class Keys:
    """All keys at one party: its own, and those of its peers that passed their test."""

    own: dict[KeyContext, OwnerKey]
    tested: dict[KeyContext, TestedKey]
    seeds: dict[KeyContext, bytes]
    """The seeds that own keys are derived from."""
    own_public: dict[KeyContext, bytes]
    peers_public: dict[KeyContext, bytes]

    def forget(self, number: int) -> None:
        """Drop the keys that no pass after this one needs."""
        every: list[dict[KeyContext, Any]] = [*vars(self).values()]
        for keys in every:
            for context in [context for context in keys if context.last == number]:
                del keys[context]


def settled_keys(
    participant: Participant, engine: LatticeEngine, channels: Mapping[str, Channel], products: Iterable[KeyedProduct]
) -> Keys:
    """The keys of a whole run: agreed on now, or as an earlier start left them, without those of finished passes.

    The last thing before the first pass: what a key is made of leaves the journal with the last pass that needs it.
    """
    journal = participant.journal
    listed = [product for product in products if participant.name in product.ends]
    found = journal.handed_on()
    if found is not None:
        state, needs = found
        participant.restore_channels(state)
        return _restored(engine, listed, participant.name, needs)
    participant.begin_keys()
    keys = agree_keys(participant, engine, channels, listed)
    passes = sorted({product.context.last for product in listed})
    participant.hand_on({number: _needed(listed, keys, number) for number in passes})
    return keys


def _needed(products: Sequence[KeyedProduct], keys: Keys, number: int) -> bytes:
    """What one pass needs: seeds of own keys, and the peers' keys, in the order of the products."""
    either = {**keys.seeds, **keys.peers_public}
    return msgspec.msgpack.encode([either[each.context] for each in products if each.context.last == number])


def _restored(engine: LatticeEngine, products: Sequence[KeyedProduct], name: str, needs: Mapping[int, bytes]) -> Keys:
    keys = Keys({}, {}, {}, {}, {})
    for number, data in needs.items():
        of_pass = (product for product in products if product.context.last == number)
        for (context, parameters, _), found in zip(
            of_pass, msgspec.msgpack.decode(data, type=list[bytes]), strict=True
        ):
            if context.owner == name:
                keys.seeds[context] = found
                keys.own[context] = OwnerKey(engine, parameters, context, found)
            else:
                keys.peers_public[context] = found
                keys.tested[context] = known_key(engine, parameters, context, found)
    return keys


def known_key(engine: LatticeEngine, parameters: ParameterSet, context: KeyContext, public: bytes) -> TestedKey:
    """A peer's key that passed its test at an earlier start."""
    residues = engine.unpack(parameters, polynomials(parameters, public, 1)[0])
    return TestedKey(parameters, context, residues, hashlib.sha256(public).digest())


def agree_keys(
    participant: Participant, engine: LatticeEngine, channels: Mapping[str, Channel], products: Iterable[KeyedProduct]
) -> Keys:
    """Make our keys, receive the peers', and test all of them; one that fails ends the run."""
    listed = list(products)
    keys = _made(participant, engine, listed)
    talks = [
        _Tests(participant, engine, channel, keys).run(
            [one for one in listed if one.is_between(participant.name, peer)]
        )
        for peer, channel in channels.items()
    ]
    while talks:
        # Each receives what is due and sends its next message, until it has ended.
        talks = [talk for talk in talks if next(talk, ENDED) is not ENDED]
    return keys


def _made(participant: Participant, engine: LatticeEngine, listed: Sequence[KeyedProduct]) -> Keys:
    """Make this party's own keys, each from its own draw."""
    mine = [product for product in listed if product.context.owner == participant.name]
    seeds = {
        product.context: participant.draws.of("key", product.context.in_words).draw(SEED_BYTES) for product in mine
    }
    own = {
        product.context: OwnerKey(engine, product.parameters, product.context, seeds[product.context])
        for product in mine
    }
    return Keys(own, {}, seeds, {context: key.public_bytes() for context, key in own.items()}, {})


class _Tests:
    """Tests of keys with one peer, both ways at once; a round for all, then more for those whose noise carried over."""

    def __init__(self, participant: Participant, engine: LatticeEngine, channel: Channel, keys: Keys) -> None:
        self.participant, self.engine, self.channel, self.keys = participant, engine, channel, keys

    def run(self, listed: Sequence[KeyedProduct]) -> Generator[None, None, None]:
        """Show the peer our keys and test its own; pauses wherever something was sent and an answer is due."""
        mine = [product.context for product in listed if product.context.owner == self.participant.name]
        theirs = [product for product in listed if product.context.owner != self.participant.name]
        self.channel.send(Kind.LATTICE_KEYS, 0, b"".join(self.keys.own_public[context] for context in mine))
        yield
        sizes = [product.parameters.polynomial_bytes for product in theirs]
        public = _cut(self.channel.receive(Kind.LATTICE_KEYS, 0), sizes)
        self.keys.peers_public.update(zip((product.context for product in theirs), public, strict=True))
        proving, testing = [self.keys.own[context] for context in mine], theirs
        for number in range(MOST_TESTS):
            if not proving and not testing:
                return
            proving, testing = yield from self._round(number, proving, testing)
        raise KeyRefusedError(
            f"{self.channel.peer}: a lattice key failed {MOST_TESTS} tests in a row, which an honest one never does; "
            "end the run"
        )

    def _round(
        self, number: int, proving: list[OwnerKey], testing: list[KeyedProduct]
    ) -> Generator[None, None, tuple[list[OwnerKey], list[KeyedProduct]]]:
        """Run one round; returns what has to be proved, and tested, once more."""
        tests = [self._test(product) for product in testing]
        proofs = [
            KeyProof(key, self.keys.own_public[key.context], self._draw("proof of a key", key.context))
            for key in proving
        ]
        sizes = [2 * key.parameters.polynomial_bytes for key in proving]
        challenges = yield from self._swap(Kind.KEY_CHALLENGES, number, [test.challenge() for test in tests], sizes)
        with self._naming_peer():
            committed = [proof.commit(challenge) for proof, challenge in zip(proofs, challenges, strict=True)]
        commitments = yield from self._swap(Kind.KEY_COMMITMENTS, number, committed, [COMMITMENT_BYTES] * len(tests))
        reveals = yield from self._swap(
            Kind.KEY_REVEALS,
            number,
            [test.reveal(commitment) for test, commitment in zip(tests, commitments, strict=True)],
            [SEED_BYTES] * len(proofs),
        )
        with self._naming_peer():
            nonces = [proof.reveal(sigma) for proof, sigma in zip(proofs, reveals, strict=True)]
        said = [AGAIN + bytes(SEED_BYTES) if nonce is None else PASSED + nonce for nonce in nonces]
        heard = yield from self._swap(Kind.KEY_NONCES, number, said, [1 + SEED_BYTES] * len(tests))
        for product, test, answer in zip(testing, tests, heard, strict=True):
            if answer[:1] != AGAIN:
                with self._naming_peer():
                    self.keys.tested[product.context] = test.finish(answer[1:])
        again = [key for key, nonce in zip(proving, nonces, strict=True) if nonce is None]
        return again, [product for product in testing if product.context not in self.keys.tested]

    def _test(self, product: KeyedProduct) -> KeyTest:
        public = self.keys.peers_public[product.context]
        sigma = self._draw("test of a key", product.context)
        with self._naming_peer():
            return KeyTest(self.engine, product.parameters, product.context, public, sigma)

    def _draw(self, purpose: str, context: KeyContext) -> bytes:
        place = f"{self.channel.peer}, {context.in_words}"
        return self.participant.draws.of(purpose, place).draw(SEED_BYTES)

    @contextmanager
    def _naming_peer(self) -> Iterator[None]:
        """Say whose key, or whose challenge, is refused: there may be several peers."""
        try:
            yield
        except (KeyRefusedError, CiphertextRefusedError) as error:
            raise KeyRefusedError(f"{self.channel.peer}: {error}") from None

    def _swap(
        self, kind: Kind, number: int, said: Sequence[bytes], sizes: Sequence[int]
    ) -> Generator[None, None, list[bytes]]:
        """Exchange messages; a side that has nothing left to say in a round sends none."""
        if said:
            self.channel.send(kind, number, b"".join(said))
        yield
        return _cut(self.channel.receive(kind, number, sum(sizes)), sizes) if sizes else []


def _cut(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    parts, start = [], 0
    for size in sizes:
        parts.append(body[start : start + size])
        start += size
    return parts
