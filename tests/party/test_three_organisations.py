"""Three organisations from raw files to scores of new people: every command a process in a folder of its own side.

They train `shares`, the default, over real sockets with TLS. Nobody counts rows, columns or passes.
"""

import csv
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from plumbob.record import FINISHED, RunRecord
from plumbob.run_folder import RunFolder
from tests.party.processes import free_port
from tests.party.test_six_commands import PLAN, Side, assert_joint_is_better, finished, token_of

ROWS, NEW = 260, 30
LONGEST = 300.0
PROGRAM = "from plumbob.cli import main; main()"
pytestmark = pytest.mark.timeout(1800)


def three_sides(folder: Path) -> list[Side]:
    """The bank has the label; bank and fund listen, the shop only dials. New people lie in files of their own."""
    generator = np.random.default_rng(5)
    risks = generator.normal(size=(ROWS + NEW, 3))
    late = risks @ [0.5, 2.0, 1.6] + generator.normal(size=ROWS + NEW) > 0.5
    names = ("bank", "fund", "shop")
    sides = [Side(name, folder / name, "people.csv", ["--id", "id"]) for name in names]
    for place, side in enumerate(sides):
        side.folder.mkdir()
        header = ["id", f"{side.name}_risk", f"{side.name}_other", *(["late"] if side.name == "bank" else [])]
        lines = [
            [
                f"p{row}",
                f"{risks[row, place]:.4f}",
                f"{generator.normal():.4f}",
                *([int(late[row])] if not place else []),
            ]
            for row in range(ROWS + NEW)
        ]
        # Each side has its own order, and people that the others do not know.
        known = [lines[row] for row in generator.permutation(ROWS)]
        unknown = [[f"{side.name}-{row}", "0.5", "0.5", *([row % 2] if not place else [])] for row in range(9)]
        write(side.folder / "people.csv", [header, *known, *unknown])
        write(side.folder / "new.csv", [header[:3], *(line[:3] for line in lines[ROWS:])])
    sides[0].label = "late"
    for side in sides[:2]:
        side.listen = f"127.0.0.1:{free_port()}"
    return sides


def write(file: Path, lines: Sequence[Sequence[object]]) -> None:
    """Write a table as CSV."""
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(lines)


def everybody(sides: list[Side], *words: str) -> list[str]:
    """The same command on all sides at once."""
    return finished(*(side.type(*words) for side in sides))


def agreed(sides: list[Side]) -> None:
    """Everybody has joined everybody, and signed one plan for the rows that all three have."""
    tokens = [token_of(printed) for printed in finished(*(side.init() for side in sides))]
    for side in sides:
        for other, token in zip(sides, tokens, strict=True):
            if other is not side:
                finished(side.type("join", token))
    everybody(sides, "propose")
    assert len({(side.folder / PLAN).read_text() for side in sides}) == 1
    printed = everybody(sides, "align", PLAN)
    assert all(f"{ROWS} rows in common" in text for text in printed)
    everybody(sides, "sign", PLAN, "--accept-cheating")


def record_of(side: Side) -> RunRecord:
    """The record of a party's only run."""
    (folder,) = (side.folder / "party/runs").iterdir()
    return RunFolder(folder).record()


def test_from_three_raw_files_to_scores_of_new_people(tmp_path: Path) -> None:
    """One of three leaves while training and comes back; all finish, have a receipt, and score new rows."""
    sides = three_sides(tmp_path)
    bank, fund, shop = sides
    agreed(sides)
    others, leaving = [bank.type("train", PLAN), fund.type("train", PLAN)], shop.type("train", PLAN)
    wait_for_a_run(shop)
    leaving.process.kill()
    leaving.process.join(LONGEST)
    printed = finished(*others, shop.type("train", PLAN))
    assert "AUC" in printed[0]
    records = [record_of(side) for side in sides]
    assert [record.status for record in records] == [FINISHED] * 3
    assert_joint_is_better(records[0], by=0.1)
    assert len(records[0].parsed_plan.learners) == 3
    (run,) = (bank.folder / "party/runs").iterdir()
    receipt = subprocess.run(
        [sys.executable, "-c", PROGRAM, "party", "receipt", str(run)], capture_output=True, text=True
    )
    assert receipt.returncode == 0, receipt.stderr
    assert "If someone cheats:" in receipt.stdout
    named = ("--name", "new", "--data", "new.csv")
    printed = everybody(sides, "align", PLAN, *named)
    assert all(f"{NEW} rows in common" in text for text in printed)
    finished(
        bank.type("predict", PLAN, *named, "--out", "scores.csv"),
        *(side.type("predict", PLAN, *named) for side in (fund, shop)),
    )
    with (bank.folder / "scores.csv").open(newline="") as file:
        scored = {row["id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert set(scored) == {f"p{row}" for row in range(ROWS, ROWS + NEW)}
    assert not (fund.folder / "scores.csv").exists()


def wait_for_a_run(side: Side) -> None:
    """Wait until the run's journal has begun."""
    for _ in range(int(LONGEST * 10)):
        if list((side.folder / "party/runs").glob("*/journal.db")):
            return
        time.sleep(0.1)
    raise AssertionError("the run never began")
