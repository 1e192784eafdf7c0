"""What a verb is given: a plan or its file."""

from pathlib import Path

from plumbob.plan import Plan

GivenPlan = Plan | str | Path
"""A plan, or its file."""


def plan_of(given: GivenPlan) -> Plan:
    """The plan itself; PlanError where its file cannot be read."""
    return given if isinstance(given, Plan) else Plan.load(given)


def plan_argument(given: GivenPlan) -> str:
    """The plan as an argument of the next command."""
    return "PLAN" if isinstance(given, Plan) else str(given)
