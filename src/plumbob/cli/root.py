"""The groups that verbs belong to, and how the program starts and ends."""

import errno
import logging
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Annotated, TextIO

import typer

from plumbob import __version__
from plumbob.cli.help import VerbGroup
from plumbob.errors import ROOM_ADVICE, PlumbobError
from plumbob.terminal import LogHandler, complain

COMPLETING = "_PLUMBOB_COMPLETE"  # A shell sets it when it asks for the words that fit.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Pretty tracebacks print local variables, and ours may hold keys.
app = typer.Typer(
    name="plumbob",
    cls=VerbGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
plans = typer.Typer(
    cls=VerbGroup, no_args_is_help=True, help="Write a plan, show it, or print its hash.", rich_markup_mode=None
)
party = typer.Typer(
    cls=VerbGroup,
    no_args_is_help=True,
    help="Run your organisation's side: set it up, agree on a plan, train with peers.",
    rich_markup_mode=None,
)
app.add_typer(plans, name="plan")
app.add_typer(party, name="party")


def main() -> None:
    """Run the command line; what Plumbob raises on purpose becomes a message and exit code 1."""
    warnings.showwarning = show_warning
    logging.lastResort = LogHandler()
    if COMPLETING in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]  # Every version has it there.

        completion_init()
    try:
        command()(prog_name="plumbob")
    except PlumbobError as error:
        complain(f"plumbob: {error}")
        raise SystemExit(1) from None
    except OSError as error:
        # A folder that may not be written to, a full disk: nothing that a traceback would explain better.
        advice = f"; {ROOM_ADVICE}" if error.errno in FULL_DISK else ""
        complain(f"plumbob: {error.filename or 'a file'}: {error.strerror or type(error).__name__}{advice}")
        raise SystemExit(1) from None
    except MemoryError:
        complain("plumbob: there is not enough memory for this; `plumbob check --estimate` says how much")
        raise SystemExit(1) from None


@cache
def command() -> Callable[..., None]:
    """All verbs with their options, put together once: that takes longer than many verbs themselves."""
    return typer.main.get_command(app)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as one line for people, without the place in the code."""
    complain(f"plumbob: {message}")


def show_version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        typer.echo(f"plumbob {__version__}")
        raise typer.Exit


@app.callback()
def plumbob(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Vertical logistic regression whose privacy can be checked, attacked and shown."""
