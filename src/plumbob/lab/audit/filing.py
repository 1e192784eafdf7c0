"""Filing an audit in a run's record, for its report: what was found, and how knowledge grew.

Equations are counted step by step, with the ranks that columns really have: the accounts of `checking/ledger.py`. An
attack by epoch is the same attack on the same view, cut off at the end of an epoch: what the party could have done had
the run ended there. Baselines are those of the whole run, which is generous to them.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plumbob.checking.figures import Figures
from plumbob.checking.filing import ledger_curve, with_predictions
from plumbob.checking.ledger import Account, Counts, Ledger, opened_weights, unknowns_of
from plumbob.checking.study import label_sensitivity, noise_std
from plumbob.data import steps_per_epoch
from plumbob.lab.attacks import PASSIVE, View
from plumbob.lab.attacks.equations import factorise, sum_error
from plumbob.lab.audit import theorems
from plumbob.lab.audit.redteam import chosen, key_of, one_each
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.plan import Plan, total_passes
from plumbob.privacy.accounting import LabelCost
from plumbob.record import AttackCurve, Finding, LedgerCurve, RunRecord

EPOCHS = 9
"""How many epochs a curve by epoch has."""
SECONDS = 5.0
"""Seconds for all attacks by epoch together; when they are spent, the remaining epochs are left out."""
SMALLEST_EPSILON = 1e-6

LARGEST_EXACT = 1000
"""Most rows for which the joint rank of all steps is exact: it is an eigenvalue problem of this size per epoch."""
FAINT = 1e-10
"""Eigenvalues below this share of the largest one are rounding."""


def with_findings(record: RunRecord, truth: Truth, findings: Sequence[Finding]) -> RunRecord:
    """The record with the findings, how they came about step by step, and the paper's theorems beside them."""
    return replace(
        with_predictions(record),
        findings=list(findings),
        ledger=seen_ledger(truth),
        curves=attack_curves(truth, findings),
        theorems={"plan": theorems.promises(truth.plan, truth.rows), "run": theorems.measured(truth)},
    )


def seen_ledger(truth: Truth) -> list[LedgerCurve]:
    """The ledger's curves from what every party really saw."""
    return [ledger_curve(one, is_planned=False) for view in truth.views.values() for one in seen(view).accounts]


def seen(view: View) -> Ledger:
    """The ledger of what a party really got, with the numerical ranks of its own columns."""
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
    return Ledger(tuple(accounts))


def stacked_ranks(view: View) -> Counts:
    """The rank, after each step, of all own columns so far, stacked as equations about rows; read once per epoch."""
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


def attack_curves(truth: Truth, findings: Sequence[Finding], seconds: float = SECONDS) -> list[AttackCurve]:
    """One curve for each passive attack that claimed something; the findings are those of the whole run."""
    passive = {attack.name for attack in PASSIVE}
    # A coalition has no view of its own in the run, and no curve.
    claimed = [one for one in findings if one.rate is not None and one.attack in passive and one.by in truth.views]
    by_epoch = {key_of(one): {truth.plan.passes(truth.rows): one} for one in claimed}
    attackers = list(dict.fromkeys((attack, by) for attack, by, _, _ in by_epoch))
    started = time.monotonic()
    for place, (attack, by) in enumerate(attackers, 1):
        for epoch in _epochs_before_last(truth):
            # Each has its share of the time, and what those before it left over.
            if time.monotonic() - started > seconds * place / len(attackers):
                break
            for finding in _findings_after(truth, epoch, attack, by):
                if finding.rate is not None and key_of(finding) in by_epoch:
                    by_epoch[key_of(finding)][epoch] = finding
    return [_attack_curve(truth, found) for found in by_epoch.values()]


def _epochs_before_last(truth: Truth) -> list[int]:
    """The epochs before the last one; none if the first passes use a sample: a shorter plan would have other passes."""
    levels = truth.plan.levels(truth.rows)
    return epochs_between(total_passes(levels)) if len(levels) == 1 else []


def epochs_between(last: int) -> list[int]:
    """Some of the epochs before the last one, denser at the start, in an order that may be broken off."""
    spaced = {round(one) for one in np.geomspace(1, last, EPOCHS)} if last > EPOCHS else set(range(1, last + 1))
    ordered = sorted(spaced - {last})
    return [*ordered[::4], *ordered[2::4], *ordered[1::2]]


def _findings_after(truth: Truth, epoch: int, attack: str, by: str) -> list[Finding]:
    view = until(truth.views[by], epoch)
    ways = chosen(PASSIVE, view.role, [attack])
    return one_each(finding for way in ways for finding in scored(way, by, way(view), truth))


def until(view: View, epoch: int) -> View:
    """The same view if the run had ended after an epoch; with the actual noise."""
    n_steps = epoch * steps_per_epoch(view.rows, view.plan)
    if epoch >= view.plan.passes(view.rows) or not view.has_sums:
        return view
    return replace(
        view,
        plan=_plan_until(view.plan, epoch),
        sums=view.sums[:n_steps],
        own_noise=None if view.own_noise is None else view.own_noise[:n_steps],
        weights=view.weights_before[n_steps],
    )


def _plan_until(plan: Plan, epoch: int) -> Plan:
    """A plan that ends earlier, with noise as it was: two kinds are derived from the number of epochs."""
    if plan.noise == "heuristic":
        heuristic = replace(plan.heuristic, e=plan.heuristic.e or plan.passes_without_sample)
        return plan.replace(epochs=epoch, heuristic=heuristic)
    if plan.noise == "sound":
        cost = LabelCost(noise_std(plan, "label"), label_sensitivity(plan), epoch)
        # The epsilon that this version's noise was made from.
        spent = cost.zcdp_epsilon(plan.delta)
        # So much noise may be there that the first epochs cost nothing; a plan's epsilon is above 0 all the same.
        return plan.replace(epochs=epoch, epsilon=max(spent, SMALLEST_EPSILON))
    return plan.replace(epochs=epoch)


def _attack_curve(truth: Truth, found: dict[int, Finding]) -> AttackCurve:
    epochs = sorted(found)
    rates = [(one.rate or 0.0, one.interval or (0.0, 0.0)) for one in (found[epoch] for epoch in epochs)]
    end = found[epochs[-1]]
    positive = float(truth.is_positive.mean())
    return AttackCurve(
        attack=end.attack,
        by=end.by,
        against=end.against,
        target=end.target,
        epochs=epochs,
        rates=[rate for rate, _ in rates],
        low=[interval[0] for _, interval in rates],
        high=[interval[1] for _, interval in rates],
        baseline=end.baseline or 0.0,
        guessing=max(positive, 1 - positive) if end.target == "labels" else None,
    )
