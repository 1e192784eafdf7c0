"""`label-enumeration`: groups of alike rows, all combinations of labels, and the one that fits the first sums.

View: a feature party's own columns and its first sums, from zero weights. Cost: one clustering, and a product for each
of 2^groups combinations. Condition: rows that fall into groups with one label each. From zero weights the first sums
depend on labels alone. It reaches what the best labelling of groups reaches and no more, which is population inference:
one more thing to compare with, beside the more frequent class and the party's own model (Jiang, Fu, Luo and Liu,
arXiv 2603.03777). In `shares` there is no sum to fit.
"""

from itertools import product

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.equations import label_weight, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, NotApplicable, View

CLUSTERS = 8
"""How many groups of rows get every combination of labels."""


def recover_labels(view: View) -> Claim | NotApplicable:
    """Give every row the label of its group."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    if view.plan.start != "zero":
        return NotApplicable("the start is not zero, so the first sums hold other parties' scores")
    rows = view.batches[0].rows
    groups = groups_of(view.X, min(CLUSTERS, len(rows), len(np.unique(view.X, axis=0))))
    sides = best_sides(group_sums(view.X[rows], groups[rows], CLUSTERS), -view.sums[0] / label_weight(view))
    return Claim.of_labels(sides[groups])


def groups_of(X: Matrix, clusters: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Groups of similar rows, always the same for the same rows."""
    # Late: scikit-learn takes longer to import than all attacks.
    from sklearn.cluster import KMeans

    found: np.ndarray[tuple[int], np.dtype[np.int32]] = KMeans(clusters, n_init=5, random_state=1).fit_predict(X)
    return found


def group_sums(X: Matrix, groups: np.ndarray[tuple[int], np.dtype[np.int32]], clusters: int) -> Matrix:
    """The sums of own columns by group."""
    return np.array([X[groups == group].sum(axis=0) for group in range(clusters)])


def best_sides(sums: Matrix, seen: Vector) -> Vector:
    """A sign for each group, so that the sums come nearest to what was seen; not all the same."""
    tried = np.array([sides for sides in product((-1.0, 1.0), repeat=len(sums)) if len(set(sides)) > 1])
    best: Vector = tried[np.argmin(np.linalg.norm(tried @ sums - seen, axis=1))]
    return best


ATTACKS = (Attack("label-enumeration", "features", recover_labels),)
