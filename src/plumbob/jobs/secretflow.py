"""Where SecretFlow's files have a logistic regression, and the secure devices that it calculates on.

A component's own node, a secretpad graph of nodes, and a Kuscia job, which keeps them as JSON in a string; and the
arguments of a class without a component as a table: {model: HESSLogisticRegression, fit: {...}}. What each protocol
of the SPU promises is said in its own `docs/reference/runtime_config.md` and spu.proto.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plumbob.jobs.components import FL_VERTICAL, HESS, SS_GLM_TRAIN, SS_SGD_TRAIN
from plumbob.jobs.reading import (
    Job,
    Read,
    SystemVersion,
    Tree,
    job_of,
    listed,
    mapping,
    short_text,
    tables,
    version_read,
)

NAMES = {
    "ss_sgd": SS_SGD_TRAIN,
    "ss_sgd_train": SS_SGD_TRAIN,
    "ss_glm": SS_GLM_TRAIN,
    "ss_glm_train": SS_GLM_TRAIN,
    "hesslogisticregression": HESS,
    "hess_sgd": HESS,
    "hess_sgd_train": HESS,
    "fllogisticregressionvertical": FL_VERTICAL,
    "fl_lr_v": FL_VERTICAL,
}
SHARES = "Shares are held by SecretFlow's computing nodes; they are judged as held by the parties themselves."
OPENERS = ("read_data", "model_export")
"""Components that hand out what a training keeps in shares."""
PREDICTED = ("ss_sgd", "ss_glm", "hess_sgd")
COMPONENT_ID = re.compile(r"([^/:]+)/([^/:]+):([^/:]+)")
"""ml.train/ss_sgd_train:1.0.0: what newer files have in place of a domain, a name and a version."""


def read_secretflow(tree: Any, version: SystemVersion | None) -> Job | None:
    """The job, or None where no component trains a logistic regression."""
    found = list(tables(tree))
    nodes = [*_called(tree), *(node for table in found if (node := _node(table)) is not None)]
    opening = [node for node in nodes if node.name in OPENERS]
    scored = [node.path for node in nodes if "predict" in node.path and node.name.startswith(PREDICTED)]
    trained = [node for node in nodes if node.name.lower() in NAMES and "predict" not in node.domain]
    unjudged = [node for node in nodes if node not in trained and node.uses_labels]
    if not trained:
        return None
    node, *others = trained
    component = NAMES[node.name.lower()]
    device = _device(found)
    has_key = any(field.key == "key_bits" for field in component.fields)
    given = {**node.attributes, **({"key_size": device.key_bits} if has_key and device.key_bits else {})}
    unsaid = Read("version", "1.x", "assumed", "the file does not say")
    stated = Read("component_version", node.version, "file", "version") if node.version else unsaid
    on_shares = component is not FL_VERTICAL
    job = job_of(
        component,
        given,
        node.name,
        version or max(component.since, (1, 0)),
        reads=(version_read(version, stated), *([device.read] if on_shares else [])),
        others=tuple(other.path for other in others),
        no_all_clear=(
            *(f"{opener.path} hands a model out; what that opens is not judged." for opener in opening),
            *(f"{other.path} uses the labels too, and is not judged." for other in unjudged),
            device.no_all_clear if on_shares else "",
        ),
    )
    trust = (device.trust, SHARES) if on_shares else ()
    scores = tuple(f"{path} scores rows; judged as if it scored all of them for the label party." for path in scored)
    remarks = (*filter(None, trust), *job.remarks, *scores)
    return replace(job, remarks=remarks, scores_rows=bool(scored), unprotected=device.unprotected)


# Nodes.


@dataclass(frozen=True)
class _Node:
    """One component with its attributes."""

    domain: str
    name: str
    version: str
    attributes: dict[str, Any]

    @property
    def path(self) -> str:
        return f"{self.domain}/{self.name}" if self.domain else self.name

    @property
    def uses_labels(self) -> bool:
        """Whether it trains, or counts the labels in each bin of a column."""
        return self.domain == "ml.train" or "woe_binning" in self.name


def _called(tree: Any) -> Iterator[_Node]:
    """The class whose arguments are written down."""
    named = tree.get("model") if isinstance(tree, Mapping) else None
    if isinstance(named, str) and named.lower() in NAMES:
        arguments = mapping(tree, "fit") or {name: value for name, value in tree.items() if name != "model"}
        yield _Node("", named, "", dict(arguments))


def _node(table: Tree) -> _Node | None:
    name, domain, attributes = table.get("name"), table.get("domain"), table.get("attrs")
    version = table.get("version", "")
    if domains := COMPONENT_ID.fullmatch(str(table.get("comp_id", table.get("compId", "")))):
        domain, name, version = domains.groups()
    paths = listed(table.get("attr_paths", table.get("attrPaths")))
    if not isinstance(name, str) or not (isinstance(domain, str) or paths or attributes):
        return None
    values = attributes.values() if isinstance(attributes, Mapping) else listed(attributes)
    if any(isinstance(one, Mapping) and ("name" in one or "type" in one) for one in values):
        return None  # A catalogue's definition of attributes, with types and defaults, and not a job's values.
    names = attributes if isinstance(attributes, Mapping) else paths
    given = {str(key): _attribute(one) for key, one in zip(names, values, strict=False)}
    stated = {key: one for key, one in given.items() if one is not None}
    return _Node(str(domain or ""), name, str(version), stated)


def _attribute(attribute: Any) -> Any:
    """The value of an attribute: {"i64": "1024", "is_na": false} is "1024"; {"is_na": true} is nothing."""
    if not isinstance(attribute, Mapping):
        return attribute
    if str(attribute.get("is_na", attribute.get("isNa"))).lower() == "true":
        return None
    values = [value for kind, value in attribute.items() if kind not in ("is_na", "isNa")]
    return values[0] if len(values) == 1 else None


# Devices.

# What HEU's library takes as its schema Mock (heu/library/phe/base/schema.cc).
MOCK_SCHEMAS = {"mock", "none", "plain"}
# In the order of SPU's numbers, from 1, the weakest first.
PROTOCOLS = ("REF2K", "SEMI2K", "ABY3", "CHEETAH", "SECURENN", "SWIFT")
DEALERS = ("TrustedFirstParty", "TrustedThirdParty", "MultiParty")
TRUST = {
    "ABY3": "The SPU runs ABY3 on three nodes: you must trust that no two of them pool what they hold.",
    "CHEETAH": "The SPU runs CHEETAH between two nodes, without a dealer: you must trust that both run it as it is.",
    "SECURENN": "The SPU runs SECURENN: you must trust that the third node, the helper, sides with nobody.",
    "SWIFT": "The SPU runs SWIFT on three nodes, which SPU calls experimental: you must trust that two keep to it.",
    "TrustedThirdParty": "The SPU runs SEMI2K with a dealer of its own: you must trust that it sides with nobody.",
    "MultiParty": "The SPU runs SEMI2K, and its nodes draw the random numbers together: you must trust nobody else.",
}
FIRST_PARTY = (
    "The SPU runs SEMI2K with its default dealer, the first party, which knows every random number that hides the "
    "others' values: you must trust it with all data. SPU calls this not safe for production."
)
NOT_STATED = (
    "The file does not say which protocol the SPU runs; provide the cluster's description with it. By default: "
)


@dataclass(frozen=True)
class _Device:
    """What hides the values while SecretFlow calculates."""

    protocol: str = ""
    """The SPU's protocol; empty where the file does not say."""
    dealer: str = DEALERS[0]
    key_bits: int | None = None
    unprotected: str = ""
    twice: str = ""
    """A party that runs several of the SPU's nodes, and so sees what all of them hold."""

    @property
    def trust(self) -> str:
        """Whom this makes you trust; empty where that is the first party, or not stated."""
        return TRUST.get(self.dealer if self.protocol == "SEMI2K" else self.protocol, "")

    @property
    def no_all_clear(self) -> str:
        if self.twice:
            return f"{short_text(self.twice)} runs several nodes of the SPU, and sees what all of them hold together."
        if self.trust or self.unprotected:
            return ""
        return FIRST_PARTY if self.protocol else f"{NOT_STATED}{FIRST_PARTY}"

    @property
    def read(self) -> Read:
        if self.protocol:
            return Read("spu_protocol", self.protocol, "file", "runtime_config.protocol")
        return Read("spu_protocol", "SEMI2K", "assumed", "the file does not say; SecretFlow's own examples have it")


