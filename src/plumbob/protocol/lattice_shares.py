"""`shares` by lattices: two parties, full batches, and nothing is revealed during training.

One pass, with Z the own rows of party k (21-bit numbers) and everything else in additive shares:

1. scores      Z_k w_k, modulo one period of the sigmoid's series: each party multiplies the peer's encrypted share of
               its weights with its own rows. A score's share is an angle.
2. residuals   the series is an inner product between sines and cosines of the one and of the other angle; the label
               party encrypts its own, weighted by its rows' weights, and subtracts the labels.
3. gradients   Z_k^T r, from the peer's encrypted share of the residuals.
4. update      velocity = momentum velocity + rate (gradient + penalty), weights -= velocity: own shares, cut locally.

Two parties can cut and lift their shares alone; `LatticeShape.prove` bounds how often that goes wrong.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.crypto import lattice
from plumbob.crypto.lattice import Context, Evaluator, Owner, SlotEvaluator, SlotOwner, angles, local, pairs
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.data import Batch, store
from plumbob.data.whitening import PENALTY_BITS
from plumbob.errors import DivergenceError, PlumbobError, RemoteProtocolError
from plumbob.model.sigmoid import AMPLITUDES, HARMONICS
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.clear import row_weights
from plumbob.protocol.handshake import Participant
from plumbob.protocol.journal import State
from plumbob.protocol.lattice_bound import BoundLattice, bind_lattice
from plumbob.protocol.lattice_keys import Keys, Product, agree_keys, settled_keys
from plumbob.protocol.lattice_sets import (
    ANGLE_BITS,
    GRADIENT_RING,
    MOMENTUM_BITS,
    RATE_BITS,
    SLOT_BITS,
    STEP_BITS,
    WEIGHT_BITS,
    LatticeShape,
)
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import WEIGHTS
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.row_noise import whole_noise_of_a_run
from plumbob.protocol.widths import columns_of

Share = list[int]
Angles = NDArray[np.uint32]
ELEMENT_BYTES = 16
LARGEST_WEIGHT = WEIGHTS.limit / 2  # Opened weights beyond this say that the run diverged: nobody saw it earlier.
SCORES, SIGMOID, GRADIENTS, PENALTIES = "scores", "sigmoid", "gradients", "penalties"


@dataclass(frozen=True)
class Pair:
    """The two parties, seen from one of them."""

    plan: Plan
    name: str
    channel: Channel

    @classmethod
    def at(cls, participant: Participant) -> "Pair":
        return cls(participant.plan, participant.name, next(iter(participant.channels.values())))

    @property
    def peer(self) -> str:
        return self.channel.peer

    @property
    def label(self) -> str:
        return self.plan.label_party.name

    @property
    def is_first(self) -> bool:
        """The label party rounds down, the other one up."""
        return self.name == self.label

    @property
    def columns(self) -> int:
        return columns_of(self.plan, self.name)

    @property
    def peers_columns(self) -> int:
        return columns_of(self.plan, self.peer)


def lattice_engine(participant: Participant) -> lattice.LatticeEngine:
    """The readable one where the plan's other engine is that, otherwise the kernel where it was built."""
    return lattice.choose(
        "python" if participant.engine.name == "python" else "auto", getattr(participant.engine, "threads", None)
    )


