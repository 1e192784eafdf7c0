"""Where FATE's files have a logistic regression: the runtime conf of 1.x, with either dsl, and the DAG of 2.x.

A Kuscia job that runs FATE keeps the conf of each task as JSON in a string.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from plumbob.errors import PlanError
from plumbob.jobs.components import COORDINATED_LR, HETERO_LR, HETERO_SSHE_LR, SSHE_LR
from plumbob.jobs.reading import (
    Component,
    Job,
    Parties,
    Read,
    SystemVersion,
    Tree,
    job_of,
    listed,
    mapping,
    parse_version,
    short_text,
    tables,
    version_read,
)

# By the end of a component's name or module in lower case, without signs: HeteroLR, hetero_lr, hetero-lr-0 are one.
ENDINGS = {
    "heterosshelr": HETERO_SSHE_LR,
    "sshelr": SSHE_LR,
    "heterolr": HETERO_LR,
    "heterologisticregression": HETERO_LR,
    "coordinatedlr": COORDINATED_LR,
}
IN_A_DAG = {"hetero_lr": COORDINATED_LR, "hetero_sshe_lr": SSHE_LR}
SECTIONS = ("component_parameters", "algorithm_parameters")
WRAPPERS = ("runtime_conf", "job_runtime_conf", "conf", "train_runtime_conf")
PARAMETERS = "parameters"
SHORT_NAME = re.compile(r"(^|.*[_-])lr[_-]?\d*$")


def read_fate(tree: Any, version: SystemVersion | None) -> Job | None:
    """The job, or None where there is no logistic regression to train in it."""
    if not isinstance(tree, Mapping):
        return None
    tree = _answer(tree)
    dag = _dag_of(tree)
    job = _read_conf(tree, version) if dag is None else _read_dag(tree, dag, version)
    if job is not None or str(tree.get("kind", "")).lower() != "kusciajob":
        return job
    confs = [table for table in tables(tree) if mapping(table, "runtime_conf")]
    jobs = [found for conf in confs if (found := _read_conf(conf, version)) is not None]
    if not jobs:
        return None
    unjudged = tuple(f"{other.component} trains in another task, and is not judged." for other in jobs[1:])
    return replace(jobs[0], no_all_clear=(*jobs[0].no_all_clear, *unjudged))


def _answer(tree: Tree) -> Tree:
    """The job in what FATE Flow answers when it is asked for one: {retcode: 0, data: {...}}, {code: 0, data: [...]}."""
    data = listed(tree.get("data"))
    if len(data) != 1 or not isinstance(data[0], Mapping) or {"code", "retcode"}.isdisjoint(tree):
        return tree
    return mapping(data[0], "dag") or data[0]


def _component(name: str) -> Component | None:
    """Which logistic regression a component's name or module stands for."""
    words = re.sub(r"[\d\W_]+", "", name.strip().lower())
    if words.startswith("homo") or "linr" in words:
        return None
    return next((component for ending, component in ENDINGS.items() if words.endswith(ending)), None)


# The conf of 1.x.


def _read_conf(tree: Tree, version: SystemVersion | None) -> Job | None:
    conf = next((inner for name in WRAPPERS if (inner := mapping(tree, name))), tree)
    jobs = mapping(conf, "job_parameters")
    if "predict" in (jobs.get("job_type"), mapping(jobs, "common").get("job_type"), conf.get("job_type")):
        return None
    found = _in_conf(conf, _modules(tree))
    if not found:
        return None
    name, component, given = found[0]
    parties = _parties(mapping(conf, "role").items())
    given = {**given, **({"one_vs_rest_param": {"need_one_vs_rest": True}} if _has_classes(conf) else {})}
    why = "the file does not say; earlier ones cut batches once (--job-version)"
    assumed = Read("version", "1.7.2", "assumed", why)
    return job_of(
        component,
        given,
        name,
        version,
        reads=(version_read(version, assumed), *_party_reads(parties)),
        ignored=[f"{other}: named without parameters; taken as prediction" for other, _, own in found[1:] if not own],
        others=tuple(other for other, _, own in found[1:] if own),
        parties=parties,
    )


def _modules(tree: Tree) -> dict[str, str]:
    """The module of each component, if the dsl came along."""
    halves = (mapping(tree, name) for name in ("dsl", "job_dsl", "train_dsl"))
    components = next((mapping(half, "components") for half in halves if half), {})
    return {name: str(mapping(components, name).get("module", "")) for name in components}


def _in_conf(conf: Tree, modules: Mapping[str, str]) -> list[tuple[str, Component, dict[str, Any]]]:
    """(name, component, parameters) of each logistic regression; the first with parameters comes first."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in modules if _of_conf(name, {}, modules)}
    for part in _parts(conf):
        for name, content in part.items():
            if isinstance(content, Mapping) and _of_conf(str(name), content, modules):
                given = merged.setdefault(str(name), {})
                _merge(given, {key: value for key, value in content.items() if key != PARAMETERS}, str(name))
                # Files that were written by hand have the values one level down, as a DAG of 2.x has them.
                _merge(given, mapping(content, PARAMETERS), str(name))
    ordered = sorted(merged.items(), key=lambda item: not item[1])
    return [
        (name, component, given) for name, given in ordered if (component := _of_conf(name, given, modules)) is not None
    ]


def _of_conf(name: str, content: Tree, modules: Mapping[str, str]) -> Component | None:
    if modules.get(name):
        return _component(modules[name])
    if (component := _component(name)) is not None:
        return component
    content = {**content, **mapping(content, PARAMETERS)}
    is_short = SHORT_NAME.match(name.lower()) is not None and "homo" not in name.lower()
    if is_short and "max_iter" in content and not {"penalty", "optimizer"}.isdisjoint(content):
        is_sshe = not {"reveal_strategy", "reveal_every_iter"}.isdisjoint(content)
        return HETERO_SSHE_LR if is_sshe else HETERO_LR
    return None


def _parts(conf: Tree) -> Iterator[Tree]:
    """The parameters in common first, then each role's own."""
    for section in SECTIONS:
        parameters = mapping(conf, section)
        yield parameters
        yield mapping(parameters, "common")
        for role in mapping(parameters, "role").values():
            # Two levels down, by the party's place: {guest: {"0": {...}}}.
            yield from (part for part in listed(role and [*role.values()]) if isinstance(part, Mapping))
    yield from (part for part in mapping(conf, "role_parameters").values() if isinstance(part, Mapping))


