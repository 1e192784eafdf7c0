"""Reading jobs of other systems, so that `check` can say what they give away, and moving them into plans that do not.

    file -> File -> Job -> Plan, findings

Nothing that a file holds is ever executed, and a file is refused with the name of what it is.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from plumbob.errors import PlanError
from plumbob.jobs import fate_conf, fate_dag, secretflow_files
from plumbob.jobs.defaults import SystemVersion, parse_version
from plumbob.jobs.files import File, load
from plumbob.jobs.findings import judge
from plumbob.jobs.kinds import kind_of
from plumbob.jobs.plans import Moved, plan_to_check, plan_to_move
from plumbob.jobs.reading import Job, Read

__all__ = ["Job", "Moved", "Read", "System", "judge", "plan_to_check", "plan_to_move", "read_job"]

System = Literal["FATE", "SecretFlow"]


def read_job(path: Path, system: System, version: str | None = None) -> Job:
    """The logistic regression that a file trains; raises PlanError with the kind of file where there is none."""
    file = load(path)
    stated = None if version is None else parse_version(version)
    readers = {"FATE": _read_fate, "SecretFlow": _read_secretflow}
    other: System = "SecretFlow" if system == "FATE" else "FATE"
    try:
        job = readers[system](file, stated)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    if job is None and _is_read(readers[other], file):
        raise PlanError(f"{path}: this is a {other} job, not one of {system}; use --from-{other.lower()}")
    if job is None:
        raise PlanError(f"{path}: this is {kind_of(file, system)}")
    return job


def _is_read(reader: Callable[[File, SystemVersion | None], Job | None], file: File) -> bool:
    try:
        return reader(file, None) is not None
    except PlanError:
        # It has such a job, and refuses its settings.
        return True


def _read_fate(file: File, version: SystemVersion | None) -> Job | None:
    if not isinstance(file.tree, dict):
        return None
    if fate_dag.is_dag(file.tree):
        return fate_dag.read_dag(file.tree, version)
    return fate_conf.read_conf(file.tree, version)


def _read_secretflow(file: File, version: SystemVersion | None) -> Job | None:
    return secretflow_files.read_nodes(file.tree, version) if isinstance(file.tree, dict) else None
