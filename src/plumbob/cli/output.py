"""What a verb prints: results on standard output, progress on standard error."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import typer
from rich.console import Console

from plumbob.terminal import print_line, print_progress

INTERRUPTED = 130  # As a shell has it: 128 and the signal's number.


@contextmanager
def ending_at_ctrl_c() -> Iterator[None]:
    """What Ctrl-C stopped was said already, and Typer's versions leave with different codes."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def progress(quiet: bool) -> Callable[[str], None]:
    """Where a verb tells how far it is: standard error, or nowhere."""
    console = Console(stderr=True, quiet=quiet)
    return lambda message: print_progress(console, message)


def show(result: dict[str, object], as_json: bool) -> None:
    """Print a result: its lines for people, all the rest for programs."""
    if as_json:
        typer.echo(json.dumps({name: value for name, value in result.items() if name != "lines"}, allow_nan=False))
        return
    for line in cast("list[str]", result["lines"]):
        print_line(line)


def asked(question: str) -> Callable[[list[str]], bool]:
    """Shows lines, then asks a person; only for a terminal."""

    def ask(lines: list[str]) -> bool:
        show({"lines": lines}, as_json=False)
        return typer.confirm(question)

    return ask
