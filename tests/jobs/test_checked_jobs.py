"""`plumbob check --from-fate` and `--from-secretflow` from the outside: what is not seen is never called safe."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbob import cli
from tests.jobs.support import conf, dag, node

WIDTHS = ["--features", "10,12", "--rows", "5000"]
QUIET_SSHE = {"max_iter": 3, "init_param": {"init_method": "random_uniform"}, "encrypt_param": {"key_length": 2048}}


class Checked:
    """One call: its exit code, its JSON and what it said in an error."""

    def __init__(self, code: int, out: str, error: str) -> None:
        self.code, self.error = code, " ".join(error.split())
        self.result: dict[str, Any] = json.loads(out) if out else {}

    def read(self, key: str) -> tuple[Any, str]:
        """The value read last under a key, and its source."""
        return next((one["value"], one["source"]) for one in reversed(self.result["read"]) if one["key"] == key)

    @property
    def leaking(self) -> set[str]:
        """The attacks that leak."""
        return {one["attack"] for one in self.result["findings"] if one["verdict"] == "leaks"}

    @property
    def fixes(self) -> str:
        """All advice, as one text."""
        return "\n".join(one["fix"] for one in self.result["findings"])

    @property
    def unseen(self) -> str:
        """The reasons why there is no all-clear."""
        return "\n".join(self.result["no_all_clear"])

    @property
    def notes(self) -> str:
        return "\n".join(self.result["notes"])


@pytest.fixture(name="check")
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """A function check(system, content, name, *flags) that works through a file; a path is taken as it is."""

    def run(system: str, content: Any, name: str = "job.json", *flags: str) -> Checked:
        path = content if isinstance(content, Path) else tmp_path / name
        if not isinstance(content, Path):
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        words = ["plumbob", "check", f"--from-{system}", str(path), *WIDTHS, *flags, "--json", "--quiet"]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return Checked(left.value.code if isinstance(left.value.code, int) else 0, printed.out, printed.err)

    return run


def task(component: dict[str, Any], protocol: str | None, **runtime: Any) -> dict[str, Any]:
    """A Kuscia task's settings, with the SPU's in JSON in a string."""
    config = json.dumps({"runtime_config": {"protocol": protocol, "field": "FM128", **runtime}})
    devices = [{"name": "spu", "type": "spu", "parties": ["alice", "bob"], "config": config}] if protocol else []
    return {"sf_node_eval_param": component, "sf_cluster_desc": {"parties": ["alice", "bob"], "devices": devices}}


SGD = node("ss_sgd_train", epochs=3, learning_rate=0.1, batch_size=1024)


# A program can open anything.


def test_a_second_component_is_not_vouched_for(check: Any) -> None:
    """Only one component's settings are judged: the others keep a job from being called safe."""
    tree = {"nodes": [task(SGD, "CHEETAH"), task(node("ss_sgd_train", epochs=5), "CHEETAH")]}
    found = check("secretflow", tree)
    assert found.code == 4
    assert "ml.train/ss_sgd_train trains too" in found.unseen


def test_a_component_that_hands_the_model_out_is_named(check: Any) -> None:
    """Weights stay shared in the training, and leave it there."""
    reading = {"domain": "io", "name": "read_data", "version": "1.0.0"}
    found = check("secretflow", {"nodes": [task(SGD, "CHEETAH"), {"nodeDef": reading}]})
    assert found.code == 4
    assert "io/read_data hands a model out" in found.unseen


# The device.


def test_ref2k_protects_nothing(check: Any) -> None:
    """SPU keeps it for debugging: everybody reads everything."""
    found = check("secretflow", task(SGD, "REF2K"))
    assert found.code == 3
    assert "no-encryption" in found.leaking
    assert "CHEETAH" in found.fixes


@pytest.mark.parametrize(
    ("protocol", "runtime", "code", "words"),
    [
        ("SEMI2K", {}, 4, "the first party"),
        ("SEMI2K", {"beaver_type": "TrustedFirstParty"}, 4, "the first party"),
        ("SEMI2K", {"beaver_type": "TrustedThirdParty"}, 0, "a dealer of its own"),
        ("ABY3", {}, 0, "no two of them"),
        ("CHEETAH", {}, 0, "without a dealer"),
        (None, {}, 4, "does not say which protocol the SPU runs"),
    ],
)
def test_whom_a_device_makes_you_trust(
    check: Any, protocol: str | None, runtime: dict[str, Any], code: int, words: str
) -> None:
    """Each protocol is named with whom to trust; a dealer among the parties, or an unknown one, is no all-clear."""
    found = check("secretflow", task(SGD, protocol, **runtime))
    assert found.code == code
    assert words in found.unseen + found.notes
    assert found.read("spu_protocol") == (protocol or "SEMI2K", "file" if protocol else "assumed")


