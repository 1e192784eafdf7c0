"""`party doctor`: checks whether everything is ready between this party and its peers and, if not, what to type.

First what this side can see alone, its own table among it; then one authenticated connection to each peer, on which
both sides say their version, clock and plan and send each other one message of the longest size. The peer runs the
doctor as well; one that waits in another verb greets all the same, and only the size is left out. No row leaves.
"""

import queue
import socket
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import combinations

from plumbob import counting
from plumbob.caller import IN_PYTHON, Caller, Outcome
from plumbob.counting import counted
from plumbob.data import Table, build_shard, steps_per_epoch
from plumbob.data.encoder import encoded_width
from plumbob.errors import (
    DataError,
    DeadlineError,
    IdentityError,
    ProtocolError,
    SettingsError,
    TransportError,
    UnsafePlanError,
)
from plumbob.net.address import Proxy
from plumbob.net.connector import Connection, Connector, Peer
from plumbob.net.frames import FRAME, MESSAGE
from plumbob.net.greeting import VERSION, Greeting, exchange, plan_difference
from plumbob.net.identity import Certificate, now
from plumbob.net.wire import Timeouts
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_argument, plan_of
from plumbob.party.log import logged_verb
from plumbob.party.rows import aligned_table, count_common_rows, own_table, whole_table
from plumbob.party.session import topic_of
from plumbob.party.settings import SETTINGS_FILE
from plumbob.party.signature import own_signature
from plumbob.party.verbs.train import largest_message
from plumbob.party.waiting import SECONDS_BETWEEN
from plumbob.plan import Plan
from plumbob.version import __version__

AHEAD = timedelta(days=30)
CLOCK_SECONDS = 60.0
WITHOUT_PLAN = 1 << 20  # bytes of the message that is tried
WAIT_SECONDS = 60.0
# Everything that is tried passes within this time, even a message of 100 MB over a slow line.
EXCHANGE_SECONDS = 120.0
MESSAGE_HEAD = FRAME.pack(MESSAGE, 0, 0)
RECEIVED = MESSAGE_HEAD + b"received"
OWN_ADDRESS = (
    f"write `address` (HOST:PORT) into {SETTINGS_FILE} and invite again, or let peers join with --address HOST:PORT"
)
TO_TYPE = "type: "  # How advice begins that is a command and nothing else.


@dataclass(frozen=True)
class Check:
    """One check and its result; `todo` says what to do where it failed, or could be better."""

    name: str
    is_ok: bool
    found: str
    todo: str = ""
    peer: str = ""

    @property
    def line(self) -> str:
        verdict = "problem" if not self.is_ok else "note   " if self.todo else "ok     "
        subject = f"{self.name} {self.peer}".strip()
        return f"{verdict}  {subject}: {self.found}{f'; {self.todo}' if self.todo else ''}"


@logged_verb
def doctor(
    home: GivenHome,
    plan: GivenPlan | None = None,
    *,
    peers: Sequence[str] = (),
    wait: float = WAIT_SECONDS,
    caller: Caller = IN_PYTHON,
) -> Outcome:
    """Make every check; each is told as soon as it is made, because peers may take their time."""
    opened, agreed = Home.open(home), None if plan is None else plan_of(plan)
    lines: list[str] = []
    say = caller.say or lines.append
    checks = []
    for check in examine(opened, agreed, only=peers, seconds=wait, progress=caller.tell):
        checks.append(check)
        say(check.line)
    is_ready = all(check.is_ok for check in checks)
    step = next_step(opened, agreed, plan_argument(plan or "PLAN")) if is_ready else remedy(checks)
    say(f"{'ready' if is_ready else 'not ready'}; {step}")
    fields = {"ready": is_ready, "checks": [asdict(check) for check in checks], "next": step, "lines": lines}
    return Outcome(fields, 0 if is_ready else 1)


