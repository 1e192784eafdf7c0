"""`plan new / show / hash`: a commented plan with defaults, and what will be signed."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plumbob.commands.flags import plan_from
from plumbob.commands.origins import Origin
from plumbob.errors import PlanError
from plumbob.plan import Plan

FEATURES = (11, 12)
NOWHERE = Origin()


def new(
    keys: Mapping[str, Any], names: str | None, out: Path | None, origin: Origin = NOWHERE, remark: str = ""
) -> dict[str, object]:
    """A plan from flags, or one that moves another system's job here; without either, the paper's split.

    The remark becomes a comment in the plan's file.
    """
    plan, differences = _draft(keys, origin)
    if names is not None:
        plan = _rename_parties(plan, names.split(","))
    plan = _with_lattice_set(plan)
    result = {**shown(plan), **({"differences": differences} if origin.job else {})}
    listed = [f"# differs from the job: {line}" for line in differences]
    if out is None:
        return {**result, "lines": [*plan.to_toml(remark).splitlines(), *listed]}
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it or choose another name")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(remark), encoding="utf-8")
    return {**result, "out": str(out), "lines": [f"{out}  {plan.hash()}", *listed]}


def _draft(keys: Mapping[str, Any], origin: Origin) -> tuple[Plan, list[str]]:
    if origin.job is None:
        return plan_from(None, {"features": FEATURES, **keys}), []
    from plumbob.jobs import plan_to_move, read_job

    path, system = origin.job
    moved = plan_to_move(read_job(path, system, origin.version), keys)
    return moved.plan, list(moved.differences)


def _with_lattice_set(plan: Plan) -> Plan:
    """The parameter set that the run would take; left open where it depends on a number of rows that nobody gave."""
    if not plan.kind.has_lattices or plan.lattice_set:
        return plan
    from plumbob.protocol.lattice_sets import MOST_ROWS, LatticeShape

    try:
        return plan.replace(lattice_set=LatticeShape(plan, plan.rows or MOST_ROWS).number)
    except PlanError:
        return plan


def show(path: Path) -> dict[str, object]:
    """The whole plan, defaults written out, and its hash."""
    plan = Plan.load(path)
    result = shown(plan)
    return {**result, "lines": [*plan.to_toml().splitlines(), f"# hash: {plan.hash()}"]}


def hash_of(path: Path) -> dict[str, object]:
    """What parties sign, for scripts that compare plans."""
    plan = Plan.load(path)
    return {"hash": plan.hash(), "lines": [plan.hash()]}


def shown(plan: Plan) -> dict[str, object]:
    """A plan for people (TOML) and for programs."""
    return {"plan": asdict(plan), "hash": plan.hash(), "lines": plan.to_toml().splitlines()}


def _rename_parties(plan: Plan, names: list[str]) -> Plan:
    if len(names) != len(plan.parties):
        raise PlanError(f"--names: expected {len(plan.parties)} names, one a party, got {len(names)}")
    parties = tuple(replace(party, name=name) for party, name in zip(plan.parties, names, strict=True))
    return plan.replace(parties=parties)
