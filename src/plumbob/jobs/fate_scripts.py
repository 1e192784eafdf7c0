"""FATE pipeline scripts: the arguments of `HeteroLR(...)`, `CoordinatedLR(...)` and others, read without running."""

import ast
from typing import Any

from plumbob.jobs import fate
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.fate import Component
from plumbob.jobs.reading import Computed, Job, Parties, Read, listed, shown, version_read
from plumbob.jobs.scripts import PROGRAM, Call, calls_of, imported_names

CLASSES = {
    "HeteroLR": "hetero_lr",
    "HeteroSSHELR": "hetero_sshe_lr",
    "HeteroSSHELr": "hetero_sshe_lr",
    "CoordinatedLR": "coordinated_lr",
    "SSHELR": "sshe_lr",
}
# By the folder of the example that a script imports its helper from.
HELPERS = {"hetero_logistic_regression": "HeteroLR", "hetero_sshe_lr": "HeteroSSHELR", "hetero_lr": "HeteroLR"}
INSTEAD = "Provide the job that it submits: the DAG that `pipeline.get_dag()` writes, or the conf of 1.x."
DATA = ("train_data", "validate_data", "test_data", "cv_data", "warm_start_model", "input_model", "runtime_parties")


def read_script(script: ast.Module, version: SystemVersion | None) -> Job | None:
    """The job, or None where the script trains no such model."""
    calls = calls_of(script)
    made = [
        call for call in calls if call.name in CLASSES and not _predicts(call, calls)
    ] or _settings_handed_to_helpers(script, calls)
    if not made:
        return None
    first = max(made, key=lambda call: len(_parameters(call)))
    others = tuple(_name(call) for call in made if call is not first and not _applies(call, calls))
    kind = _kind(first, script)
    parties = _parties(calls)
    has_classes = any(fate.evaluates_classes(call.keywords) for call in calls)
    component = Component(_name(first), kind, _with_folds(first), others, has_classes)
    told = [_version(kind, version), *fate.party_entries(parties)]
    is_two = kind in ("coordinated_lr", "sshe_lr", "hetero_lr_alpha")
    unclear = ["**settings that the script computes"] if first.has_unknown_keywords else []
    known = version or ((2, 0) if is_two else (1, 11, 3))
    return fate.job_of(component, known, parties, told, unclear, [f"{PROGRAM} {INSTEAD}"])


def is_unknown(script: ast.Module) -> bool:
    """Whether a script trains such a model with settings that are all taken from elsewhere."""
    made = [call for call in calls_of(script) if call.name in CLASSES]
    return bool(made) and all(_states_nothing(call) for call in made)


def _states_nothing(call: Call) -> bool:
    values = _parameters(call).values()
    return call.has_unknown_keywords and all(isinstance(value, Computed) for value in values)


def _settings_handed_to_helpers(script: ast.Module, calls: list[Call]) -> list[Call]:
    """Settings that a script hands to a helper of the same example, which builds the component."""
    helpers = [name for name in imported_names(script) if name.startswith("examples.")]
    name = next((HELPERS[word] for helper in helpers for word in HELPERS if word in helper), None)
    tables = [(call, table) for call in calls for table in (*call.arguments, *call.keywords.values())]
    for call, table in tables:
        if name is not None and isinstance(table, dict) and "max_iter" in table:
            return [Call(name, "", (), table, False, call.line, "")]
    return []


def _parameters(call: Call) -> dict[str, Any]:
    return {name: value for name, value in call.keywords.items() if name not in (*DATA, "name")}


def _with_folds(call: Call) -> dict[str, Any]:
    parameters = _parameters(call)
    if "cv_data" in call.keywords and isinstance(parameters.get("cv_param"), dict):
        return {**parameters, "cv_param": {**parameters["cv_param"], "need_cv": True}}
    return parameters


def _name(call: Call) -> str:
    given = call.keywords.get("name", call.arguments[0] if call.arguments else call.target)
    return shown(given) if isinstance(given, str) else call.target or call.name


def _predicts(call: Call, calls: list[Call]) -> bool:
    """Whether a call predicts: 2.x passes the data to the component, 1.x to `add_component`."""
    if "test_data" in call.keywords and not {"train_data", "cv_data"} & set(call.keywords):
        return True
    return _applies(call, calls)


def _applies(call: Call, calls: list[Call]) -> bool:
    for added in calls:
        if added.name == "add_component" and added.arguments and call.target:
            component, data = added.arguments[0], added.keywords.get("data")
            is_it = isinstance(component, Computed) and component.text in (call.target, call.name)
            if is_it and component.text == call.target and isinstance(data, dict) and set(data) == {"test_data"}:
                return True
    return False


def _kind(call: Call, script: ast.Module) -> str:
    kind = CLASSES[call.name]
    is_two = any(name.startswith("fate_client") for name in imported_names(script))
    return "hetero_lr_alpha" if is_two and kind == "hetero_lr" else kind


def _parties(calls: list[Call]) -> Parties:
    """The parties of the last pipeline with hosts: an upload comes before it, and names only the guest."""
    told = [call.keywords for call in calls if call.name in ("set_roles", "set_parties")]
    last: dict[str, Any] = next((roles for roles in reversed(told) if "host" in roles), {})
    stated = {role: _ids(value) for role, value in last.items()}
    return fate.parties_from({role: ids for role, ids in stated.items() if ids})


def _ids(value: Any) -> list[Any]:
    ids = listed(value)
    return [] if any(isinstance(one, Computed) for one in ids) else ids


def _version(kind: str, stated: SystemVersion | None) -> Read:
    version, why = "1.7.2 to 1.11.3", "the script does not say; earlier ones cut batches once"
    if kind in ("coordinated_lr", "sshe_lr"):
        version, why = "2.x", "the script has a component of 2.x"
    elif kind == "hetero_lr_alpha":
        version, why = "2.0.0-alpha", "the script imports fate_client and a HeteroLR"
    return version_read(stated, Read("version", version, "assumed", why))
