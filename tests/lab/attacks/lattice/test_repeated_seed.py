"""`repeated-seed`: two requests with the same a, and other contents, show the evaluator their difference."""

import numpy as np
import pytest

from plumbob.crypto.lattice import Layout, Owner, Pairs, pairs
from plumbob.crypto.lattice.products import OwnerKey
from tests.crypto.lattice.support import OWNER_SEED, context, make_key, random_pairs, to_ints
from tests.lab.attacks.lattice.support import ENGINE, PARAMETERS, coefficients, minus, received

LAYOUT = Layout(PARAMETERS, "scores", 16, 4, 4, 51, 32)
FIRST = random_pairs(np.random.default_rng(1), 4, 51)
SECOND = random_pairs(np.random.default_rng(2), 4, 51)


class ConstantSeed(OwnerKey):
    """Its seeds and errors do not depend on what is encrypted."""

    def derive(self, label: str, *fields: bytes) -> bytes:
        return super().derive(label)


def read_difference(key: OwnerKey) -> list[int]:
    """What the evaluator takes for the difference of two encrypted vectors."""
    requests = [Owner(key, LAYOUT).request(values) for values in (FIRST, SECOND)]
    left, right = (received(PARAMETERS, each[32:])[0] for each in requests)
    scaled = coefficients(PARAMETERS, minus(PARAMETERS, left, right))[:4]
    return [round(each * 2**51 / PARAMETERS.modulus) % 2**51 for each in scaled]


def difference(left: Pairs, right: Pairs) -> list[int]:
    """The truth."""
    return to_ints(pairs.reduce(pairs.subtract(left, right), 51))


def test_a_repeated_seed_is_read() -> None:
    """Where seeds repeat, the evaluator has every difference exactly."""
    weak = ConstantSeed(ENGINE, PARAMETERS, context(), OWNER_SEED)
    assert read_difference(weak) == difference(FIRST, SECOND)


def test_our_seeds_do_not_repeat() -> None:
    """Bound to what they encrypt, two requests share nothing, and no difference is right."""
    wrong = zip(read_difference(make_key(ENGINE, PARAMETERS)), difference(FIRST, SECOND), strict=True)
    assert not any(guess == truth for guess, truth in wrong)


@pytest.mark.parametrize("number", [2, 3])
def test_passes_do_not_share_seeds(number: int) -> None:
    """The same vector in another pass has another seed, and another key."""
    first, later = make_key(ENGINE, PARAMETERS), make_key(ENGINE, PARAMETERS, number=number)
    assert Owner(first, LAYOUT).request(FIRST)[:32] != Owner(later, LAYOUT).request(FIRST)[:32]
    assert (first.secret != later.secret).any()
