"""A party's word for a plan that leaks: it is kept beside its signature, and the run's record shows it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from plumbob.checking.check import notes
from plumbob.commands import party_runs, receipt
from plumbob.errors import UnsafePlanError
from plumbob.party import signature
from plumbob.party.home import Home, Settings
from plumbob.plan import Plan
from plumbob.record import RunRecord
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, plan_for, tables_for

PLAN = plan_for((2, 3), protocol="exchange", epochs=1, batches="full")


def test_the_last_word_on_leaks_counts(tmp_path: Path) -> None:
    """Given and taken back without a change to the plan's signature; only one by the own key is a word."""
    home = Home.create(tmp_path / "bank", Settings("bank"))
    own = signature.sign(home, PLAN).read_bytes()
    assert not signature.seal_of(home, PLAN).accepts_leaks
    assert signature.sign(home, PLAN, accepts_leaks=True).read_bytes() == own
    assert signature.seal_of(home, PLAN).accepts_leaks
    [word] = (home.folder / "signed").glob("*.leaks.signature")
    word.write_bytes(own)
    assert not signature.seal_of(home, PLAN).accepts_leaks
    signature.sign(home, PLAN, accepts_leaks=True)
    signature.sign(home, PLAN)
    assert not signature.seal_of(home, PLAN).accepts_leaks


def test_accepted_leaks_are_in_the_own_record(tmp_path: Path) -> None:
    """Each party's receipt says what that party accepted, not what another one did."""
    organisations = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path)
    try:
        told = party_runs.sign(organisations.home("label"), organisations.plan_file, accept_leaks=True)
        assert "and accepted its leaks" in str(told["lines"])
        commands = [organisations.train(name) for name in organisations.names]
        assert [command.wait() for command in commands] == [0, 0], [command.complained for command in commands]
    finally:
        organisations.close()
    records = {name: RunRecord.load(organisations.run_folder(name)) for name in organisations.names}
    assert {name: record.accepted_leaks for name, record in records.items()} == {"label": True, "features": False}
    assert receipt.run(organisations.run_folder("label"))["accepted_leaks"] is True


@pytest.fixture
def organisations(tmp_path: Path) -> Iterator[Organisations]:
    """Two that have signed and aligned, with keys for tests."""
    place = Organisations(PLAN, tables_for(PLAN, *made_up(columns=PLAN.columns)), tmp_path)
    yield place
    place.close()


def test_short_keys_need_a_word_of_their_own(organisations: Organisations) -> None:
    """Signing names them as a leak, and training refuses them until this side allows them, whatever the plan says."""
    home, plan = organisations.home("label"), organisations.plan_file
    with pytest.raises(UnsafePlanError, match="keys by features"):
        party_runs.sign(home, plan, accept_leaks=False)
    with pytest.raises(UnsafePlanError, match="--allow-test-keys"):
        party_runs.train(home, plan, is_new=False, quiet=True, tell=lambda words: None)
    told = party_runs.sign(home, plan, accept_leaks=True)
    assert any("fixes the seed" in str(note) for note in cast("list[str]", told["notes"]))


def test_signing_before_aligning_says_what_it_assumed(organisations: Organisations) -> None:
    """Without aligned rows findings are about 10,000, and the first note says so; later about the real ones."""
    home, plan = organisations.home("label"), organisations.plan_file
    after = party_runs.sign(home, plan, accept_leaks=True)
    assert after["rows"] == len(organisations.tables["label"])
    shutil.rmtree(home / "aligned")
    before = party_runs.sign(home, plan, accept_leaks=True)
    noted = cast("list[str]", before["notes"])
    assert "assume 10,000" in noted[0]
    assert set(notes(Plan.load(plan))) <= set(noted)
    assert any(noted[0] in line for line in cast("list[str]", before["lines"]))
