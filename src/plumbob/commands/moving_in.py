"""A job of another system as a plan, so that `check` can say what it gives away.

Read are batch size, epochs, key length, learning rate, start, intercept, penalty and protocol. What such a file does
not say, the parties' columns and the number of rows, comes from flags, which also win over what it says. Where the
other system does something that no plan can, the nearest is taken and a remark says so.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plumbob.commands.yamlish import parse_yaml
from plumbob.errors import PlanError
from plumbob.plan import PROFILE_BITS, Plan

Tree = Mapping[str, Any]

FATE_NAMES = {
    "hetero_lr": "arbiter",
    "hetero_logistic_regression": "arbiter",
    "coordinated_lr": "arbiter",
    "hetero_sshe_lr": "shares",
    "sshe_lr": "shares",
}
SECRETFLOW_NAMES = {
    "ssregression": "shares",
    "ss_sgd_train": "shares",
    "ss_sgd": "shares",
    "hesslogisticregression": "shares",
    "hess_sgd": "shares",
    "fllogisticregressionvertical": "exchange",
    "fl_lr_v": "exchange",
}
# Both systems multiply shares under Paillier and hand the weights out at the end.
OTHERS_SHARES = {"scheme": "paillier", "open": "own"}
STARTS = {"zeros": "zero", "zero": "zero", "random_normal": "normal", "normal": "normal", "random_uniform": "xavier"}
FATE_SHAPE = (
    'a FATE job with a hetero LR: 1.x as JSON with "component_parameters" (or "algorithm_parameters") that names '
    'hetero_lr_0 or hetero_sshe_lr_0; 2.x as JSON or YAML with "dag: tasks:" that has a component_ref coordinated_lr '
    "or sshe_lr"
)
SECRETFLOW_SHAPE = (
    "a SecretFlow job with a regression: {model: SSRegression or HESSLogisticRegression or "
    'FlLogisticRegressionVertical, fit: {epochs: ..., batch_size: ...}}, or a component\'s node with "attr_paths" and '
    '"attrs" of ss_sgd_train'
)


@dataclass(frozen=True)
class Job:
    """What a job file says, in the plan's words."""

    system: str
    keys: dict[str, Any]
    feature_parties: int
    """0 where the file does not say."""
    remarks: list[str] = field(default_factory=list)


