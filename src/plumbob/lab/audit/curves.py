"""How knowledge grows during a run: equations by step, and what attacks reach by epoch.

An attack by epoch is the same attack on the same view, cut off at the end of an epoch: what the party could have done
had the run ended there. Baselines are those of the whole run, which is generous to them.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plumbob.checking.filing import ledger_curve
from plumbob.data import steps_per_epoch
from plumbob.lab.attacks import PASSIVE, View
from plumbob.lab.audit.redteam import chosen, one_each
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.seen import seen
from plumbob.lab.audit.truth import Truth
from plumbob.plan import Plan, total_passes
from plumbob.privacy.accounting import LabelCost
from plumbob.protocol.defences import label_sensitivity, noise_std
from plumbob.record import AttackCurve, Finding, LedgerCurve

EPOCHS = 9
"""Of a curve by epoch."""
SECONDS = 5.0
"""For all attacks by epoch together; when they are spent, the epochs between are left out."""

SMALLEST_EPSILON = 1e-6

FindingKey = tuple[str, str, str, str]


def seen_ledger(truth: Truth) -> list[LedgerCurve]:
    """From what every party really saw."""
    return [ledger_curve(one, is_planned=False) for view in truth.views.values() for one in seen(view).accounts]


def attack_curves(truth: Truth, findings: Sequence[Finding], seconds: float = SECONDS) -> list[AttackCurve]:
    """One for each passive attack that claimed something; the findings are of the whole run."""
    passive = {attack.name for attack in PASSIVE}
    # A coalition has no view of its own in the run, and no curve.
    claimed = [one for one in findings if one.rate is not None and one.attack in passive and one.by in truth.views]
    by_epoch = {_key(one): {truth.plan.passes(truth.rows): one} for one in claimed}
    attackers = list(dict.fromkeys((attack, by) for attack, by, _, _ in by_epoch))
    started = time.monotonic()
    for place, (attack, by) in enumerate(attackers, 1):
        for epoch in _epochs_before_last(truth):
            # Each has its share of the time, and what those before it left over.
            if time.monotonic() - started > seconds * place / len(attackers):
                break
            for finding in _findings_after(truth, epoch, attack, by):
                if finding.rate is not None and _key(finding) in by_epoch:
                    by_epoch[_key(finding)][epoch] = finding
    return [_attack_curve(truth, found) for found in by_epoch.values()]


def _epochs_before_last(truth: Truth) -> list[int]:
    """None where the first passes use a sample of the rows: a plan that ends earlier would have other passes."""
    levels = truth.plan.levels(truth.rows)
    return epochs_between(total_passes(levels)) if len(levels) == 1 else []


def epochs_between(last: int) -> list[int]:
    """Some of the epochs before the last one, closer together at the start, in an order that may be broken off."""
    spaced = {round(one) for one in np.geomspace(1, last, EPOCHS)} if last > EPOCHS else set(range(1, last + 1))
    ordered = sorted(spaced - {last})
    return [*ordered[::4], *ordered[2::4], *ordered[1::2]]


def _findings_after(truth: Truth, epoch: int, attack: str, by: str) -> list[Finding]:
    view = until(truth.views[by], epoch)
    ways = chosen(PASSIVE, view.role, [attack])
    return one_each(finding for way in ways for finding in scored(way, by, way(view), truth))


def until(view: View, epoch: int) -> View:
    """The same view, had the run ended after an epoch; with the noise that there really was."""
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
    """A plan that ends earlier. Two kinds of noise are made from the number of epochs: they must stay as they were."""
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


def _key(finding: Finding) -> FindingKey:
    return finding.attack, finding.by, finding.against, finding.target
