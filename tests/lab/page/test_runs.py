"""Runs: folders that are listed, described and reached by their names alone; and the one in a process of its own.

What it tells is kept and numbered; it can be stopped; it cannot hang the lab.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import DataError
from plumbob.lab.page.runs import OPENED, LabRun, Runs, RunSlot, worst
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding
from plumbob.run_folder import RunFolder


def finding(verdict: str, advantage: float | None, target: str = "labels") -> Finding:
    """A finding with this outcome."""
    return Finding("label-sign", "fund", "bank", target, verdict, "", "", "", advantage=advantage)


def kept(folder: Path, status: str = "finished") -> Path:
    """A run's folder with a record."""
    folder.mkdir(parents=True)
    record = unfinished_record(Plan.for_columns((8, 22), title="T", epochs=3, protocol="exchange"), 455, status)
    RunFolder(folder).save_record(
        replace(record, findings=[finding("leaks", 0.9)], quality={"test part": {"joint": {"auc": 0.9}}})
    )
    return folder


def test_runs_are_numbered(tmp_path: Path) -> None:
    """A new run's number follows the largest, also where some were removed; other folders do not count."""
    runs = Runs(tmp_path / "lab-runs")
    assert runs.names() == []
    assert runs.next("exchange") == ("001-exchange", tmp_path / "lab-runs" / "001-exchange")
    kept(tmp_path / "lab-runs" / "007-shares")
    (tmp_path / "lab-runs" / "999-..").mkdir()
    assert runs.names() == ["007-shares"]
    assert runs.next("clear")[0] == "008-clear"


def test_a_run_is_described_by_its_record(tmp_path: Path) -> None:
    """Quality, the worst that was found, and its plan as the controls want it."""
    kept(tmp_path / "001-exchange")
    (run,) = Runs(tmp_path).listed()
    assert (run["auc"], run["title"], run["is_finished"], run["has_report"]) == (0.9, "T", True, False)
    assert run["labels"] == {"verdict": "leaks", "attack": "label-sign", "advantage": 0.9}
    assert run["values"] is None
    assert run["plan"]["data"] == "breast-cancer"
    assert run["plan"]["keys"]["epochs"] == 3


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """A folder without a record, or with half of one, does not stop the others from being shown."""
    kept(tmp_path / "001-exchange")
    (tmp_path / "002-exchange").mkdir()
    (tmp_path / "003-exchange").mkdir()
    (tmp_path / "003-exchange" / "run.json").write_text("{")
    assert [run["name"] for run in Runs(tmp_path).listed()] == ["001-exchange"]


def test_only_names_in_the_list_lead_anywhere(tmp_path: Path) -> None:
    """The opened run has a name of its own; nothing else outside has one."""
    elsewhere = kept(tmp_path / "elsewhere")
    runs = Runs(tmp_path / "lab-runs", elsewhere)
    assert runs.path(OPENED) == elsewhere
    for name in ("..", "../elsewhere", str(elsewhere), "elsewhere", ""):
        with pytest.raises(DataError, match="no such run"):
            runs.path(name)
    with pytest.raises(DataError, match="no report"):
        runs.report(OPENED)


def test_the_worst_is_shown() -> None:
    """The worst verdict beside the furthest that any attack got, which is never less than nothing."""
    found = worst([finding("degrades", -0.2), finding("leaks", 0.4), finding("blocked", None)], "labels")
    assert found == {"verdict": "leaks", "attack": "label-sign", "advantage": 0.4}
    assert worst([finding("blocked", -0.2)], "labels") == {
        "verdict": "blocked",
        "attack": "label-sign",
        "advantage": 0.0,
    }
    assert worst([finding("leaks", 0.4)], "features", "scores") is None


# A run in a process of its own.


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that waits for a process, run to its end."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


