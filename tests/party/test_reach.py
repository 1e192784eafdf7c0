"""Who can dial whom, as `invite`, `join` and `doctor` say it before anything is tried."""

from pathlib import Path
from typing import Any

import pytest

from plumbob import party
from plumbob.party.home import Home
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.doctor import apart, examine, reach_of

WAYS = {
    "we dial": ({"peer": "f.example:1"}, "we connect to it at f.example:1", ""),
    "it dials": ({"listen": "10.0.0.1:7700"}, "it connects to us at 10.0.0.1:7700", ""),
    "it dials a gateway": ({"listen": "0.0.0.0:7700", "address": "b.example:1"}, "to us at b.example:1", ""),
    "it dials, but where": ({"listen": "0.0.0.0:7700"}, "our invitation does not say where", "write `address`"),
    "a port chosen late": ({"listen": "10.0.0.1:0"}, "our invitation does not say where", "write `address`"),
    "nobody dials": ({}, "nobody can dial: fund's invitation has no address", "set `listen`"),
}


@pytest.mark.parametrize(("settings", "found", "todo"), WAYS.values(), ids=WAYS)
def test_who_dials(tmp_path: Path, settings: dict[str, Any], found: str, todo: str) -> None:
    """What either side's settings allow, and what is missing."""
    own = {name: value for name, value in settings.items() if name != "peer"}
    bank = joined(tmp_path, HomeSettings(name="bank", **own), fund=settings.get("peer", ""))
    one = reach_of(bank, "fund")
    assert found in one.found
    assert one.todo[: len(todo)] == todo
    assert one.is_ok == ("nobody" not in found)


def joined(folder: Path, settings: HomeSettings, **peers: str) -> Home:
    """A party that has joined these peers, each at its address."""
    home = Home.create(folder / settings.name, settings)
    for name, address in peers.items():
        home = home.join(Home.create(folder / name, HomeSettings(name=name)).invitation(), address)
    return home


def test_two_peers_that_may_not_find_each_other(tmp_path: Path) -> None:
    """Of three parties, two that only dial cannot talk; the third one sees it by their invitations."""
    bank = joined(tmp_path, HomeSettings(name="bank", listen="10.0.0.1:1"), fund="f.example:1", shop="", club="")
    assert list(apart(bank, ["fund", "shop"])) == []
    (pair,) = apart(bank, ["club", "fund", "shop"])
    assert "neither club's nor shop's invitation has an address" in pair.found


def test_it_is_said_where_it_can_be_put_right(tmp_path: Path) -> None:
    """An invitation has the address of `listen` or says that it has none; join and doctor name what is missing."""
    bank = Home.create(tmp_path / "bank", HomeSettings(name="bank", listen="10.0.0.1:7700"))
    assert "peers dial 10.0.0.1:7700" in str(party.invite(bank))
    fund, shop = (Home.create(tmp_path / name, HomeSettings(name=name)) for name in ("fund", "shop"))
    assert "it has no address: this party does not listen" in str(party.invite(fund))
    joined = party.join(shop, party.invite(fund)["token"])
    assert "nobody can dial: fund's invitation has no address" in "\n".join(joined["lines"])
    checks = {check.name: check for check in examine(Home.open(shop.folder), None, seconds=0)}
    assert not checks["address"].is_ok
    assert "connection" not in checks
