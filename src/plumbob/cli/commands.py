"""Verbs as commands: a class's fields become arguments and flags, its result is printed, its exit code given."""

import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from plumbob.plan import suggestion
from plumbob.terminal import StatusLine, print_line, print_progress
from plumbob.verb import DONE, Caller, Flag, Result, Verb
from plumbob.verb.flags import PartyKeys, PlanKeys

LAST = ("verbose", "home")
INTERRUPTED = 130  # As a shell has it: 128 and the signal's number.
EVERYWHERE = {
    "as_json": Flag("Print one JSON object on standard output and nothing else.", name="--json"),
    "quiet": Flag("No progress on standard error."),
}
"""The flags of every verb."""

# What the parser says of numbers, in the words of each version, and what we say instead.
EXPECTED = {
    r"valid int": "a whole number",
    r"valid (number|float)": "a number",
    r"greater than or equal to (\S+)|range x>=([\d.]+)\.": r"\1\2 or more",
    r"less than or equal to (\S+)|range [\d.]+<=x<=([\d.]+)\.": r"at most \1\2",
}


def add_to(group: typer.Typer, verb: type[Verb]) -> None:
    """Make a verb a command of this group."""
    kind = type("Command", (CommandOfVerb,), {"example": verb.example, "codes": verb.codes})
    group.command(verb.words.split()[-1], cls=kind, help=verb.__doc__)(_callback(verb))


def _callback(verb: type[Verb]) -> Callable[..., None]:
    """The function that Typer calls: it runs the verb, shows its result and exits with its code."""
    groups: dict[str, Any] = {one.name: one.type for one in fields(verb) if is_dataclass(one.type)}
    takes_keys = {one.name: one.type == PlanKeys for one in fields(verb) if one.type in (PlanKeys, PartyKeys)}

    def callback(as_json: bool, quiet: bool, **values: Any) -> None:
        given: dict[str, Any] = {name: _keys_given(values) for name in takes_keys}
        for name, group in groups.items():
            given[name] = group(**{one.name: values.pop(one.name) for one in fields(group)})
        asked = verb(**values, **given)
        line = StatusLine(Console(stderr=True, quiet=quiet))
        try:
            with asked.noted() as note:
                result = asked.do(_caller(line, as_json, quiet))
                note(result)
        except KeyboardInterrupt:
            # What Ctrl-C stopped was said already, and Typer's versions leave with different codes.
            raise typer.Exit(INTERRUPTED) from None
        finally:
            line.clear()
        if result:
            show(result, as_json)
        if code := asked.exit_code(result):
            raise typer.Exit(code)

    own = list(_flags(verb))
    of_groups = [flag for group in groups.values() for flag in _flags(group)]
    both = [_parameter(name, Annotated[bool, flag.for_typer(name)], False) for name, flag in EVERYWHERE.items()]
    keys = [flag for is_study in takes_keys.values() for flag in _plan_flags(is_study)]
    # Typer reads the parameters from here.
    callback.__signature__ = inspect.Signature([*own, *both, *of_groups, *keys])  # type: ignore[attr-defined]  # As it is found.
    return callback


def _plan_flags(is_study: bool) -> list[inspect.Parameter]:
    from plumbob.verb.plan_flags import plan_flags  # Late: most verbs take no key of a plan.

    return plan_flags(is_study)


def _keys_given(values: dict[str, Any]) -> dict[str, Any]:
    from plumbob.verb.plan_flags import keys_given  # As above.

    return keys_given(values)


def _caller(line: StatusLine, as_json: bool, quiet: bool) -> Caller:
    """The caller for whoever types, at a terminal or not."""

    def tell(words: str) -> None:
        line.clear()
        print_progress(line.console, words)

    return Caller(
        tell,
        line,
        quiet,
        lambda result: show(result, as_json),
        None if as_json else print_line,
        _ask if sys.stdin.isatty() and not as_json and not quiet else None,
    )


def show(result: Result, as_json: bool) -> None:
    """Print a result: its lines for people, all the rest for programs."""
    if as_json:
        typer.echo(json.dumps({name: value for name, value in result.items() if name != "lines"}, allow_nan=False))
        return
    for line in result["lines"]:
        print_line(line)


