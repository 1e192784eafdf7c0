"""`party serve`: a side that nobody sits in front of answers again and again."""

import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from plumbob.errors import DataError
from plumbob.party import Home, Outcome
from plumbob.party.verbs import serve as serving
from plumbob.plan import Plan
from tests.party.test_from_python import together, write_tables
from tests.world import free_port

UNIT = Path(__file__).parents[2] / "examples" / "service" / "plumbob-party.service"


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    """Both sides, joined; the bank listens."""
    write_tables(tmp_path)
    place = f"127.0.0.1:{free_port()}"
    bank = Home.init(tmp_path / "bank", "bank", data=tmp_path / "bank.csv", label="late", listen=place)
    fund = Home.init(tmp_path / "fund", "fund", data=tmp_path / "fund.csv")
    return bank.join(str(fund.invite()["token"])), fund.join(str(bank.invite()["token"]))


def test_it_answers_twice(homes: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command at the fund, and two predictions at the bank; before they have trained there is nothing to serve."""
    monkeypatch.setattr(serving, "SECONDS_BETWEEN", 0.1)
    bank, fund = homes
    files = {home: tmp_path / f"{home.identity.name}.toml" for home in homes}
    together(
        homes,
        lambda home: home.propose(files[home], bins=0, epochs=2, verbose=False),
        lambda home: home.propose(files[home], verbose=False),
    )
    with pytest.raises(DataError, match="no finished run of this plan here; run: plumbob party train PLAN"):
        fund.serve(files[fund], verbose=False)
    together(homes, lambda home: home.align(files[home], verbose=False))
    for home in homes:
        home.sign(files[home], accept_cheating=True)
    together(homes, lambda home: home.train(files[home], verbose=False))
    served: list[Outcome] = []
    thread = threading.Thread(
        target=lambda: served.append(fund.serve(files[fund], sessions=2, verbose=False)), daemon=True
    )
    thread.start()
    for count in (3, 5):
        asked = [f"p{row}" for row in range(20, 20 + count)]
        bank.predict(files[bank], ids=asked, out=tmp_path / f"{count}.csv", verbose=False)
    thread.join(150)
    assert [(one["sessions"], one["rows"]) for one in served] == [(2, 8)]
    lines = [json.loads(line) for line in (fund.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    done = [(line["verb"], line.get("rows")) for line in lines if line["result"] == "done"]
    assert done[-4:] == [("train", 88), ("answer", 3), ("answer", 5), ("serve", 8)]
    assert {line["plan"] for line in lines if line["verb"] == "answer"} == {Plan.load(files[fund]).hash()[:12]}
    with pytest.raises(DataError, match="bank answers no predictions"):
        bank.serve(files[bank], verbose=False)


def test_the_unit_is_one() -> None:
    """The unit is as systemd reads it, but for the program and the user, which this machine does not have."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine: the unit is not read")
    found = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True)
    complaints = [line for line in found.stderr.splitlines() if "plumbob-party.service" in line]
    assert [line for line in complaints if "is not executable" not in line] == []
