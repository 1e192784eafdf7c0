"""SecretFlow's graphs, jobs and nodes."""

import json
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import PlanError
from tests.jobs.support import node, read, value

SGD = node("ss_sgd_train", epochs=4, learning_rate=0.2, batch_size=256, penalty="l2", l2_norm=0.1)


def graph() -> dict[str, Any]:
    """A graph as secretpad stores it."""
    definition = {**SGD, "attrPaths": SGD["attr_paths"]}
    del definition["attr_paths"]
    return {"projectId": "p", "nodes": [{"codeName": "ml.train/ss_sgd_train", "nodeDef": definition}], "edges": []}


def kuscia() -> dict[str, Any]:
    """Settings of a task are JSON in a string."""
    task = {"alias": "train", "taskInputConfig": json.dumps({"sf_node_eval_param": SGD})}
    return {"kind": "KusciaJob", "spec": {"tasks": [task]}}


@pytest.mark.parametrize("tree", [SGD, graph(), kuscia()], ids=["node", "graph", "kuscia"])
def test_a_component_is_read_wherever_it_is_stored(tmp_path: Path, tree: dict[str, Any]) -> None:
    """The same values from a node, a graph and a job."""
    job = read(tmp_path, tree, "SecretFlow")
    assert [job.keys[key] for key in ("epochs", "learning_rate", "batch_size", "l2")] == [4, 0.2, 256, 0.1]
    assert (job.keys["protocol"], job.keys["open"]) == ("spu", "never")


def test_missing_attributes_are_defaults(tmp_path: Path) -> None:
    """{"is_na": true} is nothing, and no penalty means none, whatever its strength."""
    tree = {"name": "ss_sgd_train", "domain": "ml.train", "attr_paths": ["epochs"], "attrs": [{"is_na": True}]}
    job = read(tmp_path, tree, "SecretFlow")
    assert value(job, "epochs") == (10, "default")
    assert (job.keys["batch_size"], job.keys["l2"]) == (1024, 0.0)


def test_reported_weights_are_opened(tmp_path: Path) -> None:
    """`report_weights` opens the weights; off means that they never are."""
    assert read(tmp_path, node("ss_sgd_train", report_weights=True), "SecretFlow").keys["open"] == "own"
    assert read(tmp_path, node("ss_sgd_train", report_weights=False), "SecretFlow").keys["open"] == "never"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (node("ss_sgd_train", reg_type="linear"), "linear regression"),
        (node("ss_glm_train", link_type="Log", label_dist_type="Poisson"), "generalised linear model"),
    ],
)
def test_other_regressions_are_refused(tmp_path: Path, tree: dict[str, Any], words: str) -> None:
    """A linear or Poisson regression is not a logistic one."""
    with pytest.raises(PlanError, match=words):
        read(tmp_path, tree, "SecretFlow")


def test_irls_is_named(tmp_path: Path) -> None:
    """Another way to the same model is said."""
    tree = node("ss_glm_train", link_type="Logit", label_dist_type="Bernoulli", optimizer="IRLS")
    assert any("IRLS" in remark for remark in read(tmp_path, tree, "SecretFlow").remarks)
