"""The sigmoid of shared scores, by lattices: a sum of angles, one party's sines and cosines per stage.

The series of z = z_1 + ... + z_p is the imaginary part of a sum of products of unit complex numbers, exp(i k z_1) ...
exp(i k z_p). Two parties need one inner product. With more, the second party encrypts its own numbers, and the first
turns its own by them; then the third does, and the first two turn their shares of the product so far; and so on. From
four parties on, the last two multiply theirs by themselves. In the last stage both sides' products are multiplied, all
harmonics are added up, and only the imaginary part is kept. Between stages shares are lifted and rounded off. Each
owner encrypts once for all evaluators of a stage.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice import Pairs, Small, angles, pairs
from plumbob.crypto.lattice.interface import Angles, SlotValues
from plumbob.errors import LocalProtocolError
from plumbob.plan.sigmoids import AMPLITUDES, HARMONICS
from plumbob.protocol.shares.products import Pass
from plumbob.protocol.shares.shape import LAST_BITS, SLOT_BITS, TERMS, TURN_BITS, Stage, slot_kind

RowWeights = NDArray[np.int64]


def shared_series(now: Pass, scores: Angles, row_weights: RowWeights | None) -> Pairs:
    """This party's share of the series of all rows, with 40 fraction bits, modulo 2**128."""
    stages, pieces = Stages(now, row_weights), enumerate(now.shape.pieces)
    if not now.holders.is_pair:
        return np.concatenate([stages.of_many(place, piece, scores[piece]) for place, piece in pieces])
    shares: list[Pairs] = []
    end_previous: Callable[[], Pairs] | None = None
    for place, piece in pieces:
        # A piece ends after the next one has begun, so that both parties calculate at the same time.
        end_this = stages.begin_pair(place, piece, scores[piece])
        if end_previous is not None:
            shares.append(end_previous())
        end_previous = end_this
    if end_previous is not None:
        shares.append(end_previous())
    return pairs.lift(np.concatenate(shares), now.shape.profile[2].slot_modulus, now.holders.is_first)


class Stages:
    """The stages of the sigmoid in one pass, at one party."""

    def __init__(self, now: Pass, row_weights: RowWeights | None) -> None:
        self.now, self.row_weights = now, row_weights
        self.holders, self.shape, self.engine = now.holders, now.shape, now.keys.engine

    def begin_pair(self, place: int, piece: slice, scores: Angles) -> Callable[[], Pairs]:
        """Begin the only product of two parties: one inner product of sines and cosines for each row."""
        [stage] = self.shape.stages
        factors = self._first_factors(scores, piece) if self.holders.is_first else self._last_factors(scores)
        return self.now.begin_slots(slot_kind(place, stage), self.now.use("factors", self.now.number, factors))

    def of_many(self, place: int, piece: slice, scores: Angles) -> Pairs:
        """Go through the stages of three or more parties; returns this party's share."""
        held: Pairs | None = None
        for stage in self.shape.stages:
            if self.holders.place not in stage.holders:
                continue
            values: SlotValues = self._own_factors(scores, piece) if held is None else held
            if not stage.is_turn and self.holders.place in stage.owners:
                # An imaginary part is the sum of real ones times imaginary ones.
                values = _halves_swapped(values)
            held = self._round_off(place, stage, self.now.begin_slots(slot_kind(place, stage), values)())
        if held is None:
            raise LocalProtocolError("every party takes part in the last stage of the sigmoid")
        return held

    def _round_off(self, place: int, stage: Stage, shared: Pairs) -> Pairs:
        """Lift the share and round it off for the next stage, modulo the slots' t again; or to residuals."""
        modulus, flat = self.shape.profile[2].slot_modulus, shared.reshape(-1, 2)
        if stage.is_masked:
            lifted = self.now.lift(slot_kind(place, stage), self.shape.opening_of(stage), flat)
        else:
            lifted = pairs.lift(flat, modulus, self.holders.place == stage.holders.start)
        if not stage.is_turn:
            return pairs.round_off(lifted, stage.fraction_bits - SLOT_BITS)
        return pairs.modulo(pairs.round_off(lifted, stage.fraction_bits - TURN_BITS), modulus).reshape(shared.shape)

    def _own_factors(self, scores: Angles, piece: slice) -> Small:
        """Own factors, real parts first; the last party's have the amplitudes."""
        if self.holders.is_first:
            factors = self._first_factors(scores, piece)
        elif self.holders.place < self.shape.parties - 1:
            factors = self._turning_factors(scores)
        else:
            factors = _halves_swapped(self._last_factors(scores, LAST_BITS))
        return self.now.use("factors", self.now.number, factors)

    def _first_factors(self, scores: Angles, piece: slice) -> Small:
        """The label party's cosines and sines, weighted by its rows' weights."""
        factors = self._turning_factors(scores)
        return factors if self.row_weights is None else angles.weigh(factors, self.row_weights[piece])

    def _turning_factors(self, scores: Angles) -> Small:
        return angles.owner_factors(self.engine, scores, HARMONICS)

    def _last_factors(self, scores: Angles, fraction_bits: int = angles.FACTOR_BITS) -> Small:
        """The last party's sines and cosines, with the amplitudes."""
        return angles.evaluator_factors(self.engine, scores, HARMONICS, AMPLITUDES, fraction_bits)


def _halves_swapped(values: SlotValues) -> NDArray[Any]:
    """The values with real and imaginary parts exchanged."""
    return np.roll(values, TERMS // 2, axis=0)
