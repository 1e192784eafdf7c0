"""The controls of the page, one for each key of a plan; the plan that they say; and what the page shows of a plan."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from plumbob import __version__
from plumbob.checking.check import check, figures_of, notes
from plumbob.datasets import CREDIT_FILE
from plumbob.errors import DataError, PlanError
from plumbob.lab.page.own_tables import MOST_PARTIES, OWN, TableReading, TablesRead
from plumbob.plan import KEYS, OURS, Party, Plan, SettingKey, in_words
from plumbob.plan.plan import PAPER, default_of
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.report.decision import summary_page
from plumbob.report.plan_page import decision_on_plan, findings_page

ELSEWHERE = {"mnist-01": "mnist", "credit": CREDIT_FILE}
"""What the folder of the larger data sets must contain."""
LARGEST_OF_KEYS = {"epochs": 100_000, "batch_size": 10_000_000}
LARGEST_COLUMNS, LARGEST_ROWS = 100_000, 10_000_000
"""Most columns and rows: beyond them a page is no place to plan a run, and arithmetic takes noticeable time."""


@dataclass(frozen=True)
class DatasetShape:
    """A data set's training part, so that a plan can be checked before anything is read."""

    name: str
    rows: int
    columns: int


SHAPES = (
    DatasetShape("breast-cancer", 455, 30),
    DatasetShape("digits-01", 288, 64),
    DatasetShape("loans", 3_200, 23),
    DatasetShape("credit", 27_000, 23),
    DatasetShape("mnist-01", 12_665, 784),
)
# What the page opens with: the safe defaults, on the running example, which is always here.
FIRST = Plan((Party("bank", "label", 5), Party("processor", "features", 18)), rows=3_200)


def shapes_here(data_dir: Path | None) -> Iterator[dict[str, Any]]:
    """Every known data set, and whether it can be read on this machine without asking anybody."""
    folder = data_dir or os.environ.get("PLUMBOB_DATA")
    for shape in SHAPES:
        needed = ELSEWHERE.get(shape.name)
        is_here = needed is None or (folder is not None and (Path(folder) / needed).exists())
        yield {"name": shape.name, "rows": shape.rows, "columns": shape.columns, "is_here": is_here}


def shape_like(rows: int, columns: int) -> str:
    """The data set with these numbers, if any: a run's record does not say where its rows came from."""
    return next((shape.name for shape in SHAPES if (shape.rows, shape.columns) == (rows, columns)), "")


def controls() -> list[dict[str, Any]]:
    """One control for each key, except rows, which come from the data."""
    return [_control(key) for key in KEYS if key.name != "rows"]


def _control(key: SettingKey) -> dict[str, Any]:
    """The control of a key; strict limits are left to the plan, which explains them in words."""
    high = LARGEST_OF_KEYS.get(key.name, key.high)
    return {
        "name": key.name,
        "section": key.section,
        "kind": type(key.default).__name__,
        "choices": list(key.choices),
        "comment": key.meaning,
        "low": None if key.low == float("-inf") else key.low,
        # JavaScript has no larger whole numbers that are exact.
        "high": None if high > 2**53 else high,
    }


def fitted_defaults() -> dict[str, dict[str, Any]]:
    """The defaults of a plan, by protocol."""
    fitted = [key for key in KEYS if key.name in PAPER]
    return {protocol: {key.name: default_of(key, protocol) for key in fitted} for protocol in OURS}


def chosen(plan: Plan, rows: int, data: str) -> dict[str, Any]:
    """A plan as the page's controls hold it."""
    return {
        "data": data,
        "rows": rows,
        "names": [party.name for party in plan.learners],
        "features": [party.features for party in plan.learners],
        "keys": {key.name: getattr(plan, key.name) for key in KEYS if key.name != "rows"},
        "heuristic": vars(plan.heuristic),
        "reading": msgspec.to_builtins(TableReading()),
    }


REMEMBERED = 256
"""How many plans' pages can be opened; the page of an older one says that the plan must be checked again."""


@dataclass
class CheckedPlans:
    """The last plans that were checked, by their hash: an address with a hash in it shows nothing of the plan."""

    _plans: dict[str, Plan] = field(default_factory=dict)

    def keep(self, plan: Plan) -> None:
        self._plans.pop(plan.hash(), None)
        self._plans[plan.hash()] = plan
        for old in list(self._plans)[:-REMEMBERED]:
            del self._plans[old]

    def plan(self, hashed: str) -> Plan:
        """A plan by its hash; DataError where it was not checked here, or too long ago."""
        if hashed not in self._plans:
            raise DataError("this plan was not checked here lately; open its page from the lab again")
        return self._plans[hashed]


