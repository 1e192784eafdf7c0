"""The choices on the page, one control for each key of the plan, and the pages of a plan checked there."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from plumbob import __version__
from plumbob.checking.check import check, notes
from plumbob.datasets import CREDIT_FILE
from plumbob.errors import DataError
from plumbob.lab.page.own_tables import TableReading
from plumbob.plan import KEYS, OURS, Party, Plan, SettingKey
from plumbob.plan.plan import PAPER, default_of
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
