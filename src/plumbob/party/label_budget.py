"""What the label party has released of each label over all runs: noise drawn twice on the same label protects less.

Kept at home, by id. Booked before a run sends anything, and once for a run that is stopped and started again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import msgspec

from plumbob.errors import BudgetExceededError, DataError
from plumbob.net.identity import write_over
from plumbob.party.epsilon_limit import EpsilonLimit
from plumbob.party.file_lock import alone_at
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.privacy.accounting import LabelCost, zcdp_epsilon
from plumbob.protocol.defences import label_cost


class _Spent(msgspec.Struct, forbid_unknown_fields=True):
    """Runs that are booked, and for each id the zCDP that all of them cost together."""

    runs: dict[str, float]
    rho: dict[str, float]


@dataclass(frozen=True)
class LabelBudget:
    """The label party's own count."""

    file: Path

    @classmethod
    def of(cls, home: Home) -> Self:
        return cls(home.label_releases_file)

    def book(
        self, plan: Plan, run: str, ids: Sequence[str], most_epsilon: float = 0.0, most_delta: float = 1e-6
    ) -> float:
        """Book a run on these rows, on the disk when it returns; the epsilon of the label that was released most.

        BudgetExceededError, with nothing booked, where that would be more than `most_epsilon` at `most_delta`, or, if
        that is 0, more than the plan's epsilon at the plan's delta.
        """
        cost = label_cost(plan)
        if cost is None:
            return 0.0
        with alone_at(self.file):
            return self._book(cost, run, ids, _limit(plan, cost, most_epsilon, most_delta))

    def _book(self, cost: LabelCost, run: str, ids: Sequence[str], limit: EpsilonLimit) -> float:
        spent = self._read()
        before = max((spent.rho.get(identity, 0.0) for identity in ids), default=0.0)
        if run in spent.runs:
            return zcdp_epsilon(before, limit.delta)
        after = zcdp_epsilon(before + cost.rho, limit.delta)
        if not limit.allows(after):
            raise BudgetExceededError(
                f"these labels have spent epsilon {zcdp_epsilon(before, limit.delta):.3g} in earlier runs (at delta "
                f"{limit.delta:g}); with this one it would be {after:.3g}, and {limit.words}. Train on rows that were "
                "not used before, or raise label_epsilon in party.toml if that is acceptable. The count is by id: to "
                "it, a person under another id column is another person"
            )
        rho = spent.rho | {identity: spent.rho.get(identity, 0.0) + cost.rho for identity in ids}
        write_over(self.file, msgspec.json.encode(_Spent(spent.runs | {run: cost.rho}, rho)))
        return after

    def _read(self) -> _Spent:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=_Spent)
        except FileNotFoundError:
            return _Spent({}, {})
        except (OSError, msgspec.DecodeError):
            raise DataError(f"{self.file}: expected what was released of each label; restore it from a copy") from None


def _limit(plan: Plan, cost: LabelCost, most_epsilon: float, most_delta: float) -> EpsilonLimit:
    limit = EpsilonLimit.of(plan, most_epsilon, most_delta, "label_epsilon")
    if limit.is_own:
        return limit
    # A plan of version 1 names the analytic figure: its first run may cost what it costs.
    return replace(limit, epsilon=max(plan.epsilon, cost.zcdp_epsilon(plan.delta)))