def _device(found: Iterable[Tree]) -> _Device:
    """The device from all tables that were found; of several SPUs or keys the weakest."""
    spus: list[tuple[int, int]] = []
    bits: list[int] = []
    unprotected = twice = ""
    for table in found:
        if (protocol := _place(PROTOCOLS, table.get("protocol"), 1, "field" in table)) is not None:
            spus.append((protocol, _place(DEALERS, table.get("beaver_type"), 0, True) or 0))
        nodes = [
            str(node["party"]) for node in listed(table.get("nodes")) if isinstance(node, Mapping) and "party" in node
        ]
        twice = next((party for party in nodes if nodes.count(party) > 1), twice)
        keys = mapping(table, "he_parameters")
        size = mapping(mapping(keys, "key_pair"), "generate").get("bit_size", table.get("key_size"))
        if (known := _number(size)) is not None:
            bits.append(known)
        schemas = {str(schema).lower() for schema in (keys.get("schema"), table.get("schema")) if schema is not None}
        if found_mock := schemas & MOCK_SCHEMAS:
            unprotected = f"The HEU's schema is {min(found_mock)}, which encrypts nothing."
    protocol, dealer = min(spus, default=(None, 0))
    name = "" if protocol is None else PROTOCOLS[protocol]
    if name == "REF2K":
        unprotected = "The SPU runs REF2K, which protects nothing: SPU's documentation keeps it for debugging only."
    return _Device(name, DEALERS[dealer], min(bits, default=None), unprotected, twice)


def _place(names: tuple[str, ...], given: Any, first: int, takes_numbers: bool) -> int | None:
    """The place of a name, which may be given as a number or with a prefix: `ProtocolKind.REF2K`."""
    number = _number(given)
    if takes_numbers and number is not None and first <= number < first + len(names):
        return number - first
    word = given.rsplit(".", 1)[-1].lower() if isinstance(given, str) else ""
    lowered = [name.lower() for name in names]
    return lowered.index(word) if word in lowered else None


def _number(given: Any) -> int | None:
    """A number of at most six digits, also in quotes."""
    if isinstance(given, str) and len(given) <= 6 and given.isdecimal():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 10**6 else None
