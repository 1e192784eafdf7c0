"""What a verb is given: a plan or its file, and whether this party can use it."""

from pathlib import Path

from plumbob.errors import IdentityError, PlanError, SettingsError
from plumbob.party.home import Home
from plumbob.plan import PROTOCOLS, Plan

GivenPlan = Plan | str | Path
"""A plan, or its file."""


def plan_of(given: GivenPlan) -> Plan:
    """The plan itself; PlanError where its file cannot be read."""
    return given if isinstance(given, Plan) else Plan.load(given)


def plan_argument(given: GivenPlan) -> str:
    """The plan as an argument of the next command."""
    return "PLAN" if isinstance(given, Plan) else str(given)


def refuse_study(protocol: str) -> None:
    """Refuse a protocol that organisations do not run with each other."""
    if protocol in PROTOCOLS and not PROTOCOLS[protocol].has_lattices:
        raise PlanError(
            f'protocol = "{protocol}": organisations run "shares" with each other, where nobody reads a gradient;'
            " study this plan with all tables on one machine: plumbob train PLAN --data PARTY=FILE ..."
        )


def _refuse_seed(plan: Plan) -> None:
    """Refuse a seed that stands in a file, where everybody has to draw it together.

    The hash that parties sign does not say it, so that whoever sends the file could choose which rows train first.
    """
    if plan.seed:
        raise PlanError(
            f"model.seed: {plan.seed}, where all parties draw it together, and what was signed does not say it; leave"
            " it out, or use the plan as it was signed"
        )


def refuse_strangers(home: Home, plan: Plan) -> None:
    """Refuse a plan of a study, one that this party is not in, or that names a party which was never joined."""
    refuse_study(plan.protocol)
    _refuse_seed(plan)
    names = [party.name for party in plan.parties]
    if home.identity.name not in names:
        raise SettingsError(f"the plan's parties are {', '.join(names)}; we are {home.identity.name}")
    if strangers := [name for name in names if name not in home.pinned and name != home.identity.name]:
        raise IdentityError(f"{', '.join(strangers)}: in the plan, but not joined; type: plumbob party join TOKEN")
