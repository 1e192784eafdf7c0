"""`key-reply`: an evaluator answers with monomials, and opened numbers carry the secret out, 17 values in 27 bits."""

import math

import numpy as np
import pytest

from plumbob.crypto.lattice import Layout, ParameterSet, make_request, open_reply
from plumbob.crypto.lattice.products import request_stream
from plumbob.errors import PlanError
from plumbob.lab.exchange.packing import centred
from plumbob.protocol.shares.shape import RunShape, most_opened_bits
from tests.crypto.lattice import residues
from tests.crypto.lattice.support import make_key, random_pairs, to_ints
from tests.crypto.lattice.test_sets import OFFERED
from tests.lab.attacks.lattice.garbage import digits_of, garbage, places_of
from tests.lab.attacks.lattice.support import ENGINE, PARAMETERS, coefficients, minus, polynomial, received, times
from tests.protocol.support import shares_plan

OPENED_BITS, DIGITS = 27, 17
LAYOUT = Layout(PARAMETERS, "gradients", 16, 5, 1, 51, 32)
KEY = make_key(ENGINE, PARAMETERS)
VALUES = random_pairs(np.random.default_rng(5), 16, 51)


def carried_out(opened: list[int]) -> list[int]:
    """The secret's coefficients, from the digits of opened numbers."""
    digits = np.concatenate([digits_of(centred(number, 1 << LAYOUT.output_bits)) for number in opened])
    by_place = dict(zip(places_of(LAYOUT), digits.tolist(), strict=True))
    return [by_place[place] for place in range(PARAMETERS.degree)]


def read_vector(secret: list[int], request: bytes, number: int = 1) -> list[int]:
    """The owner's vector of one pass, decrypted by an evaluator that has its secret."""
    a = ENGINE.uniform(PARAMETERS, request_stream(PARAMETERS, KEY.context.in_pass(number), request[:32]))
    plain = minus(
        PARAMETERS, received(PARAMETERS, request[32:])[0], times(PARAMETERS, a, polynomial(PARAMETERS, secret))
    )
    scaled = [round(each * 2**51 / PARAMETERS.modulus) for each in coefficients(PARAMETERS, plain)]
    return [(scaled[0] if row == 0 else -scaled[64 - row]) % 2**51 for row in range(16)]


def test_garbage_carries_a_short_secret_out() -> None:
    """Five opened numbers hold all of a secret of 64 coefficients: every residual of that pass is read."""
    request = make_request(KEY, 1, LAYOUT, VALUES)
    secret = carried_out(to_ints(open_reply(KEY, LAYOUT, garbage(LAYOUT, 1))))
    assert secret == coefficients(PARAMETERS, KEY.secret)
    assert read_vector(secret, request) == to_ints(VALUES)


def test_a_whole_secret_reads_every_pass_that_its_key_serves() -> None:
    """Between two parties that is every pass: so a set must leave enough of a secret unknown, and keys are erased."""
    secret = coefficients(PARAMETERS, KEY.secret)
    for number in (1, 2):
        assert read_vector(secret, make_request(KEY, number, LAYOUT, VALUES), number) == to_ints(VALUES)


def test_the_key_of_another_pass_reads_nothing() -> None:
    """Where each pass has its own key, as among three, one secret reads one pass alone."""
    later = make_key(ENGINE, PARAMETERS, number=2)
    request = make_request(later, 1, LAYOUT, VALUES)
    wrong = read_vector(coefficients(PARAMETERS, KEY.secret), request)
    assert not any(guess == truth for guess, truth in zip(wrong, to_ints(VALUES), strict=True))


@pytest.mark.parametrize("parameters", OFFERED, ids=lambda each: str(each.number))
def test_our_sets_leave_enough_of_a_secret(parameters: ParameterSet) -> None:
    """As many opened bits as a set allows leave it with as many unknown coefficients as the guidelines ask for."""
    known = DIGITS * parameters.most_opened_bits / OPENED_BITS
    assert parameters.degree - known >= parameters.modulus_bits * 4096 / 106 - 1
    assert math.log2(3**DIGITS) <= OPENED_BITS


def test_more_opened_bits_than_any_set_allows_are_refused() -> None:
    """A plan that would open a whole secret is refused before it starts."""
    wide = shares_plan((2000, 1))
    assert most_opened_bits(wide, 100) > math.ceil(32768 * math.log2(3))
    with pytest.raises(PlanError, match="bits may be opened to one party"):
        _ = RunShape(wide, 100).number


def test_the_reference_draws_secrets_of_three_values() -> None:
    """The digits above are all that a secret has."""
    assert set(residues.ternary(bytes(32), 0, 1000).tolist()) == {-1, 0, 1}
