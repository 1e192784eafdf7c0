"""Help that fits a narrow terminal, shows every flag whole, and gives an example that works."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from plumbob.cli import app
from plumbob.plan import KEYS, PAPER, Plan

ROOT_FOLDER = Path(__file__).parents[2]
PAGES = [ROOT_FOLDER / "README.md", *ROOT_FOLDER.glob("examples/*/README.md"), ROOT_FOLDER / "docs" / "tutorial.md"]
NARROW = {"COLUMNS": "80"}
ROOT: Any = typer.main.get_command(app)


def verbs_of(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb with the words that call it."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, inner in command.commands.items():
        yield from verbs_of(inner, (*words, name))


VERBS = dict(verbs_of(ROOT))
GROUPS: list[tuple[str, ...]] = [(), ("plan",), ("party",)]


def help_of(*words: str) -> str:
    """What `plumbob WORDS` prints on a terminal of 80 columns."""
    ended = CliRunner().invoke(app, list(words), env=NARROW, prog_name="plumbob")
    assert ended.exit_code == 0, ended.output
    return ended.stdout


@pytest.mark.parametrize("words", [*GROUPS, *VERBS], ids=" ".join)
def test_no_line_is_wider_than_80_columns(words: tuple[str, ...]) -> None:
    """Help can be read on the narrowest terminal in use, and `-h` asks for it."""
    assert max(len(line) for line in help_of(*words, "-h").splitlines()) <= 80


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_flag_is_shown_whole(words: tuple[str, ...]) -> None:
    """With everything shown, no flag is left out or cut off."""
    options = [option for item in VERBS[words].params for option in (*item.opts, *item.secondary_opts)]
    page = help_of(*words, "--help-all" if "--help-all" in options else "--help").split()
    for option in options:
        assert not option.startswith("-") or {option, f"{option},"} & set(page), option


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_ends_with_an_example_and_where_the_rest_is(words: tuple[str, ...]) -> None:
    """What all verbs have in common, exit codes among it, is explained once, on the first page."""
    page = help_of(*words, "--help")
    assert f"Example:\n  plumbob {' '.join(words)}" in page
    assert "`plumbob --help` explains them" in " ".join(page.split())
    assert "wrong usage" not in page


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("check --rows many", "expected a whole number, got many"),
        ("check --epsilon much", "expected a number, got much"),
        ("train --jobs 0", "expected 1 or more, got 0"),
        ("lab --port 99999", "expected at most 65535, got 99999"),
        ("check --featurs 5,18", '--featurs: there is no such flag; did you mean "--features"?'),
        ("chek", "there is no verb 'chek'; did you mean \"check\"?"),
        ("party dance", "there is no verb 'dance'; plumbob party --help lists them"),
    ],
)
def test_wrong_usage_is_said_in_our_own_words(typed: str, words: str) -> None:
    """What was expected and what came, whichever library parses."""
    ended = CliRunner().invoke(app, typed.split(), prog_name="plumbob")
    assert ended.exit_code == 2
    assert words in ended.output


def test_help_shows_the_flags_of_our_own_pages() -> None:
    """Whoever reads a command on a page finds each of its flags in the help of that verb."""
    typed = [line for page in PAGES for line in re.findall(r"plumbob ([a-z][^`\n|#]*)", page.read_text())]
    for words in VERBS:
        said = " ".join(words)
        used = {flag for line in typed if line.startswith(f"{said} ") for flag in re.findall(r"(--[a-z-]+)", line)}
        assert used - {"--help-all"} <= set(help_of(*words, "--help").replace(",", " ").split()), said


def test_rare_keys_are_behind_help_all() -> None:
    """Short help is short; the long one has every key of the plan."""
    short, everything = help_of("check", "--help"), help_of("check", "--help-all")
    assert "--key-bits" not in short
    assert len(short.splitlines()) < 90
    assert {f"--{key.name.replace('_', '-')}" for key in KEYS} <= set(everything.replace(",", " ").split())


def test_every_verb_has_its_place_among_the_groups() -> None:
    """The list of verbs forgets none and names none twice."""
    for words in GROUPS:
        group = ROOT if not words else ROOT.commands[words[0]]
        listed = [name for names in group.sections.values() for name in names]
        assert sorted(listed) == sorted(group.commands)


def test_the_first_page_gives_the_exit_codes() -> None:
    """A script's author finds what 3 and 4 mean without the documentation."""
    page = help_of("--help")
    for start in ("  0 ", "  1 ", "  2 ", "  3 ", "  4 ", "  130 "):
        assert f"\n{start}" in page


def words_of(example: str) -> list[str]:
    """An example's words as the shell gives them to the program."""
    return shlex.split(example.partition(" >")[0])[1:]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_example_parses(words: tuple[str, ...]) -> None:
    """An example names only flags and arguments that the verb takes."""
    verb = VERBS[words]
    said = words_of(verb.example)
    assert tuple(said[: len(words)]) == words
    verb.make_context(" ".join(words), said[len(words) :])


def test_the_examples_on_one_machine_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever types them one after the other in an empty folder gets what they promise."""
    monkeypatch.chdir(tmp_path)
    assert run_example("plan", "new") == 0
    assert run_example("plan", "show") == 0
    assert run_example("check") == 4
    # The same plan without cryptography, which takes a tenth of the time.
    Path("joint.toml").write_text(Plan.for_columns((5, 18), protocol="clear", epochs=3, **PAPER).to_toml())
    monkeypatch.setattr(sys, "argv", ["plumbob"])
    assert run_example("train", "--accept-leaks") == 0
    assert run_example("predict") == 0
    assert Path("scores.csv").exists()
    assert {run_example(verb) for verb in ("report", "export")} == {0}
    assert run_example("audit") == 3


def run_example(*words: str) -> int:
    """The exit code of a verb's example; words with two dashes are added to it."""
    name = tuple(word for word in words if not word.startswith("--"))
    added = [word for word in words if word.startswith("--")]
    return CliRunner().invoke(app, [*words_of(VERBS[name].example), *added]).exit_code


@pytest.mark.parametrize(
    ("line", "word", "offered"),
    [("plumbob party al", 2, ["align"]), ("plumbob check --protocol ", 3, ["shares", "clear", "exchange", "arbiter"])],
)
def test_a_shell_gets_the_words_that_fit(line: str, word: int, offered: list[str]) -> None:
    """Verbs, flags and the choices of a key are completed."""
    asked = {"_PLUMBOB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    program = "from plumbob.cli import main; main()"
    answered = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert answered.stdout.split() == offered
