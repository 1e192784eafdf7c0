"""What a party did, for whoever operates it: complete, in order, and without anything secret."""

import json
import stat
from pathlib import Path

import pytest

from plumbob import party
from plumbob.errors import BudgetExceededError, DataError, PlumbobError, TransportError
from plumbob.party.home import Home
from plumbob.party.log import logged
from plumbob.party.settings import HomeSettings

ENDS = {
    "a mistake in a table": (DataError("column 'salary' of Jane"), "failed", "it cannot use its own table as it is"),
    "the network": (TransportError("fund: nobody listens there"), "failed", "fund: nobody listens there"),
    "a limit": (BudgetExceededError("5 rows are left"), "refused", "5 rows are left"),
    "Ctrl-C": (KeyboardInterrupt(), "interrupted", ""),
    "a bug": (ZeroDivisionError("17 / 0"), "failed", "ZeroDivisionError"),
}


def lines_of(folder: Path) -> list[dict[str, object]]:
    """The log line by line."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("error", "result", "why"), ENDS.values(), ids=ENDS)
def test_every_end_is_told(tmp_path: Path, error: BaseException, result: str, why: str) -> None:
    """A start and an end each time; of a mistake in one's own table only the kind."""
    with pytest.raises(type(error)), logged(tmp_path, "bank", "train", {"plan": "ab12"}):
        raise error
    first, last = lines_of(tmp_path)
    assert (first["result"], last["result"]) == ("started", result)
    assert str(last.get("why", "")).startswith(why)
    assert "Jane" not in json.dumps(last)
    assert {"time", "party", "user", "verb", "plan"} <= set(last)


def test_commands_append(tmp_path: Path) -> None:
    """A command that was refused and one that was not, for the owner alone; what only looks leaves no line."""
    home = Home.create(tmp_path / "bank", HomeSettings(name="bank"))
    party.invite(home)
    with pytest.raises(PlumbobError):
        party.align(home, tmp_path / "no.toml")
    party.renew(home, days=1000)
    assert [(line["verb"], line["result"]) for line in lines_of(home.folder)] == [
        ("renew", "started"),
        ("renew", "done"),
    ]
    assert stat.S_IMODE((home.folder / "log.jsonl").stat().st_mode) == 0o600
