"""Parties as real processes over real TLS on loopback, that kill themselves at named points of chosen steps."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from plumbob.data import Table
from plumbob.net import Connection, Data
from plumbob.net.connector import Connector, Peer
from plumbob.net.identity import Identity, read_certificate
from plumbob.net.websocket import Timeouts
from plumbob.party.party_run import PartyRun, largest_message
from plumbob.party.signature import MessageSigner
from plumbob.party.training import train
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind, Message, decode_header
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.run_folder import JOURNAL

PATIENCE = 150.0  # Seconds: a test that waits longer than this hangs.
QUICK = Timeouts(first_retry=0.05, longest_retry=0.2, give_way=0.05)

SENT = ("before the journal", "in the journal, before its fsync", "after the fsync, before it leaves", "after it left")
RECEIVED = ("before it is kept", "after it is kept")
FINISHED = ("before the step is finished", "after the step is finished")
Death = tuple[str, int]
"""A named point, and the step in which a party kills itself there."""


def points(kinds: tuple[Kind, ...]) -> list[str]:
    """Every named point of a step in which these kinds of message are sent and received."""
    sent = [f"{kind.name} {moment}" for kind in kinds for moment in SENT]
    received = [f"{kind.name} {moment}" for kind in kinds for moment in RECEIVED]
    return [*sent, *received, *FINISHED]


# Processes that start from one in which everything is imported: an import takes longer than a run.
IMPORTED_LATE = (
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.idna",
    "narwhals._arrow.dataframe",
    "narwhals._arrow.namespace",
    "narwhals._interchange.dataframe",
    "narwhals.stable.v1._namespace",
    "pandas",  # By pyarrow, wherever it is installed.
    "plumbob.checking.check",
    "plumbob.checking.consent",
    "plumbob.lab.exchange.engines.native",
    "plumbob.crypto.lattice.kernel",
    "plumbob.party.verbs.predict",
    "plumbob.party.verbs.propose",
    "plumbob.party.verbs.setup",
    "plumbob.party.verbs.sign",
    "plumbob.party.verbs.train",
    "plumbob.report.page",
    "plumbob.lab.commands.train",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.pandas_compat",
    "pydantic.plugin._loader",
    "rich._emoji_codes",
    "scipy.optimize",
    "typer._adapters",
    "typer._click.decorators",
    "tests.party.ready",  # Last: what is loaded by now stays as it is.
)
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.party.processes", "tests.party.verbs", *IMPORTED_LATE])


class Company:
    """The parties of a plan, each with an identity and a folder; the first one listens, the others dial."""

    def __init__(self, plan: Plan, tables: dict[str, Table], folder: Path) -> None:
        self.plan, self.tables, self.folder = plan, tables, folder
        self.names = [party.name for party in plan.parties]
        self.ports = {name: free_port() for name in self.names}
        self.processes: dict[str, BaseProcess] = {}
        for name in self.names:
            Identity.create(folder / name, name)

    def start(self, name: str, deaths: Sequence[Death] = (), seeded: bool = False) -> None:
        """Start a party, which kills itself at the first of `deaths` that it comes to."""
        arguments = (name, self.plan.to_toml(), self.tables.get(name), self.folder, self.ports, deaths, seeded)
        process = context.Process(target=take_part, args=arguments, daemon=True)
        process.start()
        self.processes[name] = process

    def wait_for(self, name: str) -> int | None:
        """The process's exit code, None if it is still at work after all patience."""
        self.processes[name].join(PATIENCE)
        return self.processes[name].exitcode

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.join()


def take_part(
    name: str,
    plan_text: str,
    table: Table | None,
    folder: Path,
    ports: dict[str, int],
    deaths: Sequence[Death],
    seeded: bool,
) -> None:
    """What a party's process does."""
    plan = Plan.from_toml(plan_text)
    names = [party.name for party in plan.parties]
    identity = Identity.load(folder / name)
    peers = [
        # Of two, the one that stands later in the plan dials.
        Peer(other, read_certificate(folder / other / "certificate.pem").der, _address(ports, name, other, names))
        for other in names
        if other != name
    ]

    certificates = {other: read_certificate(folder / other / "certificate.pem") for other in names}

    def connector_for(on_connection: Callable[[Connection], None]) -> Connector:
        return Connector(
            identity,
            peers,
            listen=f"127.0.0.1:{ports[name]}",
            proxy=None,
            largest_message=largest_message(plan, len(table) if table is not None else 1000),
            on_connection=on_connection,
            timeouts=QUICK,
        )

    mortal = Mortal(deaths)
    journal = PointedJournal(folder / name / JOURNAL, mortal)
    mortal.watch_channels()
    party_run = PartyRun(
        name,
        plan,
        table,
        folder / name,
        connector_for,
        patience=PATIENCE,
        lingering=2.0,
        signer=MessageSigner(identity, certificates),
    )
    train(party_run, journal, root=root_of(name) if seeded else None)


def _address(ports: dict[str, int], name: str, other: str, names: list[str]) -> str | None:
    return f"127.0.0.1:{ports[other]}" if names.index(name) > names.index(other) else None


def root_of(name: str) -> bytes:
    """What a party draws from in the simulation and on the network alike."""
    return sha256(name.encode()).digest()


class Mortal:
    """Kills this process as the kernel does when memory runs out: nothing of ours hears of it."""

    def __init__(self, deaths: Sequence[Death]) -> None:
        self.deaths = frozenset(deaths)

    def at(self, point: str, step: int) -> None:
        if (point, step) in self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(PATIENCE)

    def at_message(self, data: Data, moment: str) -> None:
        kind, step, _ = decode_header(data)
        self.at(f"{kind.name} {moment}", step)

    def watch_channels(self) -> None:
        """A message has left when the channel's `send` returns."""
        send = Channel.send

        def watched(channel: Channel, kind: Kind, step: int, body: bytes) -> None:
            send(channel, kind, step, body)
            # A moment for the link's thread, which is the one that writes to the socket.
            if (f"{kind.name} {SENT[3]}", step) in self.deaths:
                time.sleep(0.05)
            self.at(f"{kind.name} {SENT[3]}", step)

        setattr(Channel, "send", watched)  # noqa: B010  # A checker cannot see that it is the same function.


class PointedJournal(SqliteJournal):
    """Dies where it is told to."""

    def __init__(self, path: Path, mortal: Mortal) -> None:
        self._mortal, self._leaving = mortal, b""
        super().__init__(path)

    def sending(self, peer: str, message: Message, digest: bytes) -> bool:
        data = message.encode()
        self._mortal.at_message(data, SENT[0])
        self._leaving = data
        is_new = super().sending(peer, message, digest)
        self._leaving = b""
        self._mortal.at_message(data, SENT[2])
        return is_new

    def flush(self) -> None:
        if self._leaving:
            self._mortal.at_message(self._leaving, SENT[1])
        super().flush()

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        self._mortal.at_message(data, RECEIVED[0])
        super().keep(peer, data, digest)
        self._mortal.at_message(data, RECEIVED[1])

    def finish(self, step: int, result: Any, state: Any) -> None:
        self._mortal.at(FINISHED[0], step)
        super().finish(step, result, state)
        self._mortal.at(FINISHED[1], step)


def free_port() -> int:
    """One that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
