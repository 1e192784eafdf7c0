"""The result of a party's verb: the values that `--json` prints, shown as the lines that a terminal gets."""

from html import escape

from plumbob.plan import Plan
from plumbob.terminal import printable
from plumbob.verb.flags import GivenPlan


class Outcome(dict[str, object]):
    """A dictionary with the fields of the command's JSON; it prints as the command does."""

    @property
    def lines(self) -> list[str]:
        """What the command prints."""
        lines = self.get("lines", [])
        return [str(line) for line in lines] if isinstance(lines, list) else []

    def __repr__(self) -> str:
        return "\n".join(map(printable, self.lines))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def plan_of(given: GivenPlan) -> Plan:
    """The plan itself; PlanError where its file cannot be read."""
    return given if isinstance(given, Plan) else Plan.load(given)


def plan_argument(given: GivenPlan) -> str:
    """The plan as an argument of the next command."""
    return "PLAN" if isinstance(given, Plan) else str(given)
