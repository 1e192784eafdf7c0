"""The one place that writes to a terminal: whatever a plan, a record or a peer says must not steer it.

Escape sequences can clear a screen, rewrite the lines above, and name a window. Each text is shown without them.
"""

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: str) -> str:
    """Control characters as text, but for ends of lines and tabs."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def print_line(text: str) -> None:
    """A line of a result, on standard output.

    As it is, however wide: a table cut at 80 columns cannot be read by the next program in a pipe.
    """
    from rich.console import Console

    Console().print(printable(text), markup=False, highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """An error or a warning, on standard error."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def print_progress(console: "Console", text: str) -> None:
    """How far something is, on a console of standard error."""
    console.print(printable(text), style="dim", markup=False, highlight=False, soft_wrap=True)


class LogHandler(logging.StreamHandler):  # type: ignore[type-arg]  # Only a stub is generic.
    """What is logged where nobody has set up a log: warnings and worse, on standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
