"""How the scores of some rows come to the label party: held-out ones when training ends, or new ones."""

from collections.abc import Sequence
from itertools import repeat
from typing import Protocol

import numpy as np

from plumbob.arrays import Vector
from plumbob.data import Table
from plumbob.errors import RemoteProtocolError
from plumbob.protocol import signing
from plumbob.protocol.handshake import Session, agree_pair_masks, fix_numbers
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import SCORE_PART, packed, unpacked
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant

SCORE_BYTES = 16  # Of a part of a score, modulo 2**128.
ROWS_AT_ONCE = 4096  # Rows that are scored with one message.
# Far wider than a sum of parts, so that masks which do not cancel are noticed.
MODULUS = 1 << 8 * SCORE_BYTES


class Scoring(Protocol):
    """Both sides of it."""

    def collect(self, step: int, rows: Sequence[int]) -> Vector:
        """Receive the scores of these rows, as the label party."""

    def answer(self, step: int, rows: Sequence[int]) -> None:
        """Send this party's part of these rows' scores, as a feature party."""


def scoring_of(participant: Participant, session: Session, table: Table, part: ModelPart) -> Scoring:
    """As this plan's scores are opened."""
    if not participant.plan.is_closed:
        return OpenedScoring(participant, session, table, part)
    from plumbob.protocol.shares.scoring import SharedScoring  # Late: other protocols open their weights.

    predictor = SharedScoring(participant, table)
    predictor.prepare_prediction(part, session)
    return predictor


class OpenedScoring:
    """Scores from weights that every party has for its own columns."""

    def __init__(self, participant: Participant, session: Session, table: Table, part: ModelPart) -> None:
        self._participant = participant
        # Whole numbers, as they travel: processors differ in the last bits of a floating-point product.
        own = SCORE_PART.encode(part.partial_scores(table), "own parts of the scores").values
        self._own = fix_numbers(participant, {"scores": own})["scores"]
        self.pair_masks = agree_pair_masks(participant, session)

    def collect(self, step: int, rows: Sequence[int]) -> Vector:
        total, peers = [0] * len(rows), self._participant.data_peers
        signing.meet(self._participant, step, [self._participant.name, *peers])
        size = SCORE_BYTES * len(rows)
        shares = [channel.receive(Kind.SCORE_SHARE, step, size) for channel in peers.values()]
        signing.check_seals(self._participant, step, peers)
        for body in shares:
            total = [(a + b) % MODULUS for a, b in zip(total, unpacked(body, SCORE_BYTES), strict=True)]
        sums = [(value + MODULUS // 2) % MODULUS - MODULUS // 2 for value in total]
        most = len(self._participant.data_peers) << (SCORE_PART.bits - 1)
        if any(abs(value) > most for value in sums):
            raise RemoteProtocolError("the answers do not add up to scores; do all parties answer the same rows?")
        return SCORE_PART.decode(self._own[list(rows)] + np.array(sums))

    def answer(self, step: int, rows: Sequence[int]) -> None:
        signing.meet(self._participant, step, [self._participant.name, *self._participant.data_peers])
        own = self._own[list(rows)].tolist()
        hidden = self.pair_masks.hidden(self._asker, step, own, rows, repeat(MODULUS))
        self._participant.channels[self._asker].send(Kind.SCORE_SHARE, step, packed(hidden, SCORE_BYTES))
        signing.seal(self._participant, step, [self._asker])

    @property
    def _asker(self) -> str:
        return self._participant.plan.label_party.name
