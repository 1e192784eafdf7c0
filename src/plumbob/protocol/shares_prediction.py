"""Scores by Paillier from weights that stay shared: rows are multiplied with the shares that were bound after training.

A score is opened to the label party alone, cut to an honest score's width.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.data import Table
from plumbob.errors import DataError
from plumbob.protocol.bound_shares import BoundShares, bind_shares
from plumbob.protocol.handshake import Participant, Session, agree
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import SCORES, Share
from plumbob.protocol.part import ModelPart
from plumbob.protocol.primitive import Helper, Learner, admit_from
from plumbob.protocol.share_holder import WEIGHT_BITS, ShareHolder
from plumbob.protocol.widths import columns_of, widths_for

PREDICTED_AT_ONCE = 256  # Rows of one message.
PREDICTED_BITS = 20  # Integer bits of a feature to predict, which is not clipped and may lie far out.


class SharesPredictor(ShareHolder):
    """One of the two parties when new rows are scored; only the label party gets the scores."""

    bound: BoundShares
    _predicted: IntegerMatrix

    def __init__(self, participant: Participant, table: Table) -> None:
        self.participant, self.plan, self.table = participant, participant.plan, table

    def predict(self, part: ModelPart) -> Vector | None:
        """Scores of this table's rows from weights that stay shared, where all parts are here."""
        session = agree(self.participant, self.table.ids, "predict", part.model)
        if part.bound is None:
            # A part of an earlier version: its shares are bound now, which harms nobody within one process.
            self.own, self.peers = self._shares_in(part)
            bound = bind_shares(self.participant, session, self._channel, self.peers, self.columns)
            part = replace(part, bound=bound)
        self.prepare_prediction(part, session)
        return self.open_scores(1, range(len(self.table)))

    def prepare_prediction(self, part: ModelPart, session: Session) -> None:
        """The shares of the weights, the keys they were bound with, and this table's rows as numbers."""
        wider = Encoding(self.plan.feature_bits, PREDICTED_BITS)
        self.widths = replace(widths_for(self.plan, part.training_rows), features=wider)
        self.longest_sum = max(PREDICTED_AT_ONCE, self.columns, self._peer_columns)
        self.own, self.peers = self._shares_in(part)
        if not isinstance(part.bound, BoundShares):
            raise DataError(
                "this model was trained before the shares used for prediction were bound; train it again to predict "
                "with a peer, or predict where all parts are on one machine"
            )
        self.bound = part.bound
        self._predicted = wider.encode(part.encode(self.table), "features of rows to predict").values
        self.key, self.peer_key = (
            self.bound.private_key(self.participant),
            self.bound.peers_public_key(self.participant),
        )

    def open_scores(self, step: int, rows: Sequence[int]) -> Vector | None:
        """Scores of some of the rows, opened to the label party; after `prepare_prediction`."""
        X = self._predicted[np.asarray(rows, dtype=np.intp)]
        starts = range(0, len(X), PREDICTED_AT_ONCE)
        scores = [self._open_scores(step, X[start : start + PREDICTED_AT_ONCE]) for start in starts]
        return np.concatenate([np.zeros(0), *(s for s in scores if s is not None)]) if self._is_label_party else None

    def _open_scores(self, step: int, X: IntegerMatrix) -> Vector | None:
        fraction = WEIGHT_BITS + self.plan.feature_bits
        cut = SCORES.cut(self.shared_scores(step, X), fraction, rounds_down=self._is_label_party)
        if not self._is_label_party:
            self._channel.send(Kind.SCORE_SHARE, step, SCORES.to_bytes(cut))
            return None
        missing = self._channel.receive(Kind.SCORE_SHARE, step, SCORES.size(len(X)))
        return SCORES.opened(cut, SCORES.from_bytes(missing, self._peer))

    def _shares_in(self, part: ModelPart) -> tuple[Share, Share]:
        lengths = {self.participant.name: self.columns, self._peer: self._peer_columns}
        if {name: len(share) for name, share in part.shares.items()} != lengths:
            raise DataError("this part holds no shares of this plan's weights; is it from another run?")
        return part.shares[self.participant.name], part.shares[self._peer]

    def lend(self, helper: Helper, step: int, lent: Share) -> None:
        """The peer has had it since training ended, and gets no other."""
        helper.has_lent(self.bound.supplied)

    def ask(self, learner: Learner, step: int, X: Encoded) -> list[int]:
        lent = admit_from(self._channel, self.peer_key, self.bound.received, len(X.values))
        return learner.ask_about(step, lent, X)

    @property
    def columns(self) -> int:
        """Own columns, the intercept among them."""
        return columns_of(self.plan, self.participant.name)
