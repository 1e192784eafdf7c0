"""The tutorial is run as it is written: every command of its page, each side's in a folder of its own."""

import csv
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from plumbob import datasets
from plumbob.commands import report
from plumbob.model import metrics
from tests.docs.test_tutorial import pattern
from tests.party.processes import free_port

PAGE = Path(__file__).parents[2] / "examples" / "two-machines" / "README.md"
SIDES = ("bank", "processor")
BLOCKS = re.compile(r"(?:\*\*(bank|processor)\*\*\n\n)?```(sh|text)\n(.*?)```", re.DOTALL)


class Turn:
    """What the sides type at the same time, and what the page shows below it."""

    def __init__(self) -> None:
        self.typed: dict[str, list[str]] = {}
        self.shown: list[str] = []


def turns() -> list[Turn]:
    """The commands in the page's order: a block for each side, or for one alone."""
    found = [Turn()]
    for side, language, text in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        if language == "text":
            found[-1].shown.append(text)
            continue
        if side in found[-1].typed or found[-1].shown or (side == SIDES[0] and found[-1].typed):
            found.append(Turn())
        found[-1].typed[side] = text.splitlines()
    return found


class Machine:
    """One side's folder and environment."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.environment.pop("PLUMBOB_HOME", None)
        self.printed: list[str] = []

    def type(self, commands: list[str]) -> None:
        for command in commands:
            told = command.replace("127.0.0.1:7700", f"127.0.0.1:{self.port}")
            finished = subprocess.run(
                ["bash", "-c", told], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
            )
            assert finished.returncode == 0, f"{told}\n{finished.stdout}\n{finished.stderr}"
            self.printed.append(finished.stdout)


@pytest.mark.timeout(600)
def test_the_tutorial_from_end_to_end(tmp_path: Path) -> None:
    """Both sides see what the page shows and end with a part, a receipt and a page, and the bank with useful scores."""
    port = free_port()
    for side, table in datasets.write_tables("loans", tmp_path).items():
        (tmp_path / side).mkdir()
        table.rename(tmp_path / side / table.name)
    machines = {side: Machine(tmp_path / side, port) for side in SIDES}
    with ThreadPoolExecutor() as pool:
        for turn in turns():
            list(pool.map(lambda side, turn=turn: machines[side].type(turn.typed[side]), turn.typed))
            for shown in turn.shown:
                printed = [text for machine in machines.values() for text in machine.printed]
                assert any(pattern(shown).search(text) for text in printed), f"nobody saw\n{shown}\nbut\n{printed[-2:]}"
            pass_on(machines)
    scores = read_scores(tmp_path / "bank" / "scores.csv")
    assert len(scores) == 4000
    with (tmp_path / "bank" / "scores.csv").open(encoding="utf-8") as lines:
        assert [row["held_out"] for row in csv.DictReader(lines)].count("yes") == 800
    # Ids with what is predicted of them.
    assert (tmp_path / "bank" / "scores.csv").stat().st_mode & 0o077 == 0
    assert metrics.quality(*labelled(tmp_path / "bank" / "bank.csv", scores)).auc > 0.7
    # Scores that are opened from shares are rounded up or down.
    assert read_scores(tmp_path / "bank" / "one.csv") == {"24": pytest.approx(scores["24"], abs=2.0**-14)}
    for side in SIDES:
        [run] = (tmp_path / side / "party" / "runs").iterdir()
        assert (run / "parties" / side / "part.json").exists()
        assert not (run / "parties" / SIDES[1 - SIDES.index(side)]).exists()
        assert report.run(run, None)["report"] == str(run / "report.html")
        assert "If someone cheats" in (run / "report.html").read_text(encoding="utf-8")


def pass_on(machines: dict[str, Machine]) -> None:
    """What people send each other by mail: invitations, once there are any."""
    for side, other in (SIDES, SIDES[::-1]):
        for text in machines[side].printed:
            if found := re.search(r"^plumbob-invite-\S+", text, re.MULTILINE):
                machines[other].environment[f"{side.upper()}_INVITATION"] = found[0]


def read_scores(file: Path) -> dict[str, float]:
    """The scores by customer."""
    with file.open(encoding="utf-8") as lines:
        return {row["id"]: float(row["score"]) for row in csv.DictReader(lines)}


def labelled(table: Path, scores: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores in one order."""
    with table.open(encoding="utf-8") as lines:
        defaults = {row["id"]: float(row["default"]) for row in csv.DictReader(lines)}
    return np.array([defaults[customer] for customer in scores]), np.array(list(scores.values()))
