"""SecretFlow's files: stored jobs (secretpad graphs, Kuscia jobs with JSON in a string, a component's own node), and
Python scripts that call its models or its component builders, read without running them.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plumbob.jobs import secretflow
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.reading import Computed, Job, Read, Tree, listed, mapping, version_read
from plumbob.jobs.scripts import PROGRAM, Call, calls_of, reveals_of, words_of
from plumbob.jobs.secretflow import PROTOCOLS, Model, SecureDevice, device_of

DEEPEST = 30
MOST_NODES = 2_000
LONGEST_TEXT = 2**20
OPENERS = ("read_data", "model_export")
"""Components that hand out what a training keeps in shares."""


@dataclass(frozen=True)
class Node:
    """One component with its attributes."""

    domain: str
    name: str
    version: str
    attributes: dict[str, Any]


def nodes_of(tree: Any) -> list[Node]:
    """Every component in a file, wherever it is."""
    nodes = (_node(table) for table in tables_of(tree))
    return [node for node in nodes if node is not None][:MOST_NODES]


def read_nodes(tree: Tree, version: SystemVersion | None) -> Job | None:
    """The job, or None where no component trains a logistic regression."""
    device = device_of(tables_of(tree))
    if (stated := _stated_model(tree, device)) is not None:
        return secretflow.job_of(stated, version or (1, 0), [_version("", version)])
    trained = [
        node for node in nodes_of(tree) if node.name.lower() in secretflow.NAMES and "predict" not in node.domain
    ]
    if not trained:
        return None
    node = trained[0]
    others = tuple(f"{other.domain}/{other.name}" for other in trained[1:])
    model = Model(node.name, node.attributes, device, others)
    leaving = [
        f"{one.domain}/{one.name} hands a model out; what that opens is not judged."
        for one in nodes_of(tree)
        if one.name in OPENERS
    ]
    return secretflow.job_of(model, version or (1, 0), [_version(node.version, version)], leaving)


def tables_of(value: Any, depth: int = 0) -> Iterator[Tree]:
    """Every table in a file, also those in JSON in a string."""
    if isinstance(value, str) and '"' in value and value.lstrip().startswith("{"):
        value = _parse_json(value)
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner if depth < DEEPEST else ():
        yield from tables_of(one, depth + 1)


def _parse_json(text: str) -> Any:
    """JSON in a string, as Kuscia keeps a task's settings."""
    try:
        return json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        return None


def _node(value: Tree) -> Node | None:
    name, domain = value.get("name"), value.get("domain")
    has_attributes = any(key in value for key in ("attr_paths", "attrPaths", "attrs"))
    if not isinstance(name, str) or not (isinstance(domain, str) or has_attributes) or _is_definition(value):
        return None
    return Node(str(domain or ""), name, str(value.get("version", "")), _attributes(value))


def _is_definition(value: Tree) -> bool:
    """Whether a table is a catalogue's definition of an attribute, with type and default, and not a job's value."""
    attributes = value.get("attrs")
    inner = attributes.values() if isinstance(attributes, Mapping) else listed(attributes)
    return any(isinstance(one, Mapping) and ("name" in one or "type" in one) for one in inner)


def _attributes(value: Tree) -> dict[str, Any]:
    attributes = value.get("attrs")
    if isinstance(attributes, Mapping):
        pairs = [(str(name), attribute_value(one)) for name, one in attributes.items()]
    else:
        paths = listed(value.get("attr_paths", value.get("attrPaths")))
        values = (attribute_value(one) for one in listed(attributes))
        pairs = list(zip(map(str, paths), values, strict=False))
    return {name: one for name, one in pairs if one is not None}


def attribute_value(attribute: Any) -> Any:
    """The value of an attribute: {"i64": "1024", "is_na": false} is 1024; {"is_na": true} is nothing."""
    if not isinstance(attribute, Mapping):
        return attribute
    if attribute.get("is_na", attribute.get("isNa")) is True:
        return None
    inner = [(kind, value) for kind, value in attribute.items() if kind not in ("is_na", "isNa")]
    if len(inner) != 1:
        return None
    kind, value = inner[0]
    return int(value) if kind == "i64" and isinstance(value, str) and value.lstrip("-").isdigit() else value


def _stated_model(tree: Tree, device: SecureDevice) -> Model | None:
    """The model whose arguments are written down: {model: SSRegression, fit: {...}}."""
    name = tree.get("model")
    if isinstance(name, str) and name.lower() in secretflow.NAMES:
        return Model(name, mapping(tree, "fit") or {key: one for key, one in tree.items() if key != "model"}, device)
    for key, content in tree.items():
        if str(key).lower() in secretflow.NAMES and isinstance(content, Mapping):
            return Model(str(key), mapping(content, "fit") or content, device)
    return None


def _version(component: str, stated: SystemVersion | None) -> Read:
    unsaid = Read("version", "1.x", "assumed", "the file does not say")
    return version_read(stated, Read("component_version", component, "file", "version") if component else unsaid)


# Scripts.

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
        # Whether the weights themselves are among what is revealed.
        is_opened=any(re.search(r"(spu_w|\b_w|weights)\b", one) for one in reveals),
    )
    told = version_read(version, Read("version", "1.x", "assumed", "the script does not say"))
    unseen = [f"{PROGRAM} {INSTEAD}", *(f"It opens this to all parties: {one}." for one in reveals)]
    return secretflow.job_of(chosen, version or (1, 0), [told], unseen)


def _device(script: ast.Module, calls: list[Call]) -> SecureDevice:
    """The device from tables that calls are given and protocols that are named anywhere."""
    values = [value for call in calls for value in (*call.arguments, *call.keywords.values())]
    named = [{"protocol": word} for word in words_of(script) if word in PROTOCOLS]
    return device_of([*(table for value in values for table in tables_of(value)), *named])


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
