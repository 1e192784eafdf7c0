"""The demo, cut down: the three runs agree, and everything it promises is written."""

from pathlib import Path

import pytest

from plumbob import demo
from plumbob.record import RunRecord


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo writes."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(out: Path) -> dict[str, object]:
    """One short demo for all tests here."""
    return demo.run(out, lambda message: None, demo.Settings(epochs=1, key_bits=512))


def test_runs_agree(result: dict[str, object]) -> None:
    """Encrypted equals clear, within what rounding leaves."""
    runs = result["runs"]
    assert isinstance(runs, list)
    assert [item["protocol"] for item in runs] == ["clear", "exchange", "shares"]
    assert all(item["largest_weight_difference"] < 1e-6 for item in runs)
    assert len({round(item["auc"], 3) for item in runs}) == 1
    assert [item["bytes"] > 0 for item in runs] == [False, True, True]


def test_report_shows_the_same(result: dict[str, object], out: Path) -> None:
    """Report and lines hold the same tables, and the time it took."""
    page = (out / "report.html").read_text()
    lines = "\n".join(result["lines"])  # type: ignore[arg-type]  # Lines are texts.
    for text in ("exchange", "shares", "weights differ by", "pooled", "local-only", "All of it took"):
        assert text in page
        assert text in lines


def test_each_run_is_saved(result: dict[str, object], out: Path) -> None:
    """Each run's folder can be asked for a receipt later."""
    for protocol in demo.PROTOCOLS:
        record = RunRecord.load(out / protocol)
        assert record.protocol == protocol
        assert record.is_finished
    assert result["out"] == str(out)


def test_keys_are_long_by_default() -> None:
    """What the demo shows is the real thing: 2048-bit keys that are not for tests."""
    plan = demo.plan_for("exchange", demo.Settings.for_this_machine())
    assert plan.key_bits == 2048
    assert not plan.test_only_keys
