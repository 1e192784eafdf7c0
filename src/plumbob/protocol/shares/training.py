"""`shares` by lattices: two to eight parties, full batches, and nothing is revealed during training.

One pass, with Z the rows of party k (21-bit numbers) and everything else in additive shares among all parties:

1. scores      Z_k w_k, modulo one period of the sigmoid's series: each party multiplies every peer's encrypted share of
               its weights with its own rows. A score's share is an angle.
2. residuals   the series of a sum of angles, by stages: one party after the other encrypts its sines and cosines, and
               those before it turn their shares by them. In the last stage all harmonics are added up. The label party
               comes first: its rows' weights are in its sines and cosines, and it subtracts the labels.
3. gradients   Z_k^T r, from every peer's encrypted share of the residuals; with a penalty's matrix below the rows, and
               the weights below the residuals, the penalty is in the same sums.
4. update      velocity = momentum velocity + rate gradient, weights -= velocity: on own shares.

Two parties cut and lift their shares alone; `RunShape.prove` bounds how often that goes wrong. Three and more lift
them behind masks, and then hold whole numbers, which each rounds off alone.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import lattice
from plumbob.crypto.lattice import angles, local, pairs
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.lattice.interface import Angles
from plumbob.crypto.lattice.kernel import Engine, engine_on
from plumbob.data import Batch, store
from plumbob.data.whitening import PENALTY_BITS
from plumbob.errors import DivergenceError, LocalProtocolError
from plumbob.protocol import signing
from plumbob.protocol.account import Numbers
from plumbob.protocol.journal import Resumed, State
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import WEIGHTS, Share, pack, unpack
from plumbob.protocol.pair_masks import PairMasks, agree_pair_masks
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import TrainingParty, row_weights
from plumbob.protocol.shares.bound import Bound, bind_shares
from plumbob.protocol.shares.keys import Keys, settle_keys
from plumbob.protocol.shares.products import ColumnHolders, Pass
from plumbob.protocol.shares.series import shared_series
from plumbob.protocol.shares.shape import (
    ANGLE_BITS,
    DROPPED_BITS,
    ELEMENT_BYTES,
    GRADIENT_RING,
    GRADIENTS,
    MOMENTUM_BITS,
    SCORES,
    SLOT_BITS,
    WEIGHT_BITS,
    RunShape,
    matrix_kind,
)

LARGEST_WEIGHT = WEIGHTS.limit / 2  # Opened weights beyond this say that the run diverged: nobody saw it earlier.
START_BITS = WEIGHT_BITS + WEIGHTS.integer_bits + 64  # Of a share of starting weights among three and more parties.
WEIGHTS_OF, VELOCITY_OF = "weights of ", "velocity of "  # What the journal calls them.


class SharesParty(TrainingParty):
    """One of the parties in training."""

    keys: Keys
    register: lattice.Register
    """What this party has answered."""
    now: Pass
    """The pass that is under way."""
    _entered: "LevelRows | None" = None
    held: dict[str, Share]
    """This party's share of every party's weights."""
    velocities: dict[str, Share]
    row_noise: NDArray[np.int64] | None
    """This party's noise on its shares of the sums, one row per pass, where the plan makes a promise about rows."""
    bound: Bound | None = None
    """What prediction works on, where weights are never opened."""
    pair_masks: PairMasks
    """Masks that hide one party's share of an opened number among the others'."""

    @cached_property
    def shape(self) -> RunShape:
        """The public numbers of this run."""
        return RunShape(self.plan, len(self.shard))

    def own_numbers(self) -> Numbers:
        whole = {"rows": self._integers, "penalty": self._penalty}
        of_labels = {"shifts": self._shifts, "row weights": self._row_weights}
        return {
            **super().own_numbers(),
            **whole,
            **{name: values for name, values in of_labels.items() if values is not None},
        }

    def take_numbers(self, numbers: Numbers) -> None:
        super().take_numbers(numbers)
        self._integers, self._penalty = numbers["rows"], numbers["penalty"]

    def prepare(self) -> None:
        self.shape.prove()
        self.shape.refuse_scores(self.plan.held_out(len(self.table)))
        self.row_noise = self._drawn_noise()
        self.pair_masks = agree_pair_masks(self.participant, self.session)
        self.share_start()
        self.register = lattice.Register()

    def settle_keys(self, resumed: Resumed | None) -> None:
        self.keys = Keys(self.engine, self.session.identity)
        settle_keys(self.participant, self.keys, self.holders.channels, self.shape.keyed_products, resumed)

    def _drawn_noise(self) -> NDArray[np.int64] | None:
        """This party's noise on every coordinate of every pass, the label party's columns first; None without any.

        Drawn at once, before the first pass, so that no pass takes longer for a larger draw; a restart draws the same.
        """
        cost = self.shape.row_cost
        if cost is None:
            return None
        from plumbob.protocol.row_noise import whole_noise_of_a_run  # Late: without a promise there is no noise.

        columns = sum(map(self.holders.columns, self.holders.names))
        self.noise_draws = cost.passes * columns
        return whole_noise_of_a_run(cost, columns, self.participant.draws.of("noise").draw)

    def share_start(self) -> None:
        """Send a random vector to each peer; the rest of the starting weights stays here."""
        left = self.use("start", 0, [round(math.ldexp(weight, WEIGHT_BITS)) for weight in self.weights])
        # Whole numbers hide the start if they are many bits wider; those of a ring are uniform in it.
        bound = local.RING if self.holders.is_pair else 1 << START_BITS
        for peer, channel in self.holders.channels.items():
            given = self.participant.draws.of("share of the start", peer).many_below(bound, len(left))
            channel.send(Kind.START_SHARE, 0, pack(given, ELEMENT_BYTES))
            left = [value - share for value, share in zip(left, given, strict=True)]
        self.held = {name: self._start_of(name, left) for name in self.holders.names}
        self.velocities = {name: [0] * len(share) for name, share in self.held.items()}

    def _start_of(self, name: str, left: Share) -> Share:
        if name == self.holders.name:
            return self._reduce(left)
        size = ELEMENT_BYTES * self.holders.columns(name)
        return self._reduce(unpack(self.holders.channels[name].receive(Kind.START_SHARE, 0, size), ELEMENT_BYTES))

    def _reduce(self, values: Share) -> Share:
        return [self.holders.shares.reduce(value) for value in values]

    def step(self, batch: Batch) -> None:
        """Take one pass; the numbers are those of docs/protocol.md, "shares"."""
        self._begin(batch)
        scores = self._shared_scores()  # 1
        shared = shared_series(self.now, scores, self._level_row_weights())  # 2
        residuals = self._shared_residuals(shared)  # 2
        sums = self._shared_sums(residuals)  # 3
        size = StepSize.of(self.now.shape)
        for name in self.holders.names:
            self._descend(name, sums[name], size)  # 4
        self.keys.forget(batch.step)

    def _begin(self, batch: Batch) -> None:
        answering_key = self.participant.draws.of("answers").draw(SEED_BYTES)
        level, keys, register = self._enter_level(batch.rows), self.keys, self.register
        identity = self.session.identity
        self.now = Pass(batch.step, level.shape, self.holders, identity, keys, answering_key, register, self.use)

    def _enter_level(self, rows: NDArray[np.intp]) -> "LevelRows":
        """What the passes of a level multiply with; what the previous level used is dropped."""
        if self._entered is not None and len(self._entered.scores.entries) == len(rows):
            return self._entered
        self._entered = None  # Before the next one is made: both need not fit memory.
        shape, name = self.shape.at(len(rows)), self.holders.name
        is_whole = len(rows) == len(self.shard)
        entries = self._integers if is_whole else np.concatenate([self._integers[rows], self._penalty])
        scores = lattice.PrivateMatrix(self.engine, shape.scores(name), entries[: len(rows)])
        gradients = [
            lattice.PrivateMatrix(self.engine, layout, entries[block])
            for layout, block in zip(shape.gradients(name), shape.sum_blocks, strict=True)
        ]
        self._entered = LevelRows(shape, slice(None) if is_whole else rows, scores, gradients)
        return self._entered

    @property
    def level(self) -> "LevelRows":
        """What the current pass multiplies with."""
        if self._entered is None:
            raise LocalProtocolError("no pass of this run is under way yet")
        return self._entered

    # 1. Scores.

    def _shared_scores(self) -> Angles:
        """This party's share of all rows' scores: 2**32 is one period."""
        dropped = self.shape.input_bits - ANGLE_BITS
        rows, matrix = self._used_rows(SCORES, self.level.scores)
        mine = local.scores(self.engine, rows, self.held[self.holders.name], self.shape.input_bits)
        lent = {peer: local.pairs_of(self.held[peer]) for peer in self.holders.peers}
        total = mine >> np.uint64(dropped)
        for answered, opened in self.now.multiply(matrix_kind(SCORES), lent, matrix).values():
            total = total + answered[:, 0] + opened[:, 0]
        return self.use("scores", self.now.number, (total & np.uint64(2**ANGLE_BITS - 1)).astype(np.uint32))

    # 2. Residuals.

    def _shared_residuals(self, shared: lattice.Pairs) -> lattice.Pairs:
        """This party's share of all rows' residuals, from that of the series: without the labels."""
        shifts, number = self._shifts, self.now.number
        labels = self.use("labels", number, None if shifts is None else shifts[self.level.rows])
        return self.use("residuals", number, shared if labels is None else pairs.subtract(shared, labels))

    def _level_row_weights(self) -> NDArray[np.int64] | None:
        return None if self._row_weights is None else self._row_weights[self.level.rows]

    @cached_property
    def _row_weights(self) -> NDArray[np.int64] | None:
        """How much each row counts, with 20 fraction bits; only the label party knows."""
        if not self.plan.weighs_rows or self.shard.y is None:
            return None
        weights = row_weights(self.plan, self.shard.y, self.shard.weights)
        return np.rint(np.ldexp(weights, angles.FACTOR_BITS)).astype(np.int64)

    @cached_property
    def _shifts(self) -> lattice.Pairs | None:
        """What the label party subtracts from its share: half a label, weighted."""
        if self.all_signs is None or self.shard.y is None:
            return None
        weights = row_weights(self.plan, self.shard.y, self.shard.weights)
        halves = self.sigmoid.label_weight * self.all_signs * weights
        return pairs.from_integers(np.rint(np.ldexp(halves, SLOT_BITS)).astype(np.int64))

    # 3. Gradients.

    def _shared_sums(self, residuals: lattice.Pairs) -> dict[str, Share]:
        """This party's shares of every party's sums of residuals times features, and of its penalty."""
        name = self.holders.name
        shared = {party: [0] * self.holders.columns(party) for party in self.holders.names}
        mine, number = shared[name], self.now.number
        for place, block in enumerate(self.now.shape.sum_blocks):
            rows, matrix = self._used_rows(GRADIENTS, self.level.gradients[place])
            lent = {party: self._lent_to(block, residuals, party) for party in self.holders.names}
            mine = add(mine, local.sums(self.engine, rows, lent[name]))
            for peer, ways in self.now.multiply(matrix_kind(GRADIENTS, place), lent, matrix).items():
                for party, share in zip((name, peer), ways, strict=True):
                    shared[party] = add(shared[party], local.integers_of(share))
        shared[name] = add(shared[name], [value % local.RING >> DROPPED_BITS for value in mine])
        return self._lifted_sums(self.use("sums", number, self._noisy(number, shared)))

    def _lent_to(self, block: slice, residuals: lattice.Pairs, name: str) -> lattice.Pairs:
        """What one party's block of rows is multiplied with: residuals and, below the last, weights for the penalty."""
        if block.stop or not self.plan.l2:
            return residuals[block]
        scale = self.now.shape.pull_scale
        return np.concatenate([residuals[block], local.pairs_of([scale * value for value in self.held[name]])])

    def _noisy(self, number: int, shared: dict[str, Share]) -> dict[str, Share]:
        """The shares with this party's noise on every coordinate: before anything is cut, as the promise needs."""
        if self.row_noise is None:
            return shared
        drawn = iter(self.row_noise[number - 1].tolist())
        return {name: [value + next(drawn) for value in share] for name, share in shared.items()}

    def _lifted_sums(self, shared: dict[str, Share]) -> dict[str, Share]:
        """Lift the sums from the ring of the products to that of the weights."""
        reduced = {name: [value % (1 << GRADIENT_RING) for value in share] for name, share in shared.items()}
        if self.holders.is_pair:
            is_first = self.holders.is_first
            return {
                name: [local.lift(value, GRADIENT_RING, is_first) for value in share] for name, share in reduced.items()
            }
        every = local.pairs_of([value for share in reduced.values() for value in share])
        lifted = iter(local.integers_of(self.now.lift(GRADIENTS, self.now.shape.lifted_sums, every)))
        whole = self.holders.shares.reduce
        return {name: [whole(next(lifted)) for _ in share] for name, share in reduced.items()}

    # 4. Updates.

    def _descend(self, name: str, sums: Share, size: "StepSize") -> None:
        ring = self.holders.shares
        self.velocities[name] = [
            ring.reduce(ring.cut(u * size.momentum, MOMENTUM_BITS) + ring.cut(g * size.factor, size.shift))
            for u, g in zip(self.velocities[name], sums, strict=True)
        ]
        moved = zip(self.held[name], self.velocities[name], strict=True)
        self.held[name] = [ring.reduce(w - u) for w, u in moved]

    # Private matrices.

    def _used_rows(self, kind: str, honest: lattice.PrivateMatrix) -> tuple[lattice.Small, lattice.PrivateMatrix]:
        """What this party multiplies with in a pass, one row for each of its level's; plain and prepared."""
        rows = self.use(f"rows for {kind}", self.now.number, honest.entries)
        if rows is honest.entries:
            return rows, honest
        return rows, lattice.PrivateMatrix(self.engine, honest.layout, rows)

    @cached_property
    def _integers(self) -> lattice.Small:
        """Own rows as whole numbers, and the penalty's matrix below them."""
        rows = len(self.shard)
        entries = np.empty((rows + len(self._penalty), self.columns), dtype=np.int32)
        for piece in store.pieces(rows):
            entries[piece] = np.rint(np.ldexp(self.shard.X[piece], self.plan.feature_bits))
        entries[rows:] = self._penalty
        return entries

    @cached_property
    def _penalty(self) -> lattice.Small:
        """The penalty's matrix; without rows where there is no penalty."""
        if not self.plan.l2:
            return np.zeros((0, self.columns), np.int32)
        return np.rint(np.ldexp(self.shard.penalties(self.plan.l2), PENALTY_BITS)).astype(np.int32)

    # What surrounds the steps.

    def state(self) -> State:
        named = {WEIGHTS_OF: self.held, VELOCITY_OF: self.velocities}
        shares = {
            prefix + name: pack((value % local.RING for value in share), ELEMENT_BYTES)
            for prefix, held in named.items()
            for name, share in held.items()
        }
        register = msgspec.msgpack.encode(self.register.entries)
        return {**shares, "register": register}

    def restore(self, resumed: Resumed) -> None:
        state = resumed.state
        self.held, self.velocities = (
            {name: self._reduce(unpack(state[prefix + name], ELEMENT_BYTES)) for name in self.holders.names}
            for prefix in (WEIGHTS_OF, VELOCITY_OF)
        )
        self.register = lattice.Register(msgspec.msgpack.decode(state["register"], type=dict[bytes, bytes]))

    def finish(self) -> None:
        """`open = "own"`: each party gets the missing shares of its own weights, cut to an honest weight's width."""
        if self.plan.is_closed:
            self.weights = np.zeros(0)
            supplied = self.use("supplied share", 0, self.held)
            self.bound = bind_shares(self.participant, self.engine, self.session, self.shape, supplied)
            return
        signing.meet(self.participant, 0)
        for peer, channel in self.holders.channels.items():
            cut = self._cut(self.held[peer])
            hidden = self.pair_masks.hide(peer, 0, cut, range(len(cut)), repeat(1 << WEIGHTS.bits))
            channel.send(Kind.WEIGHT_SHARE, 0, WEIGHTS.to_bytes(hidden))
        signing.seal(self.participant, 0)
        missing = self.participant.receive_all(Kind.WEIGHT_SHARE, WEIGHTS.size(self.columns))
        signing.check_seals(self.participant, 0)
        self.weights = WEIGHTS.open(self._cut(self.held[self.holders.name]), missing)

    def _cut(self, share: Share) -> Share:
        dropped = WEIGHT_BITS - WEIGHTS.fraction_bits
        return [self.holders.shares.cut(value, dropped) % (1 << WEIGHTS.bits) for value in share]

    def refuse_result(self) -> None:
        """Refuse a diverged result at home only, after the last message: a peer must not learn about the weights."""
        if np.abs(self.weights).max(initial=0.0) > LARGEST_WEIGHT:
            raise DivergenceError(
                f"training diverged: expected opened weights below {LARGEST_WEIGHT:g}, got larger ones; set "
                "l2, or fewer epochs"
            )

    def model_part(self) -> ModelPart:
        """The party's part of the model; shares take the place of weights that were never opened."""
        part = super().model_part()
        if self.plan.opens_weights:
            return part
        return replace(part, weights=None, shares=dict(self.held), bound=self.bound)

    @property
    def engine_name(self) -> str:
        return self.engine.name

    @cached_property
    def engine(self) -> Engine:
        return engine_on(self.participant.threads, self.participant.cluster)

    @cached_property
    def holders(self) -> ColumnHolders:
        return ColumnHolders.at(self.participant)


@dataclass(frozen=True, repr=False, eq=False)
class LevelRows:
    """A party's own rows of one level, by which it multiplies its own numbers and its peers'."""

    shape: RunShape
    rows: NDArray[np.intp] | slice
    scores: lattice.PrivateMatrix
    gradients: list[lattice.PrivateMatrix]
    """The matrix of each block of rows, the last one with the penalty."""


@dataclass(frozen=True)
class StepSize:
    """The public integers of an update, rate / rows and momentum; the shift brings a gradient back to weights."""

    factor: int
    shift: int
    momentum: int

    @classmethod
    def of(cls, shape: RunShape) -> "StepSize":
        factor, exponent = shape.plan.whole_step(shape.rows)
        momentum = round(math.ldexp(shape.plan.momentum, MOMENTUM_BITS))
        return cls(factor, shape.gradient_fraction + exponent - WEIGHT_BITS, momentum)


def add(left: Share, right: Share) -> Share:
    """The sum of two shares, number by number."""
    return [a + b for a, b in zip(left, right, strict=True)]
