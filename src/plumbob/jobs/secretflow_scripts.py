"""SecretFlow in Python: calls to its models and to its component builders, read from a script without running it."""

import ast
import re
from dataclasses import replace
from typing import Any

from plumbob.jobs import secretflow
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.reading import Computed, Job, Read, version_read
from plumbob.jobs.scripts import PROGRAM, Call, calls_of, reveals_of, words_of
from plumbob.jobs.secretflow import PROTOCOLS, Model, SecureDevice, device_of
from plumbob.jobs.secretflow_nodes import attribute_value, tables_of

# What each model's training takes, in the order of its arguments.
SIGNATURES = {
    ("SSRegression", "fit"): (
        "x y epochs learning_rate batch_size sig_type reg_type penalty l2_norm eps decay_epoch decay_rate strategy"
    ),
    ("HESSLogisticRegression", "fit"): "x y learning_rate epochs batch_size",
    ("FlLogisticRegressionVertical", "fit"): "x y batch_size epochs tol learning_rate",
    ("SSGLM", "fit_sgd"): (
        "x y offset weight epochs link dist tweedie_power scale learning_rate batch_size iter_start_irls decay_epoch "
        "decay_rate l2_lambda"
    ),
    ("SSGLM", "fit_irls"): "x y offset weight epochs link dist tweedie_power scale l2_lambda",
}
MODELS = {model for model, _ in SIGNATURES}
INSTEAD = "Provide the component's configuration: the node, the graph or the Kuscia job that it runs as."
BUILDERS = ("build_node_eval_param", "NodeEvalParam", "TestComp", "TestCompV2")


def read_script(script: ast.Module, version: SystemVersion | None) -> Job | None:
    """The job, or None where the script trains no such model with settings that can be known."""
    calls = calls_of(script)
    models = [*_trained_models(calls), *_built(calls)]
    if not models:
        return None
    first, reveals = models[0], reveals_of(script)
    chosen = replace(
        first,
        device=_device(script, calls),
        others=tuple(model.name for model in models[1:]),
        is_opened=_opens(reveals),
    )
    told = version_read(version, Read("version", "1.x", "assumed", "the script does not say"))
    unseen = [f"{PROGRAM} {INSTEAD}", *(f"It opens this to all parties: {one}." for one in reveals)]
    return secretflow.job_of(chosen, version or (1, 0), [told], unseen)


def _device(script: ast.Module, calls: list[Call]) -> SecureDevice:
    """The device from tables that calls are given and protocols that are named anywhere."""
    values = [value for call in calls for value in (*call.arguments, *call.keywords.values())]
    named = [{"protocol": word} for word in words_of(script) if word in PROTOCOLS]
    return device_of([*(table for value in values for table in tables_of(value)), *named])


def _opens(reveals: list[str]) -> bool:
    """Whether the weights themselves are among what is revealed."""
    return any(re.search(r"(spu_w|\b_w|weights)\b", one) for one in reveals)


def builds_from_elsewhere(script: ast.Module) -> bool:
    """Whether a script builds such a component with attributes that it loads from another file."""
    return any(_component(call) is not None and _component_attributes(call) is None for call in calls_of(script))


# model = SSRegression(spu); model.fit(...)


def _trained_models(calls: list[Call]) -> list[Model]:
    made: dict[str, Call] = {}
    models: list[Model] = []
    for call in calls:
        if call.name in MODELS and call.target:
            made[call.target] = call
        owner = made[call.owner].name if call.owner in made else call.owner
        signature = SIGNATURES.get((owner, call.name))
        if signature is not None:
            aggregator = _aggregator(made.get(call.owner), calls) if owner == "FlLogisticRegressionVertical" else ""
            models.append(Model(owner, _arguments(call, signature.split()), aggregator=aggregator))
    return [model for model in models if _states_something(model)]


def _states_something(model: Model) -> bool:
    values = model.parameters.values()
    return not values or not all(isinstance(value, Computed) for value in values)


def _arguments(call: Call, names: list[str]) -> dict[str, Any]:
    given = {**dict(zip(names, call.arguments, strict=False)), **call.keywords}
    tables = ("x", "y", "offset", "weight", "epoch_callback", "recovery_checkpoint")
    return {name: value for name, value in given.items() if name not in tables}


def _aggregator(made: Call | None, calls: list[Call]) -> str:
    names = {call.name for call in calls}
    return (
        "plain" if made is not None and "PlainAggregator" in names else "secure" if "SecureAggregator" in names else ""
    )


# A component's node, built by a function.


def _built(calls: list[Call]) -> list[Model]:
    models: list[Model] = []
    for call in calls:
        name, attributes = _component(call), _component_attributes(call)
        if name is not None and attributes is not None:
            models.append(Model(name, attributes))
    return models


def _component(call: Call) -> str | None:
    """The component's name, where a call builds one that trains such a model."""
    if call.name not in BUILDERS:
        return None
    candidates = [call.keywords.get("name"), *call.arguments]
    names = [one for one in candidates if isinstance(one, str)]
    known = [name for name in names if name.lower() in secretflow.NAMES and "_" in name]
    return known[0] if known and not any("predict" in name for name in names) else None


def _component_attributes(call: Call) -> dict[str, Any] | None:
    """The attributes of a component; None where the script takes them from elsewhere."""
    paths, values = call.keywords.get("attr_paths"), call.keywords.get("attrs")
    if isinstance(paths, list) and isinstance(values, list):
        pairs = zip(map(str, paths), map(attribute_value, values), strict=False)
        return {name: value for name, value in pairs if value is not None}
    tables = [values, *call.arguments]
    return next((one for one in tables if isinstance(one, dict)), None)
