"""From what the page's controls say to a plan, and from a plan to what the page shows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plumbob.checking.check import check, notes
from plumbob.checking.findings import summary
from plumbob.errors import PlanError
from plumbob.plan import KEYS, Party, Plan
from plumbob.record import Finding
from plumbob.workshop.lab.choices import LARGEST_COLUMNS, LARGEST_OF_KEYS, LARGEST_ROWS, SHAPES

FLAG = re.compile(r"--([a-z0-9-]+)(?: (?!--)([^\s,]+))?")
BEYOND = "expected numbers that can be calculated with: one is far too large or too small"
PARTS = {"data", "rows", "names", "features", "keys", "heuristic"}


@dataclass(frozen=True)
class Asked:
    """A plan with its rows, and the data set it is to be run on; empty where there are numbers only."""

    plan: Plan
    data: str


def asked(body: object) -> Asked:
    """Strict: the page is ours, but whoever holds its address can send anything."""
    if not isinstance(body, dict) or set(body) != PARTS:
        raise PlanError(f"expected {', '.join(sorted(PARTS))}")
    features, names, keys = body["features"], body["names"], body["keys"]
    if not _are(features, int) or not _are(names, str) or len(features) != len(names) or not isinstance(keys, dict):
        raise PlanError("parties: expected as many numbers of columns as names, and keys by name")
    rows = _rows(body["data"], body["rows"])
    _refuse_huge(rows, features, keys)
    plan = Plan.for_columns(features, **{**keys, "rows": rows, "heuristic": body["heuristic"]})
    return Asked(_with_names(plan, names), body["data"])


def checked(wish: Asked) -> dict[str, Any]:
    """`check`'s findings, the worst first, each with what a click can change."""
    try:
        findings = check(wish.plan)
    except PlanError:
        raise
    except (ArithmeticError, ValueError) as error:
        raise PlanError(BEYOND) from error
    return {
        "plan_hash": wish.plan.hash(),
        "summary": summary(findings),
        "findings": [shown(finding) for finding in findings],
        "notes": notes(wish.plan),
    }


def shown(finding: Finding) -> dict[str, Any]:
    """A finding, and its fixes one by one."""
    return {**vars(finding), "fixes": fixes(finding.fix)}


def fixes(fix: str) -> list[dict[str, Any]]:
    """Flags to type, `--a 1 --b 2, or --c 3`, as keys to set."""
    ways = [FLAG.findall(way) for way in fix.split(", or ")] if fix else []
    return [{"flags": " ".join(f"--{name} {value}".strip() for name, value in way), "keys": _keys(way)} for way in ways]


def _keys(flags: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Flags by the names and in the types of the plan, with what a plan would refuse to keep beside them put right."""
    kinds = {key.name: type(key.default) for key in KEYS}
    named = {flag.replace("-", "_"): value for flag, value in flags}
    switched_off = {name.removeprefix("no_"): False for name, value in named.items() if not value}
    keys = {name: kinds[name](value) for name, value in named.items() if value} | switched_off
    if keys.get("noise", "std") != "std":
        keys.setdefault("noise_std", 0.0)
    if keys.get("protocol", "arbiter") != "arbiter":
        keys["unmasked_gradients_for_the_arbiter"] = False
    return keys


def mistakes(error: PlanError) -> list[dict[str, str]]:
    """One for each line, with the key that it is about where it names one."""
    by_path = {key.path: key.name for key in KEYS}
    lines = str(error).splitlines()
    return [{"key": by_path.get(line.partition(":")[0], ""), "text": line} for line in lines]


def _rows(data: object, rows: object) -> int:
    """Those of the data set, or as many as were said."""
    if not data and type(rows) is int:
        return rows
    for shape in SHAPES:
        if shape.name == data:
            return shape.rows
    raise PlanError(f"data: expected one of {', '.join(shape.name for shape in SHAPES)}, or none and a number of rows")


def _refuse_huge(rows: int, features: Sequence[int], keys: Mapping[str, Any]) -> None:
    if rows > LARGEST_ROWS:
        raise PlanError(f"data.rows: expected at most {LARGEST_ROWS} on this page, got more")
    if sum(features) > LARGEST_COLUMNS or len(features) > 8:
        raise PlanError(f"parties: expected at most {LARGEST_COLUMNS} columns and 8 parties on this page, got more")
    for name, limit in LARGEST_OF_KEYS.items():
        if isinstance(keys.get(name), int) and keys[name] > limit:
            raise PlanError(f"model.{name}: expected at most {limit} on this page, got more")


def _with_names(plan: Plan, names: Sequence[str]) -> Plan:
    parties = [Party(name, party.role, party.features) for name, party in zip(names, plan.learners, strict=True)]
    return plan.replace(parties=(*parties, *([plan.arbiter] if plan.arbiter else [])))


def _are(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)
