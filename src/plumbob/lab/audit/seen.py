"""The knowledge ledger of a real run: the accounts of `checking/ledger.py`, with the ranks that columns really have."""

import numpy as np

from plumbob.checking.figures import Figures
from plumbob.checking.ledger import Account, Counts, Ledger, gains, opened_weights, unknowns_of
from plumbob.data import steps_per_epoch
from plumbob.lab.attacks.equations import factorise, sum_error
from plumbob.lab.attacks.interface import View

# Beyond it the joint rank of all steps is not calculated but bounded: an eigenvalue problem of this size per epoch.
LARGEST_EXACT = 1000
# Eigenvalues below this share of the largest one are rounding.
FAINT = 1e-10


def seen(view: View) -> Ledger:
    """What a party really got, with the numerical ranks of its own columns."""
    figures = Figures(view.plan, view.rows)
    if not view.has_sums:
        columns = len(view.weights)
        equations = opened_weights(figures, len(view.batches), columns)
        ranks, exact = equations, None
    else:
        equations = np.full(len(view.batches), view.X.shape[1])
        ranks = np.array([factorise(X, sum_error(view, X)).rank for _, X, _, _ in view.steps()], dtype=np.int64)
        exact = stacked_ranks(view) if view.rows <= LARGEST_EXACT else None
    accounts = []
    for unknown, about, unknowns in unknowns_of(figures, view.party):
        bound = np.minimum(np.cumsum(ranks), unknowns)
        is_stacked = unknown == "labels" and exact is not None
        totals = np.minimum(bound, exact) if is_stacked and exact is not None else bound
        accounts.append(Account(view.party, unknown, about, unknowns, equations, ranks, totals, is_stacked))
    return Ledger(tuple(accounts), tuple(gain for gain in gains(figures) if gain.party == view.party))


def stacked_ranks(view: View) -> Counts:
    """After each step, the rank of all own columns so far, stacked as equations about rows; read once an epoch."""
    products = np.zeros((view.rows, view.rows))
    ranks, last, steps = np.zeros(len(view.batches), dtype=np.int64), 0, steps_per_epoch(view.rows, view.plan)
    for place, batch in enumerate(view.batches):
        products[np.ix_(batch.rows, batch.rows)] += view.X[batch.rows] @ view.X[batch.rows].T
        if (place + 1) % steps == 0 and last < view.rows:
            sizes = np.linalg.eigvalsh(products)
            last = int(np.sum(sizes > FAINT * max(float(sizes[-1]), np.finfo(float).tiny)))
        ranks[place] = last
    # Within an epoch the end's number stands for every step: an upper bound, as it should be.
    ends = ranks[steps - 1 :: steps]
    return np.repeat(ends, steps)[: len(ranks)]
