"""The lab's charts show the runs' own values, and nothing where there is nothing."""

from typing import Any

from plumbob.lab.page.drawings import comparison, curve


def run(folder: str, auc: float | None, labels: float | None, values: float | None = 0.0) -> dict[str, Any]:
    """A run as the list of runs has it."""
    reach = [None if one is None else {"verdict": "leaks", "advantage": one} for one in (labels, values)]
    return {
        "folder": folder,
        "protocol": "exchange",
        "noise": "none",
        "auc": auc,
        "labels": reach[0],
        "values": reach[1],
    }


def test_one_point_a_run_at_the_worst_it_gave_away() -> None:
    """The larger of what was found out about labels and about columns."""
    drawn = comparison([run("001-exchange", 0.9, 0.25, 0.75), run("002-exchange", 0.8, 0.5)])
    assert drawn.count("<svg") == 2
    for words in ("001-exchange", ">75 %", "0.9", "002-exchange", ">50 %", "0.8"):
        assert words in drawn


def test_a_run_that_was_not_attacked_has_no_place() -> None:
    """A run that was not attacked, or has no quality, is left out; without any run there is no chart."""
    assert comparison([run("001-exchange", None, 0.5), run("002-exchange", 0.9, None, None)]) == ""
    assert comparison([]) == ""


def test_noise_is_named() -> None:
    """Two runs of one protocol can be told apart by what protects them."""
    assert "001-exchange, sound noise" in comparison([{**run("001-exchange", 0.9, 0.1), "noise": "sound"}])


def test_a_curve_for_each_metric() -> None:
    """AUC and log loss, from the first epoch on."""
    drawn = curve([{"epoch": 1, "auc": 0.5, "log_loss": 0.7}, {"epoch": 2, "auc": None, "log_loss": 0.6}])
    assert drawn.count("<figure") == 2
    assert curve([]) == ""


def test_names_are_escaped() -> None:
    """A folder's name is somebody else's word."""
    assert "<script>" not in comparison([run("<script>", 0.9, 0.5)])
