"""What the attacks on keys need: an owner that chooses its ciphertexts, and victims on weak keys."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from plumbob.crypto import Draws, Encoded, Randomness
from plumbob.data import Batch
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey, Sendable
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from plumbob.protocol.messages import decode
from tests.lab.exchange.owners import ciphertexts
from tests.protocol.support import Played, made_up, plan_for, played

ROWS = 12


def attack_plan(**keys: Any) -> Plan:
    """The feature party has one column, so that each of its replies is one sum; a step is the whole data."""
    return plan_for((2, 1), protocol="exchange", batches="full", **keys)


# The owner of a key, who attacks its learner's features.


class Owner(ExchangeParty):
    """The label party; it chooses what it lends, and keeps the ciphertexts that came back."""

    key: PrivateKey

    @cached_property
    def replies(self) -> dict[int, int]:
        """The replies by step."""
        return {}

    @cached_property
    def rows(self) -> dict[int, Any]:
        """The rows by step, in the order in which they were lent."""
        return {}

    def chosen(self, batch: Batch, released: Encoded) -> Sendable:
        """What is lent in the place of honest ciphertexts."""
        raise NotImplementedError

    def lend(self, batch: Batch, released: Encoded) -> None:
        self.rows[batch.step] = batch.rows
        for helper in self._helpers.values():
            helper.lend(batch.step, self.chosen(batch, released))

    def answer(self, batch: Batch) -> None:
        (channel,) = self.participant.channels.values()
        channel.recording = []
        super().answer(batch)
        (self.replies[batch.step],) = ciphertexts(self.key.public, decode(channel.recording[0]).body)


class ChosenPrimes(Draws):
    """The kernel's randomness, but for the two primes of a key."""

    _primes: tuple[int, ...]

    @classmethod
    def of_key(cls, *primes: int) -> "ChosenPrimes":
        draws = cls.begin()
        draws._primes = primes
        return draws

    def of(self, purpose: str, peer: str = "") -> Randomness:
        randomness = super().of(purpose, peer)
        if purpose == "own key":
            chosen = list(self._primes)
            usual = randomness.of_bits
            # Primes are drawn first, and have the bits that a draw is given.
            vars(randomness)["of_bits"] = lambda bits: chosen.pop() if chosen else usual(bits)
        return randomness


def victim_on(kind: type[PublicKey]) -> type[ExchangeParty]:
    """An honest party that uses its peers' keys through a weakened class."""

    class Victim(ExchangeParty):
        def prepare(self) -> None:
            super().prepare()
            self.peer_keys = {
                peer: kind(key.n, key.profile, key.engine, key.randomness) for peer, key in self.peer_keys.items()
            }

    return Victim


@dataclass
class Score:
    """Features that were read, of all that there were."""

    right: int
    of: int

    @property
    def rate(self) -> float:
        return self.right / self.of


def score(parties: Mapping[str, object], guesses: Mapping[int, Sequence[int]]) -> Score:
    """Beside the integers that the feature party multiplied with, in each step that was read."""
    owner, victim = parties["label"], parties["features"]
    assert isinstance(owner, Owner)
    assert isinstance(victim, ExchangeParty)
    column = victim.widths.features.encode(victim.shard.X, "features").values[:, 0]
    right = sum(int(np.sum(column[owner.rows[step]] == guess)) for step, guess in guesses.items())
    return Score(right, sum(len(guess) for guess in guesses.values()))


def against(attacker: type[ExchangeParty], victim: type[PublicKey], plan: Plan, draws: Draws | None = None) -> Played:
    """The label party attacks a feature party that uses its key through `victim`."""
    own = {} if draws is None else {"label": draws}
    instead = {"label": attacker, "features": victim_on(victim)}
    return played(plan, made_up(ROWS, plan.columns), draws=own, instead=instead)


def factors_of(n: int, prime_sum: int) -> tuple[int, int]:
    """The factors p and q from their product and their sum."""
    root = math.isqrt(prime_sum**2 - 4 * n)
    return (prime_sum + root) // 2, (prime_sum - root) // 2
