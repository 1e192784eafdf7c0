"""`label-counts`: exact numbers of positives for each category of a two-valued column. Beyond the paper.

View: a feature party's own columns and its first sums from zero weights (or those of every step, where the label party
has no features); in `shares` its opened weights. Cost: one pass over the possible counts. Condition: own columns with
two values, such as one-hot ones. Any batch size, any number of parties.

From zero weights a residual is -2y (-y/2 with the other approximations), so a column with the values u and v gives
u * (sum of y where it is u) + v * (sum of y where it is v). Both sums are whole numbers within their counts: as a rule
one pair only fits. A category in which all labels are the same is read off row by row. Others give its rate to all of
its rows in that batch.

Opened weights of a longer run are the sum of all steps' gradients, of which later ones hold scores: then one difference
of rates for each column is left, and nothing is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.equations import label_weight, noise_on_residuals
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.label_only import has_labels_alone, label_equations
from plumbob.protocol.openings import WEIGHTS


@dataclass(frozen=True, repr=False, eq=False)
class Counted:
    """Some rows, and what is known of the two categories of each of their two-valued columns."""

    rows: NDArray[np.intp]
    columns: tuple["TwoValuedColumn", ...]


@dataclass(frozen=True, repr=False, eq=False)
class TwoValuedColumn:
    """One column: which rows have its larger value, and the mean label (-1 to 1) where it is smaller and larger."""

    is_larger: NDArray[np.bool_]
    means: tuple[float, float]
    """The mean label at the smaller and at the larger value; NaN where the sums do not say."""
    is_exact: bool


def recover_labels(view: View) -> Claim | NotApplicable:
    """Give every counted row the rate of its categories."""
    if reason := why_nothing_to_count(view):
        return NotApplicable(reason)
    beliefs, is_determined = np.full(view.rows, np.nan), np.zeros(view.rows, dtype=bool)
    columns: list[TwoValuedColumn] = []
    for counted in counts(view):
        columns += counted.columns
        is_new = np.isnan(beliefs[counted.rows])
        combined, is_pure = combined_beliefs(counted)
        beliefs[counted.rows[is_new]] = combined[is_new]
        beliefs[counted.rows[is_pure]], is_determined[counted.rows[is_pure]] = combined[is_pure], True
    if not columns:
        return NotApplicable("no own column has exactly two values in a batch that could be counted")
    return Claim.of_labels(beliefs, is_determined, conditions(view, columns))


def why_nothing_to_count(view: View) -> str | None:
    """Why no sum of this view is a sum of labels, or None."""
    if view.is_label_party:
        return "the label party knows the labels"
    if view.X.shape[1] == 0:
        return "this party has no columns"
    if not view.has_sums and len(view.weights) == 0:
        return "the weights were never opened, so this party has no equation at all"
    if view.plan.weighs_rows:
        return "weights multiply each residual with a factor that only the label party knows"
    if view.plan.start != "zero" and not (view.has_sums and has_labels_alone(view)):
        return "the start is not zero, so the first residuals hold other parties' scores"
    return None


def counts(view: View) -> Iterator[Counted]:
    """The counts, step by step."""
    if not view.has_sums:
        yield from counted_from_weights(view)
        return
    for batch, equations in label_equations(view):
        # Noise on a sum of labels is as large as the square root of its rows, and a count is then a guess.
        noise = noise_on_residuals(view) / label_weight(view) * np.linalg.norm(equations.X, axis=0)
        yield counted_in(batch.rows, equations.X, equations.sums, equations.tolerances + noise)


def counted_from_weights(view: View) -> Iterator[Counted]:
    """The counts in `shares`: the way from the start to the opened weights, as if every step had been the first."""
    batches, rate = view.batches, view.plan.rate * view.sigmoid.gradient_scale
    rows = batches[0].rows if len(batches) == 1 else np.arange(view.rows)
    scale = len(rows) / (rate * label_weight(view))
    label_sums = (view.weights - view.start) * scale / len(batches)
    X = view.X[rows]
    # The public factor learning_rate / (4 rows) has 21 bits; opened weights are cut.
    blur = 2.0**-WEIGHTS.fraction_bits * scale + 2.0**-20 * np.abs(label_sums)
    if len(batches) > 1:
        blur = blur + np.abs(X).sum(axis=0)
    yield counted_in(rows, X, label_sums, blur)


def counted_in(rows: NDArray[np.intp], X: Matrix, label_sums: Vector, blur: Vector) -> Counted:
    """The two-valued columns of some rows with their counts."""
    columns = []
    for values, label_sum, off in zip(X.T, label_sums, blur, strict=True):
        kinds = np.unique(values)
        if len(kinds) == 2:
            columns.append(counted_column(values == kinds[1], kinds, label_sum, off))
    return Counted(rows, tuple(columns))


def counted_column(is_larger: NDArray[np.bool_], kinds: Vector, label_sum: float, off: float) -> TwoValuedColumn:
    """Count a column: all pairs of whole numbers that fit, if they agree; else the nearest guess."""
    larger = int(is_larger.sum())
    smaller = len(is_larger) - larger
    fitting = fitting_sums(kinds, (smaller, larger), label_sum, off)
    known = [float(pair[0]) if len(set(pair)) == 1 else np.nan for pair in fitting.T] if len(fitting) else [np.nan] * 2
    if np.isfinite(known).any():
        return TwoValuedColumn(is_larger, (known[0] / smaller, known[1] / larger), True)
    # With a standardised column the equation is the difference of the two means, whatever the mean of all is.
    difference = label_sum / (larger * kinds[1]) if kinds[1] != 0 else label_sum / (smaller * kinds[0])
    half = float(np.clip(difference / 2.0, -0.99, 0.99)) * (1.0 if kinds[1] != 0 else -1.0)
    return TwoValuedColumn(is_larger, (-half, half), False)


def fitting_sums(kinds: Vector, sizes: tuple[int, int], label_sum: float, off: float) -> NDArray[np.int64]:
    """Every (sum of y at the smaller value, at the larger one) that gives this sum, at most a few thousand."""
    first, second = (np.arange(-size, size + 1, 2) for size in sizes)
    if kinds[0] == 0 or kinds[1] == 0:
        place = int(kinds[0] == 0)
        candidates = (first, second)[place]
        fits = candidates[np.abs(kinds[place] * candidates - label_sum) <= off]
        other = (first, second)[1 - place]
        # The other category is not in the equation: its two extremes stand for all that it may be.
        pairs = [(known, free) if place == 0 else (free, known) for known in fits for free in (other[0], other[-1])]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)
    wanted = (label_sum - kinds[1] * second) / kinds[0]
    reach = off / abs(kinds[0])
    nearest = 2 * np.rint((wanted - first[0]) / 2.0) + first[0]
    is_fitting = (np.abs(nearest - wanted) <= reach) & (np.abs(nearest) <= sizes[0])
    if reach >= 1.0:
        # More than one neighbour fits: nothing is exact.
        return np.zeros((0, 2), dtype=np.int64)
    return np.column_stack([nearest[is_fitting], second[is_fitting]]).astype(np.int64)


def combined_beliefs(counted: Counted) -> tuple[Vector, NDArray[np.bool_]]:
    """The log-odds of each row's categories together, as if independent; and whether one has a single label."""
    if not counted.columns:
        return np.full(len(counted.rows), np.nan), np.zeros(len(counted.rows), dtype=bool)
    means = np.array([np.where(column.is_larger, column.means[1], column.means[0]) for column in counted.columns])
    is_known = np.isfinite(means)
    base = log_odds(overall_mean(counted))
    moved = np.where(is_known, log_odds(means) - base, 0.0).sum(axis=0)
    beliefs = np.where(is_known.any(axis=0), base + moved, np.nan)
    is_single = np.array([[column.is_exact] for column in counted.columns]) & (np.abs(means) == 1.0)
    is_settled = is_single.any(axis=0)
    settled = np.where(is_single, means, 0.0).sum(axis=0)[is_settled]
    beliefs[is_settled] = np.copysign(np.maximum(np.abs(beliefs[is_settled]), 1.0), settled)
    return beliefs, is_settled