class LatticeParty(TrainingParty):
    """One of the two parties in training."""

    shape: LatticeShape
    keys: Keys
    own: Share
    """This party's share of its own weights."""
    peers: Share
    """This party's share of the peer's weights."""
    own_velocity: Share
    peers_velocity: Share
    row_noise: NDArray[np.int64] | None
    """What this party adds to its shares of the sums, one row per pass, where the plan promises something for rows."""
    bound: BoundLattice | None = None
    """With weights that are never opened: what prediction works on."""

    def prepare(self) -> None:
        self.shape = LatticeShape(self.plan, len(self.shard))
        self.shape.prove()
        self.shape.refuse_scores(self.plan.held_out(len(self.table)))
        self._answering_key = self.participant.randomness.draw(SEED_BYTES)
        self.register = lattice.Register()
        self.row_noise = self._drawn_noise()
        self.share_start()
        products = list(self._products())
        self.keys = settled_keys(self.participant, self.engine, products, lambda: self._agreed(products))

    def _agreed(self, products: Sequence[Product]) -> Keys:
        return agree_keys(self.participant, self.engine, self.pair.channel, products)

    def _drawn_noise(self) -> NDArray[np.int64] | None:
        """This party's noise on every coordinate of every pass, the label party's columns first; None without any.

        Drawn at once, before the first pass, so that no pass takes longer for a larger draw; a restart draws the same.
        """
        cost = self.shape.row_cost
        if cost is None:
            return None
        columns = self.pair.columns + self.pair.peers_columns
        self.noise_draws = cost.passes * columns
        return whole_noise_of_a_run(cost, columns, self.participant.randomness.draw)

    def share_start(self) -> None:
        """A random vector to the peer; what is left of the starting weights stays here."""
        start = [round(math.ldexp(weight, WEIGHT_BITS)) for weight in self.weights]
        given = self.participant.randomness.many_below(local.RING, len(start))
        self.pair.channel.send(Kind.START_SHARE, 0, to_bytes(given))
        self.own = [(value - share) % local.RING for value, share in zip(start, given, strict=True)]
        received = self.pair.channel.receive(Kind.START_SHARE, 0, ELEMENT_BYTES * self.pair.peers_columns)
        self.peers = from_bytes(received)
        self.own_velocity, self.peers_velocity = [0] * len(self.own), [0] * len(self.peers)

    def _products(self) -> Iterator[Product]:
        """Everything that needs a key, in the order in which keys travel."""
        slots = self.shape.profile[2]
        for number in range(1, self.plan.passes + 1):
            for owner, evaluator in ((self.pair.label, self._other), (self._other, self.pair.label)):
                scores, gradients, _ = self.shape.sets_for(evaluator)
                yield Product(self._context(SCORES, number, owner, evaluator), scores)
                yield Product(self._context(GRADIENTS, number, owner, evaluator), gradients)
                if self.shape.has_penalty_products:
                    yield Product(self._context(PENALTIES, number, owner, evaluator), gradients)
            for place in range(len(self.shape.pieces)):
                yield Product(self._context(f"{SIGMOID} {place}", number, self.pair.label, self._other), slots)

    def step(self, batch: Batch) -> Vector:
        own_pull, peers_pull = self._shared_penalties(batch.step)
        residuals = self._shared_residuals(batch.step, self._shared_scores(batch.step))
        own_sums, peers_sums = self._shared_sums(batch.step, residuals)
        size = StepSize.of(self.shape)
        self.own, self.own_velocity = self._descended(self.own, self.own_velocity, own_sums, own_pull, size)
        self.peers, self.peers_velocity = self._descended(self.peers, self.peers_velocity, peers_sums, peers_pull, size)
        self.keys.forget(batch.step)
        return np.zeros(0)

    # 1. Scores.

    def _shared_scores(self, number: int) -> Angles:
        """This party's share of all rows' scores: 2**32 is one period."""
        dropped = self.shape.input_bits - ANGLE_BITS
        mine = local.scores(self.shard.X, self.plan.feature_bits, self.own, self.shape.input_bits)
        answered, opened = self._both_ways(SCORES, number, local.pairs_of(self.peers), self._score_matrix)
        total = (mine >> np.uint64(dropped)) + answered[:, 0] + opened[:, 0]
        return (total & np.uint64(2**ANGLE_BITS - 1)).astype(np.uint32)

    # 2. Residuals.

    def _shared_residuals(self, number: int, scores: Angles) -> lattice.Pairs:
        """This party's share of all rows' residuals, with 40 fraction bits, modulo 2**128."""
        parts = [
            self._shared_piece(number, place, piece, scores[piece]) for place, piece in enumerate(self.shape.pieces)
        ]
        shared = pairs.lift(np.concatenate(parts), self.shape.profile[2].slot_modulus, self.pair.is_first)
        return shared if self._shifts is None else pairs.subtract(shared, self._shifts)

    def _shared_piece(self, number: int, place: int, piece: slice, scores: Angles) -> lattice.Pairs:
        layout = self.shape.slots(piece)
        context = self._context(f"{SIGMOID} {place}", number, self.pair.label, self._other)
        channel = self.pair.channel
        if self.pair.is_first:
            factors = angles.owner_factors(self.engine, scores, HARMONICS.astype(int).tolist())
            if self._row_weights is not None:
                factors = angles.weighted(factors, self._row_weights[piece])
            owner = SlotOwner(self.keys.own[context], layout)
            channel.send(Kind.LATTICE_REQUEST, number, owner.request(factors))
            return owner.open(channel.receive(Kind.LATTICE_REPLY, number, layout.reply_bytes))
        request = channel.receive(Kind.LATTICE_REQUEST, number, SEED_BYTES + layout.request_bytes)
        factors = angles.evaluator_factors(self.engine, scores, HARMONICS.astype(int).tolist(), AMPLITUDES.tolist())
        evaluator = SlotEvaluator(self.engine, layout, self.keys.tested[context], self._answering_key, self.register)
        answer = self._said_by_peer(lambda: evaluator.reply(request, factors))
        channel.send(Kind.LATTICE_REPLY, number, answer.reply)
        return answer.share

    @cached_property
    def _row_weights(self) -> NDArray[np.int64] | None:
        """How much each row counts, with 20 fraction bits; only the label party knows."""
        if self.plan.class_weight == "none" or self.shard.y is None:
            return None
        return np.rint(np.ldexp(row_weights(self.plan, self.shard.y), angles.FACTOR_BITS)).astype(np.int64)

    @cached_property
    def _shifts(self) -> lattice.Pairs | None:
        """What the label party takes off its share: half a label, weighted."""
        if self._signs is None or self.shard.y is None:
            return None
        halves = self.sigmoid.label_weight * self._signs * row_weights(self.plan, self.shard.y)
        return pairs.from_integers(np.rint(np.ldexp(halves, SLOT_BITS)).astype(np.int64))

    # 3. Gradients.

    def _shared_sums(self, number: int, residuals: lattice.Pairs) -> tuple[Share, Share]:
        """This party's shares of its own and of the peer's sums of residuals times features."""
        mine = local.sums(self.shard.X, self.plan.feature_bits, residuals)
        own, peers = self._with_products(GRADIENTS, number, mine, residuals, self._gradient_matrix)
        return self._noisy(number, own, peers)

    def _noisy(self, number: int, own: Share, peers: Share) -> tuple[Share, Share]:
        """With this party's noise on its share of every coordinate: before anything is cut, as the promise needs."""
        if self.row_noise is None:
            return own, peers
        drawn = self.row_noise[number - 1].tolist()
        labels_columns = columns_of(self.plan, self.pair.label)
        on_labels, on_others = drawn[:labels_columns], drawn[labels_columns:]
        on_own, on_peers = (on_labels, on_others) if self.pair.is_first else (on_others, on_labels)
        return _added(own, on_own), _added(peers, on_peers)

    def _shared_penalties(self, number: int) -> tuple[Share, Share]:
        """The same of the penalty's matrices times the weights; nothing where the penalty is a public factor."""
        if not self.shape.has_penalty_products:
            return [], []
        lent = local.pairs_of(self.peers)
        mine = local.sums(self._penalty, PENALTY_BITS, local.pairs_of(self.own))
        return self._with_products(PENALTIES, number, mine, lent, self._penalty_matrix)

    def _with_products(
        self, kind: str, number: int, mine: Share, lent: lattice.Pairs, matrix: lattice.Matrix
    ) -> tuple[Share, Share]:
        """Own product without its low bits, and both directions' products, lifted to the ring of the weights."""
        answered, opened = self._both_ways(kind, number, lent, matrix)
        whole = 1 << GRADIENT_RING
        dropped = matrix.layout.input_bits - GRADIENT_RING
        own = [((a >> dropped) + b) % whole for a, b in zip(mine, local.integers_of(answered), strict=True)]
        return self._lifted(own), self._lifted(local.integers_of(opened))

    def _lifted(self, share: Share) -> Share:
        return [local.lift(value, GRADIENT_RING, self.pair.is_first) for value in share]

    # 4. Updates.

    def _descended(
        self, weights: Share, velocity: Share, sums: Share, pull: Share, size: "StepSize"
    ) -> tuple[Share, Share]:
        """(weights, velocity) after the step."""
        first = self.pair.is_first
        pulls = (
            [local.cut(value * size.pull_factor % local.RING, size.pull_shift, first) for value in pull]
            if pull
            else self._public_pulls(weights, size)
        )
        moved = [
            (
                local.cut(u * size.momentum % local.RING, MOMENTUM_BITS, first)
                + local.cut(g * size.factor % local.RING, size.shift, first)
                + p
            )
            % local.RING
            for u, g, p in zip(velocity, sums, pulls, strict=True)
        ]
        return [(w - u) % local.RING for w, u in zip(weights, moved, strict=True)], moved

    def _public_pulls(self, weights: Share, size: "StepSize") -> Share:
        """rate l2 w; the intercept, the label party's last, is not penalised."""
        if not self.plan.l2:
            return [0] * len(weights)
        factor = round(math.ldexp(self.plan.rate * self.plan.l2, STEP_BITS))
        pulls = [local.cut(value * factor % local.RING, STEP_BITS, self.pair.is_first) for value in weights]
        is_labels = (weights is self.own) == self.pair.is_first
        if self.plan.intercept and is_labels:
            pulls[-1] = 0
        return pulls

    # Products with a private matrix.

    def _both_ways(
        self, kind: str, number: int, lent: lattice.Pairs, matrix: lattice.Matrix
    ) -> tuple[lattice.Pairs, lattice.Pairs]:
        """Shares of (own matrix with what the peer lends, the peer's matrix with what we lend)."""
        name, peer, channel = self.pair.name, self.pair.peer, self.pair.channel
        owner = Owner(self.keys.own[self._context(kind, number, name, peer)], self._layout(kind, peer))
        channel.send(Kind.LATTICE_REQUEST, number, owner.request(lent))
        request = channel.receive(Kind.LATTICE_REQUEST, number, SEED_BYTES + matrix.layout.request_bytes)
        tested = self.keys.tested[self._context(kind, number, peer, name)]
        evaluator = Evaluator(matrix, tested, self._answering_key, self.register)
        answer = self._said_by_peer(lambda: evaluator.reply(request))
        channel.send(Kind.LATTICE_REPLY, number, answer.reply)
        opened = owner.open(channel.receive(Kind.LATTICE_REPLY, number, owner.layout.reply_bytes))
        return answer.share, opened

    def _said_by_peer(self, work: Any) -> lattice.Answer:
        """A refusal of the peer's bytes names the peer."""
        try:
            answer: lattice.Answer = work()
        except PlumbobError as error:
            raise RemoteProtocolError(f"{self.pair.peer}: {error}") from None
        return answer

    def _layout(self, kind: str, evaluator: str) -> lattice.Layout:
        makers = {
            SCORES: self.shape.scores,
            GRADIENTS: self.shape.gradients,
            PENALTIES: self.shape.penalties,
        }
        return makers[kind](evaluator)

    @cached_property
    def _score_matrix(self) -> lattice.Matrix:
        return lattice.Matrix(self.engine, self._layout(SCORES, self.pair.name), self._integers)

    @cached_property
    def _gradient_matrix(self) -> lattice.Matrix:
        return lattice.Matrix(self.engine, self._layout(GRADIENTS, self.pair.name), self._integers)

    @cached_property
    def _integers(self) -> lattice.Small:
        entries = np.empty(self.shard.X.shape, dtype=np.int32)
        for piece in store.pieces(len(entries)):
            entries[piece] = np.rint(np.ldexp(self.shard.X[piece], self.plan.feature_bits))
        return entries

    @cached_property
    def _penalty_matrix(self) -> lattice.Matrix:
        entries = np.rint(np.ldexp(self._penalty, PENALTY_BITS)).astype(np.int32)
        return lattice.Matrix(self.engine, self._layout(PENALTIES, self.pair.name), entries)

    @cached_property
    def _penalty(self) -> NDArray[np.float64]:
        return self.shard.penalties(self.plan.l2)

    # What surrounds the steps.

    def state(self) -> State:
        shares = {name: to_bytes(getattr(self, name)) for name in ("own", "peers", "own_velocity", "peers_velocity")}
        return {**super().state(), **shares, "register": msgspec.msgpack.encode(self.register.entries)}

    def restore(self, state: State) -> None:
        super().restore(state)
        for name in ("own", "peers", "own_velocity", "peers_velocity"):
            setattr(self, name, from_bytes(state[name]))
        self.register = lattice.Register(msgspec.msgpack.decode(state["register"], type=dict[bytes, bytes]))

    def finish(self) -> None:
        """`open = "own"`: each party gets the missing share of its own weights, cut to an honest weight's width."""
        if self.plan.open == "never":
            self.weights = np.zeros(0)
            self.bound = bind_lattice(self.participant, self.engine, self.session, self.shape, self.peers)
            return
        given, kept = (self._cut(share) for share in (self.peers, self.own))
        self.pair.channel.send(Kind.WEIGHT_SHARE, 0, WEIGHTS.to_bytes(given))
        missing = self.pair.channel.receive(Kind.WEIGHT_SHARE, 0, WEIGHTS.size(self.columns))
        self.weights = WEIGHTS.opened(kept, WEIGHTS.from_bytes(missing, self.pair.peer))

    def _cut(self, share: Share) -> Share:
        dropped = WEIGHT_BITS - WEIGHTS.fraction_bits
        return [local.cut(value, dropped, self.pair.is_first) % (1 << WEIGHTS.bits) for value in share]

    def refuse_result(self) -> None:
        """Said at home only, after the last message: a peer must not learn from it what the weights are like."""
        if np.abs(self.weights).max(initial=0.0) > LARGEST_WEIGHT:
            raise DivergenceError(
                f"training diverged: expected opened weights below {LARGEST_WEIGHT:g}, got larger ones; set "
                'learning_rate = 0 with scale = "whitened", or lower it'
            )

    def model_part(self) -> ModelPart:
        """With weights that were never opened, the shares take their place."""
        part = super().model_part()
        if self.plan.open == "own":
            return part
        shares = {self.pair.name: self.own, self.pair.peer: self.peers}
        return replace(part, weights=None, shares=shares, bound=self.bound)

    @cached_property
    def engine(self) -> lattice.LatticeEngine:
        return lattice_engine(self.participant)

    @cached_property
    def pair(self) -> Pair:
        return Pair.at(self.participant)

    @property
    def _other(self) -> str:
        """The feature party, whoever we are."""
        return self.plan.feature_parties[0].name

    def _context(self, kind: str, number: int, owner: str, evaluator: str) -> Context:
        return Context(self.session.identity, owner, evaluator, kind, number)


