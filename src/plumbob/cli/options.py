"""What the verbs share: how a function becomes a command, and the arguments and flags that several commands have.

A verb is a function with Typer's annotations. `command` adds `--json` and `--quiet`, prints what the function returns,
turns errors into messages, and exits with the verb's code. A parameter whose type is one of the groups below stands for
all flags of this group.
"""

import errno
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console

from plumbob.caller import Caller, Outcome, Result
from plumbob.errors import ROOM_ADVICE, PlanError, PlumbobError
from plumbob.extras import named_extras
from plumbob.plan import PARTY_KEYS, Plan, SettingKey
from plumbob.terminal import StatusLine, complain, print_line, print_progress

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices

INTERRUPTED = 130  # As a shell has it: 128 and the signal's number.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CODES = {
    0: "done",
    1: "failed; the message says what to do",
    2: "wrong usage",
    3: "check, audit: something leaks above the plan's tolerance even if everyone keeps to the protocol",
    4: "check, audit: no all-clear: something leaks if someone cheats, attacks were left out (--only) or cut short, a "
    "job does not say all that matters, or something degrades (--strict)",
    5: "auditor replay: a message does not follow from what was fixed before the run",
    INTERRUPTED: "interrupted by Ctrl-C",
}
"""The exit codes of all verbs."""
JUDGED = (3, 4)
"""The codes of verbs that judge."""


# A function becomes a command.


def group_of(name: str | None, text: str, epilog: str | None = None) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        name=name,
        help=text,
        epilog=epilog,
        no_args_is_help=True,
        add_completion=name is None,
        # Pretty tracebacks print local variables, and ours may hold keys.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def command(
    group: typer.Typer, panel: str, example: str, name: str | None = None, codes: tuple[int, ...] = ()
) -> Callable[[Callable[..., Result]], Callable[..., None]]:
    """Make a function a command of this group; its help ends with an example, and with exit codes of its own."""
    ending = [f"Example: plumbob {example}", *(f"Exit code {code}: {CODES[code]}." for code in codes)]

    def register(work: Callable[..., Result]) -> Callable[..., None]:
        def called(as_json: bool, quiet: bool, **given: Any) -> None:
            caller = _caller(as_json, quiet)
            outcome = carry_out(lambda: work(**with_groups(work, given), **_asks(work, caller)))
            if outcome:
                show(outcome, as_json)
            if isinstance(outcome, Outcome) and outcome.exit_code:
                raise typer.Exit(outcome.exit_code)

        called.__doc__ = work.__doc__
        # Typer reads the parameters from here.
        called.__signature__ = inspect.Signature([*parameters_of(work), *EVERYWHERE])  # type: ignore[attr-defined]  # A function has it.
        group.command(name or work.__name__, rich_help_panel=panel, epilog="\n\n".join(ending))(called)
        return called

    return register


def carry_out(work: Callable[[], Result]) -> Result:
    """Do the work; whatever Plumbob raises on purpose becomes a message and exit code 1."""
    try:
        with named_extras("this"):
            return work()
    except KeyboardInterrupt:
        complain("plumbob: stopped by Ctrl-C; to go on, type the same command again")
        # Typer's versions leave with different codes.
        raise typer.Exit(INTERRUPTED) from None
    except PlumbobError as error:
        complain(f"plumbob: {error}")
    except OSError as error:
        # A folder that may not be written to, a full disk: nothing that a traceback would explain better.
        advice = f"; {ROOM_ADVICE}" if error.errno in FULL_DISK else ""
        complain(f"plumbob: {error.filename or 'a file'}: {error.strerror or type(error).__name__}{advice}")
    except MemoryError:
        complain("plumbob: there is not enough memory for this; `plumbob check --estimate` says how much")
    raise typer.Exit(1)


def show(result: Result, as_json: bool = False) -> None:
    """Print a result: its lines for people, all the rest for programs."""
    if as_json:
        typer.echo(json.dumps({name: value for name, value in result.items() if name != "lines"}, allow_nan=False))
        return
    for line in result["lines"]:
        print_line(line)


def _caller(as_json: bool, quiet: bool) -> Caller:
    """The caller for whoever types, at a terminal or not."""
    line = StatusLine(Console(stderr=True, quiet=quiet))

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


def _ask(question: str, lines: list[str]) -> bool:
    show({"lines": lines})
    return typer.confirm(question)