def _merge(merged: dict[str, Any], content: Tree, path: str) -> None:
    """Put a role's values beside the common ones, which they must not contradict; the first dsl has them in lists."""
    for name, value in content.items():
        single = value[0] if isinstance(value, list) and value and value == value[:1] * len(value) else value
        before = merged.setdefault(str(name), {} if isinstance(single, Mapping) else single)
        if isinstance(single, Mapping) and isinstance(before, Mapping):
            merged[str(name)] = dict(before)
            _merge(merged[str(name)], single, f"{path}.{name}")
        elif before != single:
            # Any of them may be the one that counts: the key, for one, is the arbiter's.
            raise PlanError(
                f"{path}.{name}: the file has different values for it, {short_text(before)} and {short_text(single)}; "
                "provide a file with the one that all parties use"
            )


# The DAG of 2.x.


def _dag_of(tree: Tree) -> Tree | None:
    """The part with the tasks; one of another interface (BFIA) looks alike and has other rules."""
    if str(tree.get("kind", "")).lower() == "bfia":
        return None
    for inner in (mapping(tree, "dag"), mapping(mapping(tree, "dag_schema"), "dag"), tree):
        tasks = mapping(inner, "tasks").values()
        if any(isinstance(task, Mapping) and "component_ref" in task for task in tasks):
            return inner
    return None


def _read_dag(tree: Tree, dag: Tree, version: SystemVersion | None) -> Job | None:
    found = {
        str(name): component
        for name, task in mapping(dag, "tasks").items()
        if isinstance(task, Mapping) and (component := _component(str(task.get("component_ref", "")))) is not None
    }
    predicting = [name for name in found if _predicts(dag, mapping(mapping(dag, "tasks"), name))]
    trained = [name for name in found if name not in predicting]
    if not trained:
        return None
    name, *others = trained
    given = _given_in(dag, name)
    component = IN_A_DAG.get(found[name].name, found[name])
    if found[name] is HETERO_LR and "epochs" not in given:
        raise PlanError(
            "this is a DAG of FATE 2.0.0-alpha, which is not read; provide the one that 2.0 or later writes"
        )
    roles = ((party.get("role"), party.get("party_id")) for party in listed(dag.get("parties")) if party)
    parties = _parties(roles)
    return job_of(
        component,
        given,
        name,
        version,
        reads=(_dag_version(tree, version), *_party_reads(parties)),
        ignored=[f"{other}: applies a model" for other in predicting],
        others=tuple(others),
        parties=parties,
    )


def _predicts(dag: Tree, task: Tree) -> bool:
    data = mapping(mapping(task, "inputs"), "data")
    is_only_tested = "test_data" in data and not {"train_data", "cv_data"} & set(data)
    return is_only_tested or "predict" in (str(dag.get("stage")).lower(), str(task.get("stage")).lower())


def _given_in(dag: Tree, name: str) -> dict[str, Any]:
    """A task's parameters, with those of single parties over them, and how often it trains."""
    task = mapping(mapping(dag, "tasks"), name)
    own = [mapping(mapping(party, "tasks"), name) for party in mapping(dag, "party_tasks").values()]
    given: dict[str, Any] = {}
    for part in (task, *own):
        _merge(given, {**mapping(mapping(part, "inputs"), PARAMETERS), **mapping(part, PARAMETERS)}, name)
    # 2.x cross-validates whenever a task has `cv_data`.
    has_folds = "cv_data" in mapping(mapping(task, "inputs"), "data")
    if has_folds or mapping(given, "cv_param"):
        given["cv_param"] = {**mapping(given, "cv_param"), "need_cv": has_folds}
    if _has_classes(dag):
        given["one_vs_rest_param"] = {"need_one_vs_rest": True}
    return given


def _dag_version(tree: Tree, stated: SystemVersion | None) -> Read:
    schema = tree.get("schema_version")
    try:
        parse_version(str(schema))
        return version_read(stated, Read("version", short_text(schema), "file", "schema_version"))
    except PlanError:
        return version_read(stated, Read("version", "2.x", "assumed", "the file has a 2.x DAG"))


# What both have.


def _has_classes(tree: Any) -> bool:
    """Whether an evaluation anywhere in a job is set to several classes, for which FATE trains one model each."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if any("multi" in listed(value.get(name)) for name in ("eval_type", "default_eval_setting")):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _parties(roles: Any) -> Parties:
    """The parties from pairs such as (guest, [9999]), as text."""
    ids: dict[str, list[str]] = {}
    for role, given in roles:
        ids.setdefault(str(role).lower(), []).extend(short_text(identity) for identity in listed(given))
    return Parties(*(tuple(ids.get(role, ())) for role in ("guest", "host", "arbiter")))


def _party_reads(parties: Parties) -> list[Read]:
    named = {"guest": parties.label, "host": parties.features, "arbiter": parties.arbiter}
    return [Read(role, ", ".join(ids), "file", f"role.{role}") for role, ids in named.items() if ids]
