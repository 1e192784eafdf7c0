"""Small jobs of our own, in the shape of each family."""

import json
from pathlib import Path
from typing import Any

from plumbob.jobs import Job, System, judge, plan_to_check, read_job
from plumbob.record import Finding

PARAMETERS: dict[str, Any] = {"max_iter": 7, "learning_rate": 0.3, "batch_size": 50, "alpha": 0.02, "penalty": "L2"}


def conf(parameters: dict[str, Any], name: str = "hetero_lr_0", arbiter: int | None = 3, **more: Any) -> dict[str, Any]:
    """A FATE 1.x configuration of the second dsl."""
    roles = {"guest": [1], "host": [2], **({} if arbiter is None else {"arbiter": [arbiter]})}
    return {
        "dsl_version": 2,
        "initiator": {"role": "guest", "party_id": 1},
        "role": roles,
        "component_parameters": {"common": {name: parameters}},
        **more,
    }


def dag(parameters: dict[str, Any], component: str = "coordinated_lr", **task: Any) -> dict[str, Any]:
    """A FATE 2.x DAG."""
    parties = [{"role": role, "party_id": [party]} for role, party in (("guest", "1"), ("host", "2"), ("arbiter", "3"))]
    tasks = {"lr_0": {"component_ref": component, "parameters": parameters, **task}}
    return {"dag": {"parties": parties, "stage": "train", "tasks": tasks}, "schema_version": "2.1.0"}


def node(name: str, **attributes: Any) -> dict[str, Any]:
    """A SecretFlow component's node."""
    kinds = {bool: "b", int: "i64", float: "f", str: "s"}
    values = [{kinds[type(value)]: value, "is_na": False} for value in attributes.values()]
    return {"domain": "ml.train", "name": name, "version": "1.0.0", "attr_paths": list(attributes), "attrs": values}


def read(
    folder: Path, content: Any, system: System = "FATE", name: str = "job.json", version: str | None = None
) -> Job:
    """Read a job through a file."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_job(path, system, version)


def value(job: Job, key: str) -> tuple[Any, str]:
    """What was read last under a key, and its source."""
    return next((one.value, one.source) for one in reversed(job.read) if one.key == key)


def findings(job: Job, features: tuple[int, ...] = (10, 12), rows: int = 5000, **flags: Any) -> list[Finding]:
    """All of a job's findings."""
    plan, job = plan_to_check(job, {"features": features, "rows": rows, **flags})
    return judge(job, plan)


def leaking(found: list[Finding]) -> set[tuple[str, str, str]]:
    """The (attack, by, target) of what leaks, by a party alone."""
    return {(one.attack, one.by, one.target) for one in found if one.verdict == "leaks" and "+" not in one.by}
