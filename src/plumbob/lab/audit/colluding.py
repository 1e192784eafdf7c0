"""Attackers that join: parties that lay what they saw side by side, and an arbiter, alone or with one party.

A coalition's view is what all parties but one saw, as if one party had seen it: columns, sums and weights side by side.
Noise that one member put into another's sums is no secret to the coalition.

A party that joins the arbiter plays its part honestly and keeps the ciphertexts that it receives; after the run the
arbiter's key opens them. Nothing that the others receive looks different.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix
from plumbob.callbacks import Tell
from plumbob.checking.coalitions import Coalition
from plumbob.checking.rules.arbiter_key import ARBITER, RULE
from plumbob.checking.words import BLOCKED
from plumbob.crypto import Encoded
from plumbob.data import Table
from plumbob.lab.attacks.hooks import ActiveAttack, Summing, SumsHook, hooked
from plumbob.lab.attacks.interface import Condition, View
from plumbob.lab.audit.score import explained, scored, verdict_of
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange.arbiter import Arbiter, ArbitratedParty
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.record import Finding


def merged_truth(truth: Truth, coalition: Coalition) -> Truth:
    """The truth of a run with two parties, of which the coalition is one."""
    members = [truth.views[name] for name in coalition.members]
    victim = replace(truth.views[coalition.victim], plan=coalition.plan)
    return Truth(coalition.plan, {coalition.joint: merged_view(coalition, members), coalition.victim: victim})


def merged_view(coalition: Coalition, members: Sequence[View]) -> View:
    """One view with all members' columns; the intercept's column, if one of them has it, is moved to the end."""
    order = _intercept_last(members)
    labelled = next((view for view in members if view.is_label_party), None)
    noises = [np.zeros_like(view.sums) if view.own_noise is None else view.own_noise for view in members]
    has_noise = any(view.own_noise is not None for view in members)
    has_weights = all(len(view.weights) == view.X.shape[1] for view in members)
    return View(
        party=coalition.joint,
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


class Colluding(SumsHook):
    """A party honest in every message that keeps the joint residuals, which the arbiter's key opens."""

    @cached_property
    def kept(self) -> list[tuple[EncryptedVector, Encoded]]:
        """The joint residuals of each step, encrypted, and its own part of them."""
        return []

    def encrypted_residuals(self, me: Summing, step: int, received: EncryptedVector) -> EncryptedVector:
        self.kept.append((received, self.released))
        return received

    def read_with(self, me: Summing, key: PrivateKey) -> None:
        """Open everything, and take out its own part."""
        for step, (joint, released) in enumerate(self.kept, 1):
            self.released = released
            opened = [centred(value, key.public.n) for value in key.decrypt(joint)]
            self.keep(me, step, range(len(opened)), opened)

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        opened = float(len(self.readings))
        return (Condition("steps whose residuals were opened", opened, "at least 1", opened >= 1, RULE.reference),)


BY_FEATURE_PARTY, BY_LABEL_PARTY = (
    ActiveAttack(ARBITER, role, lambda plan, name: Colluding()) for role in ("features", "label")
)


def arbiter_audit(truth: Truth, plan: Plan, tables: Mapping[str, Table], tell: Tell) -> Iterator[Finding]:
    """Attack as the arbiter; `plan` and `tables` are the run's again, as active attacks get them."""
    arbiter = truth.plan.arbiter
    if arbiter is None:
        return
    for name, view in truth.views.items():
        tell(f"{ARBITER} by {arbiter.name}+{name}")
        hook = Colluding()
        run = train(plan, tables, instead={name: hooked(ArbitratedParty, hook)})
        party, holder = run.parties[name], run.parties[arbiter.name]
        if not isinstance(party, ArbitratedParty) or not isinstance(holder, Arbiter):
            raise TypeError("expected the arbiter and a party that joins it")
        hook.read_with(party, holder.key)
        attack = BY_LABEL_PARTY if view.is_label_party else BY_FEATURE_PARTY
        again = Truth.of(run)
        believed = hook.claim(party, again.views[name])
        for finding in scored(attack, name, believed, Truth(truth.plan, {**again.views, name: view})):
            yield replace(finding, by=f"{arbiter.name}+{name}")
        if name == truth.plan.label_party.name:
            yield from _alone(again, run, arbiter.name)


def _alone(truth: Truth, run: Run, arbiter: str) -> Iterator[Finding]:
    """The arbiter alone: unmasked sums add up to weights, from a start at zero."""
    seen = {} if run.arbiter is None else run.arbiter.sums
    for name, view in truth.views.items():
        if not view.X.shape[1]:
            continue
        if name not in seen:
            why = "All sums that the arbiter decrypted carried uniform masks."
            yield Finding(ARBITER, arbiter, name, "weights", BLOCKED, why, RULE.reference, "")
            continue
        believed = replace(view, sums=seen[name], start=np.zeros_like(view.start), own_noise=None)
        moved = believed.weights_before[-1][:, None]
        actual = view.weights_before[-1][:, None]
        reached = max(0.0, explained(actual, moved - actual) or 0.0)
        verdict = verdict_of(reached, truth.plan.tolerance_features)
        why = f"The sums that the arbiter read add up to {name}'s weights with R^2 {reached:.3f}."
        fix = "--no-unmasked-gradients-for-the-arbiter"
        found = Finding(ARBITER, arbiter, name, "weights", verdict, why, RULE.reference, fix)
        yield replace(found, rate=reached, baseline=0.0, advantage=reached, n=len(actual))
