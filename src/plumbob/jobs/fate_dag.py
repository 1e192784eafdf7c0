"""FATE 2.x: a pipeline's DAG as `get_dag()` writes it, in YAML or JSON."""

from collections.abc import Mapping
from typing import Any

from plumbob.errors import PlanError
from plumbob.jobs import fate
from plumbob.jobs.defaults import SystemVersion, parse_version
from plumbob.jobs.fate import Component
from plumbob.jobs.reading import Job, Parties, Read, Tree, listed, mapping, shown


def dag_of(tree: Tree) -> Tree:
    """The part with the tasks; empty where there is none."""
    for inner in (mapping(tree, "dag"), mapping(mapping(tree, "dag_schema"), "dag"), tree):
        if isinstance(inner.get("tasks"), Mapping):
            return inner
    return {}


def is_dag(tree: Tree) -> bool:
    """Whether this is a 2.x DAG; one of another interface (BFIA) looks alike and has other rules."""
    if str(tree.get("kind", "")).lower() == "bfia":
        return False
    tasks = mapping(dag_of(tree), "tasks").values()
    return any(isinstance(task, Mapping) and "component_ref" in task for task in tasks)


def component_names(tree: Tree) -> list[str]:
    """The components that the DAG's tasks run."""
    tasks = mapping(dag_of(tree), "tasks").values()
    names = [str(task.get("component_ref", "")) for task in tasks if isinstance(task, Mapping)]
    return list(dict.fromkeys(names))


def is_prediction(tree: Tree) -> bool:
    """Whether a DAG applies a trained model."""
    return str(dag_of(tree).get("stage", "")).lower() == "predict"


def read_dag(tree: Tree, version: SystemVersion | None) -> Job | None:
    """The job, or None where there is no logistic regression to train in it."""
    dag = dag_of(tree)
    if is_prediction(tree):
        return None
    tasks = {
        str(name): task for name, task in mapping(dag, "tasks").items() if _is_regression(task) and not _predicts(task)
    }
    if not tasks:
        return None
    name = next(iter(tasks))
    parameters = _parameters(dag, name, tasks[name])
    reads = [_version(tree, version)]
    kind = _kind(tasks[name], parameters)
    parties = _parties(dag)
    others = tuple(other for other in tasks if other != name)
    folds = _folds(tasks[name], parameters)
    component = Component(name, kind, {**parameters, **folds}, others, fate.evaluates_classes(dag))
    predicting = [f"{other}: applies a model" for other, task in mapping(dag, "tasks").items() if _predicts(task)]
    return fate.job_of(component, (2, 0), parties, [*reads, *fate.party_entries(parties)], predicting)


def _is_regression(task: Any) -> bool:
    return isinstance(task, Mapping) and fate.kind_of(str(task.get("component_ref", ""))) is not None


def _predicts(task: Any) -> bool:
    if not _is_regression(task):
        return False
    data = mapping(mapping(task, "inputs"), "data")
    is_only_tested = "test_data" in data and not {"train_data", "cv_data"} & set(data)
    return is_only_tested or str(task.get("stage", "")).lower() == "predict"


def _kind(task: Tree, parameters: Tree) -> str:
    """The kind of a task; `HeteroLR` of 2.0.0-alpha is the arbiter's protocol with its own settings."""
    kind = str(fate.kind_of(str(task.get("component_ref"))))
    if kind == "hetero_lr":
        if "epochs" not in parameters:
            raise PlanError(
                "this is a DAG of FATE 2.0.0-alpha, which is not read; provide the one that 2.0 or later writes"
            )
        return "coordinated_lr"
    return {"hetero_sshe_lr": "sshe_lr"}.get(kind, kind)


def _parameters(dag: Tree, name: str, task: Tree) -> dict[str, Any]:
    """The task's parameters, those of 2.0.0-alpha under `inputs`, and those of single parties over them."""
    merged = {**mapping(mapping(task, "inputs"), "parameters"), **mapping(task, "parameters")}
    for party in mapping(dag, "party_tasks").values():
        own = mapping(mapping(party, "tasks"), name)
        merged |= {**mapping(mapping(own, "inputs"), "parameters"), **mapping(own, "parameters")}
    return {str(key): value for key, value in merged.items()}


def _folds(task: Tree, parameters: Tree) -> dict[str, Any]:
    """Parameters for cross-validation, which 2.x does whenever a task is given `cv_data`."""
    table = mapping(parameters, "cv_param")
    if "cv_data" in mapping(mapping(task, "inputs"), "data"):
        return {"cv_param": {**table, "need_cv": True}}
    return {"cv_param": {**table, "need_cv": False}} if table else {}


def _parties(dag: Tree) -> Parties:
    roles: dict[str, list[Any]] = {}
    for party in listed(dag.get("parties")):
        if isinstance(party, Mapping):
            roles.setdefault(str(party.get("role", "")), []).extend(listed(party.get("party_id")))
    return fate.parties_from(roles)


def _version(tree: Tree, stated: SystemVersion | None) -> Read:
    schema = tree.get("schema_version")
    if stated is not None:
        said = f"; the file says {shown(schema)}, judged with this because you said so" if schema else ""
        return Read("version", ".".join(map(str, stated)), "file", f"--job-version{said}")
    try:
        parse_version(str(schema))
    except PlanError:
        return Read("version", "2.x", "assumed", "the file has a 2.x DAG")
    return Read("version", shown(schema), "file", "schema_version")
