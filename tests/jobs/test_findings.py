"""What no plan of ours can say about another system's job."""

from pathlib import Path

import pytest

from tests.jobs.support import PARAMETERS, conf, findings, leaking, read

QUIET = {
    **PARAMETERS,
    "masked_rate": 0,
    "shuffle": False,
    "batch_size": -1,
    "encrypt_param": {"key_length": 2048},
}


@pytest.mark.parametrize(
    ("arbiter", "expected"),
    [
        (2, {("arbiter-key", "features", "labels")}),
        (1, {("arbiter-key", "label", "scores")}),
        (3, set()),
        (None, {("arbiter-key", "features", "labels")}),
    ],
    ids=["host", "guest", "a third organisation", "nobody knows"],
)
def test_an_arbiter_that_is_a_party_leaks(
    tmp_path: Path, arbiter: int | None, expected: set[tuple[str, str, str]]
) -> None:
    """A host with the key reads every residual, a guest every score; so may one that is not named, which is said."""
    found = findings(read(tmp_path, conf(QUIET, arbiter=arbiter)))
    assert leaking(found) == expected
    assert ("does not say who the arbiter is" in found[0].why) is (arbiter is None)


def test_the_right_host_is_named(tmp_path: Path) -> None:
    """Of two hosts, the finding names the one with the arbiter's id."""
    tree = conf(QUIET, arbiter=5)
    tree["role"]["host"] = [4, 5]
    assert leaking(findings(read(tmp_path, tree), (10, 5, 5))) == {("arbiter-key", "features-2", "labels")}


@pytest.mark.parametrize("size", [8, 4000])
def test_scores_in_the_clear_leak_at_any_batch_size(tmp_path: Path, size: int) -> None:
    """The label party subtracts its own part of every score."""
    tree = {"model": "FlLogisticRegressionVertical", "fit": {"batch_size": size, "epochs": 2}}
    found = findings(read(tmp_path, tree, "SecretFlow"))
    assert ("scores-in-the-clear", "label", "scores") in leaking(found)


@pytest.mark.parametrize(
    ("rate", "verdict", "accuracy"), [(5, "degrades", "61.1 % of labels"), (0, "leaks", "84.7 % of labels")]
)
def test_decoys_hide_most_of_a_batch(tmp_path: Path, rate: int, verdict: str, accuracy: str) -> None:
    """What a stacked solve reads leaks without decoys and is little above chance behind them."""
    settings = {**PARAMETERS, "batch_size": 100, "max_iter": 8, "masked_rate": rate, "shuffle": True}
    job = read(tmp_path, conf({**settings, "init_param": {"init_method": "random_uniform"}}))
    found = next(one for one in findings(job, (1, 10)) if one.attack == "label-stacked")
    assert found.verdict == verdict
    assert accuracy in found.why


def test_the_worse_of_two_versions_is_shown(tmp_path: Path) -> None:
    """Where nobody knows whether batches are cut once, columns that fix a batch still leak."""
    parameters = {**PARAMETERS, "batch_size": 10}
    found = findings(read(tmp_path, conf(parameters)), (1, 30))
    assert ("label-sign", "features", "labels") in leaking(found)


def test_a_batch_larger_than_the_table_is_all_rows(tmp_path: Path) -> None:
    """A batch larger than the table counts as all rows, as both systems take it."""
    assert findings(read(tmp_path, conf({**PARAMETERS, "batch_size": 9000})), rows=500)


@pytest.mark.parametrize(("bits", "is_weak"), [(1024, True), (2048, False), (4096, False)])
def test_keys_are_judged_by_their_length(tmp_path: Path, bits: int, is_weak: bool) -> None:
    """Short keys leak; a length that no plan of ours has is not weak for that."""
    found = findings(read(tmp_path, conf({**QUIET, "encrypt_param": {"key_length": bits}}, arbiter=3)))
    assert any((one.attack, one.verdict) == ("keys", "leaks") for one in found) is is_weak
