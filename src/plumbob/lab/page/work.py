"""One run at a time, in its own process, and its events so far.

The process is the command line's: it reads one job and writes one JSON object a line. What it told is kept, numbered,
so that a page that lost its connection, or was opened late, misses nothing.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from plumbob.errors import DataError

LONGEST_LINE = 2**20
SECONDS_TO_STOP = 5.0
LAST_WORDS = 2000
"""How many characters of standard error are shown when a process ends without saying why."""
ENDS = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Event:
    """An event of a run; numbers grow, with gaps where a step was overtaken by the next."""

    number: int
    kind: str
    content: dict[str, Any]


@dataclass
class LabRun:
    """A run under way, or the last one that ended."""

    name: str
    events: list[Event] = field(default_factory=list)
    told: int = 0
    process: asyncio.subprocess.Process | None = None
    is_unwanted: bool = False
    """Whether somebody asked for its end: that is then the reason, however it ends."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        return bool(self.events) and self.events[-1].kind in ENDS

    def tell(self, kind: str, **content: Any) -> None:
        """Add an event; only the newest step is kept, or an hour's run would be a long list."""
        self.told += 1
        self.events = [event for event in self.events if not event.kind == kind == "step"]
        self.events.append(Event(self.told, kind, content))
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, number: int) -> AsyncIterator[Event]:
        """Every event with a larger number, as they come, until the run is over."""
        while True:
            news = self._news
            for event in [event for event in self.events if event.number > number]:
                number = event.number
                yield event
            if self.is_over:
                return
            await news.wait()


class RunSlot:
    """Holds the current run, and keeps a second one from starting."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._follower: asyncio.Task[None] | None = None
        self.work: LabRun | None = None

    @property
    def is_busy(self) -> bool:
        return self.work is not None and not self.work.is_over

    async def start(self, name: str, job: dict[str, Any]) -> LabRun:
        """Start a run; refused while another is under way, because two would compete for cores."""
        if self.is_busy:
            raise DataError("a run is under way: wait for its end, or cancel it")
        # Before anything is awaited, so that a second request finds the room taken.
        work = self.work = LabRun(name)
        work.tell("stage", text="Starting")
        pipe = asyncio.subprocess.PIPE
        try:
            work.process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE
            )
        except OSError as error:
            work.tell("failed", text=f"no process could be started ({type(error).__name__})")
            return work
        self._follower = asyncio.create_task(_follow(work, work.process, json.dumps(job)))
        return work

    async def cancel(self) -> None:
        """Ask the process to stop, as Ctrl-C would; end it if it does not. Returns when nothing of it is left."""
        # Both by name: when this run has said that it is over, the next one may begin before its process is gone.
        work, follower = self.work, self._follower
        if work is not None and not work.is_over and work.process is not None:
            work.is_unwanted = True
            _send(work.process, signal.SIGINT)
            try:
                await asyncio.wait_for(work.process.wait(), SECONDS_TO_STOP)
            except TimeoutError:
                _send(work.process, signal.SIGKILL)
        if follower is not None:
            await follower


async def _follow(work: LabRun, process: asyncio.subprocess.Process, job: str) -> None:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise DataError("expected a process with pipes")
    # Standard input stays open: its end tells the process that the lab is gone.
    process.stdin.write(job.encode() + b"\n")
    words = asyncio.create_task(process.stderr.read())
    try:
        async for line in process.stdout:
            _pass_on(work, line)
    except ValueError:
        # Not what our own process writes: whatever it is, nobody waits for the rest.
        _send(process, signal.SIGKILL)
        work.tell("failed", text="the run's process ended: it wrote what is no event")
    code, said = await process.wait(), (await words).decode(errors="replace")
    process.stdin.close()
    if work.is_over:
        return
    if work.is_unwanted:
        work.tell("cancelled", text="The run was cancelled.")
    else:
        work.tell("failed", text=f"the run's process ended with code {code}. {said[-LAST_WORDS:]}".strip())


def _pass_on(work: LabRun, line: bytes) -> None:
    content = json.loads(line)
    if not isinstance(content, dict) or not isinstance(content.get("event"), str):
        raise ValueError("expected an event")
    work.tell(content.pop("event"), **content)


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        return  # It ended by itself just now.
