"""What a party may use of its own table to judge a plan: real ranks, two-valued columns, and how well columns predict.

Nothing is sent and nothing is stored: the table is read, a few numbers are taken from it, and it is forgotten. A party
that holds the label learns what own columns say about it, and what a model trained as the plan says makes of them:
what an attack must beat. It also rehearses the training with made-up columns for its peers.

Whether solving sums for labels tells more than the attacker's own part of the model depends on how steps, starts, noise
and columns play together, and formulas catch that roughly (`forecast.py`). A party that holds the label can do better.
It trains in the clear as the plan says, a few times, each time with other columns in its peers' place. They share
their variance among directions as its own columns do, say about labels what columns of this kind may say, from little
to much, and are related to its own ones or not. An attack that leaks in every rehearsal is announced. Nothing is sent
and nothing is stored: what stays is one advantage for each attack and rehearsal.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking import stacking
from plumbob.checking.figures import ENOUGH_COLUMNS, FEW_COLUMNS, Advantages, AtHome
from plumbob.checking.rules.label_stacked import ENOUGH
from plumbob.checking.study import noise_std, updates_with_released_noise
from plumbob.data import Table, batches, build_shard, seed_from_int, steps_per_epoch
from plumbob.data.shards import clipped
from plumbob.model import intervals, logistic, metrics
from plumbob.model.logistic import starting_weights
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS

SAMPLED = 20
"""How many batches the rank is taken of."""
MOST_STEPS = 3000
"""Most steps of the local training: its quality hardly changes after them."""
REHEARSALS = 8
MOST_ROWS = 1000
"""Most rows that are solved for; more are trained on. The number of equations per label does not depend on it."""
MOST_WHOLE_ROWS = 5000
"""Most rows in full batches, where all rows are one batch and fewer of them would tell more."""
MOST_ENTRIES, SOLVING_STEPS = 1_000_000, 80
"""Most entries of the stacked equations of one rehearsal, and most steps to solve them."""
LARGEST_SCORE = 1e3
AROUND = 0.6
"""How far from its own columns' the peers' power to predict may lie, as a normal deviate."""
ONE_COLUMN_AUCS, FEW_COLUMNS_AUCS, ANY_AUCS, LARGEST_AUC = (0.5, 0.7), (0.52, 0.77), (0.6, 0.985), 0.995
RELATED = 0.7
"""The correlation of the peers' main directions with the party's own, in every other rehearsal."""


def at_home(plan: Plan, table: Table, party: str) -> AtHome:
    """The numbers of this party's table under this plan; raises DataError where the two do not fit."""
    whole = plan.replace(test_share=0.0, rows=len(table))
    shard = build_shard(table, whole, party, key=b"")
    columns = shard.X[:, : whole.party(party).features]
    two_valued = sum(len(np.unique(column)) == 2 for column in columns.T)
    some = zip(batches(_seed(whole), len(shard.X), whole), range(SAMPLED), strict=False)
    rank = float(np.mean([np.linalg.matrix_rank(shard.X[batch.rows]) for batch, _ in some]))
    if shard.y is None or not columns.shape[1]:
        return AtHome(party, rank, two_valued)
    general = metrics.auc(shard.y, _fit_without_peers(shard.X, shard.y))
    trained = metrics.auc(shard.y, shard.X @ _train_alone(whole, shard.X, shard.y))
    peers = [peer.name for peer in whole.feature_parties if peer.features and can_rehearse(whole, len(table))]
    found = {peer: rehearsed(whole, peer, shard.X, shard.y) for peer in peers}
    return AtHome(party, rank, two_valued, max(general, 0.5), max(trained, 0.5), found)


def _fit_without_peers(X: Matrix, y: NDArray[np.int8]) -> Vector:
    scores: Vector = X @ np.linalg.lstsq(X, logistic.signs_of(y), rcond=None)[0]
    return scores


def _train_alone(plan: Plan, X: Matrix, y: NDArray[np.int8]) -> Vector:
    """Weights after a training as planned, but alone; if it diverges, the last ones before that."""
    generator = np.random.default_rng(plan.seed)
    weights = np.zeros(X.shape[1])
    own = plan.label_party.features
    weights[:own] = starting_weights(plan.start, max(plan.columns, 1), generator)[:own]
    sigmoid, signs = SIGMOIDS[plan.sigmoid], logistic.signs_of(y)
    for batch, _ in zip(batches(_seed(plan), len(X), plan), range(MOST_STEPS), strict=False):
        rows = X[batch.rows]
        scores = rows @ weights
        if np.abs(scores).max(initial=0.0) > LARGEST_SCORE:
            return weights
        residuals = sigmoid.curve(scores) - sigmoid.label_weight * signs[batch.rows]
        weights = weights - plan.rate * logistic.gradient(residuals @ rows, len(rows), sigmoid)
    return weights


