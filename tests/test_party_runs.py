"""Where `plumbob party` keeps its runs: which one is meant, and that nobody clears another's away."""

from pathlib import Path

import pytest

from plumbob.commands import party_runs
from plumbob.errors import DataError, JournalError
from plumbob.party.home import Home, Settings
from plumbob.party.training import JOURNAL
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FINISHED
from tests.protocol.support import plan_for

PLAN = plan_for((2, 3), protocol="exchange")
SHORT = PLAN.hash()[: party_runs.SHORT]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A party that has run nothing yet."""
    return Home.create(tmp_path / "label", Settings("label"))


def test_runs_are_numbered_by_the_highest(home: Home) -> None:
    """A run that was deleted does not make the next one take up another's folder."""
    names = [party_runs._run_folder(home, PLAN, is_new).name for is_new in (False, False, True)]
    assert names == [SHORT, SHORT, f"{SHORT}-2"]
    (home.folder / party_runs.RUNS / SHORT).rmdir()
    assert party_runs._run_folder(home, PLAN, is_new=False).name == f"{SHORT}-2"
    assert party_runs._run_folder(home, PLAN, is_new=True).name == f"{SHORT}-3"


def test_predictions_come_from_the_last_finished_run(home: Home) -> None:
    """A later run that is under way, or failed, does not stand in the way."""
    with pytest.raises(DataError, match="plumbob party train PLAN"):
        party_runs._finished_run(home, PLAN)
    first, second = (party_runs._run_folder(home, PLAN, is_new=True) for _ in range(2))
    unfinished_record(PLAN, 40, FINISHED).save(first)
    unfinished_record(PLAN, 40, "running").save(second)
    assert party_runs._finished_run(home, PLAN) == first


def test_a_second_session_leaves_the_first_one_alone(home: Home) -> None:
    """It is refused while the first is at work; what the first kept is gone when that ends."""
    place = party_runs._private(home, party_runs.RUNS, f"predict-{SHORT}")
    with party_runs._one_session(place) as first:
        first.note("kept", b"1")
        with pytest.raises(JournalError, match="another process"), party_runs._one_session(place):
            pytest.fail("a second session began")
        assert (place / JOURNAL).exists()
        assert first.path.exists()
        assert first.fact("kept") == b"1"
    assert not place.exists()