@dataclass(frozen=True)
class StepSize:
    """The public integers of an update: rate / rows, the rate, and momentum; shifts bring products back to weights."""

    factor: int
    shift: int
    pull_factor: int
    pull_shift: int
    momentum: int

    @classmethod
    def of(cls, shape: LatticeShape) -> "StepSize":
        rate = shape.plan.rate / shape.rows
        exponent = STEP_BITS - 1 - math.floor(math.log2(rate))
        return cls(
            factor=round(math.ldexp(rate, exponent)),
            shift=shape.gradient_fraction + exponent - WEIGHT_BITS,
            pull_factor=round(math.ldexp(shape.plan.rate, RATE_BITS)),
            pull_shift=shape.penalty_fraction + RATE_BITS - WEIGHT_BITS,
            momentum=round(math.ldexp(shape.plan.momentum, MOMENTUM_BITS)),
        )


def _added(share: Share, noise: Sequence[int]) -> Share:
    return [(value + drawn) % local.RING for value, drawn in zip(share, noise, strict=True)]


def to_bytes(share: Sequence[int]) -> bytes:
    """16 bytes for each element."""
    return b"".join(value.to_bytes(ELEMENT_BYTES, "little") for value in share)


def from_bytes(data: bytes) -> Share:
    """The inverse of `to_bytes`, of a body whose length was checked."""
    starts = range(0, len(data), ELEMENT_BYTES)
    return [int.from_bytes(data[start : start + ELEMENT_BYTES], "little") for start in starts]
