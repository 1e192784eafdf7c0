"""`feature-chain`: one column of the peer from batches that share no rows, down to batches of one.

View: `peer_scores` at the label party. The paper calls batches of one row safe (after Lemma 3.3), since they hold no
ratios. But the next weight follows from the last: weight' = decay * weight - rate * sum(residual * score) / weight, in
which only the weight is unknown. So one number, the first weight, gives all weights and all rows, and the right one is
the one under which a row has the same value in the second epoch as in the first. Such chains even run together: a
wrong first weight is forgotten after a while, but for the sign, which is uncertain wherever a weight passes near zero
and is voted on by the rows seen on both sides. Then all visits are fitted at once.

Condition: one column at all peers together, two epochs, every residual determined in between. Cost: a few hundred
chains through the first epochs, then a fit (`trajectory`).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.peer_scores import ScoreHistory, peer_columns, peers_name, score_history, usual_size
from plumbob.lab.attacks.trajectory import Fit, Trajectory, fit

EPOCHS = 4  # Chained; the fit then uses all of them.
CANDIDATES = 96
ZOOMS = 4
ATTEMPTS = 6
INNER_STEPS = 20_000
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-5, 1e2


def recover_chained_feature(view: View) -> Claim | NotApplicable:
    """All values of the peers' only column, up to one sign."""
    if (columns := peer_columns(view)) != 1:
        return NotApplicable(f"the peers have {columns} columns; the chain needs exactly one (Theorem 3.6)")
    if view.plan.passes(view.rows) < 2:
        return NotApplicable("one epoch only: no row comes back to tell the right first weight")
    history = score_history(view)
    return history if isinstance(history, NotApplicable) else chained_feature(view, history)


def chained_feature(view: View, history: ScoreHistory) -> Claim | NotApplicable:
    """The values of that column from the peer's scores, wherever the scores come from."""
    conditions = history.conditions()
    if not history.is_known.all():
        return NotApplicable("some scores are not determined, and the chain breaks there", conditions)
    if not history.score.any():
        return NotApplicable("every score of the peer is zero", conditions)
    trajectory = Trajectory(history, 1, view.plan.start == "zero", usual_size(view))
    chain = Chain(history)
    best: Fit | None = None
    for weights in chain.best_paths():
        attempt = fit(trajectory, _unknowns(trajectory, chain, weights), INNER_STEPS)
        best = attempt if best is None or attempt.misfit < best.misfit else best
        if best.is_explained:
            break
    return NotApplicable("no chain came through", conditions) if best is None else _claim(view, history, best)


class Chain:
    """The path of the peer's only weight through the first epochs, as a function of where it begins."""

    def __init__(self, history: ScoreHistory) -> None:
        self.history = history
        self.first = int(history.step[np.flatnonzero(history.score)[0]])
        self.last = int(np.searchsorted(history.epoch, history.epoch[0] + EPOCHS))
        pushes = history.rate * np.bincount(history.step, history.residual * history.score, history.steps)
        self.pushes: Vector = pushes[self.first : self.last]
        self.pairs = _last_two_visits(history, self.first, self.last)

    def best_paths(self) -> Iterator[Vector]:
        """Paths whose rows agree best, each narrowed down from one of the best beginnings, signs put right."""
        beginnings = np.linspace(np.log(SMALLEST_WEIGHT), np.log(LARGEST_WEIGHT), CANDIDATES)
        width = beginnings[1] - beginnings[0]
        paths = self._paths(np.exp(beginnings))
        for place in np.argsort(self._mismatches(paths))[:ATTEMPTS]:
            yield self._sign_stretches(self._narrow(float(beginnings[place]), float(width)))

    def visits(self) -> NDArray[np.intp]:
        """The visits in these steps."""
        return np.flatnonzero((self.history.step >= self.first) & (self.history.step < self.last))

    def _narrow(self, centre: float, width: float) -> Vector:
        for _ in range(ZOOMS):
            beginnings = np.linspace(centre - width, centre + width, CANDIDATES)
            paths = self._paths(np.exp(beginnings))
            best = int(np.argmin(self._mismatches(paths)))
            centre, width = float(beginnings[best]), 2.0 * width / CANDIDATES
        return paths[:, best]

    def _paths(self, beginnings: Vector) -> Matrix:
        """The weights before each step, one column per beginning."""
        paths = np.empty((len(self.pushes), len(beginnings)))
        weights = beginnings
        for index, push in enumerate(self.pushes):
            paths[index] = weights
            weights = self.history.decay * weights - push / weights
            # A wrong beginning may come to nothing; it must not stop the others.
            weights = np.where(np.abs(weights) < 1e-12, 1e-12, weights)
        return paths

    def _mismatches(self, paths: Matrix) -> Vector:
        """For each path, how much the two sizes of a row differ, as a mean share of their sum."""
        sizes = [
            np.abs(self.history.score[line, None] / paths[self.history.step[line] - self.first]) for line in self.pairs
        ]
        with np.errstate(invalid="ignore"):
            mismatches: Vector = np.nan_to_num(np.abs(sizes[0] - sizes[1]) / (sizes[0] + sizes[1])).mean(axis=0)
        return mismatches

    def _sign_stretches(self, path: Vector) -> Vector:
        """The path with one sign for each stretch between doubtful steps, as rows seen in two stretches vote."""
        is_doubtful = np.abs(self.pushes) > 0.5 * path**2
        stretch = np.concatenate([[0], np.cumsum(is_doubtful)[:-1]])
        scores, steps = self.history.score[self.pairs], self.history.step[self.pairs] - self.first
        votes = np.prod(scores * np.sign(path[steps]), axis=0)
        size = int(stretch[-1]) + 1
        tally = csr_array((votes, tuple(stretch[steps])), (size, size)).tocsr()
        signed: Vector = path * _signs(tally + tally.T, int(np.bincount(stretch).argmax()))[stretch]
        return signed