def findings(plan: Plan) -> str:
    """The page of all findings, with their reasons."""
    return findings_page(plan, check(plan), notes(plan), __version__)


def summary(plan: Plan) -> str:
    """The decision sheet of a plan that was not run yet."""
    return summary_page(decision_on_plan(plan, check(plan), __version__))


# What the page's controls say as a plan, and a plan as what the page shows.

BEYOND = "expected numbers that can be calculated with: one is far too large or too small"


class Parts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page's controls say, as far as it can be a plan at all."""

    data: str
    rows: int | str
    """The number of rows; like in `features`, a text while somebody has emptied the field to type another number."""
    names: Annotated[list[str], msgspec.Meta(min_length=2, max_length=MOST_PARTIES)]
    features: list[int | str]
    keys: dict[str, Any]
    heuristic: Any
    reading: TableReading

    @classmethod
    def of(cls, body: object) -> "Parts":
        """Parse strictly: the page is ours, but whoever holds its address can send anything."""
        try:
            return msgspec.convert(body, cls)
        except msgspec.ValidationError as error:
            raise PlanError(f"expected a plan as this page sends it: {error}") from error


def asked(parts: Parts, tables: TablesRead | None = None) -> Plan:
    """The plan of the controls; for own tables, columns, rows and encoding are what was read."""
    if tables is not None and tables.mistake:
        raise PlanError(tables.mistake)
    if tables is None:
        features, rows, keys = _widths(parts), _rows(parts.data, parts.rows), parts.keys
    else:
        features, rows, keys = list(tables.widths), tables.rows, {**parts.keys, **tables.keys}
    _refuse_huge(rows, features, keys)
    plan = Plan.for_columns(features, **{**keys, "rows": rows, "heuristic": parts.heuristic})
    return plan.with_names(parts.names)


def checked(plan: Plan) -> dict[str, Any]:
    """The findings of `check`, the worst first, each with what a click can change."""
    try:
        findings = check(plan)
    except PlanError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PlanError(BEYOND) from error
    return {
        "plan_hash": plan.hash(),
        "headlines": findings.headlines.to_dict(),
        "legend": findings.headlines.legend,
        "findings": [vars(finding) for finding in findings],
        "notes": notes(plan),
        "keys": keys_in_short(plan),
        "passes": in_words(figures_of(plan).levels),
    }


def keys_in_short(plan: Plan) -> str:
    """What encrypts a run's numbers, in short: parameter sets for lattices, a length for other keys."""
    if not plan.kind.is_encrypted:
        return ""
    if plan.kind.has_key_bits:
        return f"{plan.kind.keys} keys of {plan.key_bits} bits"
    profile = LatticeShape(plan, max(plan.rows, 1)).profile
    return f"lattice parameter sets {', '.join(str(one.number) for one in profile)}"


def mistakes(error: PlanError) -> list[dict[str, str]]:
    """One mistake for each line, with the key that it names, if any."""
    by_path = {key.path: key.name for key in KEYS}
    lines = str(error).splitlines()
    return [{"key": by_path.get(line.partition(":")[0], ""), "text": line} for line in lines]


def _rows(data: str, rows: int | str) -> int:
    """The rows of the data set, or as many as were given."""
    if not data and isinstance(rows, int):
        if rows < 1:
            raise PlanError("data.rows: expected at least 1 row")
        return rows
    for shape in SHAPES:
        if shape.name == data:
            return shape.rows
    names = ", ".join(shape.name for shape in SHAPES)
    raise PlanError(f"data: expected one of {names}, {OWN} tables, or none and a whole number of rows")


def _widths(parts: Parts) -> list[int]:
    if len(parts.features) != len(parts.names):
        raise PlanError("parties: expected as many numbers of columns as names")
    widths = [width for width in parts.features if isinstance(width, int)]
    if len(widths) < len(parts.names):
        named = zip(parts.names, parts.features, strict=True)
        blank = [name for name, width in named if not isinstance(width, int)]
        raise PlanError("\n".join(f"parties.{name}.features: expected a whole number of columns" for name in blank))
    return widths


def _refuse_huge(rows: int, features: Sequence[int], keys: Mapping[str, Any]) -> None:
    if rows > LARGEST_ROWS:
        raise PlanError(f"data.rows: expected at most {LARGEST_ROWS} on this page, got more")
    if sum(features) > LARGEST_COLUMNS or len(features) > MOST_PARTIES:
        raise PlanError(
            f"parties: expected at most {LARGEST_COLUMNS} columns and {MOST_PARTIES} parties on this page, got more"
        )
    for name, limit in LARGEST_OF_KEYS.items():
        if isinstance(keys.get(name), int) and keys[name] > limit:
            raise PlanError(f"model.{name}: expected at most {limit} on this page, got more")
