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
from plumbob.cli.options import CODES
from plumbob.plan import PAPER, Plan
from tests.command_line import CommandLine

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
    """No flag is left out or cut off."""
    options = [option for item in VERBS[words].params for option in (*item.opts, *item.secondary_opts)]
    page = help_of(*words, "--help").split()
    assert [option for option in options if option.startswith("-") and option not in page] == []


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("check --rows many", "Invalid value for '--rows'"),
        ("train --jobs 0", "Invalid value for '--jobs'"),
        ("check --featurs 5,18", "No such option: --featurs"),
        ("check --set delta", "expected KEY=VALUE, such as delta=1e-7"),
        ("check --features five", "expected each party's columns, label party first, such as 11,12"),
        ("chek", "Did you mean 'check'?"),
        ("party dance", "No such command 'dance'"),
        ("doctor", "type: plumbob party doctor"),
        ("audit run --data loans --only x a.csv", "whose table is it?"),
    ],
)
def test_wrong_usage_is_exit_code_2(typed: str, words: str, cli: CommandLine) -> None:
    """What came, and what is there instead."""
    assert cli(*typed.split()) == 2
    assert words in " ".join(cli.err.replace("│", " ").split())


def test_any_key_of_a_plan_can_be_set(cli: CommandLine) -> None:
    """As a plan's file has it; quotes around a word may be left out, and a key that there is not is refused."""
    keys = ("protocol=exchange", "scale=none", "batches=full", "intercept=false", "tolerance_labels=0.1")
    plan = cli.answer("plan", "new", *(word for key in keys for word in ("--set", key)))["plan"]
    chosen = [plan[key.partition("=")[0]] for key in keys]
    assert chosen == ["exchange", "none", "full", False, 0.1]
    assert cli("plan", "new", "--set", "momentun=0.5") == 1
    assert 'did you mean "momentum"?' in cli.err


def test_help_shows_the_flags_of_our_own_pages() -> None:
    """Whoever reads a command on a page finds each of its flags in the help of that verb."""
    typed = [line for page in PAGES for line in re.findall(r"plumbob ([a-z][^`\n|#]*)", page.read_text())]
    for words in VERBS:
        said = " ".join(words)
        used = {flag for line in typed if line.startswith(f"{said} ") for flag in re.findall(r"(--[a-z-]+)", line)}
        assert used <= set(help_of(*words, "--help").split()), said


@pytest.mark.parametrize(("verb", "most"), [(("train",), 36), (("party", "propose"), 26)], ids=str)
def test_the_flags_of_a_verb_fit_a_page(verb: tuple[str, ...], most: int) -> None:
    """Usual keys of a plan have a flag, the others are set by `--set`."""
    assert len([item for item in VERBS[verb].params if item.param_type_name == "option"]) <= most


def test_the_first_page_gives_the_exit_codes() -> None:
    """A script's author finds what 3 and 4 mean without the documentation."""
    page = " ".join(help_of("--help").split())
    assert [code for code in CODES if f"Exit code {code}: " not in page] == []


def example_of(words: tuple[str, ...]) -> list[str]:
    """A verb's example, as the shell gives its words to the program."""
    line = VERBS[words].epilog.splitlines()[0]
    assert line.startswith(f"Example: plumbob {' '.join(words)}")
    return words_of(line.removeprefix("Example: "))


def words_of(example: str) -> list[str]:
    """An example's words as the shell gives them to the program."""
    return shlex.split(example.partition(" >")[0])[1:]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_example_parses(words: tuple[str, ...]) -> None:
    """An example names only flags and arguments that the verb takes."""
    VERBS[words].make_context(" ".join(words), example_of(words)[len(words) :])


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
    return CliRunner().invoke(app, [*example_of(name), *added]).exit_code


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