def _signs(tally: csr_array, root: int) -> Vector:
    """A sign for each node along the strongest links from a root; a positive link means the same sign."""
    links = tally.tocoo()
    use = (links.data != 0.0) & (links.row != links.col)
    # A tree of the smallest lengths is one of the strongest votes.
    lengths = csr_array((1.0 / np.abs(links.data[use]), (links.row[use], links.col[use])), tally.shape)
    tree = csgraph.minimum_spanning_tree(lengths)
    order, before = csgraph.breadth_first_order(tree, root, directed=False)
    signs = np.ones(tally.shape[0])
    for node in order[1:]:
        signs[node] = signs[before[node]] * np.sign(tally[before[node], node])
    return signs


def _last_two_visits(history: ScoreHistory, first: int, last: int) -> NDArray[np.intp]:
    """The last two visits of each row with two in these steps, the later one in the second line."""
    inside = np.flatnonzero((history.step >= first) & (history.step < last))
    order = inside[np.argsort(history.row[inside], kind="stable")]
    is_same = history.row[order[1:]] == history.row[order[:-1]]
    later = np.flatnonzero(np.append(~is_same, True) & np.insert(is_same, 0, False))
    return np.stack([order[later - 1], order[later]])


def _unknowns(trajectory: Trajectory, chain: Chain, weights: Vector) -> Matrix:
    """The unknowns: rows as in their last visits, where the chain has forgotten its beginning, and a start."""
    history, visits = trajectory.history, chain.visits()
    factors = weights[history.step[visits] - chain.first]
    # Later visits weigh more, and those at a small weight, which magnifies every error, hardly count.
    importance = factors**2 * history.epoch[history.step[visits]] ** 4.0
    curvature = np.bincount(history.row[visits], importance, history.rows)
    moment = np.bincount(history.row[visits], importance * history.score[visits] / factors, history.rows)
    unknowns = np.full(trajectory.shape, weights[0])
    unknowns[: history.rows, 0] = np.divide(moment, curvature, out=np.zeros_like(moment), where=curvature > 0)
    return unknowns


def _claim(view: View, history: ScoreHistory, best: Fit) -> Claim:
    conditions = (
        *history.conditions(),
        Condition("epochs", view.plan.passes(view.rows), "at least 2", True, "beyond Lemma 3.3"),
        Condition("misfit in standard errors", best.misfit, "below 2", best.is_explained, "beyond Lemma 3.3"),
    )
    is_determined = np.full(view.rows, best.is_explained and noise_on_residuals(view) == 0)
    return Claim("features", peers_name(view), best.unknowns[: view.rows], is_determined, "sign", conditions)


FEATURE_CHAIN = Attack("feature-chain", "label", recover_chained_feature)
ATTACKS = (FEATURE_CHAIN,)
