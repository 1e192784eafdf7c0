"""Where `plumbob party` keeps its runs: which one is meant, and that nobody clears another's away."""

import socket
from functools import partial
from pathlib import Path

import pytest

from plumbob import party
from plumbob.errors import DataError, IdentityError, JournalError, TransportError
from plumbob.party.home import Home
from plumbob.party.runs import SHORT as CHARACTERS
from plumbob.party.runs import (
    beginnings,
    finished_run,
    make_run_folder,
    make_session_folder,
    one_session,
    open_journal,
    open_run,
)
from plumbob.party.scores import refuse_unwritable
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FINISHED
from plumbob.run_folder import JOURNAL, RunFolder
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for
from tests.world import run_parties

PLAN = Plan.for_columns((2, 3))
SHORT = PLAN.hash()[:CHARACTERS]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A party that has run nothing yet."""
    return Home.create(tmp_path / "label", HomeSettings("label"))


def begun(run: RunFolder, *facts: str) -> None:
    """A run that was begun here; it remembers a peer if a fact says so."""
    with open_journal(run.path) as journal:
        journal.identity()
        for fact in facts:
            journal.note(fact, b"ab")


def test_a_plan_is_run_once(home: Home) -> None:
    """A finished run is never replaced, and gives the model for predictions; before, there is none."""
    with pytest.raises(DataError, match="plumbob party train PLAN"):
        finished_run(home, PLAN)
    run = open_run(home, PLAN, is_new=False)
    assert run.path.name == SHORT
    run.save_record(unfinished_record(PLAN, 40, "running"))
    with pytest.raises(DataError, match="plumbob party train PLAN"):
        finished_run(home, PLAN)
    run.save_record(unfinished_record(PLAN, 40, FINISHED))
    assert finished_run(home, PLAN) == open_run(home, PLAN, is_new=False) == run
    with pytest.raises(DataError, match="has finished; a plan is run once: change its title"):
        open_run(home, PLAN, is_new=True)
    assert run.record().is_finished


def test_a_run_without_a_result_begins_again_in_its_folder(home: Home) -> None:
    """Its journal is gone, its evidence is kept, and it is counted if a peer was met."""
    for number, facts in enumerate(((), ("run/features",), (), ("run/features",))):
        run = open_run(home, PLAN, is_new=number > 0)
        begun(run, *facts)
        (run.path / "evidence").mkdir()
        (run.path / "evidence" / "head.json").write_text(str(number))
    run = open_run(home, PLAN, is_new=True)
    assert run.path.name == SHORT
    assert beginnings(run) == 3
    kept = sorted((run.path / "earlier").glob("*/evidence/head.json"))
    assert [file.read_text() for file in kept] == ["1", "3"]
    assert not run.journal_file.exists()
    with open_journal(run.path), pytest.raises(JournalError, match="another process"):
        open_run(home, PLAN, is_new=True)


def test_a_plan_whose_hash_begins_alike_is_another_plan(home: Home) -> None:
    """Two plans with the same first digits cost seconds to find: one of them must not use the other's run or limits."""
    other = PLAN.replace(title="another", most_rows=10**6)
    place = make_run_folder(home.runs / SHORT)
    (place / "plan.toml").write_text(other.to_toml(), encoding="utf-8")
    for use in (partial(open_run, home, PLAN, is_new=False), partial(finished_run, home, PLAN)):
        with pytest.raises(DataError, match="holds a run of another plan whose hash begins like this one's"):
            use()


def test_a_second_session_leaves_the_first_one_alone(home: Home) -> None:
    """It is refused while the first is at work; what the first kept is gone when that ends."""
    place = make_session_folder(home, PLAN, "predict")
    with one_session(place) as first:
        first.note("kept", b"1")
        with pytest.raises(JournalError, match="another process"), one_session(place):
            pytest.fail("a second session began")
        assert (place / JOURNAL).exists()
        assert first.path.exists()
        assert first.fact("kept") == b"1"
    assert not place.exists()


def test_a_refused_alignment_leaves_no_folder(home: Home, tmp_path: Path) -> None:
    """Otherwise `party/runs/*` would hold something that is no run."""
    (tmp_path / "joint.toml").write_text(PLAN.to_toml())
    with pytest.raises(IdentityError, match="not joined"):
        party.align(home, tmp_path / "joint.toml")
    assert not list(home.runs.glob("*"))


@pytest.fixture
def unaligned(tmp_path: Path) -> Organisations:
    """Three that know each other and are soon tired of waiting; nothing of theirs is at work."""
    plan = Plan.for_columns((2, 2, 1))
    tables = tables_for(plan, *made_up(columns=plan.columns))
    settings = {name: {"patience": 4.0} for name in tables}
    return Organisations(plan, tables, tmp_path, aligned=False, settings=settings)


def test_an_alignment_leaves_no_folder(unaligned: Organisations) -> None:
    """Neither with the port in use nor where only one of two peers came: the next one begins anew."""
    home = Home.open(unaligned.home("label"))
    host, _, port = home.settings.listen.rpartition(":")
    with (
        socket.create_server((host, int(port))),
        pytest.raises(TransportError, match="already in use"),
    ):
        party.align(home, unaligned.plan_file)
    assert not list(home.runs.glob("*"))

    def align_in_vain(name: str) -> None:
        with pytest.raises(TransportError, match="features-2: expected it within 4 s"):
            party.align(unaligned.home(name), unaligned.plan_file)

    run_parties({name: partial(align_in_vain, name) for name in ("label", "features")})
    for name in ("label", "features"):
        assert not list((unaligned.home(name) / "runs").iterdir())


def test_a_record_that_cannot_be_read_hides_no_other_run(home: Home) -> None:
    """`party status` names every run, also beside one of another version."""
    damaged = open_run(home, PLAN, is_new=False)
    damaged.record_file.write_text("{}")
    other = PLAN.replace(title="another")
    good = open_run(home, other, is_new=False)
    good.keep(unfinished_record(other, 40, FINISHED))
    named = "(named after its plan's hash)"
    assert set(party.status(home).lines) == {
        f"run {SHORT} {named}: its run.json cannot be read: damaged, or written by another version",
        f"run {good.path.name} of plan 'another': finished; the plan allows 40 scored rows, counted by the peers that "
        "answer",
    }


def test_scores_that_cannot_be_written_are_not_asked_for(tmp_path: Path) -> None:
    """A place that can be written to is left as it was; any other is refused while nobody has answered yet."""
    (tmp_path / "file").write_text("old")
    refuse_unwritable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    refuse_unwritable(tmp_path / "new" / "scores.csv")
    assert not (tmp_path / "new" / "scores.csv").exists()
    with pytest.raises(OSError, match="file"):
        refuse_unwritable(tmp_path / "file" / "scores.csv")
