"""`no-zero` and `replayed`: a reply that is c1 Z, or a difference of two with the same randomness, is divided by c1."""

import numpy as np
import pytest

from plumbob.crypto.lattice import Register, SlotFactors, SlotLayout, make_request, products
from plumbob.crypto.lattice.context import derive
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.products import request_stream
from plumbob.errors import CiphertextRefusedError
from tests.crypto.lattice import reference as reference_engine
from tests.crypto.lattice.support import answered, make_key
from tests.lab.attacks.lattice.support import (
    ENGINE,
    SLOTS,
    WithoutZero,
    coefficients,
    divided,
    minus,
    private_numbers,
    received,
    slots_of,
)

LAYOUT = SlotLayout(SLOTS, SLOTS.degree, 1)
KEY = make_key(ENGINE, SLOTS, "sigmoid")
HIDDEN = private_numbers(LAYOUT.rows)


def ask(seed: int, number: int = 1) -> bytes:
    """An honest request in one pass."""
    return make_request(KEY, number, LAYOUT, private_numbers(LAYOUT.rows, seed))


def answer(engine: Engine, request: bytes, register: Register, number: int = 1) -> bytes:
    """The victim's reply about its hidden numbers."""
    return answered(SlotFactors(engine, LAYOUT, HIDDEN), KEY, request, number, register).reply


def opposite(request: bytes, number: int = 1) -> np.ndarray:
    """The polynomial -c1, which the owner knows."""
    return reference_engine._uniform(SLOTS, request_stream(SLOTS, KEY.context.in_pass(number), request[:32]), 0)


def read_single(engine: Engine) -> float:
    """The share of numbers that the owner reads off one reply."""
    request = ask(1)
    total = minus(SLOTS, np.zeros((6, 64), dtype=np.uint64), received(SLOTS, answer(engine, request, Register()))[0])
    guess = slots_of(SLOTS, coefficients(SLOTS, divided(SLOTS, total, opposite(request))))
    return float(np.mean(np.array(guess, dtype=object) == HIDDEN[0]))


SAME_PASS, TWO_PASSES = (1, 1), (1, 2)


def read_difference(register: Register, passes: tuple[int, int] = SAME_PASS) -> float:
    """The share of numbers that the owner reads off the replies to two requests under one key."""
    requests = [ask(seed, number) for seed, number in enumerate(passes, 1)]
    replies = [
        received(SLOTS, answer(ENGINE, each, register, number))[0]
        for each, number in zip(requests, passes, strict=True)
    ]
    first, second = (opposite(each, number) for each, number in zip(requests, passes, strict=True))
    left, right = minus(SLOTS, replies[0], replies[1]), minus(SLOTS, second, first)
    guess = slots_of(SLOTS, coefficients(SLOTS, divided(SLOTS, left, right)))
    return float(np.mean(np.array(guess, dtype=object) == HIDDEN[0]))


class Forgetful(Register):
    """A register that remembers nothing, so that every request is answered."""

    def admit(self, context: bytes, seed: bytes, digest: bytes) -> None:
        """Admit anything."""


def test_a_reply_without_an_encryption_of_zero_is_read() -> None:
    """Without u and e2 the owner divides by c1 and has every number."""
    assert read_single(WithoutZero()) == 1.0


def test_our_reply_is_not_read() -> None:
    """With a fresh encryption of zero the quotient is noise."""
    assert read_single(ENGINE) == 0.0


@pytest.mark.parametrize("passes", [SAME_PASS, TWO_PASSES])
def test_replayed_randomness_is_read(monkeypatch: pytest.MonkeyPatch, passes: tuple[int, int]) -> None:
    """If it depended on neither request nor pass, the difference of two replies would give every number."""
    honest = derive

    def forgetful(key: bytes, label: str, *fields: bytes) -> bytes:
        return honest(key, label, *(() if label.startswith("reply") else fields))

    monkeypatch.setattr(products, "derive", forgetful)
    assert read_difference(Forgetful(), passes) == 1.0


def test_our_randomness_is_not_replayed() -> None:
    """A second request is refused; even an evaluator that forgot the first draws other randomness."""
    with pytest.raises(CiphertextRefusedError, match="a second, different request"):
        read_difference(Register())
    assert read_difference(Forgetful()) == 0.0


def test_replies_of_all_passes_share_no_randomness() -> None:
    """One key serves them all, and with it one a': each reply has a u of its own, so their difference is noise."""
    assert read_difference(Register(), TWO_PASSES) == 0.0
