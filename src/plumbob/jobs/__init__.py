"""Jobs of other systems: read, so that `check` can say what they give away, and moved into plans that do not.

    file -> tree -> Component and its values -> Job -> Plan, findings

Nothing that a file holds is ever executed, and a file without a job is refused in one sentence.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from plumbob.errors import PlanError
from plumbob.jobs.fate import read_fate
from plumbob.jobs.files import load
from plumbob.jobs.findings import judge
from plumbob.jobs.plans import Moved, plan_to_check, plan_to_move
from plumbob.jobs.reading import Job, Read, SystemVersion, parse_version
from plumbob.jobs.secretflow import read_secretflow

__all__ = ["Job", "Moved", "Read", "System", "judge", "plan_to_check", "plan_to_move", "read_job"]

System = Literal["FATE", "SecretFlow"]
Reader = Callable[[Any, SystemVersion | None], Job | None]
READERS: dict[System, Reader] = {"FATE": read_fate, "SecretFlow": read_secretflow}
EXPECTED = {
    "FATE": "a training job with HeteroLR, HeteroSSHELR, CoordinatedLR or SSHELR: the conf of 1.x (not its dsl), or "
    "the DAG of 2.x",
    "SecretFlow": "a secretpad graph, a Kuscia job or a component's node with ss_sgd_train, ss_glm_train or "
    "hess_sgd_train",
}
PRINT_THE_JOB = {
    "FATE": "let it print its job instead of running it: print(pipeline.get_dag()) after pipeline.compile() in 2.x, "
    "print(json.dumps(pipeline.get_train_conf())) in 1.x",
    "SecretFlow": "let it print the node that it builds: print(google.protobuf.json_format.MessageToJson(node))",
}


def read_job(path: Path, system: System, version: str | None = None) -> Job:
    """The logistic regression that a file trains; raises PlanError where there is none."""
    stated = None if version is None else parse_version(version)
    tree = load(path)
    if tree is None:
        raise PlanError(
            f"{path}: a program may do more than its text says; {PRINT_THE_JOB[system]}, and provide what it prints"
        )
    try:
        job = READERS[system](tree, stated)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    if job is not None:
        return job
    other: System = "SecretFlow" if system == "FATE" else "FATE"
    if _has_job(READERS[other], tree):
        raise PlanError(f"{path}: this is a {other} job, not one of {system}; use --from-{other.lower()}")
    raise PlanError(f"{path}: this file trains no vertical logistic regression; provide {EXPECTED[system]}")


def _has_job(reader: Reader, tree: Any) -> bool:
    try:
        return reader(tree, None) is not None
    except PlanError:
        # It has such a job, and refuses its settings.
        return True
