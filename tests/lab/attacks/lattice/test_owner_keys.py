"""`free-c1`, `untested-key` and `high-bits`: keys that make an opened share show u, and the test that stops them.

With b a constant and c0 = 0, the evaluator's share is u itself, scaled. Once that share is opened, the owner computes
a u, takes it off the reply and has c1 Z + e2. If it could choose c1, that is all of Z; with c1 from a seed it can still
confirm a guess. No such b passes the test; one whose secret bits stand at a high position is passed by b = 2**104.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice import KeyTest, Layout, PrivateMatrix, key_test
from plumbob.crypto.lattice.interface import Residues
from plumbob.crypto.lattice.products import key_stream, request_stream
from plumbob.errors import KeyRefusedError
from tests.crypto.lattice import reference, residues
from tests.crypto.lattice.support import make_key
from tests.lab.attacks.lattice.support import (
    ENGINE,
    PARAMETERS,
    coefficients,
    minus,
    polynomial,
    private_matrix,
    times,
)

LAYOUT = Layout(PARAMETERS, "scores", 16, 4, 4, 51, 32)
KEY = make_key(ENGINE, PARAMETERS)
HIDDEN = private_matrix(16, 4)
Q = PARAMETERS.modulus
SEED = bytes(32)


def opened_after(b: Residues, c1: Residues, factor: Residues) -> tuple[Residues, Residues]:
    """A reply with c0 = 0 under the key b, and what the evaluator's share shows of b u once it is opened."""
    a = ENGINE.uniform(PARAMETERS, key_stream(PARAMETERS, KEY.context))
    u = reference._transformed(PARAMETERS, residues.ternary(b"u" * 32, 0, 64))
    errors = reference._transformed(PARAMETERS, residues.errors(b"e" * 32, 0, 64))
    masked = ENGINE.combine(PARAMETERS, ENGINE.combine(PARAMETERS, errors, a, u), c1, factor)
    return masked, times(PARAMETERS, b, u)


def unmasked(b_value: int, c1: Residues, factor: Residues) -> Residues:
    """What is left of the reply when a u, known from the opened share, is taken off: c1 Z + e2."""
    reply, share = opened_after(polynomial(PARAMETERS, [b_value]), c1, factor)
    u = polynomial(PARAMETERS, [round(each / b_value) for each in coefficients(PARAMETERS, share)])
    a = ENGINE.uniform(PARAMETERS, key_stream(PARAMETERS, KEY.context))
    return minus(PARAMETERS, reply, times(PARAMETERS, a, u))


def transformed(entries: NDArray[np.int64]) -> Residues:
    """The matrix as the evaluator has it: one polynomial."""
    residues: Residues = PrivateMatrix(ENGINE, LAYOUT, entries).residues[0, 0]
    return residues


def expanded() -> Residues:
    """The polynomial c1 as our evaluator expands it."""
    return ENGINE.uniform(PARAMETERS, request_stream(PARAMETERS, KEY.context.in_pass(1), SEED))


def read_matrix(c1: Residues, scale: int) -> float:
    """The share of entries that the owner reads, taking c1 for the constant `scale`."""
    left = unmasked(Q >> 32, c1, transformed(HIDDEN))
    placed = [round(each / scale) for each in coefficients(PARAMETERS, left)]
    guess = np.array(placed, dtype=object).reshape(16, 4)[:, ::-1]
    return float(np.mean(guess == HIDDEN))


def is_confirmed(guess: NDArray[np.int64]) -> bool:
    """Whether a guess of the whole matrix leaves nothing but a small error."""
    left = minus(
        PARAMETERS,
        unmasked(Q >> 32, expanded(), transformed(HIDDEN)),
        times(PARAMETERS, expanded(), transformed(guess)),
    )
    return max(abs(each) for each in coefficients(PARAMETERS, left)) <= 21


def test_a_free_c1_is_read() -> None:
    """An owner that sends a constant as c1, under a key that nobody tested, reads every entry."""
    assert read_matrix(polynomial(PARAMETERS, [1 << 60]), 1 << 60) == 1.0


def test_our_c1_is_not_the_owners_choice() -> None:
    """With c1 from a seed the same attack reads nothing, even under that key."""
    assert read_matrix(expanded(), 1 << 60) < 0.01


def test_an_untested_key_confirms_guesses() -> None:
    """With c1 from a seed, a key that nobody tested still tells the true matrix from one with another entry."""
    wrong = HIDDEN.copy()
    wrong[3, 2] += 1
    assert is_confirmed(HIDDEN)
    assert not is_confirmed(wrong)


def pass_test(test: KeyTest, high_bits: bytes) -> None:
    """Play the owner's side with whatever bits it has."""
    nonce = bytes(range(32))
    test.reveal(key_test._commitment(nonce, high_bits))
    test.finish(nonce)


@pytest.mark.parametrize("value", [Q >> 32, 1 << 104, Q // 2, Q // 3])
def test_our_test_refuses_such_keys(value: int) -> None:
    """The best that their owner can do, the high bits of X0 with or without what it knows, is refused."""
    public = residues.pack(polynomial(PARAMETERS, [value])).tobytes()
    for secret in (polynomial(PARAMETERS, [0]), KEY.secret):
        test = KeyTest(ENGINE, PARAMETERS, KEY.context, public, bytes(32))
        x0, x1 = ENGINE.unpack(PARAMETERS, challenge_of(test))
        guess = ENGINE.high_bits(
            PARAMETERS, ENGINE.combine(PARAMETERS, x0, x1, secret), key_test.dropped_bits(PARAMETERS)
        )
        with pytest.raises(KeyRefusedError, match="failed its test"):
            pass_test(test, guess)


def test_a_small_key_passes_and_shows_nothing() -> None:
    """b = 1 is the key of the secret zero: it passes, and u stays far below the last bit of an opened share."""
    one = polynomial(PARAMETERS, [1])
    test = KeyTest(ENGINE, PARAMETERS, KEY.context, residues.pack(one).tobytes(), bytes(32))
    x0, _ = ENGINE.unpack(PARAMETERS, challenge_of(test))
    pass_test(test, ENGINE.high_bits(PARAMETERS, x0, key_test.dropped_bits(PARAMETERS)))
    _, share = opened_after(one, expanded(), transformed(HIDDEN))
    assert not reference._fraction_bits(PARAMETERS, share, LAYOUT.output_bits).any()


def challenge_of(test: KeyTest) -> NDArray[np.uint8]:
    """X0 and X1, as polynomials on the wire."""
    packed: NDArray[np.uint8] = np.frombuffer(test.challenge(), dtype=np.uint8).reshape(2, 3, -1)
    return packed


def high_position_passes(value: int) -> bool:
    """Whether a key b = value passes the obvious test: secret bits at the highest position in the place of rho."""
    bits = np.random.default_rng(4).integers(0, 2, 64)
    u = reference._transformed(PARAMETERS, residues.ternary(b"u" * 32, 0, 64))
    hidden = polynomial(PARAMETERS, [int(bit) * (Q // 2) for bit in bits])
    x0 = ENGINE.combine(PARAMETERS, hidden, polynomial(PARAMETERS, [value]), u)
    read = [abs(each) > Q // 4 for each in coefficients(PARAMETERS, x0)]
    return bool((np.array(read) == (bits == 1)).all())


def test_the_obvious_test_is_passed() -> None:
    """With bits at a high position, an owner with b = 2**104 reads them all and passes; ours refuses that key above."""
    assert high_position_passes(1 << 104)
    assert not high_position_passes(Q // 3)
