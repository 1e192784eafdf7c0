"""`label-only`: exact labels where a residual holds nothing unknown but the label (Theorem 4.1 and beyond).

View: a feature party's own columns and sums. Cost: from a linear solve to seconds for each batch, within a time limit.
Condition: the label party has no features and no intercept, and there is one feature party: then this holds in every
step. Or the start is zero: then it holds in the first step, for any number of parties and columns.

The sums are then equations in labels that can only be -1 or +1, which need not be as many as the labels. Four decoders
are tried in turn, each reaching further: the linear solve (rows <= rank), the box -1 <= y <= 1 (to about twice the
rank), an integer programme, and the shortest vector of a lattice (to about five times the rank: the sums have many
digits, the labels one bit). Labels that fit every equation exactly are determined if the sums carry so many more bits
than the labels that no other ones can be expected to fit; they make the later batches with the same rows easier.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray
from scipy import linalg, optimize

from plumbob.arrays import Matrix, Vector
from plumbob.data import Batch
from plumbob.lab.attacks.equations import Solution, label_weight, noise_on_residuals, solve, sum_error, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View

SECONDS = 120.0
"""Seconds for all batches together; what is not decoded by then stays inferred."""
SHORT, LONG = 2.0, 60.0
"""Seconds of an integer programme before and after the lattice was tried."""
BOX_REACH, INTEGER_REACH = 2.5, 6.5
"""Unknown labels for each independent column beyond which a decoder is not worth its time."""
LATTICE_WEIGHT = 1 << 10
"""The weight that makes a lattice vector which breaks an equation longer than any that breaks none."""
SPARE_BITS = 20.0
"""Bits that sums must carry beyond the labels': then another solution is less likely than one in a million."""
LARGE = 8.0
"""How far an exact solution may be off, in standard deviations of rounding."""

Decoder = Callable[["LabelEquations", float], Vector | None]
"""Turns equations into labels, which are then checked, within some seconds; None where it finds none."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelEquations:
    """Equations labels @ X = sums, with labels -1 or +1."""

    X: Matrix
    sums: Vector
    error: float
    rounding: float
    """The standard deviation of the error in each label's own part of a sum."""
    feature_bits: int

    @property
    def tolerances(self) -> Vector:
        norms: Vector = np.linalg.norm(self.X, axis=0)
        return LARGE * (self.error + self.rounding * norms)

    def is_solved_by(self, labels: Vector) -> bool:
        return bool(np.all(np.abs(labels @ self.X - self.sums) <= self.tolerances))


def recover_labels(view: View, seconds: float = SECONDS) -> Claim | NotApplicable:
    """Decode batch by batch; what one batch determines is known in the next."""
    if reason := why_no_sums(view) or why_not_alone(view):
        return NotApplicable(reason)
    beliefs, is_determined = np.full(view.rows, np.nan), np.zeros(view.rows, dtype=bool)
    ends, loads, spare = time.monotonic() + seconds, [], []
    steps = list(label_equations(view))
    for batch, equations in steps:
        is_open = ~is_determined[batch.rows]
        if not is_open.any():
            continue
        rows = batch.rows[is_open]
        reduced = without_known(equations, is_open, beliefs[batch.rows])
        linear = solve(reduced.X, reduced.sums, reduced.error)
        loads.append(len(rows) / max(linear.rank, 1))
        spare.append(spare_bits(reduced, linear))
        is_first = np.isnan(beliefs[rows])
        beliefs[rows[is_first]] = linear.values[is_first]
        # Labels that fit say nothing where many others fit as well.
        labels = decoded(view, reduced, linear, ends) if spare[-1] >= 0 else None
        if labels is not None:
            beliefs[rows] = labels
            is_determined[rows] = is_certain(reduced.X, labels) & (spare[-1] >= SPARE_BITS)
    found = conditions(view, len(steps), float(np.median(loads)), float(np.median(spare)), float(is_determined.mean()))
    return Claim.of_labels(beliefs, is_determined, found)


