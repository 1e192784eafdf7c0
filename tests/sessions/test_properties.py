"""What holds in every session of `shares`: trainings of two to five parties, predictions, alignments.

In the suite, parties die at every 11th event of their journals in one session of each purpose and in alignments, and at
every 97th in the others, not at the same ones in each; `soak` kills them at every event of all.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from plumbob.arrays import Vector
from plumbob.crypto.lattice.local import WholeShares
from plumbob.data import Table
from plumbob.errors import ROOM_ADVICE
from plumbob.lab.audit.again import in_clear
from plumbob.lab.simulate import Run
from plumbob.lab.simulate import train as simulate
from plumbob.party.ledger import SpendingLedger
from plumbob.party.row_count import AnsweredRows
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.shares.shape import WEIGHT_BITS
from plumbob.protocol.shares.training import SharesParty
from tests.world import (
    ALIGNED,
    ANSWERED,
    PREDICTIONS,
    QUERIES,
    SESSIONS,
    TRAINED,
    Ends,
    Killed,
    Session,
    Strike,
    World,
    common_ids,
    in_memory,
    is_right,
    own_tables,
    roots_of,
    simulated,
)

KEPT = {name: session for name, session in SESSIONS.items() if session.keeps_evidence}
CORE = ("training of two", "prediction of two", *ALIGNED)
NEAR, FAR = 11, 97
AT_ONCE = 8  # Sessions whose survivors wait in vain.
FULL_DISKS = ("training of two", "training of two, noise, evidence")
OVER_TLS = (
    "training of two",
    "training of two, opened",
    "training of two, noise, evidence",
    "training of three",
    "prediction of three",
    "alignment of two",
)
EXACT = 1e-6  # A share is cut to fewer bits in each pass.
LAST_BIT = 2.0**-20  # Opened weights and scores: each party's share is cut once more.


@pytest.mark.parametrize("name", [name for name in TRAINED if "noise" not in name and "evidence" not in name])
def test_weights_are_those_of_clear(name: str) -> None:
    """On shares, and when they are opened."""
    session = TRAINED[name]
    # Which rows are held out follows from the seed, and alone nobody has a joint one.
    session = replace(session, plan=session.plan.replace(seed=7), keeps_evidence=False)
    run, clear = in_memory(session), simulate(in_clear(session.plan), session.tables)
    expected = np.concatenate([clear.transcripts[name].weights for name in session.names])
    assert np.abs(shared_weights(run) - expected).max() < EXACT
    if session.plan.opens_weights:
        opened = np.concatenate([run.transcripts[name].weights for name in session.names])
        assert np.abs(opened - expected).max() < EXACT + len(session.names) * LAST_BIT


def shared_weights(run: Run) -> Vector:
    """What all parties' shares add up to."""
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    owners = [party.name for party in run.model.plan.learners]
    whole = WholeShares().reduce
    totals = [
        whole(sum(held)) for name in owners for held in zip(*(party.held[name] for party in parties), strict=True)
    ]
    return np.array([math.ldexp(total, -WEIGHT_BITS) for total in totals])


def test_a_value_beyond_five_deviations_counts_as_five() -> None:
    """In whichever protocol; a little below five it still counts as what it is."""
    plan = Plan.for_columns((1, 1), epochs=1, test_share=0.0)
    tables = own_tables(plan)
    run = simulate(plan, tables, roots=roots_of(plan), jobs=1)
    [column] = tables["features"].columns
    far = column.values.mean() + np.array([4.9, 5.1, 50.0]) * column.values.std()
    table = Table(("below", "beyond", "far beyond"), (replace(column, values=far),))
    below, beyond, far_beyond = run.model.parts["features"].encode(table)[:, 0]
    assert below < beyond == far_beyond


@pytest.mark.parametrize("name", TRAINED)
def test_between_organisations_it_is_the_simulation(name: str, tmp_path: Path) -> None:
    """The same parts, counts and hashes over all bytes, with a journal and over links, as in the simulation."""
    session = TRAINED[name]
    assert World(session, tmp_path).run().honest().outcome() == simulated(session)


@pytest.mark.parametrize("name", OVER_TLS)
def test_over_tls_it_is_the_same(name: str, tmp_path: Path) -> None:
    """Real connections change no byte."""
    session = SESSIONS[name]
    ends = World(session, tmp_path / "tls", over_tls=True).run().honest()
    assert_same(ends, World(session, tmp_path / "wires").run().honest())


def assert_same(ends: Ends, expected: Ends) -> None:
    """The same outcome; what a prediction opens depends on the shares' last bit, which another session draws anew."""
    if ends.session.purpose == "predict":
        assert is_right(ends)
    else:
        assert ends.outcome() == expected.outcome()


# Deaths.


