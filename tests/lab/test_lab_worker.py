"""The lab's worker: one job in, events out; it ends with its lab, and its runs are what `audit` would have left."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbob.checking.filing import judgement_of_run
from plumbob.lab.audit import audit
from plumbob.lab.commands import lab_worker
from plumbob.lab.commands.lab_worker import LabRequest, perform
from plumbob.lab.page.own_tables import TableReading
from plumbob.plan import Plan
from plumbob.report.run import WARNING_CALCULATED, warnings
from plumbob.run_folder import RunFolder

PLAN = Plan.for_columns((8, 22), rows=455, batch_size=91, epochs=2, seed=5, protocol="exchange", intercept=False)
TINY = PLAN.replace(key_bits=512, test_only_keys=True)


def job(out: Path, plan: Plan = PLAN, is_calculated: bool = True, data: str = "breast-cancer") -> LabRequest:
    """A job on the bundled data."""
    return LabRequest(plan, [data], None, out, is_calculated, TableReading())


def performed(work: LabRequest) -> list[tuple[str, dict[str, Any]]]:
    """The events of a job that was performed."""
    told: list[tuple[str, dict[str, Any]]] = []
    perform(work, lambda event, **content: told.append((event, content)))
    return told


def test_findings_told_are_those_of_an_audit(tmp_path: Path) -> None:
    """One attack after the other gives what all at once give; the record holds the same, the worst first."""
    told = performed(job(tmp_path))
    record = RunFolder(tmp_path).record()
    found = {json.dumps(content, sort_keys=True) for event, content in told if event == "finding"}
    assert len(found) == len(record.findings)
    again = audit(tmp_path, sorted({finding.attack for finding in record.findings}))
    assert [finding.verdict for finding in record.findings] == [finding.verdict for finding in again]
    assert {(one.attack, one.by, one.rate) for one in record.findings} == {
        (one.attack, one.by, one.rate) for one in again
    }
    assert WARNING_CALCULATED in warnings(record)
    page = (tmp_path / "report.html").read_text()
    assert "label-sign" in page
    assert "calculated in the clear" in page
    assert "2048-bit keys" not in page


def test_calculated_and_encrypted_runs_agree(tmp_path: Path) -> None:
    """The same view: what passive attacks reach in the clear is what they reach in the encrypted run."""
    performed(job(tmp_path / "clear", TINY))
    performed(job(tmp_path / "encrypted", TINY, is_calculated=False))
    clear, encrypted = (RunFolder(tmp_path / name).record() for name in ("clear", "encrypted"))
    reached = {(one.attack, one.by, one.target): one for one in encrypted.findings}
    for finding in clear.findings:
        same = reached[finding.attack, finding.by, finding.target]
        assert finding.verdict == same.verdict
        assert finding.rate == pytest.approx(same.rate, abs=1e-3)
    assert WARNING_CALCULATED not in warnings(encrypted)
    assert {one.attack for one in encrypted.findings} - {one.attack for one in clear.findings} == {
        "packing",
        "claimed-width",
        "label-chosen-rows",
        "steering",
        "off-the-circle",
        "garbage-replies",
        "false-residual",
        "chosen-labels",
        "chosen-column",
        "prediction-equations",
        "score-control",
    }


def test_a_run_from_the_page_has_every_finding_of_an_audit(tmp_path: Path) -> None:
    """Findings that nobody acts out are among them: keys that are too short make the plan leak on either screen."""
    performed(job(tmp_path, TINY.replace(noise="sound", row_norm=1.0), is_calculated=False))
    record = RunFolder(tmp_path).record()
    assert {(one.attack, one.by, one.against, one.target, one.verdict) for one in record.findings} == {
        (one.attack, one.by, one.against, one.target, one.verdict) for one in audit(tmp_path)
    }
    assert {one.verdict for one in record.findings if one.attack == "keys"} == {"leaks"}
    assert judgement_of_run(record).left_out == ()


@contextmanager
def at_work(plan: Plan, data: str, data_dir: Path | None, out: Path) -> Iterator[subprocess.Popen[str]]:
    """The worker as the lab starts it, with its job."""
    job = {
        "plan": plan.to_toml(),
        "data": [data],
        "reading": msgspec.to_builtins(TableReading()),
        "data_dir": data_dir and str(data_dir),
        "out": str(out),
    }
    command = [sys.executable, "-m", lab_worker.__name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps({**job, "is_calculated": False}) + "\n")
        process.stdin.flush()
        yield process


def test_it_fails_in_words(tmp_path: Path) -> None:
    """Data that are not here end it with a reason, as one event."""
    with at_work(Plan.for_columns((11, 12), rows=27_000), "credit", tmp_path, tmp_path / "run") as process:
        assert process.stdout is not None
        events = [json.loads(line) for line in process.stdout]
        assert process.wait(120) == 0
    assert events[-1]["event"] == "failed"
    assert "there is no such file" in events[-1]["text"]


def test_it_ends_with_its_lab(tmp_path: Path) -> None:
    """A lab that is gone, however it went, closes the pipe: the run is interrupted, and its folder says so."""
    with at_work(TINY.replace(epochs=5000), "breast-cancer", None, tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while json.loads(process.stdout.readline())["event"] != "step":
            pass
        process.stdin.close()
        assert json.loads(process.stdout.readlines()[-1])["event"] == "cancelled"
        assert process.wait(120) == 0
    assert RunFolder(tmp_path).record().status.startswith("interrupted")
