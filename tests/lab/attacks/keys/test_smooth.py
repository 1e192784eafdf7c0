"""`key-smooth`: a well-formed key in whose group logarithms are cheap, against randomisers from one base.

The key passes every check that can be made of a key. Stopped by randomisers from independent bases, which are uniform
whatever the group is.
"""

import pytest

from plumbob.checking.study import widths_for
from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.lab.exchange import profiles
from plumbob.lab.exchange.paillier import PublicKey, Sendable
from tests.crypto.support import seeded
from tests.lab.attacks.keys.support import ROWS, ChosenPrimes, Owner, Score, against, attack_plan, score
from tests.lab.exchange.owners import OneBaseFullLengthKey, OneBaseKey, SmoothKey, with_chosen_randomness

PLAN = attack_plan(epochs=3)
WIDTH = widths_for(PLAN, ROWS).features.bits


@pytest.fixture(scope="module")
def smooth_key() -> SmoothKey:
    """A smooth key as wide as a column of this plan."""
    return SmoothKey.make(seeded("smooth"), profiles.insecure_for_tests(PLAN.key_bits), ROWS, WIDTH)


def attack(smooth: SmoothKey, victim: type[PublicKey], epochs: int) -> Score:
    """The first step shows the victim's base, every later one a column."""

    class SmoothOwner(Owner):
        """The plaintexts are the honest ones."""

        def chosen(self, batch: Batch, released: Encoded) -> Sendable:
            roots = [1] * ROWS if batch.step == 1 else smooth.roots()
            return with_chosen_randomness(self.key, released.values.tolist(), roots)

    run = against(SmoothOwner, victim, PLAN.replace(epochs=epochs), ChosenPrimes.of_key(*smooth.primes))
    owner = run.parties["label"]
    assert isinstance(owner, SmoothOwner)
    # The key was admitted: this is no attack that a check of keys could stop.
    assert owner.key.public.n == smooth.private.public.n
    later = {step: reply for step, reply in owner.replies.items() if step > 1}
    return score(run.parties, {step: smooth.features(owner.replies[1], reply) for step, reply in later.items()})


@pytest.mark.parametrize("weak", [OneBaseKey, OneBaseFullLengthKey], ids=["half-length", "full-length"])
def test_one_base_gives_every_feature_away(smooth_key: SmoothKey, weak: type[OneBaseKey]) -> None:
    """Whatever the length of its exponents, one base is one unknown, and the first reply shows it."""
    found = attack(smooth_key, weak, epochs=3)
    assert (found.right, found.of) == (24, 24)


def test_independent_bases_give_nothing_away(smooth_key: SmoothKey) -> None:
    """From the shipped replies the same owner reads nothing of numbers with half a million values."""
    found = attack(smooth_key, PublicKey, epochs=6)
    assert found.of == 60
    assert found.right <= 1
