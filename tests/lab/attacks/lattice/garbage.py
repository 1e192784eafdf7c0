"""A cheat that no receiver can notice: replies that are no products, so that a peer's key appears in opened weights.

In the last pass the cheat does not multiply at all. It answers with monomials, so that what its peer takes for a share
of a gradient is a few coefficients of the peer's own secret key, as the digits of a number to base three, and what is
opened carries them out. Between two parties the parameters are chosen so that this is never enough of a key.
"""

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import Layout
from plumbob.lab.attacks.hooks import Bare
from plumbob.protocol.openings import WEIGHTS, Share
from plumbob.protocol.shares.shape import WEIGHT_BITS
from plumbob.protocol.shares.training import SharesParty, StepSize

DIGITS = 15
"""How many coefficients of a key one opened weight holds, as digits to base three, six places apart."""
PLACES = 6


class GarbageReplies(Bare):
    """Reads coefficients of its peer's key, from its opened weights; between two parties."""

    _is_answered = False

    def replies_for_gradients(self, me: SharesParty, step: int, reply: bytes) -> bytes:
        """False replies in the last pass to the first block of rows; empty ones to the others."""
        if not self.is_last(me, step):
            return reply
        is_first, self._is_answered = not self._is_answered, True
        return garbage(layout_of(me), _unit(me)) if is_first else bytes(len(reply))

    def sums(self, me: SharesParty, step: int, shared: dict[str, Share]) -> dict[str, Share]:
        """No sums of its own, so that only the peer's share of them is left."""
        return {**shared, me.holders.name: [0] * me.columns} if self.is_last(me, step) else shared

    def read(self, me: SharesParty) -> NDArray[np.int64]:
        """The coefficients of the peer's secret, in the order in which `places_of` lists them."""
        size = StepSize.of(me.shape)
        step = _unit(me) * size.factor / 2.0 ** (size.shift + WEIGHT_BITS - WEIGHTS.fraction_bits)
        numbers = np.rint(np.ldexp(self.moved(me), WEIGHTS.fraction_bits) / step).astype(np.int64)
        return np.concatenate([digits_of(int(number)) for number in numbers])


def layout_of(me: SharesParty) -> Layout:
    """The layout of the products with the attacker's matrix."""
    return me.level.gradients[0].layout


def _unit(me: SharesParty) -> int:
    """The size of a digit in the peer's share, so that it moves the opened weight by a few of its last places."""
    size = StepSize.of(me.shape)
    return (PLACES << (size.shift + WEIGHT_BITS - WEIGHTS.fraction_bits)) // size.factor + 1


def garbage(layout: Layout, unit: int) -> bytes:
    """Replies whose products with the secret hold its coefficients as digits to base three, where an answer is taken.

    A power of x moves the secret by so many places; those below zero come back negated at the other end.
    """
    degree, width = layout.parameters.degree, layout.reply_bits // 8
    packed = np.zeros((layout.replies, degree, width), dtype=np.uint8)
    scale = unit << (layout.reply_bits - layout.output_bits)
    for reply in range(layout.replies):
        for digit in range(DIGITS):
            place = _first_place(layout, reply, digit)
            number = (-scale if place else scale) * 3**digit % (1 << layout.reply_bits)
            packed[reply, -place % degree] = np.frombuffer(number.to_bytes(width, "little"), dtype=np.uint8)
    return packed.tobytes()


def places_of(layout: Layout) -> list[int]:
    """The coefficients of the secret in each opened weight: those of the first weight first, its lowest digit first."""
    columns = range(layout.columns)
    return [
        (_first_place(layout, column // layout.group, digit) + layout.group - 1 - column % layout.group)
        % layout.parameters.degree
        for column in columns
        for digit in range(DIGITS)
    ]


def _first_place(layout: Layout, reply: int, digit: int) -> int:
    """The place of the coefficient that comes first in a reply; the other answers of the reply are its neighbours."""
    return (reply * DIGITS + digit) * layout.group % layout.parameters.degree


def digits_of(number: int) -> NDArray[np.int64]:
    """The digits of a number to base three, each -1, 0 or 1, the lowest first."""
    digits = np.zeros(DIGITS, dtype=np.int64)
    for place in range(DIGITS):
        digits[place] = (number + 1) % 3 - 1
        number = (number - int(digits[place])) // 3
    return digits
