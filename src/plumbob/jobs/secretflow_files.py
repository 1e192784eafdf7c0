"""SecretFlow's files: secretpad graphs, Kuscia jobs with JSON in a string, and a component's own node."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plumbob.jobs import secretflow
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.reading import Job, Read, Tree, listed, mapping, version_read
from plumbob.jobs.secretflow import Model, SecureDevice, device_of

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
