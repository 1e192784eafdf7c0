"""`shares` between three organisations: the simulation's result bit for bit, whoever dies, and nobody left waiting."""

import csv
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import PlumbobError, RemoteProtocolError, TransportError
from plumbob.net.reliable import MESSAGE
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind
from plumbob.protocol.part import ModelPart
from tests.party.processes import Company, points, root_of
from tests.party.support import PATIENCE, Switchboard, part_numbers
from tests.party.test_processes import assert_same, company_of, seeded_run
from tests.party.test_refusals import Change, Cheat, Runs, failure, message_of, rewritten, shorter
from tests.party.test_training import KillList, networked
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for, trained

MESSAGES = (Kind.LATTICE_REQUEST, Kind.LATTICE_REPLY, Kind.MASKED_SHARE)
SPLIT = (2, 2, 1)
ENOUGH = 12.0  # Seconds: longer than any honest message of these small runs takes.
VICTIMS = ("label", "features", "features-2")


def out_of_range(cheat: Cheat, frame: bytes) -> Iterable[bytes]:
    """Numbers that are no residues."""
    return [rewritten(frame, body=b"\xff" * len(message_of(frame).body))]


def plan_of(**keys: Any) -> Plan:
    """Two passes of three parties."""
    return plan_for(SPLIT, **{"protocol": "shares", "epochs": 2, "open": "never", "test_share": 0.2} | keys)


def run_killed(plan: Plan, victim: str, point: str, company: Company) -> None:
    """One process dies at a point of its second pass and is started again; all end with the simulation's numbers."""
    for name in company.names:
        company.start(name, deaths=[(point, 2)] if name == victim else (), seeded=True)
    assert company.wait_for(victim) == -signal.SIGKILL
    company.start(victim, seeded=True)
    assert [company.wait_for(name) for name in company.names] == [0] * len(company.names)
    assert_same(company, seeded_run(plan))


@pytest.mark.parametrize(
    ("victim", "point"),
    [
        ("label", "MASKED_SHARE after it is kept"),
        ("features", "LATTICE_REQUEST in the journal, before its fsync"),
        ("features-2", "MASKED_SHARE after the fsync, before it leaves"),
    ],
)
def test_each_of_three_is_killed_and_comes_back(victim: str, point: str, tmp_path: Path, opened: list[Company]) -> None:
    """Real processes over real TLS: kill -9, a second start, and the same shares, bytes and scores."""
    plan = plan_of()
    company = company_of(plan, tmp_path)
    opened.append(company)
    run_killed(plan, victim, point, company)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("point", points(MESSAGES))
def test_killed_at_every_message(point: str, victim: str, tmp_path: Path, opened: list[Company]) -> None:
    """Wherever any of three parties dies in a pass."""
    is_masked, is_sent = point.startswith(Kind.MASKED_SHARE.name), "kept" not in point
    if is_masked and is_sent == (victim == "label"):
        pytest.skip("masked numbers go to the label party, which sends none")
    plan = plan_of()
    company = company_of(plan, tmp_path)
    opened.append(company)
    run_killed(plan, victim, point, company)


@pytest.mark.parametrize("victim", VICTIMS)
def test_what_is_drawn_is_drawn_once(victim: str, tmp_path: Path) -> None:
    """Killed among keys, starting shares, passes, openings or the last scores: the same numbers and the same bytes."""
    plan = plan_of(epochs=1, open="own", l2=0.01)
    data = made_up(columns=plan.columns)
    roots = {party.name: root_of(party.name) for party in plan.parties}
    run = trained(plan, data, roots=roots)
    expected = {name: part_numbers(part) for name, part in run.model.parts.items()}
    for number in (20, 45, 70):
        kills = KillList()
        kills.arm(victim, number)
        folder = tmp_path / f"{number}"
        folder.mkdir()
        records = networked(plan, tables_for(plan, *data), folder, kills.journal, roots)
        assert kills.has_struck
        for name, numbers in expected.items():
            assert part_numbers(ModelPart.load(folder / name / "parties" / name / "part.json")) == numbers
            own, simulated = records[name].parties[0], next(one for one in run.record.parties if one.name == name)
            assert own == simulated


