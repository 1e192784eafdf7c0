"""FATE's files of both generations."""

from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import PlanError
from tests.jobs.support import PARAMETERS, conf, dag, read, value


def test_stated_values_come_from_the_file(tmp_path: Path) -> None:
    """Each stated value is taken as it is, and its source is the file."""
    job = read(
        tmp_path, conf({**PARAMETERS, "encrypt_param": {"key_length": 2048}, "init_param": {"init_method": "zeros"}})
    )
    stated = {"epochs": 7, "learning_rate": 0.3, "batch_size": 50, "l2": 0.02, "key_bits": 2048, "start": "zeros"}
    assert {key: value(job, key) for key in stated} == {key: (one, "file") for key, one in stated.items()}
    assert job.keys["start"] == "zero"


@pytest.mark.parametrize(("tree", "epochs"), [(conf({"optimizer": "sgd"}), 100), (dag({}), 20)], ids=["1.x", "2.x"])
def test_silent_values_are_the_defaults(tmp_path: Path, tree: dict[str, Any], epochs: int) -> None:
    """Key of 1024 bits, uniform start, penalty 1.0, rate 0.01, all rows in one batch; each generation's epochs."""
    job = read(tmp_path, tree)
    expected = {"epochs": epochs, "learning_rate": 0.01, "l2": 1.0, "key_bits": 1024, "start": "random_uniform"}
    assert {key: value(job, key) for key in expected} == {key: (one, "default") for key, one in expected.items()}
    assert job.keys["batches"] == "full"
    assert any("1024 bits" in remark for remark in job.remarks)


def test_a_start_without_a_method_is_zero_in_the_second_generation(tmp_path: Path) -> None:
    """The table's own default, zeros, holds where a job has the table without a method."""
    assert value(read(tmp_path, dag({"init_param": {"fit_intercept": False}})), "start") == ("zeros", "default")


@pytest.mark.parametrize(
    ("version", "key_bits", "batches"),
    [("1.7.2", 1024, "reshuffled"), ("1.11.4", 2048, "reshuffled")],
)
def test_defaults_follow_the_version(tmp_path: Path, version: str, key_bits: int, batches: str) -> None:
    """Keys are longer from 1.11.4 on."""
    job = read(tmp_path, conf({"batch_size": 50}), version=version)
    assert (job.keys["key_bits"], job.keys["batches"]) == (key_bits, batches)
    assert bool(job.decoys) is (batches == "reshuffled")


def test_decoys_can_be_switched_off(tmp_path: Path) -> None:
    """Without decoys and shuffling a batch stays the same; a single random one in each epoch is said."""
    job = read(tmp_path, conf({"batch_size": 50, "masked_rate": 0, "shuffle": False}))
    assert not job.decoys
    assert job.keys["batches"] == "fixed"
    job = read(tmp_path, conf({"batch_size": 50, "batch_strategy": "random"}))
    assert any("each epoch draws one batch" in remark for remark in job.remarks)


SSHE: dict[str, Any] = {"name": "hetero_sshe_lr_0", "arbiter": None}


@pytest.mark.parametrize(
    ("tree", "version", "protocol", "batches"),
    [
        (conf({**PARAMETERS, "reveal_every_iter": True}, **SSHE), None, "exchange", "fixed"),
        (conf({**PARAMETERS, "reveal_every_iter": False}, **SSHE), None, "sshe", "fixed"),
        (conf({"max_iter": 3}, **SSHE), "1.8.0", "sshe", "full"),
        (dag({"batch_size": 50, "early_stop": "weight_diff"}, "sshe_lr"), None, "exchange", "full"),
    ],
    ids=["opened", "not opened", "1.8 does not", "weights after each epoch"],
)
def test_what_is_opened_on_the_way_is_not_shares(
    tmp_path: Path, tree: dict[str, Any], version: str | None, protocol: str, batches: str
) -> None:
    """Gradients of each batch, on batches that stay the same, or weights: then one gradient over all rows."""
    job = read(tmp_path, tree, version=version)
    assert (job.keys["protocol"], job.keys["batches"]) == (protocol, batches)


