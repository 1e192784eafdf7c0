"""What the tests of active attacks need: a run with a spy in it, the same run without, and the truth between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.arrays import Matrix
from plumbob.lab.attacks import Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.attacks.interface import Claims
from plumbob.lab.paper.runs import exact_readings
from plumbob.lab.simulate import Run
from plumbob.lab.simulate.parties import party_class
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.protocol.party import TrainingParty
from tests.lab.exchange.quick_keys import use_quick_keys
from tests.protocol.support import Labels, made_up, trained, weights_of


@dataclass(frozen=True, eq=False)
class Staged:
    """An attacked run beside the honest one on the same rows."""

    plan: Plan
    by: str
    run: Run
    spy: Hook
    data: tuple[Matrix, Labels]

    @cached_property
    def honest(self) -> Run:
        return trained_quickly(self.plan, self.data)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.spy.conditions(self.run.parties[self.by])

    def claims(self) -> Claims:
        return self.spy.claim(self.run.parties[self.by], View.of(self.run.transcripts[self.by]))

    def claim(self) -> Claim | NotApplicable:
        """The only claim."""
        claims = self.claims()
        assert isinstance(claims, Claim | NotApplicable)
        return claims

    def label_claim(self) -> Claim:
        claim = self.claim()
        assert isinstance(claim, Claim)
        return claim

    def disturbance(self) -> float:
        """How far the final weights, all parties', are from the honest run's."""
        return float(np.abs(weights_of(self.run) - weights_of(self.honest)).max())

    def is_right(self) -> NDArray[np.bool_]:
        """Whether the answer of each row that has one is the label."""
        beliefs = self.label_claim().beliefs
        y = self.run.transcripts[self.plan.label_party.name].y
        assert y is not None
        is_answered = ~np.isnan(beliefs)
        right: NDArray[np.bool_] = np.sign(beliefs)[is_answered] == logistic.signs_of(y)[is_answered]
        return right

    def misread(self) -> int:
        """How many readings differ from what the other parties really released, as integers."""
        return sum(int((~is_right).sum()) for is_right in exact_readings(self.run, self.by, self.spy))

    def outward(self, run: Run) -> list[tuple[int, ...]]:
        """What the honest parties could count: messages, bytes, draws of noise."""
        return [(party.messages_sent, party.bytes_sent, party.noise_draws) for party in run.record.parties]


def trained_quickly(plan: Plan, data: tuple[Matrix, Labels], **options: Any) -> Run:
    """A run with keys that were made before: what an attack reads does not depend on them."""
    with pytest.MonkeyPatch.context() as patch:
        use_quick_keys(patch)
        return trained(plan, data, **options)


def staged(
    plan: Plan,
    role: str,
    hook: Hook,
    rows: int = 64,
    others: Mapping[str, type[TrainingParty]] = MappingProxyType({}),
) -> Staged:
    """The first party of this role attacks; `others` may be replaced too."""
    by = plan.label_party.name if role == "label" else plan.feature_parties[0].name
    data = made_up(rows=rows, columns=plan.columns)
    run = trained_quickly(plan, data, instead={by: hooked(party_class(plan.kind), hook), **others})
    return Staged(plan, by, run, hook, data)
