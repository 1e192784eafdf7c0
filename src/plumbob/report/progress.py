"""The progress of a run on standard error: a bar with the time left in a terminal, otherwise a line now and then."""

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from plumbob.counting import seconds
from plumbob.terminal import SECONDS_BETWEEN_LINES, print_progress, printable


class Step(Protocol):
    """The part of a batch that progress is told from."""

    @property
    def step(self) -> int: ...

    @property
    def epoch(self) -> int:
        """The epoch, from 1; 0 where there are none."""
        ...

    @property
    def told(self) -> str:
        """What else is said of the step; may be empty."""
        ...

    @property
    def done(self) -> float:
        """The share of the work that is done with this step, from 0 to 1."""
        ...


class StepProgress:
    """Called after each step, from the label party's thread; remembers how far the run came."""

    def __init__(self, title: str, quiet: bool, noun: str = "step") -> None:
        self.title, self.noun = title, noun
        self.reached = 0
        self.steps = 0
        self._before = 0.0
        self._console = Console(stderr=True, quiet=quiet)
        self._started = self._said = time.monotonic()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
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
        now = time.monotonic()
        if not self.steps:
            # Steps of an earlier start say nothing about how fast this one is, nor does what comes before the first.
            self._before, self._started = batch.done, now
            self._bar.reset(self._task, total=1.0)
        self.reached, self.steps = batch.step, steps
        words = f"{self.noun} {batch.step} of {steps}" + (f", {batch.told}" if batch.told else "")
        self._bar.update(self._task, completed=batch.done, description=printable(f"{self.title}: {words}"))
        if not self._console.is_terminal and (now - self._said >= SECONDS_BETWEEN_LINES or batch.step == steps):
            self._said = now
            self.say(f"{self.title}: {words}{self._left(batch, now)}")

    def _left(self, batch: Step, now: float) -> str:
        """The time that is left, once a step of this start was timed; none after the last one."""
        if batch.done <= self._before or batch.done >= 1.0:
            return ""
        left = (now - self._started) / (batch.done - self._before) * (1.0 - batch.done)
        return f", about {seconds(round(left))} left"

    @property
    def where(self) -> str:
        """How far the run came, in words."""
        if not self.steps:
            return f"after {self.noun} {self.reached}" if self.reached else f"before the first {self.noun}"
        return f"at {self.noun} {self.reached} of {self.steps}"

    def say(self, message: str) -> None:
        print_progress(self._console, message)