@pytest.mark.parametrize("stride", [None, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.timeout(1800)
def test_whoever_dies_wherever(name: str, stride: int | None, tmp_path: Path) -> None:
    """All parties die once in each run, at different events: it ends as an undisturbed one, and is booked once."""
    session = TRAINED[name]
    expected = World(session, tmp_path / "honest").run().honest()
    for deaths in struck(session, events_of(name, expected, stride)):
        ends = World(session, tmp_path / str(deaths[0].number), on_event=Several(deaths)).run()
        assert_same(ends.honest(), expected)
        assert all(death.has_struck for death in deaths)
        if session.plan.noise == "rows":
            assert {booked(ends, each) for each in session.names} == {booked(expected, each) for each in session.names}


def events_of(name: str, honest: Ends, stride: int | None) -> range:
    """The events at which somebody dies: every so many, and in each session from another one on."""
    step = stride or (NEAR if name in CORE else FAR)
    # A few writes depend on what the peer had confirmed by then.
    return range(NEAR * list(SESSIONS).index(name) % step, min(honest.events.values()) - 5, step)


def struck(session: Session, numbers: range) -> Iterator[list[Strike]]:
    """The deaths of each run: everybody dies, not all at the same place."""
    names = session.names
    for number in numbers:
        later = [(number + place * (numbers.step // len(names) + 7)) % numbers.stop for place in range(len(names))]
        yield [Strike(*death) for death in zip(names, later, strict=True)]


@dataclass
class Several:
    """Several strikes, each at its own place."""

    strikes: list[Strike]

    def __call__(self, name: str, statement: str) -> None:
        for strike in self.strikes:
            strike(name, statement)


def booked(ends: Ends, name: str) -> float:
    """What this party's ledger says that a row has spent."""
    return SpendingLedger(ends.folder / name / "spent.db").spent(ends.session.tables[name].ids).rho


@pytest.mark.parametrize("stride", [None, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", PREDICTIONS)
@pytest.mark.timeout(1800)
def test_a_prediction_that_breaks_off_is_done_again(name: str, stride: int | None, tmp_path: Path) -> None:
    """With new journals, and the same scores; what was answered may count twice, and never too little."""
    session = PREDICTIONS[name]
    expected = World(session, tmp_path / "honest").run().honest()
    assert is_right(expected)
    for folder in broken_off(session, tmp_path, events_of(name, expected, stride)):
        counts = {name: AnsweredRows(folder / name / ANSWERED) for name in session.names[1:]}
        before = {name: count.answered() for name, count in counts.items()}
        assert is_right(World(session, folder).run().honest())
        assert {name: count.answered() for name, count in counts.items()} == {
            name: rows + sum(QUERIES) for name, rows in before.items()
        }


def broken_off(session: Session, place: Path, numbers: range) -> Iterator[Path]:
    """The folder of each session in which one party, in turn, died at one of these events."""

    def play(number: int) -> Path:
        folder, victim = place / str(number), session.names[number % len(session.names)]
        ends = World(session, folder, on_event=Strike(victim, number), patience=5.0).run()
        assert isinstance(ends.results[victim], Killed)
        return folder

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(play, numbers)


# Full disks.


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", FULL_DISKS)
@pytest.mark.timeout(1800)
def test_a_full_disk_stops_cleanly(name: str, stride: int, tmp_path: Path) -> None:
    """Wherever no room is left, the party says what to do, nothing is lost, and the next start ends the session."""
    session = SESSIONS[name]
    expected = World(session, tmp_path / "honest").run().honest()
    for number in range(0, min(expected.events.values()) - 5, stride):
        victim = session.names[number % len(session.names)]
        strike = Strike(victim, number, "full disk")
        ends = World(session, tmp_path / str(number), on_event=strike).run()
        assert strike.has_struck
        assert all(ROOM_ADVICE in str(stop) for stop in ends.stops)
        assert len(ends.stops) == 1
        assert_same(ends.honest(), expected)


# Evidence.


@pytest.mark.parametrize("name", KEPT)
def test_evidence_replays(name: str, tmp_path: Path) -> None:
    """Everybody's own side follows from the plan, its rows and its root."""
    assert_replays(World(KEPT[name], tmp_path).run().honest())


@pytest.mark.parametrize("name", [name for name in KEPT if name in TRAINED])
def test_evidence_replays_after_deaths(name: str, tmp_path: Path) -> None:
    """It was then kept in several starts."""
    deaths = [Strike(name, 90 + 60 * place) for place, name in enumerate(KEPT[name].names)]
    assert_replays(World(KEPT[name], tmp_path, on_event=Several(deaths)).run().honest())


def assert_replays(ends: Ends) -> None:
    """Every auditor finds its party honest, to its last message."""
    for party in ends.session.names:
        statement = ends.replayed(party)
        assert statement["honest"], statement["verdict"]
        assert statement["settled"]


# Alignments.


@pytest.mark.parametrize("name", ALIGNED)
def test_an_alignment_finds_the_common_rows(name: str, tmp_path: Path) -> None:
    """All have the same ids in the same order; with too few in common nobody learns which."""
    session = ALIGNED[name]
    ends = World(session, tmp_path / "enough").run().honest()
    assert is_right(ends)
    assert len({end.order_hash for end in ends.results.values()}) == 1
    if session.at_least is not None:
        few = World(replace(session, at_least=len(common_ids(session)) + 1), tmp_path / "few").run().honest()
        assert all(isinstance(end, Alignment) and end.ids is None for end in few.results.values())


@pytest.mark.parametrize("stride", [None, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ALIGNED)
@pytest.mark.timeout(1800)
def test_an_alignment_that_breaks_off_is_done_again(name: str, stride: int | None, tmp_path: Path) -> None:
    """Nobody has a list while one is missing; the next alignment, with new journals, gives the common ids to all."""
    session = ALIGNED[name]
    expected = World(session, tmp_path / "honest").run().honest()
    for folder in broken_off(session, tmp_path, events_of(name, expected, stride)):
        again = World(session, folder).run().honest()
        assert {end.ids for end in again.results.values()} == {end.ids for end in expected.results.values()}
