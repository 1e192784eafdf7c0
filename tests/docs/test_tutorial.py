"""The five-minute tutorial, and the session in README, are run as written and print what the pages show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
# What is typed, and below it what is printed.
BLOCKS = re.compile(r"```sh\n([^`]*)```\n\n```text\n(.*?)```", re.DOTALL)
LEAKING, UNDECIDED = 3, 4


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("page", "blocks"), [(ROOT / "README.md", 1), (PAGE, 4)], ids=["readme", "tutorial"])
def test_the_page_prints_what_it_says(page: Path, blocks: int, tmp_path: Path) -> None:
    """Every block runs, in the page's order, in one folder, and its output is the one shown below it."""
    found = BLOCKS.findall(page.read_text(encoding="utf-8"))
    assert len(found) == blocks
    for commands, shown in found:
        printed = typed(commands, tmp_path)
        assert pattern(shown).fullmatch(printed), f"{commands}\nprinted\n{printed}\nthe page says\n{shown}"


def test_the_repair_in_readme_leaks_nothing(tmp_path: Path) -> None:
    """README says that its second plan ends with exit code 0."""
    [command] = re.findall(
        r"exit code 0:\n\n```sh\n(plumbob .*)\n```", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert finished(["bash", "-c", command], tmp_path).returncode == 0


def test_every_code_block_is_followed_by_its_output() -> None:
    """A block that the test above would pass over does not exist."""
    page = PAGE.read_text(encoding="utf-8")
    assert len(BLOCKS.findall(page)) * 2 == len(re.findall(r"^```\w+$", page, re.MULTILINE))


def typed(commands: str, folder: Path) -> str:
    """What a user's shell shows on standard output."""
    return "".join(run(["bash", "-c", command], folder) for command in commands.splitlines())


def run(command: list[str], folder: Path) -> str:
    """The output of a command; a leak above the tolerance is what the page is about, other failures are not."""
    end = finished(command, folder)
    assert end.returncode in (0, LEAKING, UNDECIDED), f"{command}\n{end.stdout}\n{end.stderr}"
    return end.stdout


def finished(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that has ended, whatever its exit code."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def pattern(shown: str) -> re.Pattern[str]:
    """The page's text, with anything in place of its dots; a line of dots may also stand for nothing."""
    parts = re.split(r"\.\.\.\n?", shown)
    return re.compile(r".*".join(re.escape(part) for part in parts), re.DOTALL)