def examine(
    home: Home,
    plan: Plan | None,
    *,
    only: Sequence[str] = (),
    seconds: float = WAIT_SECONDS,
    progress: Callable[[str], None] = lambda message: None,
    timeouts: Timeouts = Timeouts(),  # noqa: B008  # Frozen.
) -> Iterator[Check]:
    """All checks, as they are made; those that need a peer wait for it at most this many seconds."""
    peers = _peers_to_examine(home, only)
    yield _certificate(home.identity.certificate)
    for peer in peers:
        yield _certificate(home.pinned[peer.name], peer.name)
    if plan is not None:
        yield from _plan_names(home, plan)
    yield from _table(home, plan)
    if home.settings.proxy:
        yield _proxy(home.settings.proxy)
    if not peers:
        yield Check("peers", False, "nobody is joined yet", f"{TO_TYPE}plumbob party join TOKEN")
        return
    reaches = [reach_of(home, peer.name) for peer in peers]
    names = list(home.pinned) if plan is None else [party.name for party in plan.parties if party.name in home.pinned]
    yield from (*reaches, *apart(home, names))
    possible = [peer for peer, reach in zip(peers, reaches, strict=True) if reach.is_ok]
    if possible:
        yield from _meet(home, possible, plan, seconds, progress, timeouts)


def next_step(home: Home, plan: Plan | None, file: str) -> str:
    """The command to type when everything is ready."""
    if plan is None:
        return "next, on all sides at once: plumbob party propose"
    if not count_common_rows(home.folder, plan):
        return f"next, on all sides at once: plumbob party align {file}"
    try:
        own_signature(home, plan)
    except UnsafePlanError:
        return f"next, on all sides: plumbob party sign {file}"
    return f"next, on all sides at once: plumbob party train {file}"


def remedy(checks: Sequence[Check]) -> str:
    """What to do about the first problem, as its own line says."""
    problem = next(check for check in checks if not check.is_ok)
    if problem.todo.startswith(TO_TYPE):
        return f"next: {problem.todo.removeprefix(TO_TYPE)}, then this command again"
    about = f"{problem.name} {problem.peer}".strip()
    return f"next, {about}: {problem.todo or problem.found}; then run this again"


def _peers_to_examine(home: Home, only: Sequence[str]) -> list[Peer]:
    unknown = [name for name in only if name not in home.pinned]
    if unknown:
        raise TransportError(f"{unknown[0]} is not a joined peer, only {', '.join(home.pinned) or 'nobody'}")
    return [peer for peer in home.peers if not only or peer.name in only]


# What this side can see alone.


def _certificate(certificate: Certificate, peer: str = "") -> Check:
    mistake = certificate.mistake_at(now())
    until = certificate.valid_until.strftime("%Y-%m-%d")
    if mistake is not None:
        return Check("certificate", False, mistake, "", peer)
    if now() + AHEAD > certificate.valid_until:
        todo = (
            f"ask {peer} to type plumbob party renew, and join its new invitation"
            if peer
            else f"{TO_TYPE}plumbob party renew, then plumbob party invite, and let your peers join that"
        )
        return Check("certificate", False, f"ends soon, on {until}", todo, peer)
    return Check("certificate", True, f"valid until {until}", "", peer)


def _plan_names(home: Home, plan: Plan) -> Iterator[Check]:
    """Whether the plan's parties are this one and its peers."""
    names = [party.name for party in plan.parties]
    if home.identity.name not in names:
        todo = "write this party's name into the plan on every side, or use another --home"
        yield Check("plan", False, f"its parties are {', '.join(names)}, this one is {home.identity.name}", todo)
    for name in names:
        if name != home.identity.name and name not in home.pinned:
            yield Check("plan", False, f"its party {name} is not joined", f"ask {name} for `plumbob party invite`")


def _table(home: Home, plan: Plan | None) -> Iterator[Check]:
    """Whether this party's rows can be read and are what the plan says."""
    try:
        if plan is not None and home.identity.name in (party.name for party in plan.parties):
            yield _fit(home, plan, own_table(home, plan))
        elif plan is None and home.settings.data:
            table = whole_table(home)
            found = f"{counted(len(table), 'row')}, {counted(len(table.columns), 'column')}"
            yield Check("table", True, f"{found}; no plan named to compare")
    except (DataError, SettingsError) as error:
        todo = "correct the file, or `data`, `id` and `label` in party.toml"
        yield Check("table", False, str(error), todo)