def _seed(plan: Plan) -> bytes:
    return seed_from_int(plan.seed or 1)


# Rehearsals.


def can_rehearse(plan: Plan, rows: int) -> bool:
    """Whether rehearsals are possible: residuals are sums of the parties' parts, and a batch is not too long."""
    is_plain = not (plan.momentum or plan.label_flip_epsilon) and not plan.weighs_rows
    is_short = plan.batches != "full" or rows <= MOST_WHOLE_ROWS
    return plan.kind.is_encrypted and plan.kind.shows_gradients and plan.sigmoid == "taylor" and is_plain and is_short


def rehearsed(plan: Plan, party: str, X: Matrix, y: NDArray[np.int8]) -> Advantages:
    """The advantage of each attack by this feature party; X are the label party's rows as training sees them."""
    home = HomeTable(plan, X[:, : plan.label_party.features], y)
    found = [_one(home, party, number) for number in range(REHEARSALS)]
    return {name: tuple(one[name] for one in found) for name in found[0]}


@dataclass(frozen=True, repr=False, eq=False)
class HomeTable:
    """The label party's own columns and labels, and what other columns of their kind are like."""

    plan: Plan
    X: Matrix
    y: NDArray[np.int8]

    @property
    def is_telling(self) -> bool:
        """Whether there are enough columns to learn from them what columns are like."""
        return self.X.shape[1] >= ENOUGH_COLUMNS

    @cached_property
    def directions(self) -> tuple[Vector, Matrix]:
        """The variance of each principal direction, the largest first, and every row's coordinates, in units of it."""
        centred = self.X - self.X.mean(axis=0)
        left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
        return sizes**2 / len(centred), left * math.sqrt(len(centred))

    @cached_property
    def auc(self) -> float:
        """The AUC that own columns reach on their own."""
        return metrics.auc(self.y, _fit_without_peers(np.column_stack([self.X, np.ones(len(self.X))]), self.y))

    def variances(self, columns: int) -> Vector:
        """Variances of this many columns' directions: like own columns', or 1 / k of the first for the k-th. Mean 1."""
        shares = 1.0 / np.arange(1, columns + 1)
        if self.plan.is_whitened:
            shares = np.ones(columns)
        elif self.is_telling:
            shares = _stretched(self.directions[0], columns)
        return np.asarray(shares * columns / shares.sum(), dtype=np.float64)

    def telling(self, columns: int) -> Vector:
        """How far apart the classes lie in each direction, in units of it and up to a factor."""
        if not self.is_telling:
            return np.sqrt(self.variances(columns))
        sizes, rows = self.directions
        apart = np.abs(rows[self.y == 1].mean(axis=0) - rows[self.y == 0].mean(axis=0))
        return _stretched(np.where(sizes > 1e-9 * sizes[0], apart, 0.0), columns)

    def peer_auc(self, columns: int, place: float) -> float:
        """The AUC that a peer's columns may reach alone: `place` runs from 0, little, to 1, much."""
        if columns < FEW_COLUMNS or not self.is_telling:
            low, high = ONE_COLUMN_AUCS if columns == 1 else FEW_COLUMNS_AUCS if columns < FEW_COLUMNS else ANY_AUCS
            # More columns say at least as much as few do.
            low = max(low, min(self.auc, LARGEST_AUC)) if columns > self.X.shape[1] else low
            return low + (max(high, low) - low) * place
        normal = NormalDist()
        centre = normal.inv_cdf(min(max(self.auc, ANY_AUCS[0]), LARGEST_AUC))
        return min(LARGEST_AUC, max(ONE_COLUMN_AUCS[0], normal.cdf(centre + AROUND * (2.0 * place - 1.0))))

    def peer_columns(self, columns: int, auc: float, generator: np.random.Generator, *, is_related: bool) -> Matrix:
        """Columns as training would see them: centred, of size 1, and shortened where the plan shortens rows."""
        found = generator.standard_normal((len(self.X), columns))
        if is_related and self.X.shape[1]:
            found = self._with_related_directions(found)
        apart = self.telling(columns) * generator.standard_normal(columns)
        apart *= math.sqrt(2.0) * NormalDist().inv_cdf(auc) / max(float(np.linalg.norm(apart)), 1e-12)
        found += np.outer(self.y - self.y.mean(), apart)
        rotation = np.linalg.qr(generator.standard_normal((columns, columns)))[0]
        X = (found * np.sqrt(self.variances(columns))) @ rotation
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        return clipped(X, self.plan.row_norm, self.plan.columns)

    def _with_related_directions(self, found: Matrix) -> Matrix:
        """The same columns with main directions that lean on own ones, within each class."""
        rows = self.directions[1].copy()
        for label in (0, 1):
            rows[self.y == label] -= rows[self.y == label].mean(axis=0)
        shared = min(rows.shape[1], found.shape[1])
        related = found.copy()
        related[:, :shared] = RELATED * rows[:, :shared] + math.sqrt(1.0 - RELATED**2) * found[:, :shared]
        return related


