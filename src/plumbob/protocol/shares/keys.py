"""Keys for lattice products, all of them made, handed over and tested before the first one.

Between two parties a key serves one kind of product in all passes. Three and more have a key for each product of each
pass, because a label party that cheats can carry out a whole key behind the masks of one pass.

The owner of a key encrypts a vector under it; the other party, the evaluator, multiplies. An evaluator that used a key
as it came could have its own numbers read from it, so every key proves first that it decrypts what was encrypted for
it (`crypto.lattice.key_test`, four messages). One to three of a hundred honest tests have to be repeated. With several
peers, all of them are told something before any is heard, so that nobody waits for one that waits for another.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from plumbob.crypto.lattice import MOST_TESTS, KeyProof, KeyTest, OwnerKey, TestedKey
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import CiphertextRefusedError, KeyRefusedError
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import KEYS, Resumed
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares.shape import Product

COMMITMENT_BYTES = 32  # Of one to the answer in a test of a key.
PASSED, AGAIN = b"\1", b"\0"
ENDED = object()


@dataclass(frozen=True, repr=False)
class Keys:
    """All keys at one party, by product: its own, and those of its peers that passed their test."""

    engine: Engine
    session: bytes
    own: dict[Product, OwnerKey] = field(default_factory=dict)
    tested: dict[Product, TestedKey] = field(default_factory=dict)

    def forget(self, number: int) -> None:
        """Drop the keys that no pass after this one needs."""
        for keys in (self.own, self.tested):
            for product in [product for product in keys if product.last == number]:
                del keys[product]

    def take_own(self, product: Product, seed: bytes) -> None:
        """Make a key of this party's own from its seed."""
        self.own[product] = OwnerKey(self.engine, product.parameters, product.context(self.session), seed)

    def take_known(self, product: Product, public: bytes) -> None:
        """Take a peer's key that passed its test at an earlier start."""
        context = product.context(self.session)
        self.tested[product] = TestedKey.known(self.engine, product.parameters, context, public)

    def content(self, product: Product) -> bytes:
        """What a key is made of: the seed of an own one, the bytes of a peer's."""
        return self.own[product].seed if product in self.own else self.tested[product].public


def settle_keys(
    participant: Participant,
    keys: Keys,
    channels: Mapping[str, Channel],
    products: Iterable[Product],
    resumed: Resumed | None,
) -> None:
    """Fill in the keys of a whole run: agreed on now, or as an earlier start left them, without finished passes.

    The last thing before the first pass: what a key is made of leaves the journal with the last pass that needs it.
    """
    listed = [product for product in products if participant.name in product.parties]
    if resumed is not None:
        _restore(keys, listed, participant.name, resumed.needs)
        return
    participant.begin_step(KEYS)
    agree_keys(participant, keys, channels, listed)
    passes = sorted({product.last for product in listed})
    participant.finish_step(KEYS, needs={number: _contents_for(listed, keys, number) for number in passes})


def _contents_for(products: Sequence[Product], keys: Keys, number: int) -> bytes:
    """What one pass needs: seeds of own keys, and the peers' keys, in the order of the products."""
    return msgspec.msgpack.encode([keys.content(product) for product in products if product.last == number])


def _restore(keys: Keys, products: Sequence[Product], name: str, needs: Mapping[int, bytes]) -> None:
    for number, data in needs.items():
        of_pass = (product for product in products if product.last == number)
        for product, found in zip(of_pass, msgspec.msgpack.decode(data, type=list[bytes]), strict=True):
            if product.owner == name:
                keys.take_own(product, found)
            else:
                keys.take_known(product, found)


def agree_keys(
    participant: Participant, keys: Keys, channels: Mapping[str, Channel], products: Iterable[Product]
) -> None:
    """Make our keys, receive the peers', and test all of them; one that fails ends the run."""
    listed = [product for product in products if participant.name in product.parties]
    for product in listed:
        if product.owner == participant.name:
            words = product.context(keys.session).in_words
            keys.take_own(product, participant.draws.of("key", words).draw(SEED_BYTES))
    talks = [
        _Tests(participant, channel, keys).run([product for product in listed if peer in product.parties])
        for peer, channel in channels.items()
    ]
    while talks:
        # Each receives what is due and sends its next message, until it has ended.
        talks = [talk for talk in talks if next(talk, ENDED) is not ENDED]


