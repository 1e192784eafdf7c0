"""SecretFlow as it is stored: secretpad graphs, Kuscia jobs with JSON in a string, and a component's own node."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plumbob.jobs import secretflow
from plumbob.jobs.defaults import SystemVersion
from plumbob.jobs.reading import Job, Read, Tree, listed, mapping
from plumbob.jobs.secretflow import Model

DEEPEST = 30
MOST_NODES = 2_000
LONGEST_TEXT = 2**20


@dataclass(frozen=True)
class Node:
    """One component with its attributes."""

    domain: str
    name: str
    version: str
    attributes: dict[str, Any]
    key_bits: Any = None


def nodes_of(tree: Any) -> list[Node]:
    """Every component in a file, wherever it is."""
    nodes: list[Node] = []
    for node in _walk(tree, None, 0):
        nodes.append(node)
        if len(nodes) >= MOST_NODES:
            break
    return nodes


def read_nodes(tree: Tree, version: SystemVersion | None) -> Job | None:
    """The job, or None where no component trains a logistic regression."""
    if (stated := _stated_model(tree)) is not None:
        return secretflow.job_of(stated, version or (1, 0), [_version("", version)])
    trained = [node for node in nodes_of(tree) if is_training(node)]
    if not trained:
        return None
    node = trained[0]
    others = tuple(f"{other.domain}/{other.name}" for other in trained[1:])
    model = Model(node.name, node.attributes, node.key_bits, others)
    return secretflow.job_of(model, version or (1, 0), [_version(node.version, version)])


def is_training(node: Node) -> bool:
    """Whether a component trains a logistic regression, or one of its relatives."""
    return node.name.lower() in secretflow.NAMES and "predict" not in node.domain


def _walk(value: Any, key_bits: Any, depth: int) -> Iterator[Node]:
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        key_bits = _key_bits(value) or key_bits
        if (node := _node(value, key_bits)) is not None:
            yield node
        for inner in value.values():
            yield from _walk(inner, key_bits, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, key_bits, depth + 1)
    elif isinstance(value, str) and '"' in value and value.lstrip().startswith("{"):
        yield from _walk(_parse_json(value), key_bits, depth + 1)


def _parse_json(text: str) -> Any:
    """JSON in a string, as Kuscia keeps a task's settings."""
    try:
        return json.loads(text) if len(text) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        return None


def _node(value: Tree, key_bits: Any) -> Node | None:
    name, domain = value.get("name"), value.get("domain")
    has_attributes = any(key in value for key in ("attr_paths", "attrPaths", "attrs"))
    if not isinstance(name, str) or not (isinstance(domain, str) or has_attributes):
        return None
    return Node(str(domain or ""), name, str(value.get("version", "")), _attributes(value), key_bits)


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
    """{"i64": "1024", "is_na": false} is 1024; {"is_na": true} is nothing."""
    if not isinstance(attribute, Mapping):
        return attribute
    if attribute.get("is_na", attribute.get("isNa")) is True:
        return None
    inner = [(kind, value) for kind, value in attribute.items() if kind not in ("is_na", "isNa")]
    if len(inner) != 1:
        return None
    kind, value = inner[0]
    return int(value) if kind == "i64" and isinstance(value, str) and value.lstrip("-").isdigit() else value


def _key_bits(value: Tree) -> Any:
    """Of an HEU among a cluster's devices, whose settings are JSON in a string."""
    for device in listed(mapping(value, "sf_cluster_desc").get("devices")):
        if isinstance(device, Mapping) and device.get("type") == "heu":
            config = device.get("config")
            config = _parse_json(config) if isinstance(config, str) else config
            return config.get("key_size") if isinstance(config, Mapping) else None
    return None


def _stated_model(tree: Tree) -> Model | None:
    """{model: SSRegression, fit: {...}}: a model's arguments written down."""
    name = tree.get("model")
    if isinstance(name, str) and name.lower() in secretflow.NAMES:
        return Model(
            name, mapping(tree, "fit") or {key: one for key, one in tree.items() if key != "model"}, _heu_bits(tree)
        )
    for key, content in tree.items():
        if str(key).lower() in secretflow.NAMES and isinstance(content, Mapping):
            return Model(str(key), mapping(content, "fit") or content, _heu_bits(tree))
    return None


def _heu_bits(tree: Tree) -> Any:
    table = mapping(mapping(tree, "heu"), "he_parameters") or mapping(tree, "he_parameters")
    return mapping(mapping(table, "key_pair"), "generate").get("bit_size", tree.get("key_size"))


def _version(component: str, stated: SystemVersion | None) -> Read:
    if stated is not None:
        return Read("version", ".".join(map(str, stated)), "file", "--job-version")
    if component:
        return Read("component_version", component, "file", "version")
    return Read("version", "1.x", "assumed", "the file does not say")
