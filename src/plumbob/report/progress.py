"""How far a run is, on standard error: a bar with the time left in a terminal, otherwise a line now and then."""

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from plumbob.terminal import print_progress, printable

SECONDS_BETWEEN_LINES = 5.0


class Step(Protocol):
    """What a batch tells of itself here."""

    @property
    def step(self) -> int: ...

    @property
    def epoch(self) -> int:
        """From 1; 0 where there are none."""
        ...


class StepProgress:
    """Called after each step, from the label party's thread; remembers how far the run came."""

    def __init__(self, title: str, quiet: bool) -> None:
        self.title = title
        self.reached = 0
        self.steps = 0
        self._before = 0
        self._console = Console(stderr=True, quiet=quiet)
        self._started = self._said = time.monotonic()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Progress(
            *columns,
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task(printable(title), total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, batch: Step, steps: int) -> None:
        if not self.steps:
            # Steps of an earlier start say nothing about how fast this one is.
            self._before = batch.step - 1
            self._bar.reset(self._task, total=steps, completed=self._before)
        self.reached, self.steps = batch.step, steps
        self._bar.update(self._task, total=steps, completed=batch.step)
        now = time.monotonic()
        if not self._console.is_terminal and (now - self._said >= SECONDS_BETWEEN_LINES or batch.step == steps):
            self._said = now
            left = (now - self._started) / (batch.step - self._before) * (steps - batch.step)
            epoch = f", epoch {batch.epoch}" if batch.epoch else ""
            self.say(f"{self.title}: step {batch.step} of {steps}{epoch}, about {left:.0f} s left")

    @property
    def where(self) -> str:
        """How far it came, in words."""
        if not self.steps:
            return f"after step {self.reached}" if self.reached else "before the first step"
        return f"at step {self.reached} of {self.steps}"

    def say(self, message: str) -> None:
        print_progress(self._console, message)
