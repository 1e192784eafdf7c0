"""One run has one number, the same at every party, however often one of them began in vain."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from plumbob.errors import DataError
from plumbob.party.home import Home
from plumbob.party.plan_runs import SHORT as CHARACTERS
from plumbob.party.plan_runs import PlanRuns, journal_contents, make_run_folder
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.run_folder import JOURNAL, RunFolder
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for

PLAN = plan_for((2, 3), protocol="exchange", epochs=1, batches="full")
SHORT = PLAN.hash()[:CHARACTERS]


@pytest.fixture
def organisations(tmp_path: Path) -> Iterator[Organisations]:
    """Two that have signed and aligned, with keys for tests."""
    place = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path)
    yield place
    place.close()


def begun(place: Path, *facts: str) -> None:
    """A run that was begun here; it remembers a peer if a fact says so."""
    journal = SqliteJournal(place / JOURNAL)
    journal.identity()
    for fact in facts:
        journal.note(fact, b"ab")
    journal.close()


def test_the_highest_number_is_everybodys(organisations: Organisations) -> None:
    """A party that had given up more runs does not end with another number than its peer."""
    begun(make_run_folder(organisations.home("label") / "runs" / SHORT), "run/features")
    plan = str(organisations.plan_file)
    commands = [organisations.type("label", "train", plan, "--new"), organisations.type("features", "train", plan)]
    assert [command.wait() for command in commands] == [0, 0], [command.complained for command in commands]
    assert f"this is run 2 of the plan on another side, so it is here too: {SHORT}-2" in commands[1].complained.replace(
        str(organisations.home("features") / "runs") + "/", ""
    )
    for name in organisations.names:
        place = organisations.home(name) / "runs" / f"{SHORT}-2"
        assert RunFolder(place).record().is_finished
        assert not (place / JOURNAL).exists() or not journal_contents(place).has_secrets
    assert not organisations.run_folder("features").exists()


def test_a_peer_cannot_use_up_the_numbers(organisations: Organisations) -> None:
    """A number far beyond our own would leave no room for the next run, so it is refused, and both sides end."""
    far = make_run_folder(organisations.home("label") / "runs" / f"{SHORT}-5000")
    begun(far, "run/features")
    plan = str(organisations.plan_file)
    commands = [organisations.type("label", "train", plan, "--new"), organisations.type("features", "train", plan)]
    assert 0 not in [command.wait() for command in commands]
    assert "label says that this is run 5001 of the plan, here 1" in " ".join(commands[1].complained.split())
    assert not (organisations.home("features") / "runs" / f"{SHORT}-5001").exists()


def test_a_run_that_nobody_met_is_not_counted(organisations: Organisations) -> None:
    """Waiting in vain twice, and typing --new each time, uses no number up."""
    runs = PlanRuns(Home.open(organisations.home("label")), PLAN)
    for _ in range(3):
        place = runs.open_run(is_new=True).path
        begun(place)
        assert place.name == SHORT
    begun(place, "run/features")
    assert runs.open_run(is_new=True).path.name == f"{SHORT}-2"


def test_a_plan_whose_hash_begins_alike_is_another_plan(organisations: Organisations) -> None:
    """Two plans with the same first digits cost seconds to find: one of them must not use the other's run or limits."""
    home, other = Home.open(organisations.home("features")), PLAN.replace(title="another", most_rows=10**6)
    place = make_run_folder(home.runs / SHORT)
    (place / "plan.toml").write_text(other.to_toml(), encoding="utf-8")
    runs = PlanRuns(home, PLAN)
    for use in (partial(runs.open_run, is_new=False), runs.last_finished):
        with pytest.raises(DataError, match="holds a run of another plan whose hash begins like this one's"):
            use()
    (place / "plan.toml").write_text(PLAN.to_toml(), encoding="utf-8")
    assert runs.open_run(is_new=False).path == place
