"""Everything that people type, write or import: a line for each verb, flag, key of a plan, setting and public name.

    plumbob check                                  a verb
    plumbob check --estimate                       a flag
    plan [data] scale                              a key of a plan, with its section
    party.toml [table] na                          a setting, with its section if it stands in one
    plumbob.party.Home.align                       a name in Python
    plumbob.VerticalLogisticRegression(momentum)   a parameter of the estimator

`python -m tests.frozen.surface` adds what is new to the file and takes nothing out.
"""

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from plumbob.cli import app
from plumbob.errors import PlumbobError
from plumbob.lab.simulate.estimator import VerticalLogisticRegression
from plumbob.party.settings import HomeSettings
from plumbob.plan import KEYS, Heuristic
from plumbob.plan.file import AUDITORS, HEURISTIC

FILE = Path(__file__).parent / "surface.txt"
MODULES = ("plumbob", "plumbob.party", "plumbob.datasets", "plumbob.attacks", "plumbob.errors", "plumbob.record")
CLASSES = ("plumbob.VerticalLogisticRegression", "plumbob.Plan", "plumbob.Findings", "plumbob.party.Home")
OUR_OWN = {
    "plumbob.Plan": {
        "default",
        "has_evidence_of",
        "held_out",
        "keys",
        "levels",
        "of_job",
        "passes",
        "rate_over",
        "to_dict",
        "values",
        "whole_step",
    },
    "plumbob.party.Home": {"connector", "create", "invitation", "renewed", "with_settings"},
}
"""Methods that only the house itself calls."""
PEER = "NAME"


def surface() -> list[str]:
    """All of it as it is today."""
    return [*_verbs(), *_keys(), *_settings(), *_names(), *_members(), *_parameters()]


def _verbs() -> Iterator[str]:
    for words, verb in commands(typer.main.get_command(app), "plumbob"):
        yield words
        for item in verb.params:
            yield from (f"{words} {flag}" for flag in (*item.opts, *item.secondary_opts) if flag.startswith("--"))


def commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Every verb, with what is typed for it."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, inner in command.commands.items():
        yield from commands(inner, f"{words} {name}")


def _keys() -> Iterator[str]:
    for key in KEYS:
        yield f"plan [{key.section}] {key.in_file}" if key.section else f"plan {key.in_file}"
    yield from (f"plan [{section}] {name}" for section, name in (HEURISTIC, AUDITORS))
    yield from (f"plan [privacy.heuristic] {item.name}" for item in fields(Heuristic))
    yield from ("plan version", "plan [parties.NAME] role", "plan [parties.NAME] features")


def _settings() -> Iterator[str]:
    """What stands in a party.toml that `party init` writes, and `party join` after it."""
    written = tomllib.loads(HomeSettings(name="bank").to_toml())
    for name, value in written.items():
        if isinstance(value, Mapping):
            inner = value.get(PEER, value)
            section = f"{name}.{PEER}" if PEER in value else name
            yield from (f"party.toml [{section}] {key}" for key in inner)
        else:
            yield f"party.toml {name}"


def _names() -> Iterator[str]:
    for module in MODULES:
        found = import_module(module)
        names = getattr(found, "__all__", None) or [name for name, item in vars(found).items() if _is_own(item, module)]
        yield from (f"{module}.{name}" for name in sorted(names))


def _is_own(item: Any, module: str) -> bool:
    is_public = not getattr(item, "__name__", "_").startswith("_")
    is_error = module == "plumbob.errors" and isinstance(item, type) and issubclass(item, PlumbobError)
    is_kind = module != "plumbob.errors" and (isinstance(item, type) or inspect.isfunction(item))
    return is_public and getattr(item, "__module__", "") == module and (is_error or is_kind)


def _members() -> Iterator[str]:
    """The methods of the classes that scripts use; what a class inherits from scikit-learn is not ours."""
    for words in CLASSES:
        module, _, name = words.rpartition(".")
        kind = getattr(import_module(module), name)
        own = [base for base in kind.__mro__ if base.__module__.startswith("plumbob.")]
        found = {inner for base in own for inner, item in vars(base).items() if inspect.isroutine(item)}
        offered = found - OUR_OWN.get(words, set())
        yield from (f"{words}.{inner}" for inner in sorted(offered) if not inner.startswith(("_", "set_")))


def _parameters() -> Iterator[str]:
    owner = "plumbob.VerticalLogisticRegression"
    given = list(inspect.signature(VerticalLogisticRegression).parameters)
    yield from (f"{owner}({name})" for name in given)


def main() -> None:
    """Add what is new; what is gone stays, because the file says what people may rely on."""
    known = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    lines = [*known, *(line for line in surface() if line not in known)]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