def _stretched(values: Vector, length: int) -> Vector:
    """The same profile over another number of places."""
    at, known = (np.arange(length) + 0.5) / length, (np.arange(len(values)) + 0.5) / len(values)
    return np.asarray(np.interp(at, known, values), dtype=np.float64)


def _one(home: HomeTable, party: str, number: int) -> dict[str, float]:
    """One rehearsal: train, solve, compare."""
    generator, place = np.random.default_rng(number), (number + 0.5) / REHEARSALS
    training = Training(home, party, generator, place, is_related=bool(number % 2))
    steps = list(training.steps())
    own_scores = training.attacker @ training.weights[1]
    beliefs = dict(_beliefs(training, steps))
    return {name: advantage(home.y[training.rows] == 1, one, own_scores) for name, one in beliefs.items()}


@dataclass(frozen=True, repr=False, eq=False)
class SolvedStep:
    """A step's rows, and the others' parts of their residuals, with noise."""

    rows: NDArray[np.intp]
    others: Vector


class Training:
    """A training as planned, in the clear: the attacker's columns on one side, everybody else's on the other."""

    def __init__(
        self, home: HomeTable, party: str, generator: np.random.Generator, place: float, *, is_related: bool
    ) -> None:
        plan, self.generator = home.plan, generator
        self.plan, self.signs = plan, logistic.signs_of(home.y)
        peers = {
            peer.name: home.peer_columns(
                peer.features, home.peer_auc(peer.features, place), generator, is_related=is_related
            )
            for peer in plan.feature_parties
            if peer.features
        }
        others = [X for name, X in peers.items() if name != party]
        ones = [np.ones((len(home.y), 1))] if plan.intercept else []
        self.sides = (np.hstack([home.X, *others, *ones]), peers[party])
        # Where there are many rows, the first ones are solved for.
        solved = len(home.y) if plan.batches == "full" else max(MOST_ROWS, 2 * plan.batch_size)
        self.rows = np.arange(len(home.y))[:solved]
        start = starting_weights(plan.start, plan.columns, generator)
        self.weights = [
            np.append(start[plan.party(party).features :], np.zeros(len(ones))),
            start[: peers[party].shape[1]],
        ]
        others_noise = [noise_std(plan, one.role) for one in plan.learners if one.name != party]
        self._stds = [math.hypot(*others_noise), noise_std(plan, plan.party(party).role)]

    @property
    def noise(self) -> float:
        """The deviation of the noise that the others add to each residual."""
        return self._stds[0]

    @property
    def attacker(self) -> Matrix:
        """The attacker's columns, in the rows that are solved for."""
        return self.sides[1][self.rows]

    def steps(self) -> Iterator[SolvedStep]:
        """The steps that are solved, each followed by as many others as the real run has for each of them."""
        rows = len(self.rows)
        silent = steps_per_epoch(len(self.signs), self.plan) // steps_per_epoch(rows, self.plan) - 1
        for batch in batches(seed_from_int(int(self.generator.integers(1, 2**31))), rows, self.plan):
            yield SolvedStep(batch.rows, self._descend(batch.rows))
            for _ in range(silent):
                self._descend(self.generator.integers(len(self.signs), size=len(batch)))

    def _descend(self, rows: NDArray[np.intp]) -> Vector:
        """Take one step on both sides and return the others' parts of the residuals, as released."""
        X = [side[rows] for side in self.sides]
        scores = [one @ weights for one, weights in zip(X, self.weights, strict=True)]
        noise = [std * self.generator.standard_normal(len(rows)) if std else np.zeros(len(rows)) for std in self._stds]
        exact = scores[0] + scores[1] - 2.0 * self.signs[rows]
        # Own noise comes back only where soundness needs it.
        returned = noise[0] if updates_with_released_noise(self.plan, "label") else np.zeros(len(rows))
        self._move(0, X[0], exact + noise[1] + returned)
        self._move(1, X[1], exact + noise[0])
        return exact - scores[1] + noise[0]

    def _move(self, side: int, X: Matrix, residuals: Vector) -> None:
        if np.abs(residuals).max(initial=0.0) < LARGEST_SCORE:
            pull = self.plan.l2 * self.weights[side]
            self.weights[side] = self.weights[side] - self.plan.rate * (residuals @ X / (4.0 * len(X)) + pull)


