"""A small job file of each kind that other people have: what it is, and in what it differs from its neighbours.

Those in YAML lie beside this file; all others are written as JSON when a test first asks for one.
"""

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

YAML = Path(__file__).parent / "files"
Tree = dict[str, Any]


# FATE 1.x: the runtime conf.

STATED: Tree = {"max_iter": 7, "learning_rate": 0.3, "batch_size": 50, "alpha": 0.02, "penalty": "L2"}
ALL_ROWS: Tree = {**STATED, "batch_size": -1, "masked_rate": 0, "shuffle": False, "encrypt_param": {"key_length": 2048}}
ROLES: Tree = {"guest": [1], "host": [2], "arbiter": [3]}
WITHOUT_ARBITER: Tree = {"guest": [1], "host": [2]}


def conf(parameters: Tree, roles: Tree = ROLES, name: str = "hetero_lr_0", **more: Any) -> Tree:
    """A conf with one logistic regression."""
    common = {"dsl_version": 2, "initiator": {"role": "guest", "party_id": 1}, "role": roles}
    return {**common, "component_parameters": {"common": {name: parameters, **more.pop("beside", {})}, **more}}


def modules(*names: str) -> Tree:
    """A dsl in which these components are logistic regressions."""
    return {"components": {name: {"module": "HeteroLR"} for name in names}}


SSHE: Tree = {"max_iter": 3, "init_param": {"init_method": "random_uniform"}}
FATE_1: dict[str, Tree] = {
    "silent": conf({"optimizer": "sgd"}),
    "stated": conf(
        {
            **STATED,
            "encrypt_param": {"key_length": 2048},
            "init_param": {"init_method": "zeros"},
            "tol": 0.1,
            "something_new": 3,
        }
    ),
    "batches": conf({"batch_size": 50}),
    "random-batch": conf({"batch_size": 50, "batch_strategy": "random"}),
    "no-decoys": conf({"batch_size": 50, "masked_rate": 0, "shuffle": False}),
    "folds": conf({"cv_param": {"need_cv": True, "n_splits": 4}}),
    "steps": conf({"stepwise_param": {"need_stepwise": True, "max_step": 3}}),
    "classes": conf(STATED, beside={"evaluation_0": {"eval_type": "multi"}}),
    "no-encryption": conf({"encrypt_param": {"method": None, "key_length": 2048}}),
    "variants": conf(
        {
            "penalty": "L1",
            "alpha": 0.5,
            "optimizer": "sqn",
            "one_vs_rest_param": {"need_one_vs_rest": True},
            "sample_weight": "w",
            "validation_freqs": 1,
            "cv_param": {"need_cv": False, "n_splits": 4},
        }
    ),
    "arbiter-is-third": conf(ALL_ROWS),
    "arbiter-is-guest": conf(ALL_ROWS, {**ROLES, "arbiter": [1]}),
    "arbiter-is-host": conf(ALL_ROWS, {**ROLES, "arbiter": [2]}),
    "arbiter-is-second-host": conf(ALL_ROWS, {"guest": [1], "host": [4, 5], "arbiter": [5]}),
    "arbiter-unnamed": conf(ALL_ROWS, WITHOUT_ARBITER),
    # Values in other places, and under other names.
    "parameters": conf({"parameters": STATED}),
    "role": conf(
        {name: value for name, value in STATED.items() if name != "max_iter"},
        role={"host": {"0": {"hetero_lr_0": {"max_iter": 8}}}},
    ),
    "short-name": conf({"parameters": {"max_iter": 6, "optimizer": "adam", "reveal_every_iter": True}}, name="my_lr_0"),
    "with-dsl": {
        "runtime_conf": conf({"max_iter": 5, "penalty": "L2"}, name="train"),
        "dsl": modules("train", "again"),
    },
    "answer-of-flow": {
        "retcode": 0,
        "retmsg": "success",
        "data": {
            "runtime_conf": conf(
                {"max_iter": 7, "batch_size": 50, "learning_rate": 0.3, "encrypt_param": {"key_length": 2048}},
                name="model_0",
            ),
            "dsl": modules("model_0"),
        },
    },
    "first-dsl": {
        "dsl_version": 1,
        "role": ROLES,
        "algorithm_parameters": {"hetero_lr_0": {"penalty": "None"}},
        "role_parameters": {"host": {"hetero_lr_0": {"max_iter": [4]}}},
    },
    "sshe": conf(
        {
            **SSHE,
            "encrypt_param": {"key_length": 2048},
            "batch_size": 50,
            "reveal_strategy": "encrypted_reveal_in_host",
        },
        WITHOUT_ARBITER,
        "hetero_sshe_lr_0",
    ),
    "sshe-opened": conf({**STATED, "reveal_every_iter": True}, WITHOUT_ARBITER, "hetero_sshe_lr_0"),
    "sshe-no-encryption": conf(
        {**SSHE, "encrypt_param": {"method": None, "key_length": 2048}}, WITHOUT_ARBITER, "hetero_sshe_lr_0"
    ),
}


