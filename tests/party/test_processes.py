"""Real processes over real TLS: the simulation's weights bit for bit, through `kill -9` at any point."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.lab.simulate import Run
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder
from tests.party import processes
from tests.party.processes import Company, points
from tests.party.support import part_numbers
from tests.protocol.support import made_up, plan_for, tables_for, trained

EXCHANGE = (Kind.RESIDUALS, Kind.MASKED_SUMS, Kind.OPENED_SUMS)
LATTICE_MESSAGES = (Kind.LATTICE_REQUEST, Kind.LATTICE_REPLY)


def assert_same(company: Company, run: Run) -> None:
    """Every party holds what it holds in the simulation, and counted the same work."""
    for name, part in run.model.parts.items():
        own_part = ModelPart.load(company.folder / name / "parties" / name / "part.json")
        assert part_numbers(own_part) == part_numbers(part)
    for simulated in run.record.parties:
        own = RunFolder(company.folder / simulated.name).record().parties[0]
        assert (own.noise_draws, own.messages_sent, own.bytes_sent) == (
            simulated.noise_draws,
            simulated.messages_sent,
            simulated.bytes_sent,
        )


def company_of(plan: Plan, folder: Path, rows: int = 40) -> Company:
    """A company on made-up rows."""
    X, y = made_up(rows, plan.columns)
    return Company(plan, tables_for(plan, X, y), folder)


def seeded_run(plan: Plan, rows: int = 40) -> Run:
    """The simulation, in which each party draws what its process draws."""
    return trained(
        plan,
        made_up(rows, plan.columns),
        roots={party.name: processes.root_of(party.name) for party in plan.parties},
    )


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        ((2, 3), {"protocol": "exchange"}),
        ((2, 2, 1), {"protocol": "exchange"}),
        ((2, 3), {"protocol": "arbiter"}),
        ((2, 3), {"protocol": "shares"}),
        ((2, 3), {"protocol": "shares", "open": "never", "test_share": 0.2, "l2": 0.01}),
        ((2, 3), {"protocol": "exchange", "noise": "sound", "row_norm": 1.0, "epsilon": 4.0}),
        ((2, 3), {"protocol": "arbiter", "noise": "std", "noise_std": 0.5, "row_norm": 1.0}),
    ],
)
def test_processes_and_simulation_agree_bit_for_bit(
    split: tuple[int, ...], keys: dict[str, Any], tmp_path: Path, opened: list[Company]
) -> None:
    """With the same draws, every protocol ends between processes as it does in the simulation."""
    plan = plan_for(split, **keys)
    company = company_of(plan, tmp_path)
    opened.append(company)
    for name in company.names:
        company.start(name, seeded=True)
    assert [company.wait_for(name) for name in company.names] == [0] * len(company.names)
    assert_same(company, seeded_run(plan))


@pytest.mark.soak
@pytest.mark.parametrize("victim", ["label", "features"])
@pytest.mark.parametrize("point", points(LATTICE_MESSAGES))
def test_shares_by_lattices_are_killed_at_every_message(
    point: str, victim: str, tmp_path: Path, opened: list[Company]
) -> None:
    """Keys, requests and replies come out as the same bytes after a restart, and so do weights that stay shared."""
    plan = plan_for((2, 3), protocol="shares", epochs=2, open="never", test_share=0.2)
    company = company_of(plan, tmp_path)
    opened.append(company)
    for name in company.names:
        company.start(name, deaths=[(point, 2)] if name == victim else (), seeded=True)
    assert company.wait_for(victim) == -signal.SIGKILL
    company.start(victim, seeded=True)
    assert [company.wait_for(name) for name in company.names] == [0, 0]
    assert_same(company, seeded_run(plan))


@pytest.mark.parametrize("victim", ["label", pytest.param("features", marks=pytest.mark.soak)])
@pytest.mark.parametrize("point", points(EXCHANGE))
def test_killed_at_every_named_point(point: str, victim: str, tmp_path: Path, opened: list[Company]) -> None:
    """A party that is killed there and started again ends with the same weights, and drew its noise once."""
    plan = plan_for((2, 3), protocol="exchange", epochs=1, batch_size=10, noise="sound", row_norm=1.0, epsilon=4.0)
    company = company_of(plan, tmp_path)
    opened.append(company)
    for name in company.names:
        company.start(name, deaths=[(point, 2)] if name == victim else (), seeded=True)
    assert company.wait_for(victim) == -signal.SIGKILL
    company.start(victim, seeded=True)
    assert [company.wait_for(name) for name in company.names] == [0, 0]
    assert_same(company, seeded_run(plan))


def test_killed_at_random_points(tmp_path: Path, opened: list[Company]) -> None:
    """Five times, whichever party, whatever it is at."""
    kill_at_random(5, seed=1, folder=tmp_path, opened=opened)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_killed_at_fifty_random_points(tmp_path: Path, opened: list[Company]) -> None:
    """Ten runs with five kills each."""
    for seed in range(2, 12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kill_at_random(5, seed, folder, opened)


def kill_at_random(kills: int, seed: int, folder: Path, opened: list[Company]) -> None:
    """One run with noise of 36 steps, in each seventh of which a party dies: by chance which one, when and where."""
    generator = random.Random(seed)
    plan = plan_for(
        (2, 3), protocol="exchange", epochs=6, batch_size=10, noise="sound", row_norm=1.0, epsilon=4.0, key_bits=1024
    )
    company = company_of(plan, folder, rows=60)
    opened.append(company)
    # Two steps apart at least: a message of the next step may be there already when a party dies.
    deaths = [
        (
            generator.choice(company.names),
            (generator.choice(points(EXCHANGE)), generator.randint(7 * kill + 1, 7 * kill + 5)),
        )
        for kill in range(kills)
    ]
    for name in company.names:
        company.start(name, [death for victim, death in deaths if victim == name], seeded=True)
    for number, (victim, _) in enumerate(deaths, 1):
        assert company.wait_for(victim) == -signal.SIGKILL
        company.start(victim, [death for other, death in deaths[number:] if other == victim], seeded=True)
    assert [company.wait_for(name) for name in company.names] == [0, 0]
    assert_same(company, seeded_run(plan, rows=60))


def test_no_two_processes_on_one_journal(tmp_path: Path, opened: list[Company]) -> None:
    """A second start of the same party is refused while the first one is at work."""
    plan = plan_for((2, 3), protocol="exchange")
    company = company_of(plan, tmp_path)
    opened.append(company)
    company.start("label")
    while not (tmp_path / "label" / "journal.db").exists():
        time.sleep(0.02)
    first = company.processes["label"]
    company.start("label")
    assert company.wait_for("label") == 1
    assert first.is_alive()
    first.kill()
    assert np.all([not (tmp_path / name / "run.json").exists() for name in company.names])
