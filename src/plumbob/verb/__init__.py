"""A verb: a dataclass whose fields are the command's arguments and flags, and parameters in Python.

Its docstring is the help, `do` does the work and returns what `--json` prints, with the printed `lines` among it. The
command line, `Home`, and the reference pages all follow from the class. What does the work is imported inside `do`: to
know all verbs and their flags takes little, and every verb starts in under a second.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import typer

from plumbob.callbacks import Tell
from plumbob.terminal import complain

Result = dict[str, Any]

DONE = {0: "done", 1: "failed; the message says what to do", 2: "wrong usage"}
JUDGED = {
    0: "done, all clear",
    1: DONE[1],
    2: DONE[2],
    3: "done, and something leaks even if everyone keeps to the protocol",
    4: "done, no all-clear: a cheat can read something, or (--strict) something degrades",
}
AUDITED = {
    **JUDGED,
    4: "done, and no all-clear: something leaks if someone cheats, attacks were left out (--only) or cut short, or "
    "something degrades (--strict)",
}
CONSISTENT = {
    0: "done, and the records agree",
    1: "failed, or the records or signatures do not agree, or nobody with a --fingerprint signed",
    2: DONE[2],
}


@dataclass(frozen=True)
class Flag:
    """How a field is typed: its help, the word for its value, and its flag, if that is not the field's own name."""

    help: str
    metavar: str | None = None
    name: str = ""
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    is_file: bool = False
    is_folder: bool = False
    envvar: str | None = None
    choices: Sequence[str] = ()
    """The words that a shell completes."""
    panel: str | None = None
    """The heading of the help under which it stands; there the words themselves say what the default is."""
    parse: Callable[[str | None], Any] | None = None

    def for_typer(self, field_name: str) -> Any:
        """The description that Typer reads."""
        return typer.Option(
            self.name or f"--{field_name.replace('_', '-')}",
            rich_help_panel=self.panel,
            show_default=self.panel is None,
            envvar=self.envvar,
            min=self.low,
            max=self.high,
            callback=self.parse,
            **self._both(),
        )

    def _both(self) -> dict[str, Any]:
        completion = {"autocompletion": lambda: list(self.choices)} if self.choices else {}
        places = {"dir_okay": not self.is_file, "file_okay": not self.is_folder}
        return {"help": self.help, "metavar": self.metavar, **places, **completion}


class Argument(Flag):
    """How a field is typed that has no flag."""

    def for_typer(self, field_name: str) -> Any:
        del field_name
        return typer.Argument(**self._both())


def _keep_quiet(words: str) -> None:
    del words


@dataclass(frozen=True)
class Caller:
    """Whoever called a verb: how it hears about progress, and whether it can be asked."""

    tell: Tell = _keep_quiet
    """Tells what should be known while the verb is at work."""
    at: Tell = _keep_quiet
    """Tells how far the work is; the next words replace these."""
    quiet: bool = True
    """Whether nobody wants to see progress."""
    show: Callable[[Result], None] = field(default=lambda result: None)
    """Shows a result while the verb continues."""
    say: Tell | None = None
    """Prints a line of the result as soon as it is known; None for whoever reads all of it afterwards."""
    ask: Callable[[str, list[str]], bool] | None = None
    """Shows lines and asks a person; None where there is nobody to ask."""

    @classmethod
    def in_python(cls, verbose: bool) -> "Caller":
        """The caller in a notebook or a scheduler."""
        return cls(complain, quiet=False) if verbose else cls()


@dataclass(frozen=True)
class Verb(ABC):
    """What every verb has: its flags as fields, and `do`."""

    words: ClassVar[str] = ""
    """The words typed after `plumbob`."""
    section: ClassVar[str] = ""
    """The heading of the help under which it is listed."""
    example: ClassVar[str] = ""
    codes: ClassVar[Mapping[int, str]] = DONE

    verbose: bool = field(default=True, kw_only=True)
    """Whether progress is told, in Python; on the command line `--quiet` turns it off."""

    def __init_subclass__(
        cls, words: str = "", section: str = "", example: str = "", codes: Mapping[int, str] = DONE
    ) -> None:
        cls.words, cls.section, cls.codes = words, section, codes
        cls.example = f"plumbob {example or words}"

    def noted(self) -> AbstractContextManager[Callable[[Result], None]]:
        """A context around `do` that logs the verb and its result, if anywhere."""
        return nullcontext(lambda result: None)

    @abstractmethod
    def do(self, caller: Caller) -> Result:
        """Do the work; an empty result says that everything was shown already."""

    def exit_code(self, result: Result) -> int:
        """The exit code when `do` has finished."""
        del result
        return 0
