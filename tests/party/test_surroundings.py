"""A whole run in a real network's surroundings: a proxy in between, strangers at the door, peers late or stuck."""

import signal
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbob.errors import DataError
from plumbob.net.address import Address
from plumbob.net.identity import Identity
from plumbob.party.home import Home
from plumbob.party.verbs import receipt
from plumbob.plan import Plan
from tests.net.support import ConnectProxy, dialling, over_tls, plain_context
from tests.party.processes import PATIENCE
from tests.party.verbs import Organisations
from tests.protocol.support import made_up, tables_for, trained

PLAN = Plan.for_columns((2, 3), epochs=3, open="own", test_share=0.0)
ROWS = made_up(columns=PLAN.columns)


def until(condition: Callable[[], bool]) -> None:
    """Wait for it, as long as a sound run could take."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_run_through_a_proxy(tmp_path: Path, opened: list[Organisations]) -> None:
    """The side that may only dial out, and only through its proxy, trains like any other."""
    proxy = ConnectProxy("user:sesame word")
    url = proxy.url.replace("//", "//user:sesame%20word@")
    organisations = Organisations(
        PLAN, tables_for(PLAN, *ROWS), tmp_path, settings={"features": {"proxy": url, "listen": "", "address": ""}}
    )
    opened.append(organisations)
    commands = [organisations.train(name) for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0]
    organisations.assert_same(trained(PLAN, ROWS))
    assert set(proxy.targets) == {Home.open(organisations.home("label")).settings.listen}
    assert not any(b"sesame" in file.read_bytes() for command in commands for file in command.place.iterdir())
    proxy.close()


def test_strangers_at_the_door(tmp_path: Path, opened: list[Organisations]) -> None:
    """Who is not pinned, who only has a pinned name, and an older TLS are told off; the run does not notice."""
    organisations = Organisations(PLAN, tables_for(PLAN, *ROWS), tmp_path)
    opened.append(organisations)
    label = Identity.load(organisations.home("label"))
    strangers = [Identity.create(tmp_path / f"not-{name}", name) for name in ("mallory", "features")]
    at = Home.open(organisations.home("label")).settings.listen
    command = organisations.type("label", "train", str(organisations.plan_file))
    for stranger in strangers:
        with dialling(stranger, label, at) as caller:
            assert "does not know our certificate" in caller.refusal()
            assert caller.connections.empty()
    older = plain_context(Identity.load(organisations.home("features")))
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    address = Address.parse(at)
    assert "PROTOCOL_VERSION" in over_tls((address.host, address.port), older)
    other = organisations.train("features")
    assert [command.wait(), other.wait()] == [0, 0]
    organisations.assert_same(trained(PLAN, ROWS))
    assert "it showed a certificate that is not pinned here" in command.complained
    assert "it does not speak TLS 1.3" in command.complained


def test_a_certificate_renewed_in_the_middle_of_a_run(tmp_path: Path, opened: list[Organisations]) -> None:
    """Refused until the peer has joined it, and then the run goes on as if nothing had happened."""
    organisations = Organisations(PLAN, tables_for(PLAN, *ROWS), tmp_path)
    opened.append(organisations)
    label, features = organisations.train("label"), organisations.train("features", blow=("pass", 1, signal.SIGKILL))
    assert features.wait() == -signal.SIGKILL
    # It may wait for the last message of the pass, which died with its peer.
    label.process.kill()
    label.wait()
    assert organisations.type("features", "renew", "--days", "800").wait() == 0
    label, features = (
        organisations.type("label", "train", str(organisations.plan_file)),
        organisations.train("features"),
    )
    refusal = "it showed a certificate that is not pinned here"
    until(lambda: (label.place / "stderr").exists() and refusal in label.complained)
    for command in (label, features):
        command.process.kill()
        command.wait()
    invited = organisations.type("features", "invite")
    assert invited.wait() == 0
    joined = organisations.type("label", "join", invited.printed.splitlines()[0])
    assert joined.wait() == 0
    assert "features has renewed its certificate with the key that was pinned" in joined.printed
    commands = [organisations.train(name) for name in organisations.names]
    assert [command.wait() for command in commands] == [0, 0]
    organisations.assert_same(trained(PLAN, ROWS))


def test_status_says_who_waits_for_whom(tmp_path: Path, opened: list[Organisations]) -> None:
    """Status says it for an absent peer, for one that is stuck, and for nobody at the end; a dead run says so."""
    organisations = Organisations(PLAN, tables_for(PLAN, *ROWS), tmp_path)
    opened.append(organisations)
    label = organisations.train("label")
    until(lambda: (organisations.run_folder("label") / "status.json").exists())
    alone = "train, before the first pass; waiting for features to connect"
    until(lambda: organisations.status("label")["status"] == alone)
    features = organisations.train("features", blow=("pass", 1, signal.SIGSTOP))
    until(lambda: str(organisations.status("label")["waiting_for"]).startswith("features's "))
    stuck = organisations.status("label")
    assert stuck["connected"] == ["features"]
    assert "waiting for features's" in str(stuck["status"])
    features.process.kill()
    until(lambda: "waiting for features to connect" in str(organisations.status("label")["status"]))
    until(lambda: "not running; run the same command again" in str(organisations.status("features")["status"]))
    dead = organisations.status("features")
    assert dead["settled"] is False
    assert "; not settled: not every party has signed its last message" in str(dead["status"])
    with pytest.raises(DataError, match="not settled: not every party has signed its last message"):
        receipt.run(organisations.run_folder("features"))
    assert organisations.train("features").wait() == 0
    assert label.wait() == 0
    done = organisations.status("label")
    assert (done["status"], done["settled"]) == ("finished", True)
    assert "begun        1 time by this party, whether it ended with a result or not" in str(
        receipt.run(organisations.run_folder("label"))["lines"]
    )
    organisations.assert_same(trained(PLAN, ROWS))
