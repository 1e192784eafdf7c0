"""`shares`: two parties, and nothing is revealed during training.

Weights, scores, residuals and gradients stay additively shared modulo 2**192; each product of one party's features with
the other's share is one use of the primitive, whose two ends simply keep what they have. At the end each party may get
its own weights, or nobody gets any.

Fraction bits, with 16 for the features: weights 32, scores and residuals 48, gradients 64. Shares are truncated
locally, which fails only if a share comes within the shared number's size of the ring's end; `prove_truncations` bounds
that chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoded, Encoding, PrivateKey, PublicKey, Slots
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.data import Batch, largest_batch, steps_per_epoch
from plumbob.errors import DataError, DivergenceError, PlanError
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.protocol.bound_shares import BoundShares, bind_shares
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Session, admit_key, agree, make_key, offer_key
from plumbob.protocol.journal import State
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import RING, RING_BITS, SCORES, WEIGHTS, Share, truncated
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.primitive import Helper, Learner, admit_from
from plumbob.protocol.widths import SCORE_BITS, Widths, columns_of, replies_for, widths_for

WEIGHT_BITS = 32  # Fraction bits of a weight.
STEP_BITS = 21  # Bits of the public integer that stands for learning_rate / (4 s).
FAILURE_BITS = 40  # All truncations of a run fail together with probability below 2**-40.
PREDICTED_AT_ONCE = 256  # Rows of one message.
PREDICTED_BITS = 20  # Integer bits of a feature to predict, which is not clipped and may lie far out.
LARGEST_WEIGHT = WEIGHTS.limit / 2  # Opened weights beyond this say that the run diverged: nobody saw it earlier.
PENALISED_WEIGHT = 2.0**20  # No weight of a run that converges is larger; the proof about truncations needs a bound.


class SharesParty(TrainingParty):
    """One of the two parties; the label party subtracts the labels, otherwise both are alike."""

    key: PrivateKey
    peer_key: PublicKey
    own: Share
    """This party's share of its own weights."""
    peers: Share
    """This party's share of the peer's weights."""
    longest_sum: int
    """The most products that are ever added up."""
    bound: BoundShares | None = None
    """With weights that are never opened: what prediction works on."""
    _predicted: IntegerMatrix

    def prepare(self) -> None:
        prove_truncations(self.plan, self.widths, len(self.shard))
        self.longest_sum = max(largest_batch(len(self.shard), self.plan), self.columns, self._peer_columns)
        self.swap_keys()
        self.share_start()

    def swap_keys(self) -> None:
        self.key = make_key(self.participant)
        offer_key(self.participant, self.session.identity, self.key)
        self.peer_key = admit_key(self.participant, self.session, self._peer, {self.key.public.n})

    def share_start(self) -> None:
        """A random vector to the peer; what is left of the starting weights stays here."""
        start = [round(math.ldexp(weight, WEIGHT_BITS)) for weight in self.weights]
        given = [self.participant.randomness.below(RING) for _ in start]
        self._channel.send(Kind.START_SHARE, 0, to_bytes(given))
        self.own = [(value - share) % RING for value, share in zip(start, given, strict=True)]
        self.peers = from_bytes(self._channel.receive(Kind.START_SHARE, 0, share_bytes(self._peer_columns)))

    def step(self, batch: Batch) -> Vector:
        X = self.encoded_features(batch).values
        residuals = added(self.shared_scores(batch.step, X), self._shifted_labels(batch))
        gradient, peers_gradient = self.shared_gradients(batch.step, X, residuals)
        size = StepSize.of(self.plan, len(batch))
        own_penalties = logistic.penalties(self.plan.l2, self.columns, self.shard.has_intercept)
        self.own = self._descended(self.own, gradient, size, own_penalties)
        peers_penalties = logistic.penalties(self.plan.l2, self._peer_columns, self._peer_has_intercept)
        self.peers = self._descended(self.peers, peers_gradient, size, peers_penalties)
        return np.zeros(0)

    def shared_scores(self, step: int, X: IntegerMatrix) -> Share:
        """This party's share of X_own @ w_own + X_peer @ w_peer."""
        mine, peers = self._products(step, self.peers, X.T, peer_sums=len(X))
        return added(ring_product(X, self.own, self.widths.features.bits), mine, peers)

    def shared_gradients(self, step: int, X: IntegerMatrix, residuals: Share) -> tuple[Share, Share]:
        """This party's shares of its own and of the peer's sums of residuals times features."""
        mine, peers = self._products(step, residuals, X, peer_sums=self._peer_columns)
        return added(ring_product(X.T, residuals, self.widths.features.bits), mine), peers

    def _products(self, step: int, lent: Share, X: IntegerMatrix, peer_sums: int) -> tuple[Share, Share]:
        """The primitive in both directions: shares of (the peer's vector @ own X, own `lent` @ the peer's X)."""
        mine, peers = [0] * X.shape[1], [0] * peer_sums
        own_slots, peer_slots = self._slots(X.shape[1]), self._slots(peer_sums)
        helper, learner = Helper(self._channel, self.key, peer_slots), Learner(self._channel, self.peer_key, own_slots)
        is_helping, is_learning = bool(lent and peer_sums), X.size > 0
        if is_helping:
            self._lend(helper, step, lent)
        if is_learning:
            mask = self._ask(learner, step, Encoded(X, self.widths.features))
            mine = [-digit % RING for digit in own_slots.digits(mask)]
        if is_helping:
            peers = [digit % RING for digit in peer_slots.digits(helper.open(step))]
        return mine, peers

    def _lend(self, helper: Helper, step: int, lent: Share) -> None:
        """In a session of prediction the peer has had it since training ended."""
        if self.bound is None:
            helper.lend(step, self.key.encrypt(lent))
        else:
            helper.has_lent(self.bound.supplied)

    def _ask(self, learner: Learner, step: int, X: Encoded) -> list[int]:
        if self.bound is None:
            return learner.ask(step, X)
        lent = admit_from(self._channel, self.peer_key, self.bound.received, len(X.values))
        return learner.ask_about(step, lent, X)

    def _descended(self, weights: Share, gradient: Share, size: "StepSize", penalties: Vector) -> Share:
        moves = (
            size.gradient_factor * g + round(factor * size.penalty_unit) * w
            for g, w, factor in zip(gradient, weights, penalties, strict=True)
        )
        down = self._is_label_party
        return [
            (w - truncated(move % RING, size.shift, rounds_down=down)) % RING
            for w, move in zip(weights, moves, strict=True)
        ]

    def state(self) -> State:
        return {**super().state(), "own": to_bytes(self.own), "peers": to_bytes(self.peers)}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.own, self.peers = from_bytes(state["own"]), from_bytes(state["peers"])

    def finish(self) -> None:
        """`open = "own"`: each party gets the missing share of its own weights, cut to an honest weight's width."""
        if self.plan.open == "never":
            self.weights = np.zeros(0)
            self.bound = bind_shares(self.participant, self.session, self._channel, self.peers, self.columns)
            return
        given, kept = (
            WEIGHTS.cut(share, WEIGHT_BITS, rounds_down=self._is_label_party) for share in (self.peers, self.own)
        )
        self._channel.send(Kind.WEIGHT_SHARE, 0, WEIGHTS.to_bytes(given))
        missing = self._channel.receive(Kind.WEIGHT_SHARE, 0, WEIGHTS.size(self.columns))
        self.weights = WEIGHTS.opened(kept, WEIGHTS.from_bytes(missing, self._peer))

    def refuse_result(self) -> None:
        """Said at home only, after the last message: a peer must not learn from it what the weights are like."""
        if np.abs(self.weights).max(initial=0.0) > LARGEST_WEIGHT:
            raise DivergenceError(
                f"training diverged: expected opened weights below {LARGEST_WEIGHT:g}, got larger ones; lower "
                'learning_rate, set scale = "standard" or row_norm = 1'
            )

    def model_part(self) -> ModelPart:
        """With weights that were never opened, the shares take their place."""
        part = super().model_part()
        if self.plan.open == "own":
            return part
        return replace(part, weights=None, shares=self._shares, bound=self.bound)

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
        self.session = session
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
        if {name: len(share) for name, share in part.shares.items()} != self._share_lengths:
            raise DataError("this part holds no shares of this plan's weights; is it from another run?")
        return part.shares[self.participant.name], part.shares[self._peer]

    @property
    def _shares(self) -> dict[str, Share]:
        return {self.participant.name: self.own, self._peer: self.peers}

    def _slots(self, sums: int) -> Slots:
        """A slot holds a sum of ring elements times features. Both keys have the same length, so either serves."""
        bits = RING_BITS + self.widths.features.bits + self.longest_sum.bit_length() + 2
        return replies_for(self.plan, self.key.public, sums, bits)

    def _shifted_labels(self, batch: Batch) -> Share:
        signs = self.signs(batch)
        if signs is None:
            return [0] * len(batch)
        fraction = WEIGHT_BITS + self.plan.feature_bits
        return [-round(math.ldexp(2.0 * sign, fraction)) for sign in signs.tolist()]

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

    @property
    def _share_lengths(self) -> dict[str, int]:
        return {self.participant.name: self.columns, self._peer: self._peer_columns}

    @property
    def _peer_has_intercept(self) -> bool:
        return self.plan.intercept and not self._is_label_party


