"""A party's word for a plan that leaks: it is kept beside its signature, and the run's record shows it."""

from pathlib import Path

from plumbob.commands import party_runs, receipt
from plumbob.party import signature
from plumbob.party.home import Home, Settings
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
