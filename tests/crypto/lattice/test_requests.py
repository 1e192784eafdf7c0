"""Requests and replies of every kind of product: bound to what they encrypt, answered once, refused where malformed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from plumbob.crypto.lattice import (
    Answer,
    AnyLayout,
    Factors,
    Layout,
    OwnerKey,
    PrivateMatrix,
    Register,
    SlotFactors,
    SlotLayout,
    make_request,
    open_reply,
)
from plumbob.crypto.lattice.interface import SlotValues
from plumbob.crypto.lattice.layout import Direction
from plumbob.errors import CiphertextRefusedError
from tests.crypto.lattice.support import (
    BITS,
    ENGINE,
    TINY,
    TINY_SLOTS,
    TINY_WIDE,
    answered,
    make_key,
    random_entries,
    random_pairs,
)

LONG_ONES = b"\xff" * 13  # A residue of 50 ones among them is not below its prime, wherever they stand.


@dataclass(frozen=True)
class Product:
    """A kind of product: its layout, and both sides' numbers, from a seed."""

    layout: AnyLayout
    values: Callable[[int], SlotValues]
    factors: Callable[[int], Factors]

    @property
    def key(self) -> OwnerKey:
        return make_key(ENGINE, self.layout.parameters)

    def request(self, seed: int, number: int = 1) -> bytes:
        return make_request(self.key, number, self.layout, self.values(seed))

    def answer(self, request: bytes, seed: int = 5, number: int = 1, register: Register | None = None) -> Answer:
        return answered(self.factors(seed), self.key, request, number, register)


def with_matrix(direction: Direction) -> Product:
    """A product with a matrix of 20 rows and 3 columns."""
    layout = Layout.choose(TINY if direction == "scores" else TINY_WIDE, direction, 20, 3, *BITS[direction])

    def factors(seed: int) -> Factors:
        return PrivateMatrix(ENGINE, layout, random_entries(np.random.default_rng(seed), 20, 3))

    return Product(layout, lambda seed: random_pairs(np.random.default_rng(seed), layout.inputs, 51), factors)


def in_slots(*, is_turn: bool, is_wide: bool) -> Product:
    """A product of two numbers for each of ten rows; wide ones are shares from the stage before."""
    layout = SlotLayout(TINY_SLOTS, 10, 2, is_turn)

    def values(seed: int) -> SlotValues:
        generator = np.random.default_rng(seed)
        if is_wide:
            return random_pairs(generator, 20, 107).reshape(2, 10, 2)
        return generator.integers(-(2**23) + 1, 2**23, (2, 10)).astype(np.int32)

    return Product(layout, values, lambda seed: SlotFactors(ENGINE, layout, values(seed)))


PRODUCTS = {
    "scores": with_matrix("scores"),
    "gradients": with_matrix("gradients"),
    "inner products": in_slots(is_turn=False, is_wide=False),
    "complex products": in_slots(is_turn=True, is_wide=False),
    "complex products of shares": in_slots(is_turn=True, is_wide=True),
}


@pytest.fixture(params=PRODUCTS.values(), ids=list(PRODUCTS))
def product(request: pytest.FixtureRequest) -> Product:
    """Each kind in turn."""
    found: Product = request.param
    return found


def test_a_request_is_bound_to_what_it_encrypts(product: Product) -> None:
    """Other values, and another pass, get another seed; the same values the same bytes."""
    request = product.request(1)
    assert request == product.request(1)
    assert len({request[:32], product.request(2)[:32], product.request(1, number=2)[:32]}) == 3


def test_the_same_request_gets_the_same_bytes(product: Product) -> None:
    """Again, and after a restart from the kept entries; other factors would get other randomness."""
    request, register = product.request(1), Register()
    first = product.answer(request, register=register)
    for kept in (register, Register(dict(register.entries)), Register()):
        again = product.answer(request, register=kept)
        assert first.reply == again.reply
        assert (first.share == again.share).all()
    assert product.answer(request, seed=6).reply != first.reply


def test_a_second_answer_is_refused(product: Product) -> None:
    """A changed request for the same product, other factors for the same request, and a seed that another one had."""
    request, register = product.request(1), Register()
    product.answer(request, register=register)
    with pytest.raises(CiphertextRefusedError, match="a second, different request"):
        product.answer(product.request(2), register=register)
    with pytest.raises(CiphertextRefusedError, match="a second, different request"):
        product.answer(request, seed=6, register=register)
    with pytest.raises(CiphertextRefusedError, match="a seed that was used before"):
        product.answer(request[:32] + product.request(2)[32:], number=2, register=register)


@pytest.mark.parametrize("change", [-1, 1, 100])
def test_another_length_is_refused(product: Product, change: int) -> None:
    """Requests and replies have exactly the length that the public shape gives them."""
    request = product.request(1)
    reply = product.answer(request).reply
    wrong = [data[:change] if change < 0 else data + bytes(change) for data in (request, reply)]
    with pytest.raises(CiphertextRefusedError, match="expected"):
        product.answer(wrong[0])
    with pytest.raises(CiphertextRefusedError, match="expected"):
        open_reply(product.key, product.layout, wrong[1])


def test_a_residue_out_of_its_range_is_refused(product: Product) -> None:
    """In a request, wherever it stands, and in a reply in slots; other replies are numbers of whole bytes."""
    request = product.request(1)
    for data in spoiled(request, first=32):
        with pytest.raises(CiphertextRefusedError, match="outside its range"):
            product.answer(data)
    for data in spoiled(product.answer(request).reply) if isinstance(product.layout, SlotLayout) else ():
        with pytest.raises(CiphertextRefusedError, match="outside its range"):
            open_reply(product.key, product.layout, data)


def spoiled(data: bytes, first: int = 0) -> list[bytes]:
    """The bytes with ones at their beginning, in their middle and at their end."""
    places = (first, len(data) // 2, len(data) - len(LONG_ONES))
    return [data[:place] + LONG_ONES + data[place + len(LONG_ONES) :] for place in places]
