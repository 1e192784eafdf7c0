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

from plumbob.model import metrics
from tests.party.processes import free_port

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-machines"
SIDES = ("clinic", "lab")


def blocks() -> list[tuple[str, list[str]]]:
    """(side, commands), in the page's order."""
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"\*\*(clinic|lab)\*\*\n\n```sh\n(.*?)```", page, re.DOTALL)
    return [(side, text.splitlines()) for side, text in found]


def rounds() -> list[dict[str, list[str]]]:
    """What both sides type at the same time: a block for each, or for one alone."""
    together: list[dict[str, list[str]]] = []
    for side, commands in blocks():
        if together and side == "lab" and "lab" not in together[-1]:
            together[-1][side] = commands
        else:
            together.append({side: commands})
    return together


class Machine:
    """One side's folder and environment."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        folder.mkdir()
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


def test_the_data_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    """Also into a folder that is not there yet; without one the script says how it is called."""
    make = [sys.executable, str(EXAMPLE / "make_data.py")]
    subprocess.run([*make, str(tmp_path / "new" / "folder")], check=True)
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {"clinic.csv", "lab.csv"}
    refused = subprocess.run(make, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "make_data.py FOLDER" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.timeout(600)
def test_the_tutorial_from_end_to_end(tmp_path: Path) -> None:
    """Both sides end with a part, a receipt and a page, and the clinic with scores that tell the two classes apart."""
    port = free_port()
    machines = {side: Machine(tmp_path / side, port) for side in SIDES}
    make = [sys.executable, str(EXAMPLE / "make_data.py"), str(tmp_path)]
    subprocess.run(make, check=True)
    for side in SIDES:
        (tmp_path / f"{side}.csv").rename(tmp_path / side / f"{side}.csv")
    with ThreadPoolExecutor() as pool:
        for turn in rounds():
            list(pool.map(lambda side, turn=turn: machines[side].type(turn[side]), turn))
            pass_on(machines)
    scores = read_scores(tmp_path / "clinic" / "scores.csv")
    assert len(scores) == 450
    with (tmp_path / "clinic" / "scores.csv").open(encoding="utf-8") as lines:
        assert [row["held_out"] for row in csv.DictReader(lines)].count("yes") == 90
    # Ids with what is predicted of them.
    assert (tmp_path / "clinic" / "scores.csv").stat().st_mode & 0o077 == 0
    assert metrics.quality(*labelled(scores)).auc > 0.95
    # Scores that are opened from shares are rounded up or down.
    assert read_scores(tmp_path / "clinic" / "one.csv") == {"P0100": pytest.approx(scores["P0100"], abs=2.0**-14)}
    for side in SIDES:
        [run] = (tmp_path / side / "party" / "runs").iterdir()
        assert (run / "parties" / side / "part.json").exists()
        assert not (run / "parties" / SIDES[1 - SIDES.index(side)]).exists()
        assert "<svg" in (run / "report.html").read_text(encoding="utf-8")


def pass_on(machines: dict[str, Machine]) -> None:
    """What people send each other by mail: invitations, once there are any."""
    for side, other in (SIDES, SIDES[::-1]):
        for text in machines[side].printed:
            if found := re.search(r"^plumbob-invite-\S+", text, re.MULTILINE):
                machines[other].environment[f"{side.upper()}_INVITATION"] = found[0]


def read_scores(file: Path) -> dict[str, float]:
    """By patient."""
    with file.open(encoding="utf-8") as lines:
        return {row["id"]: float(row["score"]) for row in csv.DictReader(lines)}


def labelled(scores: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores in one order."""
    from sklearn.datasets import load_breast_cancer

    target = load_breast_cancer().target
    return np.array([float(target[int(patient[1:])]) for patient in scores]), np.array(list(scores.values()))