@pytest.mark.parametrize(
    ("kind", "change"), [(Kind.MASKED_SHARE, shorter), (Kind.MASKED_SHARE, out_of_range), (Kind.LATTICE_REPLY, shorter)]
)
def test_one_that_breaks_a_rule_ends_all_three(kind: Kind, change: Change, tmp_path: Path) -> None:
    """Everybody hears at once who sent what; started again by honest hands, all three finish."""
    plan = plan_of(open="own", test_share=0.0)
    runs, cheat = Runs(tmp_path, plan), Cheat(kind, 2, change)
    runs.board = Switchboard(cheat)
    errors = {name: failure(future) for name, future in {name: runs.start(name) for name in runs.tables}.items()}
    assert cheat.has_struck
    assert {type(error) for error in errors.values()} == {RemoteProtocolError}
    assert all("features" in str(error) or "stopped" in str(error) for error in errors.values())
    runs.board = Switchboard()
    assert all(future.result(PATIENCE).is_finished for future in [runs.start(name) for name in runs.tables])


def test_one_that_leaves_costs_the_others_their_patience_only(tmp_path: Path) -> None:
    """The two that are left say whom they waited for; when it comes back, the run continues to its end."""
    plan = plan_of(open="own", test_share=0.0)
    runs, has_left = Runs(tmp_path, plan), threading.Event()

    def leaving(sender: str, frame: bytes) -> Iterable[bytes]:
        if sender == "features-2" and frame[:1] != b"{" and frame[0] == MESSAGE and message_of(frame).step == 2:
            has_left.set()
        return [] if sender == "features-2" and has_left.is_set() and frame[:1] != b"{" else [frame]

    runs.board = Switchboard(leaving)
    errors = [failure(future) for future in [runs.start(name, patience=ENOUGH) for name in runs.tables]]
    assert has_left.is_set()
    assert {type(error) for error in errors} == {TransportError}
    assert "features-2" in str(errors[0]) + str(errors[1])
    runs.board = Switchboard()
    assert all(future.result(PATIENCE).is_finished for future in [runs.start(name) for name in runs.tables])


def test_a_row_that_a_peer_has_lost_is_named_and_never_scored(tmp_path: Path) -> None:
    """The party that lost it says which; aligned again, the file of scores says which row has no score."""
    plan = plan_of(epochs=1, test_share=0.0)
    tables = tables_for(plan, *made_up(columns=plan.columns))
    organisations = Organisations(plan, tables, tmp_path)
    homes = {name: Home.open(organisations.home(name)) for name in organisations.names}
    together(homes, lambda home: home.train(plan, verbose=False))
    lost, out = tables["features-2"].ids[3], tmp_path / "scores.csv"
    lines = (tmp_path / "features-2.csv").read_text().splitlines(keepends=True)
    (tmp_path / "features-2.csv").write_text("".join(line for line in lines if not line.startswith(f"{lost},")))

    def predict(home: Home) -> object:
        try:
            return home.predict(plan, out=out, verbose=False)
        except PlumbobError as error:
            return str(error)

    refused = predict(homes["features-2"])
    assert "1 aligned row is no longer in this table; nothing was scored" in str(refused)
    assert repr(lost) not in str(refused)
    assert not out.exists()
    together(homes, lambda home: home.align(plan, verbose=False))
    together(homes, predict)
    with out.open(newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(tables["label"].ids)
    assert [name for name, row in rows.items() if not row["score"]] == [lost]


def together(homes: Mapping[str, Home], verb: Callable[[Home], object]) -> dict[str, object]:
    """Everybody's result of one verb, typed at the same time."""
    with ThreadPoolExecutor(len(homes)) as pool:
        return dict(zip(homes, pool.map(verb, homes.values()), strict=True))