def from_fate(path: Path, keys: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """A FATE hetero-LR job's plan, and what was taken for what."""
    return _plan(fate_job(_read(path, FATE_SHAPE), path), keys)


def from_secretflow(path: Path, keys: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """The same for SecretFlow."""
    return _plan(secretflow_job(_read(path, SECRETFLOW_SHAPE), path), keys)


def _plan(job: Job, keys: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    features = keys.get("features")
    expected = job.feature_parties + 1 if job.feature_parties else 2
    if features is None or (job.feature_parties and len(features) != expected):
        got = "none" if features is None else f"{len(features)} numbers"
        raise PlanError(
            f"a {job.system} job does not say how many columns each party has: give --features with {expected} "
            f"numbers, label party first (and --rows); got {got}"
        )
    others = {name: value for name, value in keys.items() if name != "features"}
    opened = OTHERS_SHARES if job.keys["protocol"] == "shares" else {}
    return Plan.for_columns(features, title=f"from {job.system}", **{**opened, **job.keys, **others}), job.remarks


def _read(path: Path, shape: str) -> Tree:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: the job file cannot be read ({type(error).__name__})") from error
    try:
        tree = json.loads(text) if text.lstrip().startswith(("{", "[")) else parse_yaml(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path}: neither JSON nor simple YAML ({error}); expected {shape}") from error
    if not isinstance(tree, Mapping):
        raise PlanError(f"{path}: expected {shape}, got a list or a single value")
    return tree


# FATE.


def fate_job(tree: Tree, source: object) -> Job:
    """Of either generation."""
    tree = _mapping(tree, "runtime_conf") or _mapping(tree, "job_runtime_conf") or tree
    if "dag" in tree or "tasks" in tree:
        return _fate_2(tree, source)
    return _fate_1(tree, source)


def _fate_1(tree: Tree, source: object) -> Job:
    """Common parameters, then each role's own over them."""
    parameters = _mapping(tree, "component_parameters") or _mapping(tree, "algorithm_parameters")
    named = [parameters, _mapping(parameters, "common"), *_role_parameters(_mapping(parameters, "role"))]
    found = [(name, part[name]) for part in named for name in part if _fate_protocol(name) is not None]
    if not found:
        raise PlanError(f"{source}: expected {FATE_SHAPE}; found {_found(parameters or tree)}")
    protocol = _fate_protocol(found[0][0])
    merged: dict[str, Any] = {}
    for name, content in found:
        if name == found[0][0] and isinstance(content, Mapping):
            merged |= content
    hosts = _mapping(tree, "role").get("host")
    # The first generation draws new batches for every epoch unless told not to.
    is_shuffled = merged.get("shuffle", True) is not False
    return _fate_keys(merged, str(protocol), len(_listed(hosts)), "reshuffled" if is_shuffled else "fixed")


def _role_parameters(roles: Tree) -> Iterator[Tree]:
    """{guest: {"0": {...}}, host: {...}}: whatever lies two levels down."""
    for role in roles.values():
        if isinstance(role, Mapping):
            yield from (part for part in role.values() if isinstance(part, Mapping))


def _fate_2(tree: Tree, source: object) -> Job:
    """A pipeline's DAG."""
    dag = _mapping(tree, "dag") or tree
    tasks = _mapping(dag, "tasks")
    for name, task in tasks.items():
        if not isinstance(task, Mapping):
            continue
        protocol = _fate_protocol(str(task.get("component_ref", name)))
        if protocol is not None:
            parties = dag.get("parties", ())
            hosts = [
                len(_listed(party.get("party_id")))
                for party in (parties if isinstance(parties, list) else ())
                if isinstance(party, Mapping) and party.get("role") == "host"
            ]
            return _fate_keys(_mapping(task, "parameters"), protocol, sum(hosts), "fixed")
    raise PlanError(f"{source}: expected {FATE_SHAPE}; found tasks {_found(tasks)}")


def _fate_protocol(name: str) -> str | None:
    """`hetero_lr_0` is the first component of kind hetero_lr; some name theirs `scorecard-hetero-lr`."""
    words = name.lower().replace("-", "_").rstrip("0123456789").rstrip("_")
    longest_first = sorted(FATE_NAMES, key=len, reverse=True)
    return next((FATE_NAMES[kind] for kind in longest_first if words == kind or words.endswith(f"_{kind}")), None)


def _fate_keys(parameters: Tree, protocol: str, hosts: int, batches: str) -> Job:
    remarks: list[str] = []
    optimizer = parameters.get("optimizer", "sgd")
    details = _mapping(_mapping(parameters, "optimizer"), "optimizer_params")
    method = _mapping(parameters, "optimizer").get("method", "sgd") if isinstance(optimizer, Mapping) else optimizer
    rate = parameters.get("learning_rate", details.get("lr", details.get("learning_rate")))
    if isinstance(rate, Mapping):
        rate = None
    if str(method) != "sgd":
        remarks.append(f'optimizer "{method}" is taken as plain gradient descent: the equations are the same.')
    start = _mapping(parameters, "init_param")
    encryption = _mapping(parameters, "encrypt_param") or _mapping(parameters, "he_param")
    keys = {
        "protocol": protocol,
        **_batches(parameters, batches, remarks),
        **_epochs(parameters, ("max_iter", "epochs")),
        **_number("learning_rate", rate),
        **_start(start.get("init_method", start.get("method")), remarks),
        **_flag("intercept", start.get("fit_intercept")),
        **_penalty(parameters, details),
        **_key_bits(encryption.get("key_length"), remarks),
    }
    if protocol == "arbiter":
        keys["unmasked_gradients_for_the_arbiter"] = True
        remarks.append("FATE's arbiter decrypts all parties' gradients without masks; taken over as such.")
    return Job("FATE", keys, hosts, remarks)


# SecretFlow.


def secretflow_job(tree: Tree, source: object) -> Job:
    """Arguments of a model's `fit`, or a component's node."""
    name, arguments = _secretflow_arguments(tree)
    protocol = SECRETFLOW_NAMES.get(name.lower())
    if protocol is None:
        raise PlanError(f"{source}: expected {SECRETFLOW_SHAPE}; found {name or _found(tree)}")
    remarks: list[str] = []
    heu = _mapping(_mapping(tree, "heu"), "he_parameters") or _mapping(tree, "he_parameters")
    generated = _mapping(_mapping(heu, "key_pair"), "generate")
    keys = {
        "protocol": protocol,
        **_batches(arguments, "fixed", remarks),
        **_epochs(arguments, ("epochs", "epoch")),
        **_number("learning_rate", arguments.get("learning_rate")),
        **_penalty(arguments, {}),
        **_key_bits(generated.get("bit_size", tree.get("key_size")), remarks),
    }
    signature = str(arguments.get("sig_type", "t1"))
    if signature not in ("t1", "SigType.T1", "1"):
        remarks.append(f'sig_type "{signature}" is taken as Taylor: what a step reveals does not depend on it here.')
    if name.lower() in ("ssregression", "ss_sgd_train", "ss_sgd"):
        remarks.append("Secret sharing among computing nodes is taken as shares between two parties.")
    return Job("SecretFlow", keys, 0, remarks)


def _secretflow_arguments(tree: Tree) -> tuple[str, Tree]:
    node = _mapping(tree, "sf_node_eval_param") or tree
    if "attr_paths" in node:
        paths, values = _listed(node.get("attr_paths")), _listed(node.get("attrs"))
        return str(node.get("name", "")), dict(zip(map(str, paths), map(_attribute, values), strict=False))
    for name, content in tree.items():
        if name.lower() in SECRETFLOW_NAMES and isinstance(content, Mapping):
            return name, _mapping(content, "fit") or content
    return str(tree.get("model", "")), _mapping(tree, "fit") or tree


def _attribute(value: Any) -> Any:
    """{"i64": "10"} is how a component's node writes 10."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    return int(inner) if kind == "i64" else inner


# Both.


def _batches(parameters: Tree, usual: str, remarks: list[str]) -> dict[str, Any]:
    size = parameters.get("batch_size")
    if size is None or str(size) in ("-1", "None", "null"):
        return {"batches": "full"}
    kind = "reshuffled" if parameters.get("batch_strategy") == "random" else usual
    how = "drawn anew in every epoch" if kind == "reshuffled" else "cut once and the same in every epoch"
    remarks.append(f"Batches are taken as {how}; if that is not so, say --batches.")
    return {"batch_size": _whole("batch_size", size), "batches": kind}


def _epochs(parameters: Tree, names: tuple[str, ...]) -> dict[str, int]:
    values = [parameters[name] for name in names if parameters.get(name) is not None]
    return {"epochs": _whole("epochs", values[0])} if values else {}


def _start(method: Any, remarks: list[str]) -> dict[str, str]:
    if method is None:
        return {}
    if str(method) not in STARTS:
        remarks.append(f'start "{method}" is taken as zero.')
    return {"start": STARTS.get(str(method), "zero")}


def _penalty(parameters: Tree, details: Tree) -> dict[str, float]:
    if str(parameters.get("penalty", parameters.get("reg_type", ""))).lower() not in ("l2", "regtype.l2"):
        return {}
    values = (parameters.get("alpha"), details.get("alpha"), parameters.get("l2_norm"))
    strength = next((value for value in values if value is not None), None)
    return _number("l2", strength)


def _key_bits(bits: Any, remarks: list[str]) -> dict[str, Any]:
    if bits is None:
        return {}
    length = _whole("key length", bits)
    if length in PROFILE_BITS:
        return {"key_bits": length}
    remarks.append(f"Keys of {length} bits are too short to protect anything for long; use 2048 or more.")
    return {"key_bits": length, "test_only_keys": True}


def _number(name: str, value: Any) -> dict[str, float]:
    try:
        return {} if value is None else {name: float(value)}
    except (TypeError, ValueError):
        raise PlanError(f"{name}: expected a number in the job file, got {value!r}") from None


def _flag(name: str, value: Any) -> dict[str, bool]:
    return {} if value is None else {name: bool(value)}


def _whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise PlanError(f"{name}: expected a whole number in the job file, got {value!r}") from None


def _mapping(tree: Tree, name: str) -> Tree:
    content = tree.get(name)
    return content if isinstance(content, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _found(tree: Tree) -> str:
    return ", ".join(list(map(str, tree))[:8]) or "nothing"
