"""`repeated-seed`: two requests with the same a, and other contents, show the evaluator their difference."""

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import Layout, Pairs, ProductContext, make_request, pairs
from plumbob.crypto.lattice.products import OwnerKey
from tests.crypto.lattice.support import OWNER_SEED, context, make_key, random_pairs, to_ints
from tests.lab.attacks.lattice.support import ENGINE, PARAMETERS, coefficients, minus, received

LAYOUT = Layout(PARAMETERS, "scores", 16, 4, 4, 51, 32)
FIRST = random_pairs(np.random.default_rng(1), 4, 51)
SECOND = random_pairs(np.random.default_rng(2), 4, 51)


class ConstantSeed(OwnerKey):
    """An owner whose seeds and errors do not depend on what is encrypted."""

    def derive_for(self, product: ProductContext, label: str, *fields: bytes) -> bytes:
        return super().derive_for(product, label)


class ForgetsThePass(OwnerKey):
    """What it draws for a request is the same in every pass."""

    def derive_for(self, product: ProductContext, label: str, *fields: bytes) -> bytes:
        return super().derive_for(self.context.in_pass(0), label, *fields)

    def fingerprint(self, product: ProductContext, content: NDArray[np.generic]) -> bytes:
        return super().fingerprint(self.context.in_pass(0), content)


def read_difference(key: OwnerKey) -> list[int]:
    """What the evaluator takes for the difference of two encrypted vectors."""
    requests = [make_request(key, 1, LAYOUT, values) for values in (FIRST, SECOND)]
    left, right = (received(PARAMETERS, each[32:])[0] for each in requests)
    scaled = coefficients(PARAMETERS, minus(PARAMETERS, left, right))[:4]
    return [round(each * 2**51 / PARAMETERS.modulus) % 2**51 for each in scaled]


def difference(left: Pairs, right: Pairs) -> list[int]:
    """The true difference."""
    return to_ints(pairs.reduce(pairs.subtract(left, right), 51))


def test_a_repeated_seed_is_read() -> None:
    """Where seeds repeat, the evaluator has every difference exactly."""
    weak = ConstantSeed(ENGINE, PARAMETERS, context(), OWNER_SEED)
    assert read_difference(weak) == difference(FIRST, SECOND)


def test_our_seeds_do_not_repeat() -> None:
    """Bound to what they encrypt, two requests share nothing, and no difference is right."""
    wrong = zip(read_difference(make_key(ENGINE, PARAMETERS)), difference(FIRST, SECOND), strict=True)
    assert not any(guess == truth for guess, truth in wrong)


def seeds_of(key: OwnerKey) -> list[bytes]:
    """The seeds of requests with the same content, under one key in three passes."""
    return [make_request(key, number, LAYOUT, FIRST)[:32] for number in (1, 2, 3)]


def test_an_unchanged_vector_would_be_seen() -> None:
    """If seeds did not depend on the pass, equal ones would tell the evaluator that a share did not move."""
    assert len(set(seeds_of(ForgetsThePass(ENGINE, PARAMETERS, context(), OWNER_SEED)))) == 1


def test_passes_do_not_share_seeds() -> None:
    """The same vector under the same key has another seed in every pass."""
    assert len(set(seeds_of(make_key(ENGINE, PARAMETERS)))) == 3
