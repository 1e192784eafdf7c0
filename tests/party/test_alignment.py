"""Alignment between parties that die: the same rows in the same order, whatever happened on the way."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from plumbob.crypto import Randomness, engines
from plumbob.data import Table
from plumbob.party import alignment
from plumbob.party.seat import Seat
from plumbob.party.training import JOURNAL
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from tests.party.support import PATIENCE, Killed, Switchboard, run_parties
from tests.party.test_training import KillList
from tests.protocol.support import plan_for

IDS = {
    "label": [f"P{number:03d}" for number in range(30)],
    "features": [f"P{number:03d}" for number in range(45, 10, -1)],
    "features-2": [f"P{number:03d}" for number in range(5, 40, 2)],
}


def aligned_by(
    name: str, plan: Plan, folder: Path, board: Switchboard, kills: KillList, at_least: int | None
) -> Alignment:
    """A party that is started again whenever it was killed."""
    folder.mkdir(mode=0o700, exist_ok=True)
    table = Table(tuple(IDS[name]), (), np.zeros(len(IDS[name]), dtype=np.int8) if name == "label" else None)
    while True:
        journal = kills.journal(folder / JOURNAL, name)
        seat = Seat(name, plan, table, folder, board.station(name), engines.choose("auto", 1), PATIENCE, 0.5)
        go_on = None if at_least is None else lambda size: size >= at_least
        try:
            # Several chunks, so that there is a middle to die in.
            wishes = alignment.Wishes(go_on, jobs=1, chunk=8)
            return alignment.align(seat, journal, Randomness(journal.draw, is_kernel=True), wishes)[0]
        except Killed:
            continue
        finally:
            journal.close()


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)])
@pytest.mark.parametrize("at_least", [None, 1])
def test_killed_at_every_event(split: tuple[int, ...], at_least: int | None, tmp_path: Path) -> None:
    """An alignment that is started again ends with the same ids, in the same order, on all sides."""
    plan = plan_for(split, protocol="exchange")
    names = [party.name for party in plan.parties]
    common = sorted(set.intersection(*(set(IDS[name]) for name in names)))
    kills = KillList()
    struck = 0
    for number in range(0, 400, 3):
        kills.arm(names[number % len(names)], number)
        folder = tmp_path / str(number)
        folder.mkdir()
        board = Switchboard()
        starts = {name: partial(aligned_by, name, plan, folder / name, board, kills, at_least) for name in names}
        found = run_parties(starts)
        assert [found[name].ids for name in names] == [tuple(common)] * len(names)
        assert len({found[name].order_hash for name in names}) == 1
        struck += kills.has_struck
        if not kills.has_struck:
            break
    assert struck > 5
