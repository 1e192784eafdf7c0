"""A party that reads its own gradient in every step: what `exchange` and `arbiter` have in common."""

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking import study
from plumbob.checking.study import Widths, widths_for
from plumbob.crypto import Encoded, Encoding
from plumbob.data import Batch, Table, stream
from plumbob.errors import EncodingError, LocalProtocolError, RemoteProtocolError
from plumbob.lab import one_step
from plumbob.lab.exchange.primitive import engine_of
from plumbob.lab.flips import flipped_signs
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.plan.study import label_scale
from plumbob.privacy import discrete_gaussian
from plumbob.protocol.journal import Resumed, State
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, TrainingParty

# One party's part of a score stays below this in a run that converges; the sigmoid is flat long before.
LARGEST_SCORE = 32.0
NOISE_REACH = 9.0  # Standard deviations: beyond them once in 10**18 draws.


class GradientParty(TrainingParty):
    """Its residuals leave encrypted, with the plan's noise."""

    def __init__(self, participant: Participant, table: Table, progress: AfterStep | None = None) -> None:
        super().__init__(participant, table, progress)
        self.sums: list[Vector] = []
        """The sums that this party could read, step by step."""
        self.returned_noise: list[Vector] = []
        """What its own noise added to them, where that returns."""

    def step(self, batch: Batch) -> None:
        self.sums.append(self.read_sums(batch))

    @abstractmethod
    def read_sums(self, batch: Batch) -> Vector:
        """Take one step; returns the sums that this party could read."""

    def state(self) -> State:
        """Nothing: a study is calculated in one go."""
        return {}

    def restore(self, resumed: Resumed) -> None:
        raise LocalProtocolError(f"{self.plan.protocol}: a study keeps no journal and is not resumed; train again")

    def own_start(self) -> Vector:
        """With a plan's seed the whole start is the same in every protocol, and known to all.

        Without, each party draws its own part from its own randomness. The intercept, if any, starts at 0.
        """
        name, plan, draws = self.participant.name, self.plan, self.participant.draws
        generator = (
            stream(self.session.seed, "starting weights")
            if plan.seed
            else np.random.Generator(np.random.Philox(int.from_bytes(draws.of("start").draw(32), "little")))
        )
        place = [party.name for party in plan.learners].index(name)
        before, own = sum(party.features for party in plan.learners[:place]), plan.party(name).features
        weights = np.zeros(self.columns)
        weights[:own] = one_step.starting_weights(plan.start, plan.columns, generator)[before : before + own]
        return weights

    @property
    def engine_name(self) -> str:
        return engine_of(self.participant).name

    def feature_encoding(self) -> Encoding:
        return self.widths.features

    @cached_property
    def widths(self) -> Widths:
        return widths_for(self.plan, len(self.shard))

    @cached_property
    def noise_std(self) -> float:
        return study.noise_std(self.plan, self.plan.party(self.participant.name).role)

    @cached_property
    def all_signs(self) -> Vector | None:
        """All labels as -1/+1, flipped once where the plan says so, whatever is done with them afterwards."""
        signs = super().all_signs
        if signs is None or not self.plan.label_flip_epsilon:
            return signs
        drawn = self.participant.draws.of("flipped labels").draw(8 * len(self.shard))
        return flipped_signs(signs, self.plan.label_flip_epsilon, drawn)

    def signs(self, batch: Batch) -> Vector | None:
        """The labels of a batch as -1/+1, at the label party; flipped and scaled where the plan says so."""
        return None if self.all_signs is None else self.all_signs[batch.rows]

    def encoded_features(self, batch: Batch) -> Encoded:
        """Own rows of a batch as integers; encoded for each batch, because all of them at once need not fit memory."""
        return self.widths.features.encode(self.shard.X[batch.rows], "features")

    def own_scores(self, batch: Batch) -> Vector:
        """This party's part of the scores; a run that diverged is stopped here, before anything is released."""
        scores: Vector = self.shard.X[batch.rows] @ self.weights
        one_step.stop_if_diverging(scores, np.zeros(0), self.sigmoid, batch.step)
        return scores

    def refuse_steering(self, batch: Batch, scores: Vector, others: Vector) -> None:
        """End the run where the others' part of a sum would move a weight further than theirs can in any run.

        Opened sums are bound to nothing: a peer can add what it likes, and read in the next step what the moved weight
        makes of single rows. What stays below the limit is not noticed.
        """
        X = self.shard.X[batch.rows]
        limit = steering_limit(self.plan, len(self.plan.learners) - 1, X)
        if len(others) == 0 or not (np.abs(others) > limit).any():
            return
        # Whoever's own scores have run away as well is in a run that diverges, and accuses nobody.
        limits = replace(self.sigmoid, score_limit=min(LARGEST_SCORE, self.sigmoid.score_limit))
        one_step.stop_if_diverging(scores, others, limits, batch.step)
        raise RemoteProtocolError(
            f"step {batch.step}: the others' sums would move a weight further than the plan's learning rate allows "
            f"with scores up to {LARGEST_SCORE:g}; a peer steers this party's weights, or training diverges there. "
            "Nothing was updated; ask the peers, or lower learning_rate"
        )

    def descend(self, batch: Batch, scores: Vector, sums: Vector) -> None:
        """Update the weights with the gradient from these sums."""
        gradient = one_step.gradient(sums, len(batch), self.sigmoid)
        one_step.stop_if_diverging(scores, gradient, self.sigmoid, batch.step)
        self.weights = one_step.updated(self.weights, gradient, self.plan.rate, self.penalties)

    def encode_released(self, batch: Batch, residuals: Vector) -> Encoded:
        """Encode what leaves encrypted: this party's part of the residuals, with its noise.

        Noise is added to the integers, so that no floating-point number stands between the sampler and the cipher.
        """
        encoding = self.widths.residuals
        values = encoding.encode(residuals, "own residuals").values
        if self.noise_std > 0:
            drawn = self._noise(len(values))
            values += drawn
            if study.own_noise_returns(self.plan, self.plan.party(self.participant.name).role):
                self.returned_noise.append(encoding.decode(drawn) @ self.shard.X[batch.rows])
            if np.abs(values).max() >= 1 << (encoding.bits - 1):
                raise EncodingError("a noisy residual is wider than agreed; this happens about once in 10**15 draws")
        return Encoded(values, encoding)

    def own_part(self, residuals: Vector, released: Encoded) -> Vector:
        """Residuals as this party updates with them: exact (Algorithm 3), or as released where soundness needs it."""
        if study.updates_with_released_noise(self.plan, self.plan.party(self.participant.name).role):
            return released.encoding.decode(released.values)
        return residuals

    def _noise(self, count: int) -> NDArray[np.int64]:
        self.noise_draws += count
        variance = Fraction(study.whole_units(self.noise_std, self.plan.residual_bits)) ** 2
        below = self.participant.draws.of("noise").below
        draws = (discrete_gaussian.sample(variance, below) for _ in range(count))
        return np.fromiter(draws, dtype=np.int64, count=count)


def steering_limit(plan: Plan, helpers: int, X: Matrix) -> Vector:
    """For each own column, the largest sum that residuals of the others give it: labels, scores and their noise.

    A residual is at most the label's part and `LARGEST_SCORE` for each helper; noise adds up by its squares.
    """
    label = SIGMOIDS[plan.sigmoid].label_weight * label_scale(plan.label_flip_epsilon)
    noise = max(study.noise_std(plan, party.role) for party in plan.learners)
    columns = np.abs(X).sum(axis=0) * (label + helpers * LARGEST_SCORE)
    spread: Vector = columns + NOISE_REACH * noise * np.sqrt(helpers * (X**2).sum(axis=0))
    return spread
