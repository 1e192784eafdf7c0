"""The doctor: each check is right when all is well, and each illness has its line."""

import datetime
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from plumbob import __version__, counting
from plumbob.errors import TransportError
from plumbob.net.connector import Connection, Connector
from plumbob.net.greeting import Greeting, Purpose, encode
from plumbob.net.identity import Identity, Invitation, now
from plumbob.party.home import Home
from plumbob.party.rows import keep_common_rows
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.doctor import Check, examine, remedy
from plumbob.party.verbs.train import largest_message
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from tests.net.support import LARGEST, PATIENCE, QUICK, Collected, ConnectProxy, opened
from tests.world import free_port

PLAN = Plan.from_dict(
    {"parties": {"bank": {"role": "label", "features": 3}, "fund": {"role": "features", "features": 2}}}
)


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    """Two parties that joined each other; the fund dials the bank."""
    at = f"127.0.0.1:{free_port()}"
    tables = {"bank": "id,a,b,c,paid\n1,1,2,3,yes\n2,3,2,1,no\n", "fund": "id,d,e\n2,1,2\n1,3,4\n"}
    files = {name: tmp_path / f"{name}.csv" for name in tables}
    for name, text in tables.items():
        files[name].write_text(text)
    of_bank = HomeSettings(name="bank", listen=at, address=at, data=str(files["bank"]), label="paid")
    bank = Home.create(tmp_path / "bank", of_bank)
    fund = Home.create(tmp_path / "fund", HomeSettings(name="fund", data=str(files["fund"])))
    return bank.join(fund.invitation()), fund.join(bank.invitation())


def examined(home: Home, plan: Plan | None = None, seconds: float = PATIENCE) -> list[Check]:
    """All checks of one side."""
    return list(examine(home, plan, seconds=seconds, timeouts=QUICK))


def both(homes: tuple[Home, Home], plans: tuple[Plan | None, Plan | None]) -> tuple[list[Check], list[Check]]:
    """The doctor on both sides at once."""
    there: list[Check] = []
    other = threading.Thread(target=lambda: there.extend(examined(homes[1], plans[1])))
    other.start()
    here = examined(homes[0], plans[0])
    other.join(PATIENCE)
    return here, there


def facing(home: Home, peer: Home, behave: Callable[[Connection], None]) -> list[Check]:
    """The listening side's checks when a peer with a right certificate behaves so."""
    connector = Connector(
        peer.identity,
        peer.peers,
        listen=None,
        proxy=None,
        largest_message=LARGEST,
        on_connection=behave,
        timeouts=QUICK,
    )
    connector.open()
    try:
        return examined(home)
    finally:
        connector.close()


def problems(checks: list[Check]) -> dict[str, str]:
    """What is not right, by name of the check."""
    return {check.name: check.line for check in checks if not check.is_ok}


def test_advice_to_type_a_command_names_it_first() -> None:
    """Whoever reads the last line finds the command in it at once; other advice says what it is about."""
    alone = Check("peers", False, "nobody is joined yet", "type: plumbob party join TOKEN")
    assert remedy([alone]) == "next: plumbob party join TOKEN, then this command again"
    port = Check("port", False, "cannot listen", "choose another one")
    assert remedy([port, alone]) == "next, port: choose another one; then run this again"


@pytest.mark.parametrize("plan", [None, PLAN])
def test_two_sound_sides_are_ready(homes: tuple[Home, Home], plan: Plan | None) -> None:
    """Each check passes on both sides, and a message of the plan's largest size really went through."""
    here, there = both(homes, (plan, plan))
    assert problems(here) == problems(there) == {}
    names = ["certificate", "certificate", "table", "address", "connection", "version", "clock", "plan", "size"]
    assert [check.name for check in there] == names
    assert [check.name for check in here] == [*names[:4], "port", *names[4:]]
    size = LARGEST if plan is None else largest_message(plan)
    assert f"a message of {counting.size(size)} each way" in there[-1].line


def test_the_second_visit_is_as_good_as_the_first(homes: tuple[Home, Home]) -> None:
    """Both sides may run it again at once."""
    for _ in range(3):
        here, there = both(homes, (PLAN, PLAN))
        assert problems(here) == problems(there) == {}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (PLAN.replace(epochs=11), "differs from ours in model.epochs; compare plumbob plan show"),
        (None, "named here only; type plumbob party doctor PLAN"),
    ],
)
def test_different_plans_are_told_on_both_sides(homes: tuple[Home, Home], other: Plan | None, words: str) -> None:
    """Another hash, or none, is a problem here and there, and the size is not tried."""
    here, there = both(homes, (PLAN, other))
    assert words in problems(here)["plan"]
    assert problems(here).keys() == problems(there).keys() == {"plan"}
    assert "not tried" in here[-1].line


