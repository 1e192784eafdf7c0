"""Other files are refused with the name of what they are."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import PlanError
from plumbob.jobs import System
from plumbob.jobs.files import load
from tests.jobs.support import conf, dag, node, read


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"components": {"lr_0": {"module": "HeteroLR"}}}, "dsl half"),
        ({"data": [], "tasks": {"one": {"conf": "a.json", "dsl": "b.json"}}}, "test suite"),
        ({"file": "a.csv", "table_name": "t", "namespace": "n"}, "upload"),
        (conf({}, "hetero_secureboost_0"), "boosted tree"),
        (conf({}, "homo_lr_0"), "horizontal logistic regression"),
        (conf({}, "hetero_linr_0"), "linear regression"),
        (conf({}, job_parameters={"common": {"job_type": "predict"}}), "prediction"),
        (dag({}, "coordinated_linr"), "linear regression"),
        (dag({}, inputs={"data": {"test_data": {}}}), "trains none"),
        ({"component": {"name": "HeteroLR", "input_artifacts": {}}}, "definition of the component"),
        ({"parties": {}, "work_mode": 0}, "settings of FATE's examples"),
        ({"data_guest": "a", "epochs": 3}, "parameters for a benchmark"),
        ({"anything": 1}, "no job of either system"),
        ([1, 2], "a list"),
        ({}, "nothing in it"),
    ],
)
def test_fate_files(tmp_path: Path, tree: Any, words: str) -> None:
    """One sentence names the kind."""
    with pytest.raises(PlanError, match=words):
        read(tmp_path, tree)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (node("psi", keys="id"), "private set intersection"),
        ({"nodes": [{"nodeDef": node("sgb_train", epochs=3)}]}, "secretpad graph with another component: sgb_train"),
        ({"kind": "KusciaDomain", "apiVersion": "kuscia.secretflow/v1alpha1"}, "KusciaDomain"),
        ({"sf_cluster_desc": {"parties": []}}, "cluster"),
    ],
)
def test_secretflow_files(tmp_path: Path, tree: Any, words: str) -> None:
    """One sentence names the kind."""
    with pytest.raises(PlanError, match=words):
        read(tmp_path, tree, "SecretFlow")


@pytest.mark.parametrize(
    ("name", "text", "system", "words"),
    [
        ("a.md", "# Jobs", "FATE", "documentation page"),
        ("a.ts", "export {}", "SecretFlow", "TypeScript"),
        ("a.py", "lr_0 = HeteroLR(name='lr_0')", "FATE", r"a program in Python, .*print\(pipeline.get_dag\(\)\)"),
        ("a.py", "def f(:", "SecretFlow", r"a program in Python, .*MessageToJson\(node\)"),
        ("a.ipynb", '{"cells": []}', "SecretFlow", "a notebook, which may do more than its text says"),
        ("a.yaml", "a: &a {x: 1}\nb: {<<: *a}", "FATE", "a merge key"),
        ("a.yaml", "a: [", "FATE", "neither JSON nor YAML"),
        ("a.json", '{"a": ', "FATE", "neither JSON nor YAML|not valid JSON"),
        ("a.json", "", "FATE", "empty file"),
    ],
)
def test_other_files(tmp_path: Path, name: str, text: str, system: System, words: str) -> None:
    """Other files are named, also those that are neither JSON nor YAML."""
    with pytest.raises(PlanError, match=words):
        read(tmp_path, text, system, name)


def bomb() -> str:
    """Nine lines that stand for a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text", [bomb(), "[" * 5000, '{"a":' * 5000, "a: " + "1:" * 5000 + "1", "- " * 3000, json.dumps([[0] * 600] * 600)]
)
def test_endless_files_are_refused(tmp_path: Path, text: str) -> None:
    """A short file cannot stand for an endless one, and a deep one does not end the program."""
    with pytest.raises(PlanError):
        read(tmp_path, text)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    """The size of a file is checked before it is read."""
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(9 * 2**20)
    with pytest.raises(PlanError, match="limit"):
        load(path)


def test_yaml_makes_plain_values_only(tmp_path: Path) -> None:
    """A tag that would build an object is refused."""
    with pytest.raises(PlanError, match="neither JSON nor YAML"):
        read(tmp_path, "a: !!python/object/apply:os.abort []")


def test_yaml_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyYAML the error names the extra, and JSON is still read."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(PlanError, match=r"\.\[jobs\]"):
        read(tmp_path, "dag: {}")
    assert read(tmp_path, dag({})).keys["epochs"] == 20


def test_json_needs_neither_yaml_nor_the_lab(tmp_path: Path) -> None:
    """A job in JSON is judged without PyYAML and without anything of the lab."""
    path = tmp_path / "job.json"
    path.write_text(json.dumps(conf({"max_iter": 3})))
    code = (
        "import sys; from pathlib import Path; from plumbob.jobs import judge, plan_to_check, read_job\n"
        f"plan, job = plan_to_check(read_job(Path({str(path)!r}), 'FATE'), {{}}); judge(job, plan)\n"
        "print([name for name in sys.modules if name == 'yaml' or name.startswith('plumbob.lab')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
