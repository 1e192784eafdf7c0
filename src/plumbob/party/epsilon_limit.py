"""How much a party lets all runs together spend: an epsilon at one delta, so that figures of different plans compare.

Each plan has a delta of its own. A limit that took each plan's would be another limit for each of them.
"""

from dataclasses import dataclass
from typing import Self

from plumbob.plan import Plan

SLACK = 1e-6
"""An epsilon is searched for; a run that spends exactly what is left must not fail on its last digits."""


@dataclass(frozen=True)
class EpsilonLimit:
    """The party's own figure where it set one; otherwise what the plan promises, for all runs together."""

    epsilon: float
    delta: float
    setting: str
    """The key in party.toml."""
    is_own: bool = True

    @classmethod
    def of(cls, plan: Plan, own_epsilon: float, own_delta: float, setting: str) -> Self:
        """With 0 as own epsilon, the plan's, at the plan's delta."""
        if own_epsilon:
            return cls(own_epsilon, own_delta, setting)
        return cls(plan.epsilon, plan.delta, setting, is_own=False)

    def allows(self, epsilon: float) -> bool:
        return epsilon <= self.epsilon * (1 + SLACK)

    @property
    def words(self) -> str:
        """What is allowed, and where that comes from."""
        if self.is_own:
            return f"{self.setting} = {self.epsilon:g} in party.toml is the most at most_delta = {self.delta:g}"
        return f"the plan promises {self.epsilon:g} at delta {self.delta:g} for all runs together"
