"""FATE 1.x: a job's runtime configuration, of either version of its dsl, alone or together with the dsl."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from plumbob.jobs import fate
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.fate import Component
from plumbob.jobs.reading import Job, Read, Tree, listed, mapping, version_read

SECTIONS = ("component_parameters", "algorithm_parameters")
WRAPPERS = ("runtime_conf", "job_runtime_conf", "conf", "train_runtime_conf")
PARAMETERS = "parameters"
NEWEST: SystemVersion = (1, 11, 3)
SHORT_NAME = re.compile(r"(^|.*[_-])lr[_-]?\d*$")


def read_conf(tree: Tree, version: SystemVersion | None) -> Job | None:
    """The job, or None where there is no logistic regression to train in it."""
    conf, modules = unwrapped(tree), _modules(tree)
    if is_prediction(conf):
        return None
    found = _components(conf, modules)
    if not found:
        return None
    name, kind, parameters = found[0]
    others = tuple(other for other, _, given in found[1:] if given)
    told_version, read = _version(parameters, version)
    parties = fate.parties_from(conf.get("role"))
    component = Component(name, kind, parameters, others, fate.evaluates_classes(conf))
    ignored = [f"{other}: named without parameters; taken as prediction" for other, _, given in found[1:] if not given]
    return fate.job_of(component, told_version, parties, [read, *fate.party_entries(parties)], ignored)


def unwrapped(tree: Tree) -> Tree:
    """The configuration itself, where a request carries it together with the dsl."""
    return next((inner for name in WRAPPERS if (inner := mapping(tree, name))), tree)


def is_conf(tree: Tree) -> bool:
    """Whether this is a 1.x configuration at all."""
    conf = unwrapped(tree)
    return any(isinstance(conf.get(name), Mapping) for name in SECTIONS) or ("role" in conf and "initiator" in conf)


def is_prediction(conf: Tree) -> bool:
    """Whether a job applies a trained model."""
    jobs = mapping(conf, "job_parameters")
    return "predict" in (jobs.get("job_type"), mapping(jobs, "common").get("job_type"), conf.get("job_type"))


def component_names(tree: Tree) -> list[str]:
    """All components that a configuration mentions."""
    conf = unwrapped(tree)
    names = [name for part in _parts(conf) for name in part]
    return list(dict.fromkeys(str(name) for name in names if name not in ("args", "common", "role")))


def _modules(tree: Tree) -> dict[str, str]:
    """The module of each component, if the dsl came along."""
    halves = (mapping(tree, name) for name in ("dsl", "job_dsl", "train_dsl"))
    components = next((mapping(half, "components") for half in halves if half), {})
    return {name: str(mapping(components, name).get("module", "")) for name in components}


def _components(conf: Tree, modules: Mapping[str, str]) -> list[tuple[str, str, dict[str, Any]]]:
    """(name, kind, merged parameters) of each logistic regression; the first with parameters comes first."""
    merged: dict[str, dict[str, Any]] = {}
    for part in _parts(conf):
        for name, content in part.items():
            if isinstance(content, Mapping) and _kind(str(name), content, modules):
                merged.setdefault(str(name), {})
                _merge(merged[str(name)], {key: one for key, one in content.items() if key != PARAMETERS})
                # Files that were written by hand have the values one level down, as a DAG of 2.x has them.
                _merge(merged[str(name)], mapping(content, PARAMETERS))
    for name in modules:
        if _kind(name, {}, modules) and name not in merged:
            merged[name] = {}
    ordered = sorted(merged.items(), key=lambda item: not item[1])
    return [(name, str(_kind(name, given, modules)), given) for name, given in ordered]


def _kind(name: str, content: Tree, modules: Mapping[str, str]) -> str | None:
    if modules.get(name):
        return fate.kind_of(modules[name])
    if (kind := fate.kind_of(name)) is not None:
        return kind
    is_short = SHORT_NAME.match(name.lower()) is not None and "homo" not in name.lower()
    if is_short and "max_iter" in content and ("penalty" in content or "optimizer" in content):
        return "hetero_sshe_lr" if "reveal_strategy" in content or "reveal_every_iter" in content else "hetero_lr"
    return None


def _parts(conf: Tree) -> Iterator[Tree]:
    """The parameters in common first, then each role's own."""
    for section in SECTIONS:
        parameters = mapping(conf, section)
        yield parameters
        yield mapping(parameters, "common")
        yield from _role_parts(mapping(parameters, "role"))
    yield from (part for part in mapping(conf, "role_parameters").values() if isinstance(part, Mapping))


def _role_parts(roles: Tree) -> Iterator[Tree]:
    """The parameters of each party of a role, two levels down: {guest: {"0": {...}}}."""
    for role in roles.values():
        if isinstance(role, Mapping):
            yield from (part for part in role.values() if isinstance(part, Mapping))


def _merge(merged: dict[str, Any], content: Tree) -> None:
    """Put a role's values over the common ones; the first dsl has them in a list, one entry per party."""
    for name, value in content.items():
        single = listed(value)[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(single, Mapping) and isinstance(merged.get(name), Mapping):
            merged[name] = {**merged[name], **single}
        else:
            merged[str(name)] = single


def _version(parameters: Tree, stated: SystemVersion | None) -> tuple[SystemVersion, Read]:
    """The version whose defaults are meant, and what is printed about it."""
    why = "the file does not say; earlier ones cut batches once (--job-version)"
    if any(name in parameters for name in ("masked_rate", "batch_strategy", "shuffle")):
        why = "the file has settings that came with 1.7.2"
    return stated or NEWEST, version_read(stated, Read("version", "1.7.2 to 1.11.3", "assumed", why))
