"""One organisation's side from Python: the verbs of `plumbob party` as methods of its home."""

import csv
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plumbob import party
from plumbob.caller import QUIET
from plumbob.errors import BudgetExceededError, PlanError, PlumbobError
from plumbob.party import Home, Outcome
from plumbob.plan import Plan
from tests.world import free_port

ROWS = 120
ALIGNED = 110  # 88 of them are trained on.
Work = Callable[[Home], Outcome]


def write_tables(folder: Path) -> None:
    """The same people at both, but for a few; the bank has the label."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(ROWS, 4))
    late = X @ [1.5, -1.0, 1.0, 0.5] + generator.normal(size=ROWS) > 0
    with (folder / "bank.csv").open("w", newline="") as handle:
        lines = [[f"p{row}", X[row, 0], X[row, 1], int(late[row])] for row in range(ROWS)]
        csv.writer(handle).writerows([["id", "age", "debt", "late"], *lines])
    with (folder / "fund.csv").open("w", newline="") as handle:
        lines = [[f"p{row}", X[row, 2], X[row, 3]] for row in reversed(range(10, ROWS))]
        csv.writer(handle).writerows([["id", "income", "savings"], *lines])


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    """Both sides, set up and joined from Python; the bank listens."""
    write_tables(tmp_path)
    place = f"127.0.0.1:{free_port()}"
    party.init(tmp_path / "bank", "bank", data=tmp_path / "bank.csv", label="late", listen=place)
    party.init(tmp_path / "fund", "fund", data=tmp_path / "fund.csv")
    for own, peer in (("bank", "fund"), ("fund", "bank")):
        party.join(tmp_path / own, party.invite(tmp_path / peer)["token"])
    return Home.open(tmp_path / "bank"), Home.open(tmp_path / "fund")


def together(homes: tuple[Home, Home], *work: Work) -> list[Outcome]:
    """Each side in a thread of its own, as two organisations would."""
    results: dict[int, Outcome | PlumbobError] = {}

    def act(place: int) -> None:
        try:
            results[place] = work[place % len(work)](homes[place])
        except PlumbobError as error:
            results[place] = error

    threads = [threading.Thread(target=act, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(150)
    return [found(results[place]) for place in range(2)]


def found(result: Outcome | PlumbobError) -> Outcome:
    """What a side got; its error, where it got that."""
    if isinstance(result, PlumbobError):
        raise result
    return result


def test_both_sides_run_from_python_alone(homes: tuple[Home, Home], tmp_path: Path) -> None:
    """From two CSV files to scores over TLS, without a command; what each method returns is what the command prints."""
    bank, fund = homes
    files = {home: tmp_path / f"{home.identity.name}.toml" for home in homes}
    checks = together(homes, lambda home: party.doctor(home, wait=30, caller=QUIET))
    assert all(one["ready"] for one in checks), checks
    together(
        homes,
        lambda home: party.propose(home, files[home], bins=0, epochs=2, caller=QUIET),
        lambda home: party.propose(home, files[home], caller=QUIET),
    )
    assert files[bank].read_bytes() == files[fund].read_bytes()
    aligned = together(homes, lambda home: party.align(home, files[home], caller=QUIET))
    assert [one["size"] for one in aligned] == [ROWS - 10] * 2
    for home in homes:
        assert party.sign(home, files[home], accept_cheating=True)["plan_hash"] == Plan.load(files[home]).hash()
    trained = together(homes, lambda home: party.train(home, files[home], caller=QUIET))
    assert [one["status"] for one in trained] == ["finished"] * 2
    assert "log loss" in str(trained[0])
    for home, one in zip(homes, trained, strict=True):
        named = f"{files[home]} --name NAME --data FILE"
        assert one.lines[-1] == (
            f"next, on all sides, for new rows: plumbob party align {named}, then plumbob party predict {named}; "
            f"for the {ALIGNED} aligned rows: plumbob party predict {files[home]}"
        )
        assert one.lines[-2].startswith(f"the plan allows {ALIGNED} scored rows in all")
    asked = [f"p{row}" for row in range(20, 50)]
    scored, answered = together(
        homes,
        lambda home: party.predict(home, files[home], ids=asked, out=tmp_path / "scores.csv", caller=QUIET),
        lambda home: party.predict(home, files[home], caller=QUIET),
    )
    assert scored["rows"] == answered["rows"] == len(asked)
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == len(asked) + 1
    with pytest.raises(
        BudgetExceededError, match=r"88 rows.*the plan allows 110 scored rows, 52 are used, 58 are left"
    ):
        together(homes, lambda home: party.predict(home, files[home], out=tmp_path / "all.csv", caller=QUIET))
    assert "finished; the plan allows 110 scored rows, counted by the peers that answer" in str(party.status(bank))
    assert "finished; the plan allows 110 scored rows, 52 are used, 58 are left" in str(party.status(fund))


def test_a_plan_may_be_the_object_itself(homes: tuple[Home, Home]) -> None:
    """Whoever made a plan in Python need not write it to a file to sign it."""
    plan = Plan.for_columns((2, 2)).replace(rows=110)
    parties = tuple(
        type(party)(name, party.role, party.features)
        for party, name in zip(plan.parties, ("bank", "fund"), strict=True)
    )
    plan = plan.replace(parties=parties)
    told = party.sign(homes[0], plan, accept_cheating=True)
    assert told["plan_hash"] == plan.hash()
    assert "plumbob party train PLAN" in told.lines[-1]


@pytest.mark.parametrize("protocol", ["exchange", "clear"])
def test_a_study_is_no_plan_of_organisations(homes: tuple[Home, Home], tmp_path: Path, protocol: str) -> None:
    """Whoever signs or trains a protocol of the lab reads what organisations run, and where to study the plan."""
    plan = Plan.for_columns((2, 2), protocol=protocol, rows=1100)
    parties = tuple(
        type(party)(name, party.role, party.features)
        for party, name in zip(plan.parties, ("bank", "fund"), strict=True)
    )
    plan = plan.replace(parties=parties)
    with pytest.raises(PlanError, match=r'organisations run "shares".*plumbob train PLAN'):
        party.sign(homes[0], plan, accept_leaks=True, accept_cheating=True)
    with pytest.raises(PlanError, match='organisations run "shares"'):
        party.train(homes[0], plan)


def test_a_certificate_is_renewed_from_python(homes: tuple[Home, Home]) -> None:
    """The key stays, and the peer takes the new invitation without comparing again."""
    bank, fund = homes
    renewed = party.renew(bank, days=900)
    assert renewed["valid_until"] != bank.identity.certificate.valid_until.isoformat()
    party.join(fund, renewed["token"])
    assert Home.open(bank.folder).identity.certificate == Home.open(fund.folder).pinned["bank"]


def test_an_outcome_shows_what_the_command_prints(homes: tuple[Home, Home]) -> None:
    """An outcome is shown as text, and escaped in a notebook; its fields are those of the JSON."""
    invited = party.invite(homes[0])
    assert str(invited).splitlines()[0] == invited["token"]
    hostile = Outcome({"lines": ["<script>alert(1)</script>"]})
    assert hostile._repr_html_() == "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>"


def test_a_home_shows_no_secret(homes: tuple[Home, Home]) -> None:
    """A home shows its name, and nothing of its key or its proxy's password."""
    assert repr(homes[0]) == "Home(bank)"
