"""How the scores of some rows come to the label party: held-out ones when training ends, or new ones."""

from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.crypto import lattice
from plumbob.crypto.lattice import Register, answer_request, local, open_reply, sets
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.kernel import Engine, engine_on
from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.data import Table, store
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol import signing
from plumbob.protocol.channel import blame
from plumbob.protocol.handshake import JointSession, fix_numbers
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import OPENED_SCORES, SCORE_PART, columns_of, pack, unpack
from plumbob.protocol.pair_masks import agree_pair_masks
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares.products import ColumnHolders
from plumbob.protocol.shares.shape import ANGLE_BITS, SCORE_FRACTION, RunShape

SCORE_BYTES = 16  # Of a part of a score, modulo 2**128.
ROWS_AT_ONCE = 4096  # Rows that are scored with one message.
# Far wider than a sum of parts: if one party's masks are missing, what is left of them is no score.
MODULUS = 1 << 8 * SCORE_BYTES


class Scoring(Protocol):
    """Opens scores to the label party: `collect` at the label party, `answer` at each feature party."""

    def collect(self, step: int, rows: Sequence[int]) -> Vector:
        """Receive the scores of these rows, as the label party."""

    def answer(self, step: int, rows: Sequence[int]) -> None:
        """Send this party's part of these rows' scores, as a feature party."""


def scoring_of(participant: Participant, session: JointSession, table: Table, part: ModelPart) -> Scoring:
    """The way in which this plan's scores are opened, ready for the rows of this table."""
    if not participant.plan.is_closed:
        return OpenedScoring(participant, session, table, part)
    return SharedScoring(participant, session, table, part)


