"""What the label party has released of each label over all runs: noise drawn twice on the same label protects less.

Kept at home, by id. Booked before a run sends anything, and once for a run that is stopped and started again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import msgspec

from plumbob.errors import BudgetExceededError, DataError
from plumbob.party.file_lock import alone_at
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.privacy.accounting import LabelCost, zcdp_epsilon
from plumbob.protocol.defences import label_cost
from plumbob.transport.identity import write_over


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

    def book(self, plan: Plan, run: str, ids: Sequence[str], limit: float = 0.0) -> float:
        """Book a run on these rows, on the disk when it returns; the epsilon of the label that was released most.

        BudgetExceededError, with nothing booked, where that would be more than `limit`, or than the plan's epsilon.
        """
        cost = label_cost(plan)
        if cost is None:
            return 0.0
        with alone_at(self.file):
            return self._book(plan, cost, run, ids, limit)

    def _book(self, plan: Plan, cost: LabelCost, run: str, ids: Sequence[str], limit: float) -> float:
        spent = self._read()
        before = max((spent.rho.get(identity, 0.0) for identity in ids), default=0.0)
        if run in spent.runs:
            return zcdp_epsilon(before, plan.delta)
        after = zcdp_epsilon(before + cost.rho, plan.delta)
        # A plan of version 1 names the analytic figure: its first run may cost what it costs.
        allowed = max(limit, plan.epsilon, cost.zcdp_epsilon(plan.delta))
        if after > allowed * (1 + 1e-6):
            raise BudgetExceededError(
                f"some of these labels were released in earlier runs: with this one their epsilon would be {after:.3g} "
                f"and {allowed:.3g} is the limit. Train on rows that were not used before, or raise label_epsilon in "
                "party.toml if that is acceptable"
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