@dataclass(frozen=True)
class StepSize:
    """learning_rate / (4 s) as a public integer over 2**exponent; the shift brings products back to weights."""

    gradient_factor: int
    penalty_unit: float
    shift: int

    @classmethod
    def of(cls, plan: Plan, rows: int) -> "StepSize":
        rate = plan.rate / (4 * rows)
        exponent = STEP_BITS - 1 - math.floor(math.log2(rate))
        shift = 2 * plan.feature_bits + exponent
        return cls(round(math.ldexp(rate, exponent)), math.ldexp(plan.rate, shift), shift)


def prove_truncations(plan: Plan, widths: Widths, training_rows: int) -> None:
    """Refuse a plan whose truncations fail more often than once in 2**40 runs.

    Truncating shares of x fails with probability 2**(b + 1 - 192) where abs(x) < 2**b. Scores are taken to stay within
    the guard's limit, 2**10.
    """
    rows = largest_batch(training_rows, plan)
    size = StepSize.of(plan, rows)
    fraction = WEIGHT_BITS + 2 * plan.feature_bits
    gradient = STEP_BITS + fraction + (SCORE_BITS + 1) + widths.features.integer_bits + rows.bit_length()
    penalty = math.log2(max(plan.l2 * size.penalty_unit, 1.0)) + math.log2(PENALISED_WEIGHT) + WEIGHT_BITS
    bits = max(gradient, math.ceil(penalty)) + 1
    count = steps_per_epoch(training_rows, plan) * plan.passes * (plan.columns + 1)
    if bits + 1 - RING_BITS + count.bit_length() > -FAILURE_BITS:
        raise PlanError(
            f"shares: numbers of {bits} bits, truncated {count} times, leave less than {FAILURE_BITS} bits of safety "
            f"in a ring of {RING_BITS}; choose fewer feature_bits, steps or a smaller batch"
        )


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


def to_bytes(share: Sequence[int]) -> bytes:
    """24 bytes for each element."""
    return b"".join(value.to_bytes(RING_BITS // 8, "little") for value in share)


def from_bytes(data: bytes) -> Share:
    """The inverse of `to_bytes`, of a body whose length was checked."""
    size = RING_BITS // 8
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def share_bytes(count: int) -> int:
    """Bytes of a share of `count` elements."""
    return count * RING_BITS // 8