def overall_mean(counted: Counted) -> float:
    """The mean label of the rows, from a column of which both categories are known."""
    for column in counted.columns:
        share = float(column.is_larger.mean())
        mean = (1.0 - share) * column.means[0] + share * column.means[1]
        if column.is_exact and np.isfinite(mean):
            return mean
    return 0.0


def log_odds(means: Vector | float) -> Vector:
    """The log-odds of means between -1 and 1, kept away from both ends."""
    inside = np.clip(means, -0.999, 0.999)
    result: Vector = np.log((1.0 + inside) / (1.0 - inside))
    return result


def conditions(view: View, columns: list[TwoValuedColumn]) -> tuple[Condition, ...]:
    """How many categories were counted, and whether the counts are whole numbers."""
    reference = "group counts, not in the paper"
    categories = sum(int(np.isfinite(column.means).sum()) for column in columns)
    exact = float(np.mean([column.is_exact for column in columns]))
    found = [
        Condition("categories counted", categories, "at least 1", categories >= 1, reference),
        Condition("columns whose counts are whole numbers, alone in fitting", exact, "1", exact == 1.0, reference),
    ]
    if not view.has_sums:
        equations = len(view.weights)
        found.append(Condition("equations in opened weights, a run", equations, "0", equations == 0, "opened weights"))
    return tuple(found)


LABEL_COUNTS = Attack("label-counts", "features", recover_labels)
ATTACKS = (LABEL_COUNTS,)
