"""`key-no-randomiser`: an owner lends ciphertexts whose randomness are small primes, and reads it back from the sums.

Stopped by `EncryptedVector.randomised`, the only way to something that has bytes.
"""

from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.lab.exchange.paillier import PublicKey, Sendable
from tests.lab.attacks.keys.support import Owner, Score, against, attack_plan, score
from tests.lab.exchange.owners import (
    SMALL_PRIMES,
    BareKey,
    randomness_root,
    small_prime_exponents,
    with_chosen_randomness,
)
from tests.protocol.support import Played, made_up, trained, weights_of

# Narrow features, so that a whole column's product of primes stays below the square root of a test key.
PLAN = attack_plan(feature_bits=3, epochs=3)


class SmallPrimesOwner(Owner):
    """The plaintexts are the honest ones: training goes on as if nothing were."""

    def chosen(self, batch: Batch, released: Encoded) -> Sendable:
        return with_chosen_randomness(self.key, released.values.tolist(), SMALL_PRIMES[: len(batch)])


def read(run: Played) -> tuple[Score, int]:
    """What the owner believes, scored, and of how many steps it is sure."""
    owner = run.parties["label"]
    assert isinstance(owner, SmallPrimesOwner)
    found = {
        step: small_prime_exponents(randomness_root(owner.key, reply), owner.key.public.n)
        for step, reply in owner.replies.items()
    }
    return score(run.parties, {step: guess for step, (guess, _) in found.items()}), sum(
        sure for _, sure in found.values()
    )


def test_without_randomness_every_feature_is_read() -> None:
    """Sums that were masked perfectly and not randomised give the whole column away, and the model stays as it was."""
    run = against(SmallPrimesOwner, BareKey, PLAN)
    found, sure = read(run)
    assert (found.right, found.of, sure) == (36, 36, 3)
    honest = trained(PLAN, made_up(12, PLAN.columns))
    assert run.transcript("features").weights.tobytes() == honest.transcripts["features"].weights.tobytes()
    assert weights_of(honest).any()


def test_the_shipped_sums_show_nothing() -> None:
    """The same owner is never sure, and right no more often than somebody who guesses a value near the middle."""
    found, sure = read(against(SmallPrimesOwner, PublicKey, attack_plan(feature_bits=3, epochs=8)))
    assert sure == 0
    assert found.rate < 0.25