def _asks(work: Callable[..., Result], caller: Caller) -> dict[str, Caller]:
    """The caller, for a function that wants to know it."""
    return {"caller": caller} if "caller" in inspect.signature(work).parameters else {}


# Groups of flags.


class FlagGroup:
    """Flags that several verbs share, as the type of one parameter."""

    @classmethod
    def flags(cls) -> Iterator[inspect.Parameter]:
        """The flags of this group."""
        for item in fields(cls):  # type: ignore[arg-type]  # Every group below is a dataclass or has flags of its own.
            yield parameter(item.name, item.type, item.default)

    @classmethod
    def taken_from(cls, values: dict[str, Any]) -> Self:
        """The group with the values of its flags, which are taken out of everything that was typed."""
        return cls(**{item.name: values.pop(item.name) for item in cls.flags()})


def parameters_of(work: Callable[..., Result]) -> Iterator[inspect.Parameter]:
    """The parameters that can be typed, with the flags of each group."""
    for item in inspect.signature(work).parameters.values():
        if isinstance(item.annotation, type) and issubclass(item.annotation, FlagGroup):
            yield from item.annotation.flags()
        elif item.annotation is not Caller:
            yield item.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def with_groups(work: Callable[..., Result], values: dict[str, Any]) -> dict[str, Any]:
    """Everything that was typed, with the flags of a group as one value."""
    for name, item in inspect.signature(work).parameters.items():
        if isinstance(item.annotation, type) and issubclass(item.annotation, FlagGroup):
            values[name] = item.annotation.taken_from(values)
    return values


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """A parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


EVERYWHERE = (
    parameter(
        "as_json",
        Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")],
        False,
    ),
    parameter("quiet", Annotated[bool, typer.Option("--quiet", help="Show no progress on standard error.")], False),
)
"""The flags of every verb."""


# A party's own table: which columns, and how they are read. Every verb that reads one has these flags.

OF_TABLE = "How the table is read"


@dataclass(frozen=True)
class TableFlags(FlagGroup):
    """The flags about a table, as they were typed."""

    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel=OF_TABLE,
            help="Columns to use, in this order, separated by commas (default: all).",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel=OF_TABLE,
            help="Columns to leave out, separated by commas.",
        ),
    ] = None
    category: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel=OF_TABLE,
            help="Columns that are text even if their cells are numbers, separated by commas.",
        ),
    ] = None
    gaps: Annotated[
        list[str] | None,
        typer.Option(
            "--na",
            metavar="MARK",
            rich_help_panel=OF_TABLE,
            help="Cell that means a gap, besides empty ones and NA; may be repeated.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            rich_help_panel=OF_TABLE,
            help="Class to predict (default: the label's second class when sorted).",
        ),
    ] = None
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=OF_TABLE,
            help="Column of the label party that says how much a row counts in training, from 0 to 1.",
        ),
    ] = None

    def choices(self) -> "ColumnChoices":
        """The choices about a table that the flags make."""
        from plumbob.data import ColumnChoices  # Late: whoever asks for help does not wait for numpy.

        return ColumnChoices(
            _names(self.columns) or None,
            _names(self.drop),
            _names(self.category),
            tuple(self.gaps or ()),
            self.positive,
            self.weight,
        )


def _names(words: list[str] | None) -> tuple[str, ...]:
    """Names separated by commas, or given one by one."""
    return tuple(name.strip() for word in words or () for name in word.split(",") if name.strip())


# Keys of a plan: the usual ones are flags, `--set` changes any.

OF_PLAN = "Keys of the plan (a flag wins over the file)"
POINT_FIRST = re.compile(r"^([+-]?)\.(?=\d)")
"""The beginning of a fraction as people type it, .3; TOML wants a digit before the point."""
Features = Annotated[
    str | None,
    typer.Option(
        metavar="COUNTS",
        rich_help_panel=OF_PLAN,
        help="Number of each party's columns after encoding, label party first: 11,12.",
    ),
]
AnyKey = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel=OF_PLAN,
        help="Any key of the plan, such as delta=1e-7; may be repeated. `plumbob plan show` lists the keys.",
    ),
]
LikeThePaper = Annotated[
    bool,
    typer.Option(
        "--as-in-the-paper", rich_help_panel=OF_PLAN, help="Train as the paper does, where no flag says otherwise."
    ),
]


class PlanKeys(dict[str, Any], FlagGroup):
    """The keys of a study's plan that flags name."""

    @classmethod
    def flags(cls) -> Iterator[inspect.Parameter]:
        from plumbob.plan import KEYS, default_of  # Late: a plan of organisations has no key of a study.

        yield parameter("features", Features, None)
        for key in KEYS:
            if key.is_usual:
                kinds = {protocol: _written(default_of(key, protocol)) for protocol in ("shares", "clear", "exchange")}
                yield _flag(key, _in_words(**kinds))
        yield parameter("any_key", AnyKey, None)
        yield parameter("like_the_paper", LikeThePaper, False)

    @classmethod
    def taken_from(cls, values: dict[str, Any]) -> Self:
        typed = {item.name: values.pop(item.name) for item in cls.flags()}
        usual = _papers_values() if typed.pop("like_the_paper", False) else {}
        given = dict(map(_key_and_value, typed.pop("any_key") or ()))
        if (features := typed.pop("features", None)) is not None:
            given["features"] = _counts(features)
        return cls({**usual, **given, **{name: value for name, value in typed.items() if value is not None}})


