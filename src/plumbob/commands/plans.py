"""`plan new / show / hash`: a commented plan with defaults, and what will be signed."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plumbob.commands.flags import plan_from
from plumbob.errors import PlanError
from plumbob.plan import Plan

FEATURES = (11, 12)


def new(keys: Mapping[str, Any], names: str | None, out: Path | None) -> dict[str, object]:
    """A plan from flags; without any, two parties with the paper's split."""
    plan = plan_from(None, {"features": FEATURES, **keys})
    if names is not None:
        plan = _renamed(plan, names.split(","))
    if out is None:
        return shown(plan)
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it or choose another name")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(), encoding="utf-8")
    return {**shown(plan), "out": str(out), "lines": [f"{out}  {plan.hash()}"]}


def show(path: Path) -> dict[str, object]:
    """The whole plan, defaults written out, and its hash."""
    plan = Plan.load(path)
    result = shown(plan)
    return {**result, "lines": [*plan.to_toml().splitlines(), f"# hash: {plan.hash()}"]}


def hash_of(path: Path) -> dict[str, object]:
    """The hash alone."""
    plan = Plan.load(path)
    return {"hash": plan.hash(), "lines": [plan.hash()]}


def shown(plan: Plan) -> dict[str, object]:
    """A plan for people (TOML) and for programs."""
    return {"plan": asdict(plan), "hash": plan.hash(), "lines": plan.to_toml().splitlines()}


def _renamed(plan: Plan, names: list[str]) -> Plan:
    if len(names) != len(plan.parties):
        raise PlanError(f"--names: expected {len(plan.parties)} names, one a party, got {len(names)}")
    parties = tuple(replace(party, name=name) for party, name in zip(plan.parties, names, strict=True))
    return plan.replace(parties=parties)