def _beliefs(training: Training, steps: list[SolvedStep]) -> Iterator[tuple[str, Vector]]:
    """Each attack's name, and what it concludes from the sums."""
    rows, is_noisy = len(training.rows), training.noise > 0
    best, left_open = np.zeros(rows), np.full(rows, np.inf)
    totals, weights = np.zeros(rows), np.full(rows, 1e-9)
    for step in steps:
        values, known = _solve_residuals(training.attacker[step.rows], step.others)
        is_better = 1.0 - known < left_open[step.rows] - 1e-9
        best[step.rows[is_better]], left_open[step.rows[is_better]] = -values[is_better], 1.0 - known[is_better]
        totals[step.rows] -= known * values
        weights[step.rows] += known
    yield "label-sign", best
    if is_noisy:
        yield "label-average", totals / weights
    yield "label-stacked", _stacked_attack(training, steps)


def _solve_residuals(X: Matrix, others: Vector) -> tuple[Vector, Vector]:
    """The others' parts of the residuals as far as own columns fix them, and how far that is."""
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    left = left[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    return left @ (left.T @ others), np.clip((left**2).sum(axis=1), 0.0, 1.0)


def _stacked_attack(training: Training, steps: list[SolvedStep]) -> Vector:
    X = training.attacker @ stacking.whitened(training.attacker)
    columns, per_epoch = X.shape[1], steps_per_epoch(len(training.rows), training.plan)
    noise, length = training.noise, len(steps[0].rows)
    epochs = training.plan.passes_without_sample if noise else math.ceil(ENOUGH * length / max(columns, 1))
    used = steps[: per_epoch * max(1, min(epochs, MOST_ENTRIES // max(1, len(X) * columns)))]
    stack = stacking.stack_of(
        X,
        [step.rows for step in used],
        np.array([step.others @ X[step.rows] for step in used]),
        np.array([stacking.growth_after(training.plan.rate / 4.0, place) for place in range(len(used))]),
        math.hypot(stacking.DAMPING, noise * math.sqrt(length) / 2.0),
        has_intercept=training.plan.intercept,
    )
    start = stacking.solved(stack, SOLVING_STEPS)
    return -stacking.boxed(stack, start, 2.0, steps=SOLVING_STEPS)[: len(X)]


def advantage(is_positive: NDArray[np.bool_], beliefs: Vector, own_scores: Vector) -> float:
    """The advantage as an audit measures it: over the larger class or own scores, at the interval's lower end."""
    majority = np.full(len(is_positive), bool(is_positive.mean() > 0.5))
    by_score = metrics.as_many_positive(own_scores, int(is_positive.sum()))
    guesses = beliefs > 0
    return max(
        _advantage(
            intervals.wilson(float((guesses == is_positive).sum()), len(guesses))[0],
            *(float((one == is_positive).mean()) for one in (majority, by_score)),
        ),
        _advantage(_balanced_end(is_positive, guesses), 0.5, _balanced_accuracy(is_positive, by_score)),
        _advantage(intervals.auc(is_positive, beliefs)[0], 0.5, metrics.auc(is_positive, own_scores)),
    )


def _advantage(lower_end: float, *baselines: float) -> float:
    best = max(baselines)
    return max(0.0, (lower_end - best) / (1.0 - best)) if best < 1.0 else 0.0


def _balanced_accuracy(is_positive: NDArray[np.bool_], guesses: NDArray[np.bool_]) -> float:
    return float((guesses[is_positive].mean() + (~guesses[~is_positive]).mean()) / 2.0)


def _balanced_end(is_positive: NDArray[np.bool_], guesses: NDArray[np.bool_]) -> float:
    right = float(guesses[is_positive].sum()), float((~guesses[~is_positive]).sum())
    return intervals.balanced_accuracy(right, (int(is_positive.sum()), int((~is_positive).sum())))[0]