@pytest.mark.parametrize(
    "tree",
    [
        dag({"he_param": {"kind": "mock", "key_length": 2048}}),
        conf({"encrypt_param": {"method": None, "key_length": 2048}}),
        conf({**QUIET_SSHE, "encrypt_param": {"method": None, "key_length": 2048}}, "hetero_sshe_lr_0", None),
    ],
)
def test_no_encryption_leaks(check: Any, tree: dict[str, Any]) -> None:
    """`mock` and `null` are no encryption."""
    found = check("fate", tree)
    assert found.code == 3
    assert "no-encryption" in found.leaking
    assert "paillier" in found.fixes.lower()


# Small readings.


def test_a_catalogue_is_no_job(check: Any) -> None:
    """A catalogue describes each attribute and sets no value, so it is no job."""
    attributes = [{"name": "epochs", "type": "AT_INT", "atomic": {"defaultValue": {"i64": "10"}}}]
    component = {"domain": "ml.train", "name": "ss_sgd_train", "version": "1.0.0", "attrs": attributes}
    found = check("secretflow", {"name": "ml", "version": "1", "comps": [component]})
    assert found.code == 1
    assert "component definitions" in found.error
    assert check("secretflow", {"comp": component}).code == 1


def test_a_link_that_the_file_leaves_out_is_assumed(check: Any) -> None:
    """A generalised linear model without a link is taken as logistic, and the output says so."""
    assert check("secretflow", node("ss_glm_train", epochs=3)).read("link") == ("Logit", "assumed")


def test_bfia_is_refused_in_either_form(check: Any) -> None:
    """BFIA is refused, also in YAML, where it looks like a DAG of FATE's own."""
    tree = {**dag({}), "kind": "bfia", "schema_version": "v1"}
    for name in ("job.json", "job.yaml"):
        found = check("fate", tree, name)
        assert found.code == 1
        assert "BFIA" in found.error


def test_unknown_names_are_ignored_as_fate_ignores_them(check: Any) -> None:
    """`init_method`, `max_iter` and `alpha` are names of 1.x; 2.x has its own defaults then."""
    tree = dag({"max_iter": 5, "alpha": 0.3, "init_param": {"init_method": "random_uniform"}})
    found = check("fate", tree)
    assert found.read("start") == ("zeros", "default")
    assert (found.read("epochs"), found.read("l2")) == ((20, "default"), (1.0, "default"))
    assert any("init_method" in line and "ignores it" in line for line in found.result["ignored"])


def test_no_penalty_is_a_strength_of_zero(check: Any) -> None:
    """It is among what was read, like any other strength, and so is how batches are drawn."""
    found = check("fate", conf({"penalty": None, "alpha": 0.3, "batch_size": 50}))
    assert (found.read("l2"), found.read("batches")) == ((0.0, "file"), ("reshuffled", "default"))
    assert check("secretflow", SGD).read("l2") == (0.0, "default")


# Flags, files and advice.


def test_a_flag_that_contradicts_the_job_is_shown(check: Any) -> None:
    """The verdict is then about another job than the file's."""
    tree = conf({"max_iter": 3, "encrypt_param": {"key_length": 1024}})
    found = check("fate", tree, "job.json", "--key-bits", "2048")
    assert "the job says 1024, judged with 2048 because you said so" in found.notes
    assert "keys" not in found.leaking
    assert "flags change its job" in found.unseen
    assert "because you said so" not in check("fate", tree, "job.json", "--key-bits", "1024").notes


@pytest.mark.parametrize(("flag", "right", "tree"), [("fate", "secretflow", SGD), ("secretflow", "fate", conf({}))])
def test_a_wrong_flag_names_the_right_one(check: Any, flag: str, right: str, tree: dict[str, Any]) -> None:
    """A job of the other system is not `no job`."""
    found = check(flag, tree)
    assert found.code == 1
    assert f"use --from-{right}" in found.error


def test_each_kind_of_path_has_its_own_sentence(check: Any, tmp_path: Path) -> None:
    """Nothing hangs, and nothing endless is read."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    paths = {
        "there is no such file": tmp_path / "none.json",
        "a pipe": pipe,
        "a device": Path("/dev/zero"),
        "a folder": tmp_path,
    }
    for words, path in paths.items():
        found = check("fate", path)
        assert found.code == 1
        assert words in found.error


def test_advice_is_in_the_other_systems_words(check: Any) -> None:
    """Our flags mean nothing there."""
    jobs = [
        ("fate", conf({"max_iter": 30, "batch_size": 20}, arbiter=2), "HeteroSSHELR"),
        ("fate", dag({"batch_size": 20}), "SSHELR"),
        ("fate", conf({"reveal_every_iter": True}, "hetero_sshe_lr_0", None), "reveal_every_iter"),
        (
            "secretflow",
            {"model": "FlLogisticRegressionVertical", "fit": {"epochs": 2, "batch_size": 8}},
            "ss_sgd_train",
        ),
        ("secretflow", task(node("ss_sgd_train", report_weights=True), "CHEETAH"), "report_weights"),
    ]
    for system, tree, words in jobs:
        found = check(system, tree)
        assert words in found.fixes
        assert "--" not in found.fixes.replace("plumbob plan new --from-", "")
        assert "--noise" not in found.notes
