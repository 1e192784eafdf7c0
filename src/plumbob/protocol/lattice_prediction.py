"""Scores from weights that stay shared, by lattices: rows are multiplied with what was encrypted when training ended.

Rows to predict are clipped as in training, and a score is opened to the label party with the bits of an honest one: a
sign, five integer bits and sixteen fraction bits.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import lattice
from plumbob.crypto.lattice import Evaluator, Owner, Register, local, sets
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.data import Table
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant, Session, agree
from plumbob.protocol.lattice_bound import BoundLattice
from plumbob.protocol.lattice_sets import ANGLE_BITS, SCORE_FRACTION, LatticeShape
from plumbob.protocol.lattice_shares import Pair, lattice_engine
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import SCORES_BY_LATTICE
from plumbob.protocol.part import ModelPart
from plumbob.protocol.widths import columns_of

ROWS_AT_ONCE = 4096


def largest_reply(plan: Plan) -> int:
    """Bytes of the longest message of a session, never too few: every row takes as many coefficients as columns."""
    columns = max(columns_of(plan, party.name) for party in plan.learners)
    coefficients = ROWS_AT_ONCE * (columns + 1) + sets.LARGEST_DEGREE
    return 2 * coefficients * (ANGLE_BITS // 8 + 2)


class LatticePredictor:
    """One of the two parties when new rows are scored; only the label party gets the scores."""

    def __init__(self, participant: Participant, table: Table) -> None:
        self.participant, self.plan, self.table = participant, participant.plan, table
        self.pair = Pair.at(participant)

    own: list[int]
    bound: BoundLattice
    shape: LatticeShape
    _predicted: Matrix

    def predict(self, part: ModelPart) -> Vector | None:
        """Scores of this table's rows, where all parts are here."""
        self.prepare_prediction(part, agree(self.participant, self.table.ids, "predict", part.model))
        return self.open_scores(1, range(len(self.table)))

    def prepare_prediction(self, part: ModelPart, session: Session) -> None:
        """The shares of the weights, the keys they were bound with, and this table's rows as numbers."""
        lengths = {self.pair.name: self.pair.columns, self.pair.peer: self.pair.peers_columns}
        found = {name: len(share) for name, share in part.shares.items()}
        if found != lengths or not isinstance(part.bound, BoundLattice):
            raise DataError("this part holds no shares of this plan's weights; is it from another run?")
        self.own, self.bound = part.shares[self.pair.name], part.bound
        plan = self.plan.replace(lattice_set=self.bound.lattice_set)
        self.shape = LatticeShape(plan, part.training_rows)
        self._predicted = self._within(part.encode(self.table))

    def _within(self, X: Matrix) -> Matrix:
        """Multiples of the last fraction bit, and no wider than a matrix's entries: new rows may lie far out."""
        limit = 2.0 ** (ENTRY_BITS - 1) - 1
        units = np.clip(np.rint(np.ldexp(X, self.plan.feature_bits)), -limit, limit)
        within: Matrix = np.ldexp(units, -self.plan.feature_bits)
        return within

    def open_scores(self, step: int, rows: Sequence[int]) -> Vector | None:
        """Scores of some of the rows, opened to the label party; after `prepare_prediction`."""
        chosen = np.asarray(rows, dtype=np.intp)
        starts = range(0, len(chosen), ROWS_AT_ONCE)
        opened = [self._open(step, self._predicted[chosen[start : start + ROWS_AT_ONCE]]) for start in starts]
        return np.concatenate([np.zeros(0), *(part for part in opened if part is not None)]) if self._is_label else None

    def _open(self, step: int, X: Matrix) -> Vector | None:
        cut = self._cut(self._shared_scores(step, X))
        channel = self.pair.channel
        if not self._is_label:
            channel.send(Kind.SCORE_SHARE, step, SCORES_BY_LATTICE.to_bytes(cut))
            return None
        missing = channel.receive(Kind.SCORE_SHARE, step, SCORES_BY_LATTICE.size(len(X)))
        return SCORES_BY_LATTICE.opened(cut, SCORES_BY_LATTICE.from_bytes(missing, self.pair.peer))

    def _shared_scores(self, step: int, X: Matrix) -> NDArray[np.uint64]:
        """This party's share of the scores, modulo one period."""
        mine = local.scores(X, self.plan.feature_bits, self.own, self.shape.input_bits)
        channel = self.pair.channel
        own_layout, peers_layout = (self.shape.scores(name, len(X)) for name in (self.pair.name, self.pair.peer))
        entries = np.rint(np.ldexp(X, self.plan.feature_bits)).astype(np.int32)
        matrix = lattice.Matrix(self.engine, own_layout, entries)
        # Drawn for these rows alone: randomness that hid others must not hide them too.
        answering_key = self.participant.randomness.draw(SEED_BYTES)
        answer = Evaluator(matrix, self._tested_key, answering_key, Register()).reply(self.bound.received)
        channel.send(Kind.LATTICE_REPLY, step, answer.reply)
        reply = channel.receive(Kind.LATTICE_REPLY, step, peers_layout.reply_bytes)
        opened = Owner(self._owner_key, peers_layout).open(reply)
        dropped = np.uint64(self.shape.input_bits - ANGLE_BITS)
        return (mine >> dropped) + answer.share[:, 0] + opened[:, 0]

    def _cut(self, shared: NDArray[np.uint64]) -> list[int]:
        """Without the low bits that nobody needs, modulo an honest score's width."""
        dropped = SCORE_FRACTION - SCORES_BY_LATTICE.fraction_bits
        values = (int(value) % (1 << ANGLE_BITS) for value in shared.tolist())
        if self._is_label:
            return [(value >> dropped) % (1 << SCORES_BY_LATTICE.bits) for value in values]
        return [-(-value % (1 << ANGLE_BITS) >> dropped) % (1 << SCORES_BY_LATTICE.bits) for value in values]

    @property
    def _is_label(self) -> bool:
        return self.pair.is_first

    @cached_property
    def engine(self) -> lattice.LatticeEngine:
        return lattice_engine(self.participant)

    @cached_property
    def _owner_key(self) -> lattice.OwnerKey:
        return self.bound.owner_key(self.engine, self.shape, self.pair.name, self.pair.peer)

    @cached_property
    def _tested_key(self) -> lattice.TestedKey:
        return self.bound.tested_key(self.engine, self.shape, self.pair.name, self.pair.peer)