TELLING = """
import json, sys
job = json.loads(sys.stdin.readline())
for step in range(50):
    print(json.dumps({"event": "step", "step": step}))
print(json.dumps({"event": "done", "text": job["word"]}))
"""
WAITING = 'import time; print(\'{"event": "stage", "text": "waiting"}\', flush=True); time.sleep(60)'
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); " + WAITING
LINGERING = """
import signal, time
def over(*_):
    print('{"event": "cancelled", "text": "over"}', flush=True)
    time.sleep(60)
signal.signal(signal.SIGINT, over)
print('{"event": "stage", "text": "waiting"}', flush=True)
time.sleep(60)
"""
FAILING = "import sys; sys.exit('a <word> about it')"


async def heard(one: LabRun, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
    """Every event to the end."""
    return [(event.number, event.kind, event.content) async for event in one.after(after)]


def room(program: str) -> RunSlot:
    """A slot for runs of this program."""
    return RunSlot([sys.executable, "-c", program])


@in_a_loop
async def test_what_is_told_is_kept_and_numbered() -> None:
    """A late listener gets what an early one got, but for steps that others overtook; the job arrived."""
    telling = room(TELLING)
    begun = await telling.start("001-clear", {"word": "over"})
    early = await heard(begun)
    await telling.cancel()
    late = await heard(begun)
    assert early[-1][1:] == ("done", {"text": "over"})
    assert [kind for _, kind, _ in late] == ["stage", "step", "done"]
    assert late[1] == (51, "step", {"step": 49})
    assert [number for number, _, _ in early] == sorted({number for number, _, _ in early})


@in_a_loop
async def test_one_at_a_time_and_cancelled() -> None:
    """A second is refused while the first is under way; afterwards there is room again."""
    busy = room(WAITING)
    begun = await busy.start("001-clear", {})
    with pytest.raises(DataError, match="under way"):
        await busy.start("002-clear", {})
    await busy.cancel()
    kinds = [kind for _, kind, _ in await heard(begun)]
    assert not busy.is_busy
    await busy.start("002-clear", {})
    await busy.cancel()
    assert kinds[-1] == "cancelled"


@in_a_loop
async def test_a_deaf_process_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not stop when it is asked is stopped."""
    monkeypatch.setattr("plumbob.lab.page.runs.SECONDS_TO_STOP", 0.2)
    busy = room(DEAF)
    begun = await busy.start("001-clear", {})
    async for event in begun.after(1):
        if event.content == {"text": "waiting"}:
            break
    await busy.cancel()
    assert begun.events[-1].kind == "cancelled"


@in_a_loop
async def test_the_next_run_outlives_the_end_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that says it is over and takes long to go is ended; the run that began meanwhile is not."""
    monkeypatch.setattr("plumbob.lab.page.runs.SECONDS_TO_STOP", 0.5)
    busy = room(LINGERING)
    first = await busy.start("001-clear", {})
    async for event in first.after(1):
        if event.content == {"text": "waiting"}:
            break
    ending = asyncio.create_task(busy.cancel())
    await heard(first)
    second = await busy.start("002-clear", {})
    await ending
    assert first.process is not None
    assert second.process is not None
    codes = first.process.returncode, second.process.returncode
    await busy.cancel()
    assert codes == (-9, None)


@pytest.mark.parametrize("program", [FAILING, "print('no JSON')", "print('[]')"])
@in_a_loop
async def test_a_process_that_ends_early_is_reported(program: str) -> None:
    """Whatever it left unsaid, the page hears that it is over, and why."""
    failing = room(program)
    begun = await failing.start("001-clear", {})
    *_, (_, kind, content) = await heard(begun)
    await failing.cancel()
    assert kind == "failed"
    assert "ended" in content["text"]


@in_a_loop
async def test_a_command_that_does_not_exist_is_reported() -> None:
    """A missing command is reported in words, not as a traceback in the middle of a request."""
    assert (await RunSlot(["/no/such/program"]).start("001-clear", {})).events[-1].kind == "failed"
