"""`shares`: two parties, and nothing is revealed during training.

Weights, scores, residuals and gradients stay additively shared modulo 2**192; each product of one party's features with
the other's share is one use of the primitive, whose two ends simply keep what they have. At the end each party may get
its own weights, or nobody gets any. Steps are those of docs/protocol.md, section 10; prediction from shares is in
shares_prediction.py.

Fraction bits, with 16 for the features: weights 32, scores and residuals 48, gradients 64. Shares are truncated
locally, which fails only if a share comes within the shared number's size of the ring's end; `prove_truncations` bounds
that chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.data import Batch, largest_batch, steps_per_epoch
from plumbob.errors import DivergenceError, PlanError
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.protocol.bound_shares import BoundShares, bind_shares
from plumbob.protocol.handshake import admit_key, make_key, offer_key
from plumbob.protocol.journal import State
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import RING, RING_BITS, WEIGHTS, Share, truncated
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.share_holder import WEIGHT_BITS, ShareHolder, added, ring_product
from plumbob.protocol.widths import SCORE_BITS, Widths

STEP_BITS = 21  # Bits of the public integer that stands for learning_rate / (4 s).
FAILURE_BITS = 40  # All truncations of a run fail together with probability below 2**-40.
LARGEST_WEIGHT = WEIGHTS.limit / 2  # Opened weights beyond this say that the run diverged: nobody saw it earlier.
PENALISED_WEIGHT = 2.0**20  # No weight of a run that converges is larger; the proof about truncations needs a bound.


class SharesParty(ShareHolder, TrainingParty):
    """One of the two parties in training; the label party subtracts the labels, otherwise both are alike."""

    bound: BoundShares | None = None
    """With weights that are never opened: what prediction works on."""

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
        """Step 0: a random vector to the peer; what is left of the starting weights stays here."""
        start = [round(math.ldexp(weight, WEIGHT_BITS)) for weight in self.weights]
        given = self.participant.draws.of("share of the start").many_below(RING, len(start))
        self._channel.send(Kind.START_SHARE, 0, to_bytes(given))
        self.own = [(value - share) % RING for value, share in zip(start, given, strict=True)]
        self.peers = from_bytes(self._channel.receive(Kind.START_SHARE, 0, share_bytes(self._peer_columns)))

    def step(self, batch: Batch) -> Vector:
        X = self.encoded_features(batch).values
        # Steps 1 and 2.
        residuals = added(self.shared_scores(batch.step, X), self._shifted_labels(batch))
        # Step 3.
        gradient, peers_gradient = self.shared_gradients(batch.step, X, residuals)
        # Step 4.
        size = StepSize.of(self.plan, len(batch))
        own_penalties = logistic.penalties(self.plan.l2, self.columns, self.shard.has_intercept)
        self.own = self._descend(self.own, gradient, size, own_penalties)
        peers_penalties = logistic.penalties(self.plan.l2, self._peer_columns, self._peer_has_intercept)
        self.peers = self._descend(self.peers, peers_gradient, size, peers_penalties)
        return np.zeros(0)

    def shared_gradients(self, step: int, X: IntegerMatrix, residuals: Share) -> tuple[Share, Share]:
        """This party's shares of its own and of the peer's sums of residuals times features."""
        mine, peers = self.products(step, residuals, X, peer_sums=self._peer_columns)
        return added(ring_product(X.T, residuals, self.widths.features.bits), mine), peers

    def _descend(self, weights: Share, gradient: Share, size: "StepSize", penalties: Vector) -> Share:
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
        """Step 5. `open = "own"`: each party gets the missing share of its own weights, cut to an honest width."""
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

    @property
    def _shares(self) -> dict[str, Share]:
        return {self.participant.name: self.own, self._peer: self.peers}

    def _shifted_labels(self, batch: Batch) -> Share:
        signs = self.signs(batch)
        if signs is None:
            return [0] * len(batch)
        fraction = WEIGHT_BITS + self.plan.feature_bits
        return [-round(math.ldexp(2.0 * sign, fraction)) for sign in signs.tolist()]

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