# FATE 2.x: the DAG.


def dag(component: str = "coordinated_lr", /, inputs: Tree | None = None, **parameters: Any) -> Tree:
    """A DAG with one logistic regression."""
    task = {"component_ref": component, "parameters": parameters, **({} if inputs is None else {"inputs": inputs})}
    return dag_of({"lr_0": task})


def dag_of(tasks: Tree, **more: Any) -> Tree:
    """A DAG with these tasks."""
    parties = [{"role": role, "party_id": [str(ids[0])]} for role, ids in ROLES.items()]
    return {"dag": {"parties": parties, "stage": "train", "tasks": tasks, **more}, "schema_version": "2.1.0"}


FATE_2: dict[str, Tree] = {
    "silent": dag(),
    "folds": dag(inputs={"data": {"cv_data": {}}}, cv_param={"n_splits": 5}),
    "names-of-1": dag(max_iter=5, alpha=0.3, init_param={"init_method": "random_uniform"}),
    "no-encryption": dag(he_param={"kind": "mock", "key_length": 2048}),
    "several": dag_of(
        {
            "lr_0": {"component_ref": "coordinated_lr", "parameters": {}},
            "lr_1": {"component_ref": "coordinated_lr", "parameters": {"epochs": 2}},
            "lr_2": {"component_ref": "coordinated_lr", "inputs": {"data": {"test_data": {}}}},
        },
        party_tasks={"guest_1": {"tasks": {"lr_0": {"parameters": {"epochs": 6}}}}},
    ),
    "sshe-gradients-opened": dag("sshe_lr", batch_size=50, reveal_every_epoch=True),
    "sshe-weights-opened": dag("sshe_lr", batch_size=50, early_stop="weight_diff"),
    "answer-of-flow": {"code": 0, "data": [{"job_id": "1", "dag": dag("sshe_lr", epochs=3, key_length=2048)}]},
}


# SecretFlow: a component's node, alone, with its cluster, in a graph, or as JSON in a string.


def node(path: str = "ml.train/ss_sgd_train", /, **attributes: Tree) -> Tree:
    """A component with its attributes, each under its kind."""
    domain, name = path.split("/")
    values = [{**value, "is_na": False} for value in attributes.values()]
    return {"domain": domain, "name": name, "version": "1.0.0", "attr_paths": list(attributes), "attrs": values}


TRAINED = node(
    epochs={"i64": 4}, learning_rate={"f": 0.2}, batch_size={"i64": 256}, penalty={"s": "l2"}, l2_norm={"f": 0.1}
)


def spu(protocol: str = "CHEETAH", **more: str) -> Tree:
    """A cluster with one secure device."""
    config = json.dumps({"runtime_config": {"protocol": protocol, "field": "FM128", **more}})
    device = {"name": "spu", "type": "spu", "parties": ["alice", "bob"], "config": config}
    return {"parties": ["alice", "bob"], "devices": [device]}


def evaluated(parameters: Tree, cluster: Tree | None = None) -> Tree:
    """A node and the cluster that it runs on."""
    return {"sf_node_eval_param": parameters, "sf_cluster_desc": cluster or spu()}


def in_strings(*nodes: Tree) -> Tree:
    """Tasks that keep their configuration as JSON in a string."""
    return {"tasks": [{"task_input_config": json.dumps(evaluated(one))} for one in nodes]}