class _Tests:
    """Tests of keys with one peer, both ways at once; a round for all, then more for those whose noise carried over."""

    def __init__(self, participant: Participant, channel: Channel, keys: Keys) -> None:
        self.participant, self.channel, self.keys = participant, channel, keys
        self._public: dict[Product, bytes] = {}
        """The peer's keys, as they came."""

    def run(self, listed: Sequence[Product]) -> Generator[None, None, None]:
        """Show the peer our keys and test its own; pauses wherever something was sent and an answer is due."""
        mine = [product for product in listed if product.owner == self.participant.name]
        theirs = [product for product in listed if product.owner == self.channel.peer]
        self.channel.send(Kind.LATTICE_KEYS, 0, b"".join(self.keys.own[product].public for product in mine))
        yield
        sizes = [product.parameters.polynomial_bytes for product in theirs]
        public = _cut(self.channel.receive(Kind.LATTICE_KEYS, 0, sum(sizes)), sizes)
        self._public = dict(zip(theirs, public, strict=True))
        proving, testing = mine, theirs
        for number in range(MOST_TESTS):
            if not proving and not testing:
                return
            proving, testing = yield from self._round(number, proving, testing)
        raise KeyRefusedError(
            f"{self.channel.peer}: a lattice key failed {MOST_TESTS} tests in a row, which an honest one never does; "
            "end the run"
        )

    def _round(
        self, number: int, proving: list[Product], testing: list[Product]
    ) -> Generator[None, None, tuple[list[Product], list[Product]]]:
        """Run one round; returns what has to be proved, and tested, once more."""
        tests = [self._test(product) for product in testing]
        proofs = [self._proof(product) for product in proving]
        sizes = [2 * product.parameters.polynomial_bytes for product in proving]
        challenges = yield from self._swap(Kind.KEY_CHALLENGES, number, [test.challenge() for test in tests], sizes)
        with self._blame_peer():
            committed = [proof.commit(challenge) for proof, challenge in zip(proofs, challenges, strict=True)]
        commitments = yield from self._swap(Kind.KEY_COMMITMENTS, number, committed, [COMMITMENT_BYTES] * len(tests))
        reveals = yield from self._swap(
            Kind.KEY_REVEALS,
            number,
            [test.reveal(commitment) for test, commitment in zip(tests, commitments, strict=True)],
            [SEED_BYTES] * len(proofs),
        )
        with self._blame_peer():
            nonces = [proof.reveal(sigma) for proof, sigma in zip(proofs, reveals, strict=True)]
        answers = [AGAIN + bytes(SEED_BYTES) if nonce is None else PASSED + nonce for nonce in nonces]
        theirs = yield from self._swap(Kind.KEY_NONCES, number, answers, [1 + SEED_BYTES] * len(tests))
        for product, test, answer in zip(testing, tests, theirs, strict=True):
            if answer[:1] != AGAIN:
                with self._blame_peer():
                    self.keys.tested[product] = test.finish(answer[1:])
        again = [product for product, nonce in zip(proving, nonces, strict=True) if nonce is None]
        return again, [product for product in testing if product not in self.keys.tested]

    def _test(self, product: Product) -> KeyTest:
        context, sigma = product.context(self.keys.session), self._draw("test of a key", product)
        with self._blame_peer():
            return KeyTest(self.keys.engine, product.parameters, context, self._public[product], sigma)

    def _proof(self, product: Product) -> KeyProof:
        key = self.keys.own[product]
        return KeyProof(key, key.public, self._draw("proof of a key", product))

    def _draw(self, purpose: str, product: Product) -> bytes:
        place = f"{self.channel.peer}, {product.context(self.keys.session).in_words}"
        return self.participant.draws.of(purpose, place).draw(SEED_BYTES)

    @contextmanager
    def _blame_peer(self) -> Iterator[None]:
        """Say whose key, or whose challenge, is refused: there may be several peers."""
        try:
            yield
        except (KeyRefusedError, CiphertextRefusedError) as error:
            raise KeyRefusedError(f"{self.channel.peer}: {error}") from None

    def _swap(
        self, kind: Kind, number: int, ours: Sequence[bytes], sizes: Sequence[int]
    ) -> Generator[None, None, list[bytes]]:
        """Exchange messages; a side that has nothing left to say in a round sends none."""
        if ours:
            self.channel.send(kind, number, b"".join(ours))
        yield
        return _cut(self.channel.receive(kind, number, sum(sizes)), sizes) if sizes else []


def _cut(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    parts, start = [], 0
    for size in sizes:
        parts.append(body[start : start + size])
        start += size
    return parts
