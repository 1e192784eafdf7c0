"""`label-stacked`: the equations of all steps in one system, solved once. Beyond the paper.

View: a feature party's own columns and sums over several epochs, any number of parties. Cost: a sparse system with
epochs * rows * columns entries, some hundred products with it. Condition: epochs * own columns / batch size near 1 or
more, with reshuffled batches, however far the batch is beyond the paper's batch size <= columns.

Without the attacker's own score, a residual is -2y plus the other parties' score, which grows from its start toward
its end as 1 - (1 - learning_rate / 4)^step. So each row has two unknowns, its label's part and the end of that
growth, and an intercept is one more unknown that all rows share: with it the threshold stays at 0. Own columns are
whitened first, so that nearly dependent ones weigh as much as the others. Damped LSQR gives a start; accelerated
gradient then keeps every label's part within -2 and 2.
"""

import math

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.data import steps_per_epoch
from plumbob.lab.attacks.equations import label_weight, noise_on_residuals, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.stacking import DAMPING, Stack, boxed, growth_after, solved, stack_of, whitened

ENOUGH = 4.0
"""Equations per unknown beyond which another epoch only adds drift; noise needs all of them."""
MOST_ENTRIES = 40_000_000
"""Most entries of the system: half a gigabyte."""


def recover_labels(view: View) -> Claim | NotApplicable:
    """Labels of all rows from all steps at once."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    whitening = whitened(view.X)
    if whitening.shape[1] == 0:
        return NotApplicable("all own columns are 0")
    epochs = epochs_to_stack(view, whitening.shape[1])
    stack = stacked(view, whitening, epochs)
    solution = solved(stack)
    if not view.plan.weighs_rows:
        solution = boxed(stack, solution, label_weight(view))
    beliefs: Vector = -solution[: view.rows] / label_weight(view)
    # A row that no batch held, or that is 0 in all own columns, has no equation.
    beliefs[stack.matrix.getnnz(axis=0) == 0] = np.nan
    found = tuple(conditions(view, whitening.shape[1], epochs))
    return Claim.of_labels(beliefs, conditions=found)


def epochs_to_stack(view: View, columns: int) -> int:
    """How many of the first epochs help and fit into memory."""
    wanted = view.plan.passes(view.rows)
    if view.plan.noise == "none":
        wanted = min(wanted, math.ceil(ENOUGH * len(view.batches[0]) / columns))
    return max(1, min(wanted, MOST_ENTRIES // (view.rows * columns)))


def stacked(view: View, whitening: Matrix, epochs: int) -> Stack:
    """The system of the first epochs, with each step's equations whitened."""
    last = epochs * steps_per_epoch(view.rows, view.plan)
    batches = view.batches[:last]
    own_parts = [
        view.sigmoid.curve(scores) @ own for _, (_, own, scores, _) in zip(range(last), view.steps(), strict=False)
    ]
    error = math.hypot(noise_on_residuals(view), view.residual_rounding)
    return stack_of(
        view.X @ whitening,
        [batch.rows for batch in batches],
        (view.sums[:last] - np.array(own_parts)) @ whitening,
        np.array([growth_until(view, batch.step) for batch in batches]),
        # Noise on a residual is as large in a sum of whitened columns as the square root of its rows.
        math.hypot(DAMPING, error * math.sqrt(len(batches[0])) / label_weight(view)),
        has_intercept=view.plan.intercept,
    )


def growth_until(view: View, step: int) -> float:
    """How far towards their end scores have come before a step: each takes them a fixed share of the way."""
    slope = float(view.sigmoid.curve(np.array([1e-3]))[0]) / 1e-3
    return growth_after(view.plan.rate * view.sigmoid.gradient_scale * slope, step - 1)


def conditions(view: View, rank: int, epochs: int) -> list[Condition]:
    """Equations against unknowns, and how far beyond the paper's own condition this is."""
    rows = len(view.batches[0])
    # The same batches give the same equations again.
    distinct = epochs if view.plan.batches == "reshuffled" else 1
    ratio = distinct * rank / rows
    beyond = rows / rank
    found = [
        Condition("equations for each unknown", ratio, "near 1 or more", ratio >= 1.0, "beyond the paper"),
        Condition("rows of a batch for each independent column", beyond, "at most 1", beyond <= 1.0, "section 4"),
    ]
    if view.plan.noise != "none":
        noise = noise_on_residuals(view) / math.sqrt(epochs)
        weight = label_weight(view)
        found.append(Condition("noise after all epochs", noise, f"below {weight:g}", noise < weight, "Algorithm 3"))
    return found


LABEL_STACKED = Attack("label-stacked", "features", recover_labels)
ATTACKS = (LABEL_STACKED,)