BY_ID: Tree = {
    "comp_id": "ml.train/ss_sgd_train:1.0.0",
    "attr_paths": ["epochs", "batch_size"],
    "attrs": [{"i64": "4"}, {"i64": "256"}],
}
IN_A_GRAPH = {name: value for name, value in TRAINED.items() if name != "attr_paths"}
SECRETFLOW: dict[str, Tree] = {
    "node": TRAINED,
    "silent": {
        "name": "ss_sgd_train",
        "domain": "ml.train",
        "attr_paths": ["epochs", "input/train_dataset/label", "l2_norm"],
        "attrs": [{"is_na": True}, {"ss": ["y"]}, {"f": 0.3}],
    },
    "ref2k": evaluated(TRAINED, spu("REF2K")),
    "semi2k": evaluated(TRAINED, spu("SEMI2K")),
    "semi2k-first-party": evaluated(TRAINED, spu("SEMI2K", beaver_type="TrustedFirstParty")),
    "semi2k-dealer": evaluated(TRAINED, spu("SEMI2K", beaver_type="TrustedThirdParty")),
    "glm": evaluated(
        node("ml.train/ss_glm_train", epochs={"i64": 3}, optimizer={"s": "IRLS"}, report_metric={"b": True}),
        spu("ABY3"),
    ),
    "reported-weights": evaluated(node(report_weights={"b": True})),
    "unknown-setting": evaluated(node(epochs={"i64": 3}, reveal_all={"b": True})),
    "component-id": in_strings(BY_ID),
    "train-and-predict": in_strings(BY_ID, {"comp_id": "ml.predict/ss_sgd_predict:1.0.0", "attr_paths": ["receiver"]}),
    "secretpad-graph": {
        "projectId": "p",
        "nodes": [{"codeName": "ml.train/ss_sgd_train", "nodeDef": {**IN_A_GRAPH, "attrPaths": TRAINED["attr_paths"]}}],
    },
    "several": {"nodes": [evaluated(TRAINED), evaluated(node(epochs={"i64": 5}))]},
    "hands-out": {
        "nodes": [evaluated(TRAINED), {"nodeDef": {"domain": "io", "name": "read_data", "version": "1.0.0"}}]
    },
    "other-models": {
        "nodes": [
            node("feature/vert_woe_binning", bin_num={"i64": 10}),
            evaluated(TRAINED),
            node("ml.train/sgb_train", num_boost_round={"i64": 5}),
        ]
    },
    # Classes without a component: their arguments as a table.
    "hess": {
        "model": "HESSLogisticRegression",
        "fit": {"epochs": 3, "batch_size": None},
        "heu": {"he_parameters": {"schema": "paillier", "key_pair": {"generate": {"bit_size": 1024}}}},
    },
    "hess-mock": {
        "model": "HESSLogisticRegression",
        "fit": {"epochs": 3},
        "heu": {"he_parameters": {"schema": "mock"}},
    },
    "hess-plain": {
        "model": "HESSLogisticRegression",
        "fit": {"epochs": 3},
        "spu": {"runtime_config": {"protocol": "CHEETAH", "field": "FM64"}},
        "heu": {"he_parameters": {"schema": "plain"}},
    },
    "hess-two-nodes": {
        "model": "HESSLogisticRegression",
        "fit": {"epochs": 3},
        "spu": {
            "nodes": [{"party": "alice"}, {"party": "bob"}, {"party": "alice"}],
            "runtime_config": {"protocol": "ABY3", "field": "FM64"},
        },
    },
    "vertical-large-batch": {"model": "FlLogisticRegressionVertical", "fit": {"batch_size": 4000, "epochs": 2}},
    "vertical-small-batch": {"model": "FlLogisticRegressionVertical", "fit": {"batch_size": 8, "epochs": 2}},
}
SAMPLES = {
    f"{system}-{name}.json": tree
    for system, trees in (("fate-1", FATE_1), ("fate-2", FATE_2), ("secretflow", SECRETFLOW))
    for name, tree in trees.items()
}


@cache
def _folder() -> "TemporaryDirectory[str]":
    folder = TemporaryDirectory()
    for name, tree in SAMPLES.items():
        (Path(folder.name) / name).write_text(json.dumps(tree), encoding="utf-8")
    for file in YAML.iterdir():
        shutil.copy(file, folder.name)
    return folder


def sample(name: str) -> Path:
    """The file of this name."""
    return Path(_folder().name) / name


def names() -> list[str]:
    """The names of all files."""
    return sorted([*SAMPLES, *(file.name for file in YAML.iterdir())])
