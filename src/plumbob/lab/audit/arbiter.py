"""The red team in the arbiter's seat: alone with what it decrypts, and together with one party.

A party that joins the arbiter plays its part honestly and keeps the ciphertexts that it receives; after the run the
arbiter's key opens them. Nothing that the others receive looks different.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from plumbob.callbacks import Tell
from plumbob.checking.rules.arbiter_key import ARBITER, RULE
from plumbob.checking.verdict_words import BLOCKED
from plumbob.crypto import Encoded, EncryptedVector, PrivateKey
from plumbob.crypto.packing import centred
from plumbob.data import Batch, Table
from plumbob.lab.attacks.active import ActiveAttack, Reading, claim_of
from plumbob.lab.attacks.attacking_parties import AttackingArbitratedParty
from plumbob.lab.attacks.interface import Condition
from plumbob.lab.audit.score import explained, scored, verdict_of
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.protocol.arbiter import Arbiter
from plumbob.record import Finding


class ColludingParty(AttackingArbitratedParty):
    """Honest in every message; it keeps the joint residuals, which the arbiter's key opens."""

    @cached_property
    def kept(self) -> list[tuple[Batch, EncryptedVector, Encoded]]:
        """Step by step: the batch, its joint residuals encrypted, and its own part of them."""
        return []

    def joint_residuals(self, batch: Batch, released: Encoded) -> EncryptedVector:
        joint = super().joint_residuals(batch, released)
        self.kept.append((batch, joint, released))
        return joint

    def read_with(self, key: PrivateKey) -> None:
        """Open everything, and take its own part out."""
        for batch, joint, released in self.kept:
            opened = [centred(value, key.public.n) for value in key.decrypt(joint)]
            others = np.array([float(value) for value in opened]) - released.values
            self.readings.append(Reading(batch.step, batch.rows, self.widths.residuals.decode(others)))

    def conditions(self) -> tuple[Condition, ...]:
        opened = float(len(self.readings))
        return (Condition("steps whose residuals were opened", opened, "at least 1", opened >= 1, RULE.reference),)


def _cast(_plan: Plan, _name: str) -> type[ColludingParty]:
    return ColludingParty


BY_FEATURE_PARTY = ActiveAttack(ARBITER, "features", _cast, RULE.reference)
BY_LABEL_PARTY = ActiveAttack(ARBITER, "label", _cast, RULE.reference)


def arbiter_audit(truth: Truth, plan: Plan, tables: Mapping[str, Table], tell: Tell) -> Iterator[Finding]:
    """`plan` and `tables` are the run's again, as active attacks get them."""
    arbiter = truth.plan.arbiter
    if arbiter is None:
        return
    for name, view in truth.views.items():
        tell(f"{ARBITER} by {arbiter.name}+{name}")
        run = train(plan, tables, instead={name: ColludingParty})
        party, holder = run.parties[name], run.parties[arbiter.name]
        if not isinstance(party, ColludingParty) or not isinstance(holder, Arbiter):
            raise TypeError("expected the arbiter and a party that joins it")
        party.read_with(holder.key)
        attack = BY_LABEL_PARTY if view.is_label_party else BY_FEATURE_PARTY
        again = Truth.of(run)
        believed = claim_of(party, again.views[name])
        for finding in scored(attack, name, believed, Truth(truth.plan, {**again.views, name: view})):
            yield replace(finding, by=f"{arbiter.name}+{name}")
        if name == truth.plan.label_party.name:
            yield from _alone(again, run, arbiter.name)


def _alone(truth: Truth, run: Run, arbiter: str) -> Iterator[Finding]:
    """Unmasked sums add up to weights, from a start at zero."""
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
