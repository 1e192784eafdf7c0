"""A run in a process of its own: what it tells is kept and numbered; it can be stopped; it cannot hang the lab."""

import asyncio
import sys
from typing import Any

import pytest

from plumbob.errors import DataError
from plumbob.lab.page import runs
from plumbob.lab.page.runs import LabRun, RunSlot

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


def test_what_is_told_is_kept_and_numbered() -> None:
    """A late listener gets what an early one got, but for steps that others overtook; the job arrived."""

    async def told() -> tuple[list[Any], list[Any]]:
        telling = room(TELLING)
        begun = await telling.start("001-clear", {"word": "over"})
        early = await heard(begun)
        await telling.cancel()
        return early, await heard(begun)

    early, late = asyncio.run(told())
    assert early[-1][1:] == ("done", {"text": "over"})
    assert [kind for _, kind, _ in late] == ["stage", "step", "done"]
    assert late[1] == (51, "step", {"step": 49})
    assert [number for number, _, _ in early] == sorted({number for number, _, _ in early})


def test_one_at_a_time_and_cancelled() -> None:
    """A second is refused while the first is under way; afterwards there is room again."""

    async def done() -> list[str]:
        busy = room(WAITING)
        begun = await busy.start("001-clear", {})
        with pytest.raises(DataError, match="under way"):
            await busy.start("002-clear", {})
        await busy.cancel()
        kinds = [kind for _, kind, _ in await heard(begun)]
        assert not busy.is_busy
        await busy.start("002-clear", {})
        await busy.cancel()
        return kinds

    assert asyncio.run(done())[-1] == "cancelled"


def test_a_deaf_process_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not stop when it is asked is stopped."""
    monkeypatch.setattr(runs, "SECONDS_TO_STOP", 0.2)

    async def done() -> str:
        busy = room(DEAF)
        begun = await busy.start("001-clear", {})
        async for event in begun.after(1):
            if event.content == {"text": "waiting"}:
                break
        await busy.cancel()
        return begun.events[-1].kind

    assert asyncio.run(done()) == "cancelled"


def test_the_next_run_outlives_the_end_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that says it is over and takes long to go is ended; the run that began meanwhile is not."""
    monkeypatch.setattr(runs, "SECONDS_TO_STOP", 0.5)

    async def done() -> tuple[int | None, int | None]:
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
        return codes

    assert asyncio.run(done()) == (-9, None)


@pytest.mark.parametrize("program", [FAILING, "print('no JSON')", "print('[]')"])
def test_a_process_that_ends_early_is_reported(program: str) -> None:
    """Whatever it left unsaid, the page hears that it is over, and why."""

    async def done() -> tuple[str, dict[str, Any]]:
        failing = room(program)
        begun = await failing.start("001-clear", {})
        *_, (_, kind, content) = await heard(begun)
        await failing.cancel()
        return kind, content

    kind, content = asyncio.run(done())
    assert kind == "failed"
    assert "ended" in content["text"]


def test_a_command_that_does_not_exist_is_reported() -> None:
    """A missing command is reported in words, not as a traceback in the middle of a request."""

    async def done() -> str:
        return (await RunSlot(["/no/such/program"]).start("001-clear", {})).events[-1].kind

    assert asyncio.run(done()) == "failed"