class PartyKeys(PlanKeys):
    """The same for a draft between organisations, which has none of a study's keys."""

    @classmethod
    def flags(cls) -> Iterator[inspect.Parameter]:
        yield from (_flag(key, _written(key.default)) for key in PARTY_KEYS if key.is_usual)
        yield parameter("any_key", AnyKey, None)


def plan_from(file: Path | None, keys: Mapping[str, Any]) -> Plan:
    """The plan in a file, if one is given, with the used flags put over it."""
    if file is not None:
        return Plan.load(file).replace(**keys)
    if "features" not in keys:
        raise PlanError("no plan: give its file, or at least --features with each party's columns, label party first")
    others = {name: value for name, value in keys.items() if name != "features"}
    return Plan.for_columns(keys["features"], **others)


def _papers_values() -> dict[str, Any]:
    from plumbob.plan import PAPER, PAPERS_PROTOCOL

    return {"protocol": PAPERS_PROTOCOL, **PAPER}


def _flag(key: SettingKey, default: str) -> inspect.Parameter:
    option = typer.Option(
        metavar="|".join(key.choices) or None,
        rich_help_panel=OF_PLAN,
        help=f"{key.help} (default: {default}).",
        autocompletion=lambda: list(key.choices),
    )
    return parameter(key.name, Annotated[type(key.default) | None, option], None)


def _written(default: object) -> str:
    """A default as it is typed."""
    return str(default) or "none"


def _in_words(shares: str, clear: str, exchange: str) -> str:
    """The defaults under these protocols."""
    if shares == exchange:
        return shares
    return f"{shares} with {'shares and clear' if clear == shares else 'shares'}, else {exchange}"


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(count) for count in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            "--features: expected each party's columns, label party first, such as 11,12"
        ) from None


def _key_and_value(word: str) -> tuple[str, Any]:
    """A key and its value, written as in the plan's file; quotes around a word may be left out."""
    name, separator, text = word.partition("=")
    if not separator:
        raise typer.BadParameter(f"--set {word}: expected KEY=VALUE, such as delta=1e-7")
    try:
        value = tomllib.loads("value = " + POINT_FIRST.sub(r"\g<1>0.", text))["value"]
    except tomllib.TOMLDecodeError:
        value = text
    return name.strip().replace("-", "_"), value


# Arguments and flags that several verbs have.

HOME = Path("party")
HomeFolder = Annotated[
    Path,
    typer.Option(
        envvar="PLUMBOB_HOME", file_okay=False, help="This party's folder: key, certificate, peers, settings."
    ),
]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file (TOML).")]
RunFolderArgument = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder of a run.")]
IdColumnWords = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that identifies each row; where its name differs, PARTY=COLUMN for each party, repeated.",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="Column of the label party that holds the label."),
]
DataWords = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="DATASET|PARTY=FILE", help="Name of a data set, or PARTY=FILE for each party."),
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the larger data sets (default: PLUMBOB_DATA).")]
ShowsAll = Annotated[
    bool, typer.Option("--verbose", help="Also show every finding with its numbers and reasons, and all notes.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Also exit with 4 where nothing leaks but something degrades.")]
StrictRows = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse rows with a level or a gap that training did not have (default: count them)."
    ),
]
