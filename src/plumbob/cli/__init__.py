"""The command line: parse, call, print. `cli.help.CODES` says what each exit code means."""

import errno
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Annotated, Any, TextIO

import typer

from plumbob.cli.commands import INTERRUPTED, VerbGroup, add_to
from plumbob.errors import ROOM_ADVICE, PlumbobError
from plumbob.extras import named_extras
from plumbob.party import verbs as party_verbs
from plumbob.terminal import LogHandler, complain
from plumbob.verb import Verb
from plumbob.version import __version__

__all__ = ["INTERRUPTED", "app", "main"]

COMPLETING = "_PLUMBOB_COMPLETE"  # A shell sets it when it asks for the words that fit.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

HELP = {
    "plan": "Write a plan, or show it with its hash.",
    "party": "Run your organisation's side: set it up, agree on a plan, train with peers.",
    "auditor": "Open one run's evidence, and sign what its replay found.",
}
PARTY_SIDE = ("party", "auditor")
# Under these headings, in this order, the first page lists what can be typed after `plumbob`.
SECTIONS = (
    "Start here",
    "Plan and check",
    "Train with other organisations",
    "Train with all parties on this machine",
    "Look at runs",
    "Research and tools",
)


def main() -> None:
    """Run the command line; what Plumbob raises on purpose becomes a message and exit code 1."""
    warnings.showwarning = show_warning
    logging.lastResort = LogHandler()
    if COMPLETING in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]  # Every version has it there.

        completion_init()
    try:
        with named_extras("this"):
            command(*sys.argv[1:3])(prog_name="plumbob")
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
def command(*words: str) -> Callable[..., None]:
    """The verb that these words name or, with its options, every verb that they may lead to, put together once."""
    return typer.main.get_command(application(*words))


@cache
def application(first: str = "", second: str = "") -> typer.Typer:
    """What can be typed; where the first words are a verb, that verb: all others take longer than many verbs' work."""
    verbs = _verbs_after(first)
    verbs = [verb for verb in verbs if verb.words in (first, f"{first} {second}")] or verbs
    made: dict[tuple[str, ...], typer.Typer] = {(): _group("plumbob", first_page(verbs), plumbob.__doc__)}
    made[()].callback()(plumbob)
    for name, text in HELP.items():
        if inside := [verb for verb in verbs if verb.words.startswith(f"{name} ")]:
            made[name,] = _group(name, by_section(inside), text)
            made[()].add_typer(made[name,], name=name)
    for verb in verbs:
        add_to(made[tuple(verb.words.split()[:-1])], verb)
    return made[()]


def __getattr__(name: str) -> Any:
    """Import late, because the application with all verbs needs the lab's too."""
    if name == "app":
        return application()
    raise AttributeError(f"module 'plumbob.cli' has no attribute {name!r}")


def _verbs_after(first: str) -> list[type[Verb]]:
    """Those of the modules that this word may need: beside its keys, an organisation loads no other verb."""
    verbs = verbs_in(party_verbs)
    if first in PARTY_SIDE:
        return verbs
    from plumbob import commands

    verbs += verbs_in(commands)
    if first not in {*HELP, *(verb.words for verb in verbs)}:
        from plumbob.lab import commands as studies

        verbs += verbs_in(studies)
    return verbs


def verbs_in(module: ModuleType) -> list[type[Verb]]:
    """The verbs in the order of the module; a class without words is a base class."""
    return [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Verb) and one.words]


def first_page(verbs: Sequence[type[Verb]]) -> dict[str, list[str]]:
    """The first words that can be typed, by heading; a group stands under its verbs' heading."""
    listed = by_section([verb for verb in verbs if " " not in verb.words])
    groups = {"Plan and check": ["plan"], "Train with other organisations": ["party", "auditor"]}
    return {title: [*groups.get(title, []), *listed.get(title, [])] for title in SECTIONS}


def by_section(verbs: Sequence[type[Verb]]) -> dict[str, list[str]]:
    """The last word of each verb, under the section that lists it."""
    sections: dict[str, list[str]] = {}
    for verb in verbs:
        sections.setdefault(verb.section, []).append(verb.words.split()[-1])
    return sections


def _group(name: str, sections: Mapping[str, Sequence[str]], text: str | None) -> typer.Typer:
    # Pretty tracebacks print local variables, and ours may hold keys.
    return typer.Typer(
        name=name,
        cls=type("Group", (VerbGroup,), {"sections": sections}),
        help=text,
        no_args_is_help=True,
        add_completion=name == "plumbob",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


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
