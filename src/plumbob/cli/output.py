"""What a verb prints: results on standard output, progress on standard error."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import typer
from rich.console import Console

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
    return lambda message: console.print(message, style="dim", markup=False, highlight=False, soft_wrap=True)


def show(result: dict[str, object], as_json: bool) -> None:
    """Print a result: its lines for people, all the rest for programs."""
    if as_json:
        typer.echo(json.dumps({name: value for name, value in result.items() if name != "lines"}, allow_nan=False))
        return
    console = Console()
    for line in cast("list[str]", result["lines"]):
        # As it is, however wide: a table cut at 80 columns cannot be read by the next program in a pipe.
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def asked(question: str) -> Callable[[list[str]], bool]:
    """Shows lines, then asks a person; only for a terminal."""

    def ask(lines: list[str]) -> bool:
        show({"lines": lines}, as_json=False)
        return typer.confirm(question)

    return ask


def printable(text: str) -> str:
    """Without control characters: what a record or a peer says must not steer the terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)
