"""The lab's runs: folders as `plumbob audit` writes them, and the run under way, in its own process.

The process is the command line's: it reads one job and writes one JSON object a line. What it told is kept, numbered,
so that a page that lost its connection, or was opened late, misses nothing.
"""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plumbob.checking.filing import with_verdicts
from plumbob.checking.words import ORDER
from plumbob.errors import DataError, PlumbobError
from plumbob.lab.page.drafts import chosen, shape_like
from plumbob.record import Finding, RunRecord
from plumbob.report.decision import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder

NAME = re.compile(r"\d{3,6}-[a-z]+")
OPENED = "opened"
"""The name of the run that the lab was opened on, wherever its folder lies."""


@dataclass
class Runs:
    """The folder that holds the lab's runs, and the one run it was opened on, if any."""

    folder: Path
    opened: Path | None = None

    def names(self) -> list[str]:
        """The names of all runs: the opened one first, then oldest to newest."""
        found = (
            [path.name for path in self.folder.iterdir() if NAME.fullmatch(path.name)] if self.folder.is_dir() else []
        )
        return [*([OPENED] if self.opened is not None else []), *sorted(found)]

    def path(self, name: str) -> Path:
        """A run's folder; a name that is not in the list leads to no other file."""
        if name not in self.names():
            raise DataError("there is no such run")
        return self.opened if name == OPENED and self.opened is not None else self.folder / name

    def next(self, protocol: str) -> tuple[str, Path]:
        """The name and the folder of a new run."""
        numbers = [int(name.partition("-")[0]) for name in self.names() if name != OPENED]
        name = f"{max(numbers, default=0) + 1:03d}-{protocol}"
        return name, self.folder / name

    def record(self, name: str) -> RunRecord:
        return with_verdicts(RunFolder(self.path(name)).record())

    def report(self, name: str) -> str:
        """The page of a run that finished; a party's run leaves none, and gets it from its record."""
        path, record = RunFolder(self.path(name)).report_file, self.record(name)
        if not path.is_file() and not record.is_finished:
            raise DataError("this run has no report")
        return path.read_text(encoding="utf-8") if path.is_file() else page_of(record)

    def summary(self, name: str) -> str:
        """A run's decision sheet; an older run has none, and gets it from its record."""
        file = RunFolder(self.path(name)).summary_file
        return file.read_text(encoding="utf-8") if file.is_file() else summary_of(self.record(name))

    def listed(self) -> Iterator[dict[str, Any]]:
        """All runs for the comparison; those that cannot be read are left out."""
        for name in self.names():
            try:
                yield described(name, self.record(name), self.path(name))
            except PlumbobError:
                continue


def described(name: str, record: RunRecord, folder: Path) -> dict[str, Any]:
    """One run for the comparison: what it was, how good its model is, the worst that was found."""
    plan = record.parsed_plan
    rows = plan.rows or record.rows
    quality = next(iter(record.quality.values()), {}).get("joint", {})
    return {
        "name": name,
        "folder": folder.name,
        "title": plan.title,
        "protocol": record.protocol,
        "noise": plan.noise,
        "status": record.status,
        "is_finished": record.is_finished,
        "is_calculated": record.is_calculated,
        "has_report": record.is_finished or RunFolder(folder).report_file.is_file(),
        "seconds": record.seconds,
        "bytes": sum(party.bytes_sent for party in record.parties),
        "auc": quality.get("auc"),
        "log_loss": quality.get("log_loss"),
        "labels": worst(record.findings, "labels"),
        "values": worst(record.findings, "features", "scores"),
        "plan": chosen(plan, rows, shape_like(rows, plan.columns)),
    }


def worst(findings: Sequence[Finding], *targets: str) -> dict[str, Any] | None:
    """The worst verdict about these targets, and the furthest that any attack got; None where none was tried."""
    found = [finding for finding in findings if finding.target in targets]
    if not found:
        return None
    furthest = max(found, key=lambda finding: finding.advantage or 0.0)
    return {
        "verdict": min((finding.verdict for finding in found), key=ORDER.index),
        "attack": furthest.attack if furthest.advantage else "",
        "advantage": max(0.0, furthest.advantage or 0.0),
    }


# One run at a time, in its own process, and its events so far.

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
