"""The command line: parse, call, print. `cli.options` says how a function becomes a command, and what codes mean."""

import logging
import os
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any, TextIO

import typer

from plumbob.cli.options import CODES, INTERRUPTED, group_of
from plumbob.terminal import LogHandler, complain
from plumbob.version import __version__

__all__ = ["INTERRUPTED", "app", "main"]

COMPLETING = "_PLUMBOB_COMPLETE"  # A shell sets it when it asks for the words that fit.
PARTY_SIDE = {
    "party": "Train with other organisations",
    "auditor": "Train with other organisations",
}
"""Groups with a module of their own each: beside its keys, an organisation loads no other verb."""


def main() -> None:
    """Run the command line; where the words are wrong, also say what became of those that are gone."""
    warnings.showwarning = show_warning
    logging.lastResort = LogHandler()
    words = sys.argv[1:]
    try:
        application("" if COMPLETING in os.environ else next(iter(words), ""))(prog_name="plumbob")
    except SystemExit as left:
        if left.code == 2 and words:
            from plumbob.cli.hints import hints  # Late: hardly anybody types what is not there.

            for hint in hints(words):
                complain(f"plumbob: {hint}")
        raise


def application(first: str = "") -> typer.Typer:
    """What can be typed; after `party` or `auditor`, only what can follow."""
    app = group_of(
        None, plumbob.__doc__ or "", " ".join(f"Exit code {code}: {words}." for code, words in CODES.items())
    )
    app.callback()(plumbob)
    for name in [first] if first in PARTY_SIDE else ("lab", "check", *PARTY_SIDE):
        app.add_typer(import_module(f"plumbob.cli.{name}").group, rich_help_panel=PARTY_SIDE.get(name))
    return app


def __getattr__(name: str) -> Any:
    """Import late, because the application with all verbs needs the lab's too."""
    if name == "app":
        return application()
    raise AttributeError(f"module 'plumbob.cli' has no attribute {name!r}")


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


def plumbob(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Vertical logistic regression whose privacy can be checked, attacked and shown."""