def largest_reply(plan: Plan) -> int:
    """Bytes of the longest message of a session, never too few: every row takes as many coefficients as columns."""
    columns = max(columns_of(plan, party.name) for party in plan.learners)
    coefficients = ROWS_AT_ONCE * (columns + 1) + sets.LARGEST_DEGREE
    return 2 * coefficients * (ANGLE_BITS // 8 + 2)


class OpenedScoring:
    """Scores from weights that every party has for its own columns."""

    def __init__(self, participant: Participant, session: JointSession, table: Table, part: ModelPart) -> None:
        self._participant = participant
        # Whole numbers, as they travel: processors differ in the last bits of a floating-point product.
        own = SCORE_PART.encode(part.partial_scores(table), "own parts of the scores").values
        self._own = fix_numbers(participant, {"scores": own})["scores"]
        self.pair_masks = agree_pair_masks(participant, session)

    def collect(self, step: int, rows: Sequence[int]) -> Vector:
        total, peers = [0] * len(rows), self._participant.data_peers
        signing.meet(self._participant, step, [self._participant.name, *peers])
        shares = self._participant.receive_all(Kind.SCORE_SHARE, SCORE_BYTES * len(rows), step)
        signing.check_seals(self._participant, step, peers)
        for body in shares.values():
            total = [(a + b) % MODULUS for a, b in zip(total, unpack(body, SCORE_BYTES), strict=True)]
        sums = [(value + MODULUS // 2) % MODULUS - MODULUS // 2 for value in total]
        most = len(self._participant.data_peers) << (SCORE_PART.bits - 1)
        if any(abs(value) > most for value in sums):
            raise RemoteProtocolError("the answers do not add up to scores; do all parties answer the same rows?")
        return SCORE_PART.decode(self._own[list(rows)] + np.array(sums))

    def answer(self, step: int, rows: Sequence[int]) -> None:
        signing.meet(self._participant, step, [self._participant.name, *self._participant.data_peers])
        own = self._own[list(rows)].tolist()
        hidden = self.pair_masks.hide(self._asker, step, own, rows, repeat(MODULUS))
        self._participant.channels[self._asker].send(Kind.SCORE_SHARE, step, pack(hidden, SCORE_BYTES))
        signing.seal(self._participant, step, [self._asker])

    @property
    def _asker(self) -> str:
        return self._participant.plan.label_party.name


class SharedScoring:
    """Scores from weights that stay shared: rows are multiplied with what was encrypted when training ended.

    Rows are clipped as in training, and a score is opened with the bits of an honest one: a sign, five integer bits and
    sixteen fraction bits.
    """

    def __init__(self, participant: Participant, session: JointSession, table: Table, part: ModelPart) -> None:
        """Prepare the shares of the weights, the keys they were bound with, and this table's rows as numbers."""
        self.participant, self.plan, self.table = participant, participant.plan, table
        self.holders = holders = ColumnHolders.at(participant)
        lengths = {name: holders.columns(name) for name in holders.names}
        found = {name: len(share) for name, share in part.shares.items()}
        if found != lengths or part.bound is None or set(part.bound.ends) != set(holders.peers):
            raise DataError("this part holds no shares of this plan's weights; is it from another run?")
        self.own = part.shares[holders.name]
        self.ends = {peer: part.bound.ends[peer] for peer in holders.peers}
        self.shape = RunShape(self.plan, part.training_rows)
        self._predicted: lattice.Small = fix_numbers(participant, {"rows": self._entries(part)})["rows"]
        self.pair_masks = agree_pair_masks(participant, session)

    def _entries(self, part: ModelPart) -> lattice.Small:
        """The rows in units of the last fraction bit, no wider than a matrix's entries: new rows may lie far out."""
        limit = 2.0 ** (ENTRY_BITS - 1) - 1
        entries = np.empty((len(self.table), len(self.own)), dtype=np.int32)
        for piece in store.pieces(len(self.table)):
            units = np.ldexp(part.encode(self.table, piece), self.plan.feature_bits)
            entries[piece] = np.clip(np.rint(units, out=units), -limit, limit, out=units)
        return entries

    def collect(self, step: int, rows: Sequence[int]) -> Vector:
        return np.concatenate([np.zeros(0), *(self._collect_piece(step, piece) for piece in _pieces(rows))])

    def _collect_piece(self, step: int, rows: NDArray[np.intp]) -> Vector:
        cut = self._cut_scores(step, rows)
        shares = self.participant.receive_all(Kind.SCORE_SHARE, OPENED_SCORES.size(len(rows)), step)
        signing.check_seals(self.participant, step, self.holders.names)
        return OPENED_SCORES.open(cut, shares)

    def answer(self, step: int, rows: Sequence[int]) -> None:
        label = self.holders.label
        for piece in _pieces(rows):
            cut = self._cut_scores(step, piece)
            hidden = self.pair_masks.hide(label, step, cut, piece.tolist(), repeat(1 << OPENED_SCORES.bits))
            self.holders.channels[label].send(Kind.SCORE_SHARE, step, OPENED_SCORES.to_bytes(hidden))
            signing.seal(self.participant, step, [label])

    def _cut_scores(self, step: int, rows: NDArray[np.intp]) -> list[int]:
        """This party's share of some rows' scores, cut, once everybody has signed."""
        cut = self._cut(self._shared_scores(step, self._predicted[rows]))
        signing.meet(self.participant, step, self.holders.names)
        return cut

    def _shared_scores(self, step: int, entries: lattice.Small) -> NDArray[np.uint64]:
        """This party's share of the scores, modulo one period."""
        mine = local.scores(self.engine, entries, self.own, self.shape.input_bits)
        total = mine >> np.uint64(self.shape.input_bits - ANGLE_BITS)
        rows = len(entries)
        matrix = lattice.PrivateMatrix(self.engine, self.shape.score_layout(self.holders.name, rows), entries)
        for peer, channel in self.holders.channels.items():
            # Drawn for these rows alone: randomness that hid others must not hide them too.
            answering_key = self.participant.draws.of("answers", peer).draw(SEED_BYTES)
            request, key = self.ends[peer].received, self._tested_keys[peer]
            answer = answer_request(matrix, key, 0, request, answering_key, Register())
            channel.send(Kind.LATTICE_REPLY, step, answer.reply)
            total = total + answer.share[:, 0]
        for peer, channel in self.holders.channels.items():
            layout = self.shape.score_layout(peer, rows)
            reply = channel.receive(Kind.LATTICE_REPLY, step, layout.reply_bytes)
            with blame(peer):
                total = total + open_reply(self._owner_keys[peer], layout, reply)[:, 0]
        return total

    def _cut(self, shared: NDArray[np.uint64]) -> list[int]:
        """The share without the low bits that nobody needs, modulo an honest score's width.

        A share modulo 2**32 becomes one modulo 2**22: what wraps there wraps here, so any number of parties can do it.
        """
        dropped = SCORE_FRACTION - OPENED_SCORES.fraction_bits
        values = (int(value) % (1 << ANGLE_BITS) for value in shared.tolist())
        if not self.holders.is_pair:
            return [((value + (1 << dropped >> 1)) >> dropped) % (1 << OPENED_SCORES.bits) for value in values]
        if self.holders.is_first:
            return [(value >> dropped) % (1 << OPENED_SCORES.bits) for value in values]
        return [-(-value % (1 << ANGLE_BITS) >> dropped) % (1 << OPENED_SCORES.bits) for value in values]

    @cached_property
    def engine(self) -> Engine:
        return engine_on(self.participant.threads, self.participant.cluster)

    @cached_property
    def _owner_keys(self) -> dict[str, lattice.OwnerKey]:
        name = self.holders.name
        return {peer: end.owner_key(self.engine, self.shape.prediction(name, peer)) for peer, end in self.ends.items()}

    @cached_property
    def _tested_keys(self) -> dict[str, lattice.TestedKey]:
        name = self.holders.name
        return {peer: end.tested_key(self.engine, self.shape.prediction(peer, name)) for peer, end in self.ends.items()}


def _pieces(rows: Sequence[int]) -> list[NDArray[np.intp]]:
    """The rows of each message."""
    starts = range(0, len(rows), ROWS_AT_ONCE)
    return [np.asarray(rows[start : start + ROWS_AT_ONCE], dtype=np.intp) for start in starts]