def _fit(home: Home, plan: Plan, table: Table) -> Check:
    """Check the table against the plan by all its rows: which of them are common is not known yet."""
    is_aligned = bool(count_common_rows(home.folder, plan))
    if is_aligned:
        table = aligned_table(home, plan)
        rows = f"{len(table)} common rows"
    else:
        rows = f"{counted(len(table), 'row')}, none aligned yet"
    wanted = plan.party(home.identity.name).features
    try:
        found = encoded_width(table, plan)
        if is_aligned and found == wanted:
            _refuse_rows(home.identity.name, table, plan)
    except DataError as error:
        return Check("table", False, f"{error} ({rows})", "change the plan on all sides")
    if found == wanted:
        return Check("table", True, f"{counted(found, 'column')}, as the plan says; {rows}")
    todo = f"change the table, or write features = {found} for {home.identity.name} into the plan on every side"
    return Check("table", False, f"the plan says {wanted} columns, this table gives {found} ({rows})", todo)


def _refuse_rows(name: str, table: Table, plan: Plan) -> None:
    """Refuse what training would refuse in the common rows, whichever of them are held out."""
    build_shard(table, plan, name, b"doctor")
    steps_per_epoch(len(table) - plan.held_out(len(table)), plan)


def _proxy(url: str) -> Check:
    proxy = Proxy.parse(url)
    try:
        socket.create_connection((proxy.address.host, proxy.address.port), timeout=10).close()
    except OSError as error:
        found = f"{proxy.address} cannot be reached ({error.strerror or type(error).__name__})"
        return Check("proxy", False, found, "correct `proxy` in party.toml")
    return Check("proxy", True, f"{proxy.address} answers")


# Of any two parties of a plan, one must listen where the other can reach it.


def reach_of(home: Home, peer: str) -> Check:
    """How this party and a peer come together, as far as this side knows."""
    settings = home.settings
    if dialled := home.addresses.get(peer):
        return Check("address", True, f"we connect to it at {dialled}", "", peer)
    if settings.dialled_at:
        return Check("address", True, f"it connects to us at {settings.dialled_at}", "", peer)
    if settings.listen:
        found = f"it connects to us, and our invitation does not say where (we listen on {settings.listen})"
        return Check("address", True, found, OWN_ADDRESS, peer)
    found = f"nobody can dial: {peer}'s invitation has no address, and we do not listen"
    todo = f"set `listen` in {SETTINGS_FILE} and invite {peer} again, or let {peer} do so and join its new invitation"
    return Check("address", False, found, todo, peer)


def apart(home: Home, peers: Collection[str]) -> Iterator[Check]:
    """Pairs of peers neither of whom has told us an address: they may not find each other."""
    silent = [peer for peer in peers if peer not in home.addresses]
    for first, second in combinations(silent, 2):
        found = f"neither {first}'s nor {second}'s invitation has an address, so these two may not reach each other"
        todo = f"let one of them set `listen` in its {SETTINGS_FILE} and invite everybody again"
        yield Check("address", True, found, todo, second)


# What takes two.


def _meet(
    home: Home,
    peers: Sequence[Peer],
    plan: Plan | None,
    seconds: float,
    progress: Callable[[str], None],
    timeouts: Timeouts,
) -> Iterator[Check]:
    results: queue.Queue[tuple[str, list[Check]]] = queue.Queue()
    try:
        connector = home.connector(
            peers,
            _tried_size(plan),
            lambda connection: results.put((connection.peer, examine_connection(connection, plan))),
            progress,
            timeouts,
        )
        connector.open()
    except TransportError as error:
        yield Check("identity" if isinstance(error, IdentityError) else "port", False, str(error))
        return
    try:
        if connector.address is not None:
            yield Check("port", True, f"listening on {connector.address}")
        yield from _gather(connector, results, {peer.name: peer for peer in peers}, seconds, progress)
    finally:
        connector.close()


def _gather(
    connector: Connector,
    results: "queue.Queue[tuple[str, list[Check]]]",
    waited: dict[str, Peer],
    seconds: float,
    progress: Callable[[str], None],
) -> Iterator[Check]:
    """The peers' checks in the order in which they come, then those that did not."""
    began = time.monotonic()
    while waited and (passed := time.monotonic() - began) < seconds:
        so_far = f"{counting.seconds(round(passed))} of at most {counting.seconds(seconds)}"
        progress(f"waiting for {', '.join(waited)}, {so_far}; plumbob party doctor must run there too")
        try:
            name, checks = results.get(timeout=max(0.0, min(SECONDS_BETWEEN, seconds - passed)))
        except queue.Empty:
            continue
        if waited.pop(name, None) is not None:
            yield from checks
    for peer in waited.values():
        yield _absence(peer, connector, seconds)


