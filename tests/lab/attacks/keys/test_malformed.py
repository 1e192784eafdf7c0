"""`key-malformed`: n = p_1 ... p_k q where every p_i divides q - 1, so that n-th powers are few among the units.

Modulo q a mask is 1, and every randomiser is a p_i-th power: raised to (q - 1) / p_i both vanish, and what is left of a
reply is the learner's features in the exponent of an element of order p_i. Sizes, small factors, primality: all is as
it should be. Stopped by the proof that n-th powers permute the units, which no such n has.
"""

import math
from collections.abc import Callable
from typing import Any

import gmpy2
import pytest

from plumbob.checking.study import widths_for
from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.errors import KeyRefusedError, PlumbobError
from plumbob.lab.exchange import profiles, proof
from plumbob.lab.exchange import protocol as exchange
from plumbob.lab.exchange.limbs import from_ints
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey, Sendable
from plumbob.lab.exchange.primitive import engine_of
from plumbob.lab.exchange.primitive import make_key as make_honest_key
from plumbob.protocol.participant import Participant
from tests.crypto.support import seeded
from tests.lab.attacks.keys.support import ROWS, Owner, attack_plan, score
from tests.lab.exchange.malformed import best_root
from tests.lab.exchange.owners import SmoothGroup, distinct_primes, prime_between, signed_digits
from tests.protocol.support import Played, made_up, played

PLAN = attack_plan(epochs=1)
WIDTH = widths_for(PLAN, ROWS).features.bits
SMALL_BITS = 24  # Of each p_i: far above every factor that is looked for, and a logarithm takes 4096 steps.


class MalformedKey(PrivateKey):
    """A malformed key whose proof is the best that its factors allow. It cannot decrypt, and need not."""

    def __init__(self, group: SmoothGroup, public: PublicKey) -> None:
        super().__init__(public.n // group.prime, group.prime, public)
        self.group = group

    def nth_root(self, value: int) -> int:
        return best_root(self.public.n, (*self.group.small, self.group.prime), value)


@pytest.fixture(scope="module")
def group() -> SmoothGroup:
    """The prime q, and the small primes that divide n and q - 1."""
    randomness = seeded("malformed")
    primes, small = distinct_primes(SMALL_BITS, randomness), list[int]()
    while math.prod(small).bit_length() <= ROWS * WIDTH:
        small.append(next(primes))
    product = math.prod(small)
    whole = 1 << PLAN.key_bits
    return SmoothGroup(prime_between(whole // 2 // product, whole // product, product, randomness), tuple(small))


class MalformedOwner(Owner):
    """Lends no ciphertexts at all, but powers of a generator modulo q that are 1 modulo the rest of n."""

    key: MalformedKey

    def chosen(self, batch: Batch, released: Encoded) -> Sendable:
        group, n = self.key.group, self.key.public.n
        rest = n // group.prime
        lifted = (1 + (group.generator - 1) * rest * gmpy2.invert(rest, group.prime)) % n
        powers = (gmpy2.powmod(lifted, 1 << (WIDTH * row), n**2) for row in range(len(batch)))
        return Sendable(self.key.public, from_ints(powers, self.key.public.ring.width))

    def features(self, reply: int) -> list[int]:
        """Neither mask nor randomiser is in the way."""
        group = self.key.group
        total = group.logarithm(int(reply % group.prime))
        return signed_digits(centred(total, math.prod(group.small)), WIDTH, ROWS)


@pytest.fixture
def attack(group: SmoothGroup, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Played]:
    """The label party makes this key, the feature party is honest."""

    def make_key(participant: Participant) -> Any:
        if participant.name != "label":
            return make_honest_key(participant)
        n, profile = math.prod(group.small) * group.prime, profiles.insecure_for_tests(PLAN.key_bits)
        return MalformedKey(group, PublicKey(n, profile, engine_of(participant), participant.draws.of("own key")))

    monkeypatch.setattr(exchange, "make_key", make_key)
    return lambda: played(PLAN, made_up(ROWS, PLAN.columns), instead={"label": MalformedOwner})


def test_without_the_proof_every_feature_is_read(attack: Callable[[], Played], monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that makes every check of a key but this one is read through a perfect mask and fresh randomness."""
    monkeypatch.setattr(proof, "verify", lambda n, key_bits, given, context: None)
    parties = attack().parties
    owner = parties["label"]
    assert isinstance(owner, MalformedOwner)
    found = score(parties, {step: owner.features(reply) for step, reply in owner.replies.items()})
    assert (found.right, found.of) == (ROWS, ROWS)


def test_the_proof_stops_it(attack: Callable[[], Played]) -> None:
    """The shipped party names the peer, and not one ciphertext of its features leaves."""
    run = attack()
    owner = run.parties["label"]
    assert isinstance(owner, MalformedOwner)
    assert isinstance(run.ends["features"], KeyRefusedError)
    assert str(run.ends["features"]).startswith("label: key proof: root ")
    assert isinstance(run.ends["label"], PlumbobError)
    assert owner.replies == {}
    assert run.participants["features"].channels["label"].traffic.messages_sent < 5