def _ask(question: str, lines: list[str]) -> bool:
    show({"lines": lines}, as_json=False)
    return typer.confirm(question)


def _flags(kind: type) -> Iterator[inspect.Parameter]:
    """The fields that can be typed, as parameters: those with a description of how."""
    # What the base classes have matters less than a verb's own fields.
    for one in sorted(fields(kind), key=lambda one: LAST.index(one.name) if one.kw_only and one.name in LAST else -1):
        if get_origin(one.type) is Annotated and one.type not in (PlanKeys, PartyKeys):
            plain, flag = get_args(one.type)
            yield _parameter(one.name, Annotated[typed(plain), flag.for_typer(one.name)], _default(one))


def typed(hint: Any) -> Any:
    """A field's type on the command line: of several, a path before a text before anything else."""
    if get_origin(hint) not in (Union, types.UnionType):
        many = get_args(hint)
        return list[many[0]] if many else hint  # type: ignore[valid-type]  # Made here.
    kinds = get_args(hint)
    kind = next((wanted for wanted in (Path, str) if wanted in kinds), kinds[0])
    return kind | None if types.NoneType in kinds else kind


def _default(one: "Field[Any]") -> Any:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    if isinstance(default, tuple):
        return list(default)
    return inspect.Parameter.empty if default is MISSING else default


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# What the parser calls.


class CommandOfVerb(TyperCommand):
    """A command whose help ends with an example and its exit codes."""

    example = ""
    codes: Mapping[int, str] = DONE

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Parsing takes the words out of the list.
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            in_our_words(error, typed, ctx.command_path)
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from plumbob.cli.help import page_of_verb  # Late: most commands are not asked for help.

        formatter.write(page_of_verb(self, ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        from plumbob.cli.help import arguments_of, usage_of  # As above.

        return [*map(usage_of, arguments_of(self)), "[OPTIONS]"]


class VerbGroup(TyperGroup):
    """A group whose help lists its verbs in the order people use them."""

    sections: Mapping[str, Sequence[str]] = {}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from plumbob.cli.help import page_of_group  # As above.

        formatter.write(page_of_group(self, ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["VERB", "[OPTIONS]"]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Tell whoever forgets the group, as in `plumbob doctor`, the whole command."""
        word = args[0] if args else ""
        if word not in self.commands and (found := _gone(f"{ctx.command_path} {word}", "verb")):
            ctx.fail(f"{word}: {found}")
        holders = [name for name, one in self.commands.items() if word in getattr(one, "commands", {})]
        if word not in self.commands and holders:
            ctx.fail(f"there is no verb '{word}'; type: {ctx.command_path} {holders[0]} {word}")
        if word not in self.commands and not word.startswith("-"):
            close = suggestion(word, list(self.commands))
            ctx.fail(f"there is no verb '{word}'{close or f'; {ctx.command_path} --help lists them'}")
        return super().resolve_command(ctx, args)


def _gone(words: str, what: str) -> str | None:
    from plumbob.retired import gone  # Late: hardly anybody types what is gone.

    return gone(words, what)


def in_our_words(error: Any, args: Sequence[str], command: str) -> None:
    """Reword an error: what is wrong with a number or a flag, and what was expected; other errors stay as they are."""
    message = str(getattr(error, "message", ""))
    if flag := getattr(error, "option_name", None):
        if message.startswith("No such option"):
            close = suggestion(flag, getattr(error, "possibilities", None) or [])
            answer = _gone(f"{command} {flag}", "flag") or f"there is no such flag{close}"
            error.message, error.possibilities = f"{flag}: {answer}", None
        return
    names: Sequence[str] = getattr(getattr(error, "param", None), "opts", ())
    given = next((after for before, after in pairwise(args) if before in names), None)
    for pattern, expected in EXPECTED.items():
        if given is not None and (found := re.search(pattern, message)):
            told = f"{names[0]}: expected {found.expand(expected)}, got {given}"
            error.format_message = lambda told=told: told
