"""The pages of a plan that was checked in the lab: its findings, and one side of paper for whoever says yes or no."""

from dataclasses import dataclass, field

from plumbob import __version__
from plumbob.checking.check import check, notes
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.report.decision import decision_on_plan
from plumbob.report.decision_page import summary_page
from plumbob.report.plan_page import findings_page

REMEMBERED = 256
"""Plans whose pages can be opened; a page of an older one says that the plan must be checked again."""


@dataclass
class CheckedPlans:
    """The last plans that were checked, by their hash: an address with a hash in it holds nothing of the plan."""

    _plans: dict[str, Plan] = field(default_factory=dict)

    def keep(self, plan: Plan) -> None:
        self._plans.pop(plan.hash(), None)
        self._plans[plan.hash()] = plan
        for old in list(self._plans)[:-REMEMBERED]:
            del self._plans[old]

    def plan(self, hashed: str) -> Plan:
        """DataError where it was not checked here, or long ago."""
        if hashed not in self._plans:
            raise DataError("this plan was not checked here lately; open its page from the lab again")
        return self._plans[hashed]


def findings(plan: Plan) -> str:
    """All of them, with their reasons."""
    return findings_page(plan, check(plan), notes(plan), __version__)


def summary(plan: Plan) -> str:
    """One side of paper."""
    return summary_page(decision_on_plan(plan, check(plan), __version__))