def why_not_alone(view: View) -> str | None:
    """Why residuals hold more than labels, or None."""
    if view.plan.weighs_rows:
        return "weights multiply each residual with a factor that only the label party knows"
    if has_labels_alone(view) or view.plan.start == "zero":
        return None
    return (
        "residuals hold other parties' scores in every step: the label party has columns or an intercept, or there are"
        " more feature parties, and the start is not zero"
    )


def has_labels_alone(view: View) -> bool:
    """Theorem 4.1: whether no other party adds a score to a residual, in any step."""
    plan = view.plan
    return plan.label_party.features == 0 and not plan.intercept and len(plan.feature_parties) == 1


def label_equations(view: View) -> Iterator[tuple[Batch, LabelEquations]]:
    """The equations in y for each step whose residuals are curve(own scores) - weight * y."""
    for batch, X, scores, sums in view.steps():
        if batch.step > 1 and not has_labels_alone(view):
            return
        weight = label_weight(view)
        label_sums = (view.sigmoid.curve(scores) @ X - sums) / weight
        error = sum_error(view, X) / weight
        yield batch, LabelEquations(X, label_sums, error, view.residual_rounding / weight, view.plan.feature_bits)


def without_known(equations: LabelEquations, is_open: NDArray[np.bool_], labels: Vector) -> LabelEquations:
    """The same equations in the labels that are still open."""
    known = labels[~is_open] @ equations.X[~is_open]
    return LabelEquations(
        equations.X[is_open], equations.sums - known, equations.error, equations.rounding, equations.feature_bits
    )


def spare_bits(equations: LabelEquations, linear: Solution) -> float:
    """How many bits more the sums carry than the labels have; infinite where the linear solution is unique.

    2^-bits estimates how many other labels have the same sums. Columns count as independent of each other unless they
    are linearly dependent.
    """
    if linear.is_determined.all():
        return math.inf
    columns = np.rint(equations.X * 2.0**equations.feature_bits).astype(np.int64)
    blurs = 2.0 * equations.tolerances * 2.0**equations.feature_bits
    carried = sum(column_bits(columns[:, place], float(blurs[place])) for place in independent(equations.X))
    return carried - len(columns)


