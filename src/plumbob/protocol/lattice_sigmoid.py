"""The sigmoid of shared scores, by lattices: a sum of angles, one party's sines and cosines per stage.

The series of z = z_1 + ... + z_p is the imaginary part of a sum of products of unit complex numbers, exp(i k z_1) ...
exp(i k z_p). Two parties need one inner product. With more, the first party's numbers are turned by the second's angle,
the result, which both share, by the third's, and so on: at every stage the earlier parties encrypt their shares and the
next one turns them. Between stages shares are lifted and rounded off. The last stage adds up all harmonics, and keeps
only the imaginary part.
"""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import Pairs, SlotLayout, Small, angles, pairs
from plumbob.crypto.lattice.interface import Angles
from plumbob.errors import LocalProtocolError
from plumbob.model.sigmoid import AMPLITUDES, HARMONICS
from plumbob.protocol.lattice_products import SIGMOID, Products
from plumbob.protocol.lattice_sets import LAST_BITS, SLOT_BITS, TURN_BITS

RowWeights = NDArray[np.int64]


def shared_series(products: Products, number: int, scores: Angles, row_weights: RowWeights | None) -> Pairs:
    """This party's share of the series of all rows, with 40 fraction bits, modulo 2**128."""
    stages = Stages(products, number, row_weights)
    make = stages.of_pair if products.company.is_pair else stages.of_many
    return np.concatenate([make(place, piece, scores[piece]) for place, piece in enumerate(products.shape.pieces)])


class Stages:
    """One pass at one party."""

    def __init__(self, products: Products, number: int, row_weights: RowWeights | None) -> None:
        self.products, self.number, self.row_weights = products, number, row_weights
        self.company, self.shape = products.company, products.shape

    def of_pair(self, place: int, piece: slice, scores: Angles) -> Pairs:
        """Of two parties."""
        [peer] = self.company.peers
        layout = self.shape.slots(piece)
        if self.company.is_first:
            share = self.products.ask_small(self.number, place, peer, layout, self._first_factors(scores, piece))
        else:
            share = self.products.answer_slots(self.number, place, peer, layout, self._last_factors(scores))
        return pairs.lift(share, layout.parameters.slot_modulus, self.company.is_first)

    def of_many(self, place: int, piece: slice, scores: Angles) -> Pairs:
        """Of three and more; a party joins when its own factor comes in, and stays."""
        held: Pairs | None = None
        for owners, is_turn in self.shape.stages:
            if owners < self.company.place:
                continue
            layout, asked = self.shape.slots(piece, is_turn=is_turn), self.company.names[owners]
            if owners == self.company.place:
                shared = self._answered(place, layout, scores)
            elif held is None:
                factors = self._first_factors(scores, piece)
                shared = self.products.ask_small(self.number, place, asked, layout, factors)
            else:
                shared = self.products.ask_shares(self.number, place, asked, layout, held)
            held = self._rounded_off(place, owners, is_turn, shared)
        if held is None:
            raise LocalProtocolError("every party takes part in the last stage of the sigmoid")
        return pairs.round_off(held, TURN_BITS + LAST_BITS - SLOT_BITS)

    def _answered(self, place: int, layout: SlotLayout, scores: Angles) -> Pairs:
        """At the party whose factor comes in now: the sum of its shares toward all earlier ones."""
        factors = self._turning_factors(scores) if layout.is_turn else self._last_factors(scores, LAST_BITS)
        earlier = self.company.names[: self.company.place]
        answers = (self.products.answer_slots(self.number, place, peer, layout, factors) for peer in earlier)
        return _sum(answers, layout.parameters.slot_modulus)

    def _rounded_off(self, place: int, owners: int, is_turn: bool, shared: Pairs) -> Pairs:
        """Lifted and, but for the last stage, rounded off to what goes into the next one, modulo the slots' t again."""
        modulus, flat = self.shape.profile[2].slot_modulus, shared.reshape(-1, 2)
        if owners == 1:
            # Two parties hold it, and they lift it alone.
            lifted, dropped = pairs.lift(flat, modulus, self.company.is_first), 2 * angles.FACTOR_BITS - TURN_BITS
        else:
            kind = f"{SIGMOID} {place} of {owners + 1}"
            lifted = self.products.lift(self.number, kind, self.shape.staged(owners + 1, is_turn=is_turn), flat)
            dropped = angles.FACTOR_BITS
        return pairs.modulo(pairs.round_off(lifted, dropped), modulus).reshape(shared.shape) if is_turn else lifted

    def _first_factors(self, scores: Angles, piece: slice) -> Small:
        """The label party's cosines and sines, weighted by its rows' weights."""
        factors = self._turning_factors(scores)
        return factors if self.row_weights is None else angles.weighted(factors, self.row_weights[piece])

    def _turning_factors(self, scores: Angles) -> Small:
        return angles.owner_factors(self.products.engine, scores, HARMONICS.astype(int).tolist())

    def _last_factors(self, scores: Angles, fraction_bits: int = angles.FACTOR_BITS) -> Small:
        """With the amplitudes."""
        harmonics, amplitudes = HARMONICS.astype(int).tolist(), AMPLITUDES.tolist()
        return angles.evaluator_factors(self.products.engine, scores, harmonics, amplitudes, fraction_bits)


def _sum(shares: Iterable[Pairs], modulus: int) -> Pairs:
    return reduce(lambda total, share: pairs.add_modulo(total, share, modulus), shares)
