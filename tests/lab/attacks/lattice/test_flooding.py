"""`flooding`: noise in the place of a mask over the whole range leaves what an owner lifts above it."""

import numpy as np

from plumbob.crypto.lattice import Layout, PrivateMatrix, pairs
from plumbob.crypto.lattice.interface import Residues
from plumbob.crypto.lattice.products import request_stream
from tests.crypto.lattice import reference, residues
from tests.crypto.lattice.support import admitted, answered, make_key
from tests.lab.attacks.lattice.support import ENGINE, PARAMETERS, coefficients, polynomial, private_matrix, times

LAYOUT = Layout(PARAMETERS, "scores", 16, 4, 4, 51, 32)
KEY = make_key(ENGINE, PARAMETERS)
HIDDEN = private_matrix(16, 4)
SEED, FLOOD_BITS, LIFTED = bytes(32), 50, 1 << 70


def lifted_request() -> tuple[Residues, Residues]:
    """A pair c0 and c1 whose sum c0 + c1 s is a number between the flood and q / 2**51."""
    a = ENGINE.uniform(PARAMETERS, request_stream(PARAMETERS, KEY.context.in_pass(1), SEED))
    c0 = ENGINE.combine(PARAMETERS, polynomial(PARAMETERS, [LIFTED]), a, KEY.secret)
    return c0, polynomial(PARAMETERS, [0]) + (np.array(PARAMETERS.primes, dtype=np.uint64)[:, None] - a)


def flooded_reply() -> tuple[Residues, Residues]:
    """What an evaluator that floods would send: both parts, with small uniform noise on the first."""
    c0, c1 = lifted_request()
    public = admitted(KEY)
    factor = PrivateMatrix(ENGINE, LAYOUT, HIDDEN).residues[0, 0]
    u = reference._transformed(PARAMETERS, residues.ternary(b"u" * 32, 0, 64))
    flood = polynomial(PARAMETERS, np.random.default_rng(3).integers(0, 2**FLOOD_BITS, 64).tolist())
    a = ENGINE.uniform(PARAMETERS, public.stream)
    first = ENGINE.combine(PARAMETERS, ENGINE.combine(PARAMETERS, flood, public.residues, u), c0, factor)
    second = ENGINE.combine(PARAMETERS, times(PARAMETERS, a, u), c1, factor)
    return first, second


def read_rate(opened: list[int], unit: int) -> float:
    """The share of entries that stand in the opened coefficients, in this unit."""
    guess = np.array([round(each / unit) for each in opened], dtype=object).reshape(16, 4)[:, ::-1]
    return float(np.mean(guess == HIDDEN))


def test_a_flooded_reply_is_read() -> None:
    """The owner rounds away the flood and has every entry."""
    first, second = flooded_reply()
    opened = coefficients(PARAMETERS, ENGINE.combine(PARAMETERS, first, second, KEY.secret))
    assert read_rate(opened, LIFTED) == 1.0


def test_our_reply_is_not_read() -> None:
    """Ours sends one part only: the same request shows the owner a uniform share."""
    c0, _ = lifted_request()
    reply = answered(PrivateMatrix(ENGINE, LAYOUT, HIDDEN), KEY, SEED + residues.pack(c0).tobytes()).reply
    packed = np.frombuffer(reply, dtype=np.uint8).reshape(64, LAYOUT.reply_bits // 8)
    share = reference._opened(LAYOUT, KEY.secret, pairs.from_octets(packed))
    opened = [int(low) << (PARAMETERS.modulus_bits - LAYOUT.output_bits) for low in share[:, 0]]
    assert read_rate(opened, LIFTED) < 0.05
