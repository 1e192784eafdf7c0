"""The view of a coalition: what all parties but one saw, as if one party had seen it.

Its members lay their columns, sums and weights side by side. Noise that one member put into another's sums is no secret
to the coalition. Where all parties add noise, the coalition gets a run of its own, in which only the victim's noise is
in its sums; so do its active attacks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix
from plumbob.checking.coalitions import ALONE, JOINT, Coalition, coalitions
from plumbob.lab.attacks import ActiveAttack, Attack, View
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.record import Finding

OF_ALL_PARTIES = ("std", "heuristic")
"""The kinds of noise that every party adds to its residuals."""


@dataclass(frozen=True)
class CoalitionAttacks:
    """What a coalition can do: its attacks by role, how an active one is acted out, and how a run is made again."""

    passive: Callable[[str], Sequence[Attack]]
    active: Callable[[str], Sequence[ActiveAttack]]
    act: Callable[[ActiveAttack, str, Truth], list[Finding]]
    run_again: Callable[[Truth], Truth]
    tell: Callable[[str], None]


def findings_together(truth: Truth, attacks: CoalitionAttacks) -> Iterator[Finding]:
    """The findings of every attack of every coalition."""
    for coalition in coalitions(truth.plan):
        merged = merged_truth(truth, coalition)
        for finding in _findings_of(coalition, merged, attacks):
            yield replace(finding, by=coalition.name, against=coalition.victim, why=coalition.renamed(finding.why))


def _findings_of(coalition: Coalition, merged: Truth, attacks: CoalitionAttacks) -> Iterator[Finding]:
    role = merged.views[JOINT].role
    passive, active = attacks.passive(role), attacks.active(role)
    seen = attacks.run_again(merged) if passive and merged.plan.noise in OF_ALL_PARTIES else merged
    for attack in passive:
        attacks.tell(f"{attack.name} by {coalition.name}")
        yield from scored(attack, JOINT, attack(seen.views[JOINT]), seen)
    for one in active:
        attacks.tell(f"{one.name} by {coalition.name}")
        yield from attacks.act(one, JOINT, merged)


def merged_truth(truth: Truth, coalition: Coalition) -> Truth:
    """The truth of a run with two parties, of which the coalition is one."""
    members = [truth.views[name] for name in coalition.members]
    victim = replace(truth.views[coalition.victim], party=ALONE, plan=coalition.plan)
    return Truth(coalition.plan, {JOINT: merged_view(coalition, members), ALONE: victim})


def merged_view(coalition: Coalition, members: Sequence[View]) -> View:
    """One view with all members' columns; the intercept's column, if one of them has it, is moved to the end."""
    order = _intercept_last(members)
    labelled = next((view for view in members if view.is_label_party), None)
    noises = [np.zeros_like(view.sums) if view.own_noise is None else view.own_noise for view in members]
    has_noise = any(view.own_noise is not None for view in members)
    has_weights = all(len(view.weights) == view.X.shape[1] for view in members)
    return View(
        party=JOINT,
        plan=coalition.plan,
        X=np.hstack([view.X for view in members])[:, order],
        y=None if labelled is None else labelled.y,
        seed=members[0].seed,
        start=np.concatenate([view.start for view in members])[order],
        sums=_side_by_side([view.sums for view in members], order),
        weights=np.concatenate([view.weights for view in members])[order] if has_weights else np.zeros(0),
        own_noise=_side_by_side(noises, order) if has_noise else None,
        flipped=None if labelled is None else labelled.flipped,
    )


def _intercept_last(members: Sequence[View]) -> NDArray[np.intp]:
    places, start = [], 0
    last: list[int] = []
    for view in members:
        columns = list(range(start, start + view.X.shape[1]))
        if view.is_label_party and view.plan.intercept:
            last.append(columns.pop())
        places += columns
        start += view.X.shape[1]
    return np.array([*places, *last], dtype=np.intp)


def _side_by_side(blocks: Sequence[Matrix], order: NDArray[np.intp]) -> Matrix:
    """Blocks side by side in this order; empty where nobody saw sums."""
    joined = np.hstack(blocks)
    return joined[:, order] if joined.shape[1] else joined
