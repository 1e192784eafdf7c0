"""What the pages tell people to type can be typed, and what they quote is said."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from plumbob.cli import app
from tests.docs.pages import ROOT, pages

PROGRAM: Any = typer.main.get_command(app)
NO_COMMANDS = {"plumbob party ...", "plumbob signature 1"}
# Names and numbers of the examples, and whatever a page leaves out.
EXAMPLE = re.compile(
    r"\.\.\.|;|[()]|\b(?:processor|bank|align|train|customerID|customer|plumbob-invite-1|model\.epochs|X)\b|'[^']*'|\d[\d.:,]*"
)


def commands_in(page: Path) -> list[str]:
    """Every command line that starts with `plumbob` and a verb, in blocks and between backquotes."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line.partition(" #")[0] for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`(plumbob [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    typed = (re.split(r" >| \|\| ", line)[0].strip() for line in [*lines, *spans] if line.startswith("plumbob "))
    return [line for line in typed if line not in NO_COMMANDS]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_command_can_be_typed(page: Path) -> None:
    """Each names a verb that there is, with arguments and flags that it takes; N stands for a number."""
    for line in commands_in(page):
        words = ["1" if word == "N" else word for word in shlex.split(line)[1:]]
        command = PROGRAM
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        is_named_only = not words
        if (
            words in (["--version"], ["--help"], ["--install-completion"])
            or (words and words[0] == "VERB")
            or is_named_only
        ):
            continue
        assert not hasattr(command, "commands"), line
        command.make_context(line, words)


def test_the_reference_names_every_verb_that_asks() -> None:
    """A verb that asks can be told `--yes`; the page's introduction lists those, because scripts must not wait."""
    introduction, *verbs = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split("\n## plumbob ")
    asking = [verb.splitlines()[0] for verb in verbs if "| `--yes`" in verb]
    assert asking == ["party sign"]
    assert "One verb asks a question:\n`party sign`" in introduction


def test_every_problem_is_said_by_the_code() -> None:
    """A part of each quoted message stands in the source, so that people who search for it find the page."""
    joined = re.sub(r'"\s*\n\s*f?"', "", "".join(file.read_text() for file in (ROOT / "src").rglob("*.py")))
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").split("## When something does not work")[1]
    quoted = [span for line in page.splitlines() for span in re.findall(r"`([^`]+)`", line.split(" | ")[0])]
    messages = [span for span in quoted if " " in span and not span.startswith("plumbob")]
    assert messages
    for message in messages:
        parts = [part.strip(" :,()") for part in EXAMPLE.split(message)]
        assert any(len(part) > 8 and part in joined for part in parts), message
