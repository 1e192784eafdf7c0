"""What 0.1.0 offered is still there, or whoever asks for it hears what to do instead."""

import tomllib
from importlib import import_module
from typing import Any

import pytest

import plumbob
from plumbob import retired
from plumbob.errors import PlanError, SettingsError
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan, Study
from tests.command_line import CommandLine
from tests.frozen.surface import FILE, surface

SURFACE = FILE.read_text(encoding="utf-8").splitlines()
NEVER = "do the other thing"
INVENTED = (
    "plumbob juggle",
    "plumbob party juggle",
    "plumbob check --juggle",
    "plumbob party sign --juggle",
    "--juggle",
    "plan juggle",
    "plan [model] juggle",
    "plan [privacy.heuristic] juggle",
    "plan [juggling] juggle",
    "plan [parties.NAME] juggle",
    "party.toml juggle",
    "party.toml [table] juggle",
    "party.toml [peers.NAME] juggle",
    "party.toml [juggling] juggle",
    "plumbob.attacks.juggle",
    "plumbob.record.juggle",
    "plumbob.party.Home.juggle",
    "plumbob.VerticalLogisticRegression.juggle",
    "plumbob.VerticalLogisticRegression(juggle)",
)
"""A row of each kind, so that the answer is tested before anything of that kind is gone."""


def test_everything_is_there_or_retired() -> None:
    """Each line of 0.1.0 is still there, or src/plumbob/retired.py says what to do instead."""
    today = set(surface())
    missing = [line for line in SURFACE if line not in today and retired.advice(line) is None]
    assert not missing, f"write a sentence for each of these into src/plumbob/retired.py: {missing}"


def test_a_row_is_about_something_that_is_gone() -> None:
    """No row speaks of what is still there, nor of what 0.1.0 did not have."""
    today, flags = set(surface()), {f"--{line.rpartition(' --')[2]}" for line in SURFACE if " --" in line}
    for row in retired.RETIRED:
        assert row not in today, row
        assert row in SURFACE or row in flags, row


def test_the_file_knows_what_is_new() -> None:
    """What is offered today is in the file: `python -m tests.frozen.surface` adds it."""
    assert [line for line in surface() if line not in SURFACE] == []


@pytest.mark.parametrize("row", [*retired.RETIRED, *INVENTED])
def test_what_is_gone_answers(row: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence comes from where the name was used: the command line, a file or Python."""
    if row in INVENTED:
        monkeypatch.setitem(retired.RETIRED, row, NEVER)
    heard = _answer(row, CommandLine(capsys))
    assert " ".join(retired.RETIRED[row].split()) in heard
    assert "any more" in heard


def test_a_row_covers_what_was_inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A flag of a verb that is gone, the other form of a flag, and a method of a class need no row of their own."""
    for row in ("plumbob juggle", "--juggle", "plumbob.Juggler"):
        monkeypatch.setitem(retired.RETIRED, row, NEVER)
    covered = ("plumbob juggle --high", "plumbob check --no-juggle", "plumbob.Juggler.throw", "plumbob.Juggler(balls)")
    assert {retired.advice(line) for line in covered} == {NEVER}
    assert retired.advice("plumbob.Plan.hash") is retired.advice("plumbob check --rows") is None
    assert NEVER in _answer("plumbob check --no-juggle", CommandLine(capsys))


def _answer(row: str, cli: CommandLine) -> str:
    if row.startswith("--"):
        return _answer(f"plumbob check {row}", cli)
    if row.startswith("plumbob "):
        assert cli(*row.split()[1:]) == 2
        return " ".join(cli.err.split())
    if row.startswith("plumbob."):
        return _answer_in_python(row)
    file, _, place = row.partition(" ")
    name = place.split()[-1]
    section = place.split()[0].strip("[]") if "]" in place else ""
    if file == "plan":
        with pytest.raises(PlanError) as refused:
            Plan.from_dict(_with(tomllib.loads(Plan.for_columns((1, 2)).to_toml()), section, name))
        if name not in Study.__struct_fields__:  # A key that only changed its section keeps its name elsewhere.
            with pytest.raises(PlanError, match="any more"):
                Plan.for_columns((1, 2), **{name: 1})
    else:
        written = HomeSettings(name="bank").to_toml()
        with pytest.raises(SettingsError) as refused:
            HomeSettings.from_toml(_beside(written, section, name))
    return str(refused.value)


def _with(tree: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    """The plan with a key more; `NAME` is any party."""
    place = tree
    for step in section.replace("NAME", "label").split(".") if section else ():
        place = place.setdefault(step, {})
    place[name] = 1
    return tree


def _beside(text: str, section: str, name: str) -> str:
    """The settings with a key more, below the heading of its section or at the top."""
    head = f"[{section}]\n"
    if section and head not in text:
        return f"{text}\n{head}{name} = 1\n"
    return text.replace(head, f"{head}{name} = 1\n") if section else f"{name} = 1\n{text}"


def _answer_in_python(row: str) -> str:
    if row.endswith(")"):
        name = row.partition("(")[2].rstrip(")")
        calls: tuple[Any, ...] = (plumbob.VerticalLogisticRegression, plumbob.VerticalLogisticRegression().set_params)
        for call in calls:
            with pytest.raises(TypeError) as refused:
                call(**{name: 1})
        return str(refused.value)
    owner, _, name = row.rpartition(".")
    with pytest.raises(AttributeError) as missing:
        getattr(_found(owner), name)
    return str(missing.value)


def _found(owner: str) -> Any:
    """A module, or an instance of a class."""
    try:
        return import_module(owner)
    except ModuleNotFoundError:
        module, _, name = owner.rpartition(".")
        kind = getattr(import_module(module), name)
        return kind.__new__(kind)
