"""The demo, cut down: what leaks undefended does not leak defended, and everything it promises is written."""

import html
import json
import re
import subprocess
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from plumbob.lab import demo
from plumbob.lab.simulate import training
from plumbob.privacy.rows import coin_flip_bound
from plumbob.run_folder import RunFolder
from plumbob.terminal import wrapped
from tests.conftest import browser_path

TOLERANCE = 0.05  # Of a plan that says nothing else.


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the demo writes to."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(out: Path) -> dict[str, Any]:
    """One short demo for all tests here, with the same draws each time: noise must not decide whether a test passes."""
    numbers = count(1)
    attacks = ("label-sign", "label-average", "label-counts", "label-chosen-rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "new_root", lambda: next(numbers).to_bytes(32, "little"))
        return demo.run(out, lambda message: None, demo.DemoSettings(epochs=1, key_bits=640, attacks=attacks))


def test_the_point(result: dict[str, Any]) -> None:
    """Undefended, labels leak in sight of everybody; with noise and on shares they do not."""
    runs = {item["name"]: item for item in result["runs"]}
    assert list(runs) == ["exchange", "exchange with noise", "shares"]
    assert runs["exchange"]["labels"] == "leaks"
    assert runs["shares"]["labels"] == "blocked"
    signs = {
        name: [found for found in run["findings"] if found["attack"] == "label-sign"] for name, run in runs.items()
    }
    assert signs["exchange"][0]["advantage"] > 0.5
    assert signs["exchange with noise"][0]["advantage"] < TOLERANCE
    assert all(found["advantage"] is None for found in signs["shares"])
    assert all(item["bytes"] > 0 and item["seconds"] > 0 for item in runs.values())
    assert runs["shares"]["auc"] > 0.68


def test_noise_keeps_what_it_promises(result: dict[str, Any], out: Path) -> None:
    """Watching gives nothing; choosing rows gives no more right guesses than epsilon allows."""
    findings = {found.attack: found for found in RunFolder(out / demo.FOLDERS["exchange with noise"]).record().findings}
    assert "leaks" not in (findings["label-sign"].verdict, findings["label-average"].verdict)
    interval = findings["label-chosen-rows"].interval
    assert interval is not None
    assert interval[0] < coin_flip_bound(demo.EPSILON, 1e-6)


def test_encrypted_is_clear(result: dict[str, Any]) -> None:
    """The encrypted run has the weights of the same run in the clear, within what rounding leaves."""
    assert result["largest_weight_difference"] < 1e-6


def test_one_screen(result: dict[str, Any], out: Path) -> None:
    """30 lines of a terminal say what was read, what the model is worth and what is left open; so does the page."""
    lines = result["lines"]
    # One more is printed while it installs itself.
    assert sum(len(wrapped(line, 80)) for line in lines) < 30
    text, page = "\n".join(lines), (out / "report.html").read_text()
    headline = next(line for line in lines if line.startswith("With exchange the processor reads"))
    assert headline.endswith("With shares it reads none.")
    assert headline in page
    beyond = next(line.strip() for line in lines if "release" in line)
    assert beyond.startswith("With other software bank can read one of")
    assert html.escape(beyond).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in page
    for words in ("exchange with noise", "by guessing", "pooled in one place", "If someone cheats", "report.html"):
        assert words in text


def test_six_printed_pages_that_name_their_runs(result: dict[str, Any], out: Path, tmp_path: Path) -> None:
    """There are at most six printed pages, and every heading says which run it is about."""
    headings = re.findall(r"<h2>(.*?)</h2>", (out / "report.html").read_text())
    assert headings
    assert all("shares" in heading or heading.startswith("All runs: ") for heading in headings)
    if (browser := browser_path()) is None:
        pytest.skip("no chromium on this machine: nothing is printed")
    # The pages are the demo's own: as root a browser starts without its sandbox only.
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        f"--print-to-pdf={tmp_path / 'report.pdf'}",
        f"--user-data-dir={tmp_path}",
    ]
    subprocess.run([*command, Path(result["report"]).resolve().as_uri()], check=True, capture_output=True)
    assert (tmp_path / "report.pdf").read_bytes().count(b"/Type /Page\n") <= 6


def test_each_run_is_saved(result: dict[str, Any], out: Path) -> None:
    """Each run's folder can be asked for a receipt, or attacked, later."""
    for name, folder in demo.FOLDERS.items():
        record = RunFolder(out / folder).record()
        assert record.protocol == demo.RUNS[name]["protocol"]
        assert record.is_finished
        # On shares no attack has anything to work on: pages then say what `check` does.
        assert record.findings or (record.protocol == "shares" and record.predicted)
    assert result["out"] == str(out)


def test_keys_are_long_by_default() -> None:
    """What the demo shows is the real thing: 2048-bit keys that are not for tests."""
    plan = demo.plan_for("exchange", demo.DemoSettings.for_this_machine())
    assert plan.key_bits == 2048
    assert not plan.test_only_keys


def test_a_folder_that_cannot_be_made_is_noticed_at_once(tmp_path: Path) -> None:
    """A folder that cannot be made is noticed before anything is trained."""
    (tmp_path / "file").touch()
    said: list[str] = []
    with pytest.raises(OSError, match="file"):
        demo.run(tmp_path / "file" / "demo", said.append)
    assert said == []


def test_joining_is_worth_it(result: dict[str, Any], out: Path) -> None:
    """What we recommend beats the bank's own columns in both measures, and is the plan that a newcomer gets."""
    assert result["runs"]
    saved = json.loads((out / demo.FOLDERS["shares"] / "run.json").read_text())
    quality = saved["quality"]["test part"]
    assert quality["joint"]["auc"] > quality["local-only"]["auc"]
    assert quality["joint"]["log_loss"] < quality["local-only"]["log_loss"]
