"""`party serve`: a side that nobody sits in front of answers again and again."""

import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from plumbob import party
from plumbob.caller import QUIET, Caller
from plumbob.errors import DataError
from plumbob.party import Home, Outcome
from plumbob.party.verbs import serve as serving
from plumbob.plan import Plan
from tests.party.test_from_python import homes, together

__all__ = ["homes"]  # A fixture.
UNIT = Path(__file__).parents[2] / "examples" / "service" / "plumbob-party.service"


def test_it_answers_twice(homes: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command at the fund, and two predictions at the bank; before they have trained there is nothing to serve."""
    monkeypatch.setattr(serving, "SECONDS_BETWEEN", 0.1)
    bank, fund = homes
    files = {home: tmp_path / f"{home.identity.name}.toml" for home in homes}
    together(
        homes,
        lambda home: party.propose(home, files[home], bins=0, epochs=2, caller=QUIET),
        lambda home: party.propose(home, files[home], caller=QUIET),
    )
    said: list[str] = []
    with pytest.raises(DataError, match="no finished run of this plan here; run: plumbob party train PLAN"):
        party.serve(fund, files[fund], caller=Caller(said.append))
    together(homes, lambda home: party.align(home, files[home], caller=QUIET))
    for home in homes:
        party.sign(home, files[home], accept_cheating=True)
    together(homes, lambda home: party.train(home, files[home], caller=QUIET))
    with pytest.raises(DataError, match="have not aligned their rows under the name june"):
        party.serve(fund, files[fund], name="june", caller=Caller(said.append))
    assert said == [], "nobody is ready who has nothing to answer with"
    served: list[Outcome] = []
    thread = threading.Thread(
        target=lambda: served.append(party.serve(fund, files[fund], sessions=2, caller=QUIET)), daemon=True
    )
    thread.start()
    for count in (3, 5):
        asked = [f"p{row}" for row in range(20, 20 + count)]
        party.predict(bank, files[bank], ids=asked, out=tmp_path / f"{count}.csv", caller=QUIET)
    thread.join(150)
    assert [(one["sessions"], one["rows"]) for one in served] == [(2, 8)]
    lines = [json.loads(line) for line in (fund.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    done = [(line["verb"], line.get("rows")) for line in lines if line["result"] == "done"]
    assert done[-4:] == [("train", 88), ("answer", 3), ("answer", 5), ("serve", 8)]
    assert {line["plan"] for line in lines if line["verb"] == "answer"} == {Plan.load(files[fund]).hash()[:12]}
    with pytest.raises(DataError, match="bank answers no predictions"):
        party.serve(bank, files[bank], caller=QUIET)


def test_the_unit_is_one() -> None:
    """The unit is as systemd reads it, but for the program and the user, which this machine does not have."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine: the unit is not read")
    found = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True)
    complaints = [line for line in found.stderr.splitlines() if "plumbob-party.service" in line]
    assert [line for line in complaints if "is not executable" not in line] == []