def column_bits(column: NDArray[np.int64], blur: float) -> float:
    """-log2 of the chance that random labels have a given sum over this column, at most.

    The sum tells no more than how many labels of each value are positive; nor, as one number, more than its spread in
    units of the values' common divisor, or of what rounding blurs.
    """
    _, counts = np.unique(column, return_counts=True)
    by_value = sum(-math.log2(math.comb(int(count), int(count) // 2)) + int(count) for count in counts)
    unit = max(float(np.gcd.reduce(column)), blur, 1.0)
    spread = math.sqrt(float(np.sum((column / unit) ** 2)) * math.pi / 2.0)
    return min(by_value, math.log2(max(spread, 1.0)))


def independent(X: Matrix) -> NDArray[np.intp]:
    """Places of columns that are linearly independent, as many as there are."""
    sizes = np.linalg.norm(X, axis=0)
    _, triangle, order = linalg.qr(X / np.where(sizes > 0, sizes, 1.0), mode="economic", pivoting=True)
    places: NDArray[np.intp] = order[: int(np.sum(np.abs(np.diag(triangle)) > 1e-7))]
    return places


def decoded(view: View, equations: LabelEquations, linear: Solution, ends: float) -> Vector | None:
    """The first decoder's labels that fit, or None. Noise leaves nothing that could fit."""
    rounded: Vector = np.where(linear.values > 0, 1.0, -1.0)
    if equations.is_solved_by(rounded):
        return rounded
    if view.plan.noise != "none":
        return None
    load = len(equations.X) / max(linear.rank, 1)
    for decoder, reach, limit in DECODERS:
        seconds = min(limit, ends - time.monotonic())
        if load > reach or seconds <= 0:
            continue
        labels = decoder(equations, seconds)
        if labels is not None and equations.is_solved_by(labels):
            return labels
    return None


def box(equations: LabelEquations, seconds: float) -> Vector | None:
    """Decode by a linear programme: where the box holds only one solution, it is the labels."""
    found = optimize.linprog(
        np.zeros(len(equations.X)),
        A_eq=equations.X.T,
        b_eq=equations.sums,
        bounds=(-1.0, 1.0),
        method="highs",
        options={"time_limit": seconds},
    )
    return None if found.x is None else np.where(found.x > 0, 1.0, -1.0)


def integer(equations: LabelEquations, seconds: float) -> Vector | None:
    """Decode by a mixed-integer programme in (y + 1) / 2."""
    twice = 2.0 * equations.X.T
    sums = equations.sums + equations.X.sum(axis=0)
    # Less than this the solver takes for 0.
    slack = np.maximum(equations.tolerances, 1e-6)
    found = optimize.milp(
        np.zeros(len(equations.X)),
        integrality=np.ones(len(equations.X)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(twice, sums - slack, sums + slack),
        options={"time_limit": seconds},
    )
    return None if found.x is None else np.where(found.x > 0.5, 1.0, -1.0)


def lattice(equations: LabelEquations, seconds: float) -> Vector | None:
    """Decode by LLL: the labels are a short vector of the lattice of all integer solutions; seconds at most by reach.

    Each row of the basis is one person: 2 in its own place, its features at the end. The last row is all ones and the
    sums. A combination with (y + 1) / 2 minus the last row is y, followed by zeros.
    """
    features = np.rint(equations.X * 2.0**equations.feature_bits).astype(np.int64)
    twice = np.rint(equations.sums * 2.0**equations.feature_bits).astype(np.int64) + features.sum(axis=0)
    count = len(features)
    basis = [
        [2 if place == row else 0 for place in range(count)] + [0] + [LATTICE_WEIGHT * int(value) for value in values]
        for row, values in enumerate(features)
    ]
    basis.append([1] * (count + 1) + [LATTICE_WEIGHT * (int(value) // 2) for value in twice])
    for vector in fmpz_mat(basis).lll().tolist():
        entries = [int(value) for value in vector]
        if all(abs(value) == 1 for value in entries[: count + 1]) and not any(entries[count + 1 :]):
            return np.array(entries[:count], dtype=np.float64) * -entries[count]
    return None


DECODERS: tuple[tuple[Decoder, float, float], ...] = (
    (box, BOX_REACH, SHORT),
    (integer, INTEGER_REACH, SHORT),
    (lattice, INTEGER_REACH, LONG),
    (integer, INTEGER_REACH, LONG),
)
"""All decoders in the order of their cost, each with its reach and its seconds."""


def is_certain(X: Matrix, labels: Vector) -> NDArray[np.bool_]:
    """Which rows are certain; those equal in all own columns with different labels could have them exchanged."""
    _, kind = np.unique(X, axis=0, return_inverse=True)
    kind = kind.ravel()
    sums, counts = np.bincount(kind, weights=labels), np.bincount(kind)
    certain: NDArray[np.bool_] = (np.abs(sums) == counts)[kind]
    return certain


def conditions(view: View, steps: int, load: float, spare: float, share: float) -> tuple[Condition, ...]:
    """How many steps are exact, how the unknowns stand to the rank, and whether another solution can be expected."""
    reference = "Theorem 4.1" if has_labels_alone(view) else "beyond the paper: first step from zero weights"
    found = [
        Condition("steps whose residuals hold labels alone", steps, "at least 1", steps >= 1, reference),
        Condition("open labels for each independent column", load, "1 solve, 2 box, 5 lattice", load <= 5.0, reference),
        Condition("labels that fit exactly", share, "1", share == 1.0, reference),
    ]
    if math.isfinite(spare):
        needed = f"at least {SPARE_BITS:g}, so that no other labels fit"
        found.append(Condition("bits of the sums beyond the labels'", spare, needed, spare >= SPARE_BITS, reference))
    if view.plan.noise != "none":
        found.append(Condition("noise on a residual", noise_on_residuals(view), "0", False, "Algorithm 3"))
    return tuple(found)


LABEL_ONLY = Attack("label-only", "features", recover_labels)
ATTACKS = (LABEL_ONLY,)
