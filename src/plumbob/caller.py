"""Whoever calls a verb, and what a verb answers: the command line and Python call the same functions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from plumbob.terminal import complain, printable

Tell = Callable[[str], None]
"""Called with one line for a person to read."""
Progress = Callable[[int, int], None]
"""Called with how much of long work is done, and how much there is."""
Result = dict[str, Any]
"""The fields of a verb's JSON object, and the `lines` that are printed for people."""


class Outcome(Result):
    """A verb's answer: the fields of its JSON object. It prints as the command does."""

    def __init__(self, fields: Result, exit_code: int = 0) -> None:
        super().__init__(fields)
        self.exit_code = exit_code

    @property
    def lines(self) -> list[str]:
        """The lines that the command prints."""
        return [str(line) for line in self.get("lines", [])]

    def __repr__(self) -> str:
        return "\n".join(map(printable, self.lines))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def _keep_quiet(words: str) -> None:
    del words


@dataclass(frozen=True)
class Caller:
    """How whoever called a verb hears of its progress, and whether it can be asked; by default, a program in Python."""

    tell: Tell = complain
    """Tells what should be known while the verb is at work."""
    at: Tell = _keep_quiet
    """Tells how far the work is; the next words replace these."""
    quiet: bool = False
    """Whether nobody wants to see progress."""
    show: Callable[[Result], None] = field(default=lambda result: None)
    """Shows a result while the verb continues."""
    say: Tell | None = None
    """Prints a line of the result as soon as it is known; None for whoever reads all of it afterwards."""
    ask: Callable[[str, list[str]], bool] | None = None
    """Shows lines and asks a person; None where there is nobody to ask."""


IN_PYTHON = Caller()
"""A program in Python, which hears of progress on standard error."""
QUIET = Caller(tell=_keep_quiet, quiet=True)
"""A caller that does not want to hear of progress."""
