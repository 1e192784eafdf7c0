"""Where `plumbob party` keeps its runs: which one is meant, and that nobody clears another's away."""

import socket
from functools import partial
from pathlib import Path

import pytest

from plumbob.errors import DataError, IdentityError, JournalError, TransportError
from plumbob.party.home import Home
from plumbob.party.plan_runs import SHORT as CHARACTERS
from plumbob.party.plan_runs import PlanRuns, one_session
from plumbob.party.scores import refuse_unwritable
from plumbob.party.settings import HomeSettings
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FINISHED
from plumbob.run_folder import JOURNAL
from tests.party.support import run_parties
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for

PLAN = plan_for((2, 3), protocol="exchange")
SHORT = PLAN.hash()[:CHARACTERS]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A party that has run nothing yet."""
    return Home.create(tmp_path / "label", HomeSettings("label"))


def test_runs_are_numbered_by_the_highest(home: Home) -> None:
    """A run that was deleted does not make the next one take up another's folder."""
    names = [PlanRuns(home, PLAN).open_run(is_new).path.name for is_new in (False, False, True)]
    assert names == [SHORT, SHORT, f"{SHORT}-2"]
    (home.runs / SHORT).rmdir()
    assert PlanRuns(home, PLAN).open_run(is_new=False).path.name == f"{SHORT}-2"
    assert PlanRuns(home, PLAN).open_run(is_new=True).path.name == f"{SHORT}-3"


def test_predictions_come_from_the_last_finished_run(home: Home) -> None:
    """A later run that is under way, or failed, does not stand in the way."""
    with pytest.raises(DataError, match="plumbob party train PLAN"):
        PlanRuns(home, PLAN).last_finished()
    first, second = (PlanRuns(home, PLAN).open_run(is_new=True) for _ in range(2))
    first.save_record(unfinished_record(PLAN, 40, FINISHED))
    second.save_record(unfinished_record(PLAN, 40, "running"))
    assert PlanRuns(home, PLAN).last_finished() == first


def test_a_second_session_leaves_the_first_one_alone(home: Home) -> None:
    """It is refused while the first is at work; what the first kept is gone when that ends."""
    place = PlanRuns(home, PLAN).make_prediction_folder()
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
        home.align(tmp_path / "joint.toml")
    assert not list(home.runs.glob("*"))


@pytest.fixture
def unaligned(tmp_path: Path) -> Organisations:
    """Three that know each other and are soon tired of waiting; nothing of theirs is at work."""
    plan = plan_for((2, 2, 1), protocol="exchange")
    tables = tables_for(plan, *made_up(columns=plan.columns))
    settings = {name: {"patience": 4.0} for name in tables}
    return Organisations(plan, tables, tmp_path, aligned=False, settings=settings)


def test_an_alignment_that_nobody_heard_of_leaves_no_folder(unaligned: Organisations) -> None:
    """With the port in use nothing began; what an earlier session left is not touched."""
    home = Home.open(unaligned.home("label"))
    place = home.runs / f"align-{unaligned.plan.hash()[:CHARACTERS]}"
    host, _, port = home.settings.listen.rpartition(":")
    with socket.create_server((host, int(port))):
        for is_left in (False, True):
            if is_left:
                place.mkdir(mode=0o700)
            with pytest.raises(TransportError, match="already in use"):
                home.align(unaligned.plan_file)
            assert place.exists() is is_left


def test_an_alignment_that_a_peer_has_heard_of_keeps_its_folder(unaligned: Organisations) -> None:
    """Two of three have met: each remembers the other's journal, so neither may begin another one."""

    def align_in_vain(name: str) -> None:
        with pytest.raises(TransportError, match="features-2: expected it within 4 s"):
            Home.open(unaligned.home(name)).align(unaligned.plan_file)

    run_parties({name: partial(align_in_vain, name) for name in ("label", "features")})
    for name in ("label", "features"):
        [place] = (unaligned.home(name) / "runs").iterdir()
        assert place.name.startswith("align-")


def test_a_record_that_cannot_be_read_hides_no_other_run(home: Home) -> None:
    """`party status` names every run, also beside one of another version."""
    damaged, good = (PlanRuns(home, PLAN).open_run(is_new=True) for _ in range(2))
    damaged.record_file.write_text("{}")
    good.save_record(unfinished_record(PLAN, 40, FINISHED))
    lines = home.status().lines
    named = "(named after its plan's hash)"
    assert lines == [
        f"run {SHORT} {named}: its run.json cannot be read: damaged, or written by another version",
        f"run {SHORT}-2 {named}: finished",
    ]


def test_scores_that_cannot_be_written_are_not_asked_for(tmp_path: Path) -> None:
    """A place that can be written to is left as it was; any other is refused while nobody has answered yet."""
    (tmp_path / "file").write_text("old")
    refuse_unwritable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    refuse_unwritable(tmp_path / "new" / "scores.csv")
    assert not (tmp_path / "new" / "scores.csv").exists()
    with pytest.raises(OSError, match="file"):
        refuse_unwritable(tmp_path / "file" / "scores.csv")
