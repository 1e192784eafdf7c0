"""`garbage-replies`: replies that are no products, so that a peer's key appears in opened weights. Beyond the paper.

View: own opened weights (`shares` by lattices, between two parties). In the last pass the attacker does not multiply at
all. It answers with monomials, so that what its peer takes for a share of a gradient is a few coefficients of its own
secret key, as the digits of a number to base three, and what is opened carries them out. Cost: that of an honest run.
The attacker's part of the model is spoilt, and nobody sees it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from plumbob.checking.words import BLOCKED, LEAKS
from plumbob.crypto.lattice import Layout
from plumbob.lab.attacks.hooks import ActiveAttack, Bare, Reading
from plumbob.lab.attacks.interface import Condition, NotApplicable, Reached, View
from plumbob.plan import Plan
from plumbob.protocol.openings import WEIGHTS, Share
from plumbob.protocol.releases import opened_bits
from plumbob.protocol.shares.products import GRADIENTS
from plumbob.protocol.shares.shape import WEIGHT_BITS, most_opened_bits
from plumbob.protocol.shares.training import LatticeParty, LatticeStepSize

DIGITS = 15
"""How many coefficients of a key one opened weight holds, as digits to base three, six places apart."""
PLACES = 6


class GarbageReplies(Bare):
    """Reads coefficients of its peer's key, from its opened weights; between two parties."""

    _is_answered = False

    def replies_for_gradients(self, me: LatticeParty, step: int, reply: bytes) -> bytes:
        """False replies in the last pass to the first block of rows; empty ones to the others."""
        if not self.is_last(me, step):
            return reply
        is_first, self._is_answered = not self._is_answered, True
        return garbage(layout_of(me), _unit(me)) if is_first else bytes(len(reply))

    def sums(self, me: LatticeParty, step: int, shared: dict[str, Share]) -> dict[str, Share]:
        """No sums of its own, so that only the peer's share of them is left."""
        return {**shared, me.holders.name: [0] * me.columns} if self.is_last(me, step) else shared

    def after(self, me: LatticeParty) -> None:
        if len(me.weights):
            self.readings.append(Reading(me.plan.passes(len(me.shard)), np.zeros(0, dtype=np.intp), np.zeros(0)))

    def read(self, me: LatticeParty) -> NDArray[np.int64]:
        """The coefficients of the peer's secret, in the order in which `places_of` lists them."""
        size = LatticeStepSize.of(me.shape)
        step = _unit(me) * size.factor / 2.0 ** (size.shift + WEIGHT_BITS - WEIGHTS.fraction_bits)
        numbers = np.rint(np.ldexp(self.moved(me), WEIGHTS.fraction_bits) / step).astype(np.int64)
        return np.concatenate([digits_of(int(number)) for number in numbers])

    def believed(self, me: LatticeParty, view: View) -> Reached:
        layout = layout_of(me)
        degree, known = layout.parameters.degree, len(set(places_of(layout)))
        bits = math.ceil(known * math.log2(3))
        most, withstood = opened_bits(me.plan, me.holders.name), layout.parameters.most_opened_bits
        to_one = most_opened_bits(me.plan, len(me.shard))
        needed = f"more than the {withstood} that the key withstands"
        reference = ATTACKS[0].reference
        return Reached(
            # More bits than were opened would be a hole in the protocol; fewer tell nobody's value.
            verdict=LEAKS if bits > most else BLOCKED,
            why=(
                f"It carried out {known} of the {degree} coefficients of its peer's key: {bits} of the "
                f"{most} bits opened to it. The key withstands {withstood}, so it read no residual and no label. Its "
                "own part of the model is spoilt."
            ),
            conditions=(Condition("bits opened to one party", float(to_one), needed, to_one > withstood, reference),),
        )


def layout_of(me: LatticeParty) -> Layout:
    """The layout of the products with the attacker's matrix."""
    return me.products.layout(GRADIENTS, me.holders.name)


def _unit(me: LatticeParty) -> int:
    """The size of a digit in the peer's share, so that it moves the opened weight by a few of its last places."""
    size = LatticeStepSize.of(me.shape)
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


def arm(plan: Plan, name: str) -> GarbageReplies | NotApplicable | None:
    """A hook between two parties where weights are opened, without noise that would cover the digits."""
    if not plan.kind.has_lattices:
        return NotApplicable("there are no lattice products in this plan")
    is_acted_out = plan.noise != "rows" and plan.is_between_two and not plan.is_closed
    return GarbageReplies() if is_acted_out else None


ATTACKS = (
    ActiveAttack("garbage-replies", "features", arm, target="labels"),
    ActiveAttack("garbage-replies", "label", arm, target="scores"),
)