def greet(**fields: object) -> Callable[[Connection], None]:
    """A peer that says so, and then waits for the end."""

    def behave(connection: Connection) -> None:
        greeting: Greeting = replace_fields(Greeting(purpose="doctor"), fields)
        connection.send(encode(greeting))
        wait_for_end(connection)

    return behave


def replace_fields(greeting: Greeting, fields: dict[str, object]) -> Greeting:
    """The same greeting with other values."""
    values = {name: getattr(greeting, name) for name in greeting.__struct_fields__}
    return Greeting(**{**values, **fields})


def wait_for_end(connection: Connection) -> None:
    """Read until the other side closes."""
    with suppress(TransportError):
        while True:
            connection.receive(PATIENCE)


@pytest.mark.parametrize(("seconds", "words"), [(3600, "ahead of ours"), (-3600, "behind ours")])
def test_a_wrong_clock_is_told(homes: tuple[Home, Home], seconds: float, words: str) -> None:
    """The difference, its direction and a remedy."""
    # In another verb, so that the size is not waited for.
    checks = facing(*homes, greet(purpose="train", clock=time.time() + seconds))
    # A busy machine takes a second or two to greet.
    assert re.search(rf"clock is 3,(60|59)\d s {words}", problems(checks)["clock"])
    assert problems(checks).keys() == {"clock"}


def test_another_version_is_told(homes: tuple[Home, Home]) -> None:
    """Both versions are named, and what to install."""
    checks = facing(*homes, greet(purpose="train", plumbob="0.0.1"))
    assert f"plumbob {__version__} here, 0.0.1 there" in problems(checks)["version"]
    old = facing(*homes, greet(version=9))
    assert "speaks version 9 of the protocol" in problems(old)["exchange"]


@pytest.mark.parametrize("purpose", ["align", "train", "predict"])
def test_a_peer_that_waits_in_another_verb_is_no_problem(homes: tuple[Home, Home], purpose: Purpose) -> None:
    """It greets, so all but the size is compared, and the line says where it is."""
    checks = facing(*homes, greet(purpose=purpose))
    assert problems(checks) == {}
    assert f"not tried, fund is waiting in plumbob party {purpose}" in checks[-1].line


@pytest.mark.parametrize("first", [b"hello", b"{}", bytes(LARGEST)])
def test_nonsense_is_told(homes: tuple[Home, Home], first: bytes) -> None:
    """A peer that does not greet is a problem, and no traceback."""

    def behave(connection: Connection) -> None:
        connection.send(first)
        wait_for_end(connection)

    assert "greeted with" in problems(facing(*homes, behave))["exchange"]


def test_a_peer_that_hangs_up_is_told(homes: tuple[Home, Home]) -> None:
    """An end in the middle of the visit is a problem of the exchange."""
    checks = facing(*homes, lambda connection: connection.close())
    assert "fund closed the connection" in problems(checks)["exchange"]


def test_a_peer_that_does_not_come_is_told(homes: tuple[Home, Home]) -> None:
    """The listening side says that nobody called, the dialling side why nobody answers."""
    bank, fund = homes
    assert (
        "did not call within 0.3 s; let fund type plumbob party doctor"
        in problems(examined(bank, None, 0.3))["connection"]
    )
    told = problems(examined(fund, None, 0.3))["connection"]
    assert "nobody listens there yet; let bank type plumbob party doctor at the same time" in told


def test_a_port_in_use_is_told(homes: tuple[Home, Home]) -> None:
    """The check of the port says which and what to do."""
    host, _, port = homes[0].settings.listen.rpartition(":")
    with socket.create_server((host, int(port))):
        assert "already in use; choose another `listen`" in problems(examined(homes[0]))["port"]


def test_the_proxy_is_tried(homes: tuple[Home, Home]) -> None:
    """One that answers carries the visit; one that does not is named without its password."""
    bank, fund = homes
    proxy = ConnectProxy("user:secret")
    try:
        through = _with(fund, proxy=proxy.url.replace("//", "//user:secret@"))
        here, there = both((bank, through), (None, None))
        assert problems(here) == problems(there) == {}
        assert "proxy" in [check.name for check in there]
        assert set(proxy.targets) == {bank.settings.listen}  # a dial before the bank listens is tried again
    finally:
        proxy.close()
    broken = problems(examined(through, None, 0.3))
    assert "cannot be reached" in broken["proxy"]
    assert "secret" not in str(broken)


def _with(home: Home, **changes: str) -> Home:
    return Home(home.folder, home.identity, replace(home.settings, **changes), home.pinned, home.addresses)


def test_an_end_ahead_is_told(tmp_path: Path) -> None:
    """A certificate that ends within 30 days is a problem while there is still time."""
    bank = Home.create(tmp_path / "bank", HomeSettings(name="bank", listen="127.0.0.1:0"), days=10)
    assert re.search(r"ends soon.*type: plumbob party renew", problems(examined(bank))["certificate"])
    assert "plumbob party join" in problems(examined(bank))["peers"]


