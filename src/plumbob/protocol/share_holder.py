"""What a party of `shares` by Paillier has in training and in prediction alike: shares, keys, and the products of both.

Numbers are shared additively modulo 2**192. Each product of one party's features with the other's share is one use of
the primitive in each direction, and both ends simply keep what they have.
"""

import numpy as np

from plumbob.crypto import Encoded, PrivateKey, PublicKey, Slots
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant
from plumbob.protocol.openings import RING, RING_BITS, Share
from plumbob.protocol.primitive import Helper, Learner
from plumbob.protocol.widths import Widths, columns_of, replies_for

WEIGHT_BITS = 32  # Fraction bits of a weight.


class ShareHolder:
    """One of the two parties: shares of both parties' weights, own key and the peer's."""

    participant: Participant
    plan: Plan
    widths: Widths
    key: PrivateKey
    peer_key: PublicKey
    own: Share
    """This party's share of its own weights."""
    peers: Share
    """This party's share of the peer's weights."""
    longest_sum: int
    """The most products that are ever added up."""

    def shared_scores(self, step: int, X: IntegerMatrix) -> Share:
        """This party's share of X_own @ w_own + X_peer @ w_peer."""
        mine, peers = self.products(step, self.peers, X.T, peer_sums=len(X))
        return added(ring_product(X, self.own, self.widths.features.bits), mine, peers)

    def products(self, step: int, lent: Share, X: IntegerMatrix, peer_sums: int) -> tuple[Share, Share]:
        """The primitive in both directions: shares of (the peer's vector @ own X, own `lent` @ the peer's X)."""
        mine, peers = [0] * X.shape[1], [0] * peer_sums
        own_slots, peer_slots = self._slots(X.shape[1]), self._slots(peer_sums)
        helper, learner = Helper(self._channel, self.key, peer_slots), Learner(self._channel, self.peer_key, own_slots)
        is_helping, is_learning = bool(lent and peer_sums), X.size > 0
        if is_helping:
            self.lend(helper, step, lent)
        if is_learning:
            mask = self.ask(learner, step, Encoded(X, self.widths.features))
            mine = [-digit % RING for digit in own_slots.digits(mask)]
        if is_helping:
            peers = [digit % RING for digit in peer_slots.digits(helper.open(step))]
        return mine, peers

    def lend(self, helper: Helper, step: int, lent: Share) -> None:
        """Own share, encrypted for the peer to multiply with."""
        helper.lend(step, self.key.encrypt(lent))

    def ask(self, learner: Learner, step: int, X: Encoded) -> list[int]:
        """Multiply what the peer lent with own numbers, and keep the mask."""
        return learner.ask(step, X)

    def _slots(self, sums: int) -> Slots:
        """A slot holds a sum of ring elements times features. Both keys have the same length, so either serves."""
        bits = RING_BITS + self.widths.features.bits + self.longest_sum.bit_length() + 2
        return replies_for(self.plan, self.key.public, sums, bits)

    @property
    def _is_label_party(self) -> bool:
        return self.participant.name == self.plan.label_party.name

    @property
    def _peer(self) -> str:
        return next(iter(self.participant.channels))

    @property
    def _channel(self) -> Channel:
        return self.participant.channels[self._peer]

    @property
    def _peer_columns(self) -> int:
        return columns_of(self.plan, self._peer)


def ring_product(X: IntegerMatrix, values: Share, feature_bits: int) -> Share:
    """X @ values modulo the ring, exactly: the values are cut into pieces whose floating-point sums are exact."""
    if not values:
        return [0] * len(X)
    piece = 53 - feature_bits - len(values).bit_length()
    if piece < 1:  # Only for the widest features and longest sums that a plan may ask for.
        return [int(total) % RING for total in X.astype(object) @ np.array(values, dtype=object)]
    pieces = -(-RING_BITS // piece)
    cut = [[(value >> (piece * index)) & ((1 << piece) - 1) for index in range(pieces)] for value in values]
    products = (X.astype(np.float64) @ np.array(cut, dtype=np.float64)).tolist()
    return [sum(int(part) << (piece * index) for index, part in enumerate(row)) % RING for row in products]


def added(*shares: Share) -> Share:
    """Sums modulo the ring."""
    return [sum(values) % RING for values in zip(*shares, strict=True)]
