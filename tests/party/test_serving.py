"""`party serve`: a side that nobody sits in front of trains once, and then answers again and again."""

import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from plumbob.errors import DataError, RemoteProtocolError, TransportError, UnsignedPlanError
from plumbob.party import Home, Outcome
from plumbob.party.verbs import serve as serving
from plumbob.plan import Plan
from tests.party.processes import free_port
from tests.party.test_from_python import together, write_tables

UNIT = Path(__file__).parents[2] / "examples" / "service" / "plumbob-party.service"


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    """Both sides, joined; the bank listens."""
    write_tables(tmp_path)
    place = f"127.0.0.1:{free_port()}"
    bank = Home.init(tmp_path / "bank", "bank", data=tmp_path / "bank.csv", label_column="late", listen=place)
    fund = Home.init(tmp_path / "fund", "fund", data=tmp_path / "fund.csv")
    return bank.join(str(fund.invite()["token"])), fund.join(str(bank.invite()["token"]))


def test_it_trains_and_answers_twice(homes: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command at the fund; the bank types train and two predictions, and a session that it spoils is got over."""
    monkeypatch.setattr(serving, "SECONDS_BETWEEN", 0.1)
    bank, _ = homes
    files = {home: tmp_path / f"{home.identity.name}.toml" for home in homes}
    together(
        homes,
        lambda home: home.propose(files[home], bins=0, epochs=2, verbose=False),
        lambda home: home.propose(files[home], verbose=False),
    )
    together(homes, lambda home: home.align(files[home], verbose=False))
    for home in homes:
        home.sign(files[home], accept_cheating=True)
    served: list[Outcome] = []
    fund = homes[1]
    thread = threading.Thread(
        target=lambda: served.append(fund.serve(files[fund], sessions=2, verbose=False)), daemon=True
    )
    thread.start()
    bank.train(files[bank], verbose=False)
    for count in (3, 5):
        asked = [f"p{row}" for row in range(20, 20 + count)]
        bank.predict(files[bank], ids=asked, out=tmp_path / f"{count}.csv", verbose=False)
    thread.join(150)
    assert [(one["sessions"], one["rows"]) for one in served] == [(2, 8)]
    lines = [json.loads(line) for line in (fund.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    done = [(line["verb"], line.get("rows")) for line in lines if line["result"] == "done"]
    assert done[-4:] == [("train", 88), ("answer", 3), ("answer", 5), ("serve", 8)]
    assert {line["plan"] for line in lines if line["verb"] == "answer"} == {Plan.load(files[fund]).hash()[:12]}
    # What is trained already is not trained again, and whoever asks has nothing to serve.
    assert "answers no predictions" in str(bank.serve(files[bank], verbose=False))


@pytest.mark.usefixtures("nobody_waits")
def test_its_own_mistakes_end_it(homes: tuple[Home, Home]) -> None:
    """A plan that nobody signed here is a person's business, and is not tried again."""
    plan = Plan.for_columns((2, 2)).replace(rows=110)
    names = zip(plan.parties, ("bank", "fund"), strict=True)
    plan = plan.replace(parties=tuple(type(party)(name, party.role, party.features) for party, name in names))
    with pytest.raises(UnsignedPlanError):
        homes[1].serve(plan, verbose=False)


def test_absent_peers_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that is away, or was refused on its own side, is tried again; each failure is told once."""
    monkeypatch.setattr(serving, "SECONDS_BETWEEN", 0.0)
    ends = iter([TransportError("bank: expected it"), RemoteProtocolError("bank takes no part"), None])
    told: list[str] = []

    def work() -> str:
        error = next(ends)
        if error is not None:
            raise error
        return "done"

    assert serving._repeat_until_done(work, told.append) == "done"
    assert told == ["not yet: bank: expected it", "not yet: bank takes no part; restart 1 of at most 5"]


def test_a_peer_that_breaks_the_protocol_each_time_ends_it(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service ends after a few restarts, with the reason and what to do; a peer that is away is no mistake."""
    monkeypatch.setattr(serving, "SECONDS_BETWEEN", 0.0)
    tried: list[int] = []

    def fail(*_: object, **__: object) -> None:
        tried.append(1)
        if len(tried) > 100:
            raise DataError("it never stops")
        raise TransportError("bank is away") if len(tried) % 2 else RemoteProtocolError("bank: sent nonsense")

    monkeypatch.setattr(serving, "train", fail)
    plan = Plan.from_dict(
        {"parties": {"bank": {"role": "label", "features": 2}, "fund": {"role": "features", "features": 2}}}
    )
    with pytest.raises(RemoteProtocolError, match=r"sent nonsense; .* after 5 restarts, and the service stops: ask"):
        homes[1].serve(plan, verbose=False)
    assert len(tried) == 12


def test_the_unit_is_one() -> None:
    """The unit is as systemd reads it, but for the program and the user, which this machine does not have."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine: the unit is not read")
    found = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True)
    complaints = [line for line in found.stderr.splitlines() if "plumbob-party.service" in line]
    assert [line for line in complaints if "is not executable" not in line] == []
