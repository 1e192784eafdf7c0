"""The one place that writes to a terminal: what a plan, a record or a peer says must not control it.

Escape sequences can clear a screen, rewrite the lines above, and name a window. Each text is shown without them.
"""

import logging
import re
import sys
import textwrap
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

BEFORE_WORDS = re.compile(r"^ +|(?<=\S) {2,}(?=\S)")
TO_COPY = re.compile(r"^\s*(\S+ ?= |plumbob)|[$|]")
"""Lines to be copied: a plan's key, a command, a shell's script."""
TOGETHER = re.compile(r"plumbob [^,;:()]{1,60}|\d %")
"""A command, a number and its sign."""
UNBROKEN = "\N{NO-BREAK SPACE}"
SECONDS_BETWEEN_LINES = 10.0
"""Seconds between lines of progress, where standard error is no terminal."""


def printable(text: str) -> str:
    """The text with control characters shown as text, except ends of lines and tabs."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def one_line(text: str) -> str:
    """Printable text without ends of lines: whatever a peer says in it cannot pass for a line of ours."""
    return printable(text.replace("\n", "\\n"))


def print_line(text: str) -> None:
    """Print a line of a result on standard output.

    As it is, however wide, where that is a pipe: a table cut at 80 columns cannot be read by the next program. On a
    terminal, sentences continue in the next line between two words.
    """
    from rich.console import Console

    console, shown = Console(), one_line(text)
    for line in wrapped(shown, console.width) if sys.stdout.isatty() else [shown]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def wrapped(text: str, width: int) -> list[str]:
    """A sentence in lines of at most this width, indented as it begins; anything else as it is."""
    starts = [found.end() for found in BEFORE_WORDS.finditer(text)]
    indent = starts[-1] if starts else 0
    # What may be typed or saved must stay one line, and so must a row of a table.
    if len(text) <= width or TO_COPY.search(text) or indent > width // 4:
        return [text]
    unbroken = TOGETHER.sub(lambda found: found[0].replace(" ", UNBROKEN), text)
    lines = textwrap.wrap(
        unbroken, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(UNBROKEN, " ") for line in lines]


def complain(text: str) -> None:
    """Print an error or a warning on standard error."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def print_progress(console: "Console", text: str) -> None:
    """Print progress on a console of standard error."""
    console.print(one_line(text), style="dim", markup=False, highlight=False, soft_wrap=True)


class StatusLine:
    """Progress in one line of standard error, which the next overwrites; without a terminal, a line now and then."""

    def __init__(self, console: "Console") -> None:
        self.console = console
        self._is_overwritten = console.is_terminal and not console.is_dumb_terminal
        self._next = 0.0

    def __call__(self, text: str) -> None:
        if self._is_overwritten:
            self._write(one_line(text)[: self.console.width - 1])
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN_LINES
            print_progress(self.console, text)

    def clear(self) -> None:
        """Clear the line, so that nothing of it stays above a result."""
        if self._is_overwritten:
            self._write("")

    def _write(self, text: str) -> None:
        if not self.console.quiet:
            self.console.file.write(f"\r\x1b[2K{text}")
            self.console.file.flush()


class LogHandler(logging.StreamHandler):  # type: ignore[type-arg]  # Only a stub is generic.
    """Prints what is logged where nobody has set up a log: warnings and worse, on standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