@pytest.mark.parametrize(
    ("parameters", "words", "fits"),
    [
        ({"cv_param": {"need_cv": True, "n_splits": 4}}, "4 folds", 3),
        ({"stepwise_param": {"need_stepwise": True, "max_step": 3}}, "Stepwise", 3),
        ({"one_vs_rest_param": {"need_one_vs_rest": True}}, "One-vs-rest", 1),
        ({"penalty": "L1", "alpha": 0.5}, "L1", 1),
        ({"optimizer": "sqn"}, "quasi-Newton", 1),
    ],
)
def test_variants_are_named(tmp_path: Path, parameters: dict[str, Any], words: str, fits: int) -> None:
    """What trains more than once, or otherwise, is said, and counted where it can be."""
    job = read(tmp_path, conf(parameters))
    assert any(words in remark for remark in job.remarks)
    assert job.fits == fits


def test_folds_in_the_second_generation(tmp_path: Path) -> None:
    """2.x cross-validates where a task has `cv_data`."""
    job = read(tmp_path, dag({"cv_param": {"n_splits": 5}}, inputs={"data": {"cv_data": {}}}))
    assert job.fits == 4


def test_several_regressions_add_up(tmp_path: Path) -> None:
    """A second component on the same rows is named and counted."""
    tree = dag({"epochs": 4})
    tree["dag"]["tasks"]["lr_1"] = {"component_ref": "coordinated_lr", "parameters": {"epochs": 2}}
    job = read(tmp_path, tree)
    assert job.fits == 2
    assert any("lr_1" in remark for remark in job.remarks)


def test_a_role_wins_over_common(tmp_path: Path) -> None:
    """A role's own value stands over the common one."""
    tree = conf(PARAMETERS)
    tree["component_parameters"]["role"] = {"host": {"0": {"hetero_lr_0": {"max_iter": 8}}}}
    assert read(tmp_path, tree).keys["epochs"] == 8


def test_older_versions_are_refused(tmp_path: Path) -> None:
    """FATE cut batches once before 1.7.2, which leaks more: defaults of later versions must not stand for them."""
    with pytest.raises(PlanError, match=r"known from 1\.7\.2 on"):
        read(tmp_path, conf({"batch_size": 50}), version="1.7.1")


def test_the_alpha_is_refused(tmp_path: Path) -> None:
    """A DAG with `hetero_lr` and none of the names of 2.0 is one of 2.0.0-alpha, whose defaults nobody else has."""
    with pytest.raises(PlanError, match=r"2\.0\.0-alpha, which is not read"):
        read(tmp_path, dag({"max_iter": 9}, "hetero_lr"))


def test_values_may_lie_under_parameters(tmp_path: Path) -> None:
    """A file of 1.x in which a component's values lie one level down is read, and no value is passed over."""
    job = read(tmp_path, conf({"parameters": PARAMETERS, "batch_size": 60}))
    assert value(job, "epochs") == (7, "file")
    assert not job.ignored


def test_nothing_is_dropped_silently(tmp_path: Path) -> None:
    """What no reader asks for is listed."""
    job = read(tmp_path, conf({**PARAMETERS, "tol": 0.1, "something_new": 3}))
    assert any(line.startswith("hetero_lr_0.tol: when to stop") for line in job.ignored)
    assert any("something_new: unknown to us, and not judged" in line for line in job.ignored)


@pytest.mark.parametrize("size", ["many", True, 1.5, [3, 4], {"a": 1}])
def test_wrong_values_are_refused(tmp_path: Path, size: object) -> None:
    """A value of the wrong kind is named, not guessed."""
    with pytest.raises(PlanError, match="batch_size: expected a whole number"):
        read(tmp_path, conf({"batch_size": size}))


def test_several_classes_are_one_model_each(tmp_path: Path) -> None:
    """An evaluation of several classes says that FATE trains one model per class, and the output says so."""
    tree = conf(PARAMETERS)
    tree["component_parameters"]["common"]["evaluation_0"] = {"eval_type": "multi"}
    assert any("One-vs-rest" in remark for remark in read(tmp_path, tree).remarks)
    assert not any("One-vs-rest" in remark for remark in read(tmp_path, conf(PARAMETERS)).remarks)