def _absence(peer: Peer, connector: Connector, seconds: float) -> Check:
    """Why a peer did not come, as far as this side knows."""
    doctor, waited = f"let {peer.name} type plumbob party doctor", counting.seconds(seconds)
    if reason := connector.why_not(peer.name):
        # One about certificates says what to do itself.
        is_refused = isinstance(reason, IdentityError)
        found, todo = str(reason), f"{doctor} at the same time, or join it again with --address HOST:PORT"
        return Check("connection", False, found, "" if is_refused else todo, peer.name)
    if peer.address is None:
        reached = "firewall, port forwarding, `address` in the invitation"
        todo = f"{doctor}, and try from there whether our port is reached: {reached}"
        return Check("connection", False, f"{peer.name} did not call within {waited}", todo, peer.name)
    return Check("connection", False, f"no answer within {waited}", doctor, peer.name)


def examine_connection(connection: Connection, plan: Plan | None) -> list[Check]:
    """Run the checks on one connection, the same on both sides, and close it."""
    checks = [Check("connection", True, "authenticated, TLS 1.3")]
    try:
        for check in _compare_greetings(connection, plan):
            checks.append(check)
    except (TransportError, ProtocolError) as error:
        checks.append(Check("exchange", False, str(error), "run plumbob party doctor on both sides"))
    finally:
        connection.close()
    return [replace(check, peer=connection.peer) for check in checks]


def _compare_greetings(connection: Connection, plan: Plan | None) -> Iterator[Check]:
    ours = Greeting(purpose="doctor") if plan is None else topic_of(plan, "doctor")
    theirs = exchange(connection, ours, EXCHANGE_SECONDS)
    skew = theirs.clock - time.time()
    yield _version(theirs)
    yield _clock(skew, connection.peer)
    yield _plan(ours, theirs)
    yield _size(connection, _tried_size(plan), ours, theirs)


def _version(theirs: Greeting) -> Check:
    if theirs.plumbob == __version__:
        return Check("version", True, f"plumbob {__version__}, protocol {VERSION} on both sides")
    found = f"plumbob {__version__} here, {theirs.plumbob} there"
    return Check("version", False, found, f"install plumbob {__version__} there, or their version here")


def _clock(skew: float, peer: str) -> Check:
    apart = counting.seconds(round(abs(skew), 1))
    if abs(skew) <= CLOCK_SECONDS:
        return Check("clock", True, f"{apart} apart")
    found = f"{peer}'s clock is {apart} {'ahead of' if skew > 0 else 'behind'} ours"
    return Check("clock", False, found, "synchronise the wrong clock (timedatectl set-ntp true)")


def _plan(ours: Greeting, theirs: Greeting) -> Check:
    if ours.plan == theirs.plan:
        return Check("plan", True, f"the same, {ours.plan[:12]}" if ours.plan else "none named here or there")
    if not ours.plan or not theirs.plan:
        only = "there only" if theirs.plan else "here only"
        return Check("plan", False, f"named {only}", "type plumbob party doctor PLAN on both sides")
    todo = "compare plumbob plan show PLAN, and use one file on both sides"
    return Check("plan", False, plan_difference(ours, theirs), todo)


def _size(connection: Connection, size: int, ours: Greeting, theirs: Greeting) -> Check:
    """Send one message of the longest size each way, and confirm that it came."""
    if theirs.purpose != "doctor":
        return Check("size", True, f"not tried, {connection.peer} is waiting in plumbob party {theirs.purpose}")
    if ours.plan != theirs.plan:
        return Check("size", True, "not tried, as the plans differ")
    began = time.monotonic()
    connection.send(MESSAGE_HEAD, bytes(size))
    came = connection.receive(EXCHANGE_SECONDS)
    connection.send(RECEIVED)
    try:
        is_whole = connection.receive(EXCHANGE_SECONDS) == RECEIVED and len(came) == len(MESSAGE_HEAD) + size
    except DeadlineError:
        is_whole = False
    found = f"a message of {counting.size(size)} each way in {counting.seconds(time.monotonic() - began)}"
    if is_whole:
        return Check("size", True, found)
    return Check("size", False, f"{found} did not arrive whole", "is a proxy or a gateway in between?")


def _tried_size(plan: Plan | None) -> int:
    """Bytes of the message that is tried."""
    return WITHOUT_PLAN if plan is None else largest_message(plan)