def test_an_own_certificate_that_ended_is_told(tmp_path: Path) -> None:
    """Nothing is opened with an identity that no peer would take."""
    folder = tmp_path / "bank"
    Identity.create(folder, "bank", days=1, valid_from=now() - datetime.timedelta(days=9))
    stale = Identity.load(folder)
    fund = Identity.create(tmp_path / "fund", "fund")
    home = Home(folder, stale, HomeSettings(name="bank", listen="127.0.0.1:0"), {"fund": fund.certificate}, {})
    assert "ended on" in problems(examined(home))["certificate"]
    assert "our certificate is not valid" in problems(examined(home))["identity"]


def test_a_plan_of_other_parties_is_told(homes: tuple[Home, Home]) -> None:
    """A plan without this party, or with one that is not joined, is a problem before anybody is met."""
    other = Plan.from_dict(
        {"parties": {"shop": {"role": "label", "features": 3}, "fund": {"role": "features", "features": 2}}}
    )
    lines = [check.line for check in examined(homes[0], other, 0.1) if check.name == "plan"]
    assert any("its parties are shop, fund, this one is bank" in line for line in lines)
    assert any("its party shop is not joined" in line for line in lines)


def table_check(home: Home, plan: Plan | None = PLAN) -> Check:
    """The doctor's word on the own table."""
    [check] = [check for check in examined(home, plan, 0.0) if check.name == "table"]
    return check


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": ""}, "data: name the file of this party's table"),
        ({"data": "nowhere.csv"}, "nowhere.csv: there is no such file"),
        ({"data": "party.toml"}, "expected a name that ends in .csv"),
        ({"id": "client"}, "no column 'client' among the 5 columns of this table"),
        ({"label": "payed"}, "no column 'payed' among the 5 columns of this table"),
        ({"label": ""}, "name the column that holds the label"),
    ],
)
def test_a_table_that_the_settings_name_wrongly_is_told(
    homes: tuple[Home, Home], changes: dict[str, str], words: str
) -> None:
    """A file that cannot be read, or has no such id or label, is a problem before anything is aligned or signed."""
    check = table_check(_with(homes[0], **changes))
    assert not check.is_ok
    assert words in check.found
    assert "`id` and `label` in party.toml" in check.todo


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,d,e,f\n2,1,2,3\n", "the plan says 2 columns, this table gives 3 (1 row, none aligned yet)"),
        ("id,d\n2,1\n", "write features = 1 for fund into the plan on every side"),
        ("id,d,e\n2,1,\n3,1,2\n", "the plan says 2 columns, this table gives 3"),
        ("id,d,e\n2,1,2\n2,3,4\n", "repeat the id"),
    ],
)
def test_a_table_that_does_not_fit_the_plan_is_told(homes: tuple[Home, Home], text: str, words: str) -> None:
    """Other columns than the plan's, or values that training would refuse, with what to do."""
    fund = homes[1]
    fund.data_file.write_text(text)
    check = table_check(fund, PLAN)
    assert not check.is_ok
    assert words in check.line


def test_aligned_rows_alone_are_looked_at(homes: tuple[Home, Home]) -> None:
    """Rows that the peers lack count no more; a common row that is gone is said."""
    fund, plan = homes[1], PLAN
    fund.data_file.write_text("id,d,e\n2,1,5\n3,1,2\n4,5,6\n")
    keep_common_rows(fund, plan, Alignment(("3", "4"), "", 2, {"bank": 2, "fund": 3}))
    assert table_check(fund, plan).line == "ok       table: 2 columns, as the plan says; 2 common rows"
    fund.data_file.write_text("id,d,e\n3,1,2\n")
    assert "1 of 2 agreed ids are not in this table" in table_check(fund, plan).found


def test_without_a_plan_the_table_is_only_read(homes: tuple[Home, Home]) -> None:
    """Columns are compared with nothing; a party whose settings name no file is not asked for one."""
    assert table_check(homes[0], None).found == "2 rows, 3 columns; no plan named to compare"
    assert not table_check(_with(homes[0], id="client"), None).is_ok
    assert "table" not in [check.name for check in examined(_with(homes[0], data=""), None, 0.0)]


def test_an_unknown_peer_is_refused(homes: tuple[Home, Home]) -> None:
    """Only joined peers can be examined."""
    with pytest.raises(TransportError, match="hospital is not a joined peer, only fund"):
        list(examine(homes[0], None, only=["hospital"]))


def test_an_impostor_is_told(tmp_path: Path, homes: tuple[Home, Home]) -> None:
    """Another certificate at the peer's address is told with what to do about it."""
    bank, fund = homes
    impostor = Home.create(tmp_path / "impostor", HomeSettings(name="bank", listen=bank.settings.listen))
    impostor = impostor.join(Invitation(fund.identity.certificate))
    with opened(Collected(impostor.identity, list(impostor.peers), listen=bank.settings.listen)):
        line = problems(examined(fund, None, 5.0))["connection"]
    assert "shows another certificate than the one pinned" in line
