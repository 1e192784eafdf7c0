"""What the network and the journal cost: the same run between two processes over TLS, and simulated in one.

    python benchmarks/network.py [--rows 27000] [--epochs 1] [--repeats 3] [--protocol exchange]
    python benchmarks/network.py --protocol shares          # the default plan, all its passes, by lattices

Interleaved, medians of wall-clock and of CPU seconds (both parties together), one core for each party in both; other
protocols with 2048-bit keys. Made-up rows in the shape of the credit data (11 + 12 columns). With --rate MBIT and
--delay MS a relay stands between the two, which passes on no more than that in each direction, and everything that much
later. With --namespaces as well, each party has a network namespace of its own (as root), and the line between them
carries the kernel's own packets.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import queue
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plumbob.crypto import engines
from plumbob.data import Table, split_array
from plumbob.lab.simulate import train
from plumbob.net.connector import Connection, Connector, Peer
from plumbob.net.identity import Identity, read_certificate
from plumbob.party.party_run import PartyRun, largest_message
from plumbob.party.training import train as take_part
from plumbob.plan import Plan
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.run_folder import JOURNAL

COLUMNS = (11, 12)
PIECE = 1 << 16
CPU = "cpu-seconds"
SMALL = 600  # Rows of the run that every process makes first, for what only a first run pays.


def main() -> None:
    arguments = _arguments()
    plan = _plan(arguments)
    tables = _tables(plan, arguments.rows)
    simulated(plan, _tables(plan, SMALL))
    found: dict[str, list[Seconds]] = {"simulation": [], "network": []}
    for _ in range(arguments.repeats):
        found["simulation"].append(simulated(plan, tables))
        with _line(plan, arguments) as network:
            found["network"].append(networked(plan, tables, arguments.rate, arguments.delay, network))
    wall = {name: statistics.median(each.wall for each in runs) for name, runs in found.items()}
    cpu = {name: statistics.median(each.cpu for each in runs) for name, runs in found.items()}
    print(
        json.dumps(
            {
                "wall": {**wall, "ratio": wall["network"] / wall["simulation"]},
                "cpu": {**cpu, "ratio": cpu["network"] / cpu["simulation"]},
                "all": {name: [list(each) for each in runs] for name, runs in found.items()},
                "rows": arguments.rows,
                "protocol": plan.protocol,
                "passes": plan.passes(arguments.rows),
            }
        )
    )


def _line(plan: Plan, arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Namespaces, and a line between them; or nothing."""
    if not arguments.namespaces:
        return nullcontext()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.party.weather import Network, Weather

    names = [party.name for party in plan.parties]
    return Network(names, Weather(0.0, arguments.delay / 1000, arguments.rate * 1e6))


class Seconds(NamedTuple):
    """What one run took, both parties together."""

    wall: float
    cpu: float


def _plan(arguments: argparse.Namespace) -> Plan:
    if arguments.protocol == "shares":
        return Plan.for_columns(COLUMNS, seed=1)
    return Plan.for_columns(
        COLUMNS, protocol=arguments.protocol, epochs=arguments.epochs, batch_size=arguments.batch, seed=1
    )


class Relay:
    """Between the two parties: in each direction this many Mbit/s, and this many milliseconds on the way."""

    def __init__(self, port: int, rate: float, delay: float) -> None:
        self._rate, self._delay, self._target = rate * 125_000, delay / 1000, port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            caller = self._door.accept()[0]
            try:
                called = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                caller.close()
                continue
            for source, target in ((caller, called), (called, caller)):
                # The end of a message must not wait for the receiver's word on what came before, as no line does.
                target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
                waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                threading.Thread(target=self._read, args=(source, waiting), daemon=True).start()
                threading.Thread(target=self._write, args=(waiting, target), daemon=True).start()

    def _read(self, source: socket.socket, waiting: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        free_at = 0.0
        data = b"first"
        while data:
            data = source.recv(PIECE)
            free_at = max(time.monotonic(), free_at) + len(data) / self._rate
            waiting.put((free_at + self._delay, data))
            # No more is under way than the line holds.
            time.sleep(max(0.0, free_at - time.monotonic()))

    def _write(self, waiting: "queue.SimpleQueue[tuple[float, bytes]]", target: socket.socket) -> None:
        data = b"first"
        # Whoever is gone needs nothing more.
        with suppress(OSError):
            while data:
                arrives, data = waiting.get()
                time.sleep(max(0.0, arrives - time.monotonic()))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def simulated(plan: Plan, tables: dict[str, Table]) -> Seconds:
    started, used = time.perf_counter(), time.process_time()
    train(plan, tables, jobs=2)
    return Seconds(time.perf_counter() - started, time.process_time() - used)


def networked(plan: Plan, tables: dict[str, Table], rate: float, delay: float, network: Any = None) -> Seconds:
    """From the moment when both processes are ready to the end of the slower one, parting included."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        home, port = Path(folder), _free_port()
        dialled = Relay(port, rate, delay).port if rate and network is None else port
        host = "127.0.0.1" if network is None else network.hosts[plan.label_party.name]
        for name in tables:
            Identity.create(home / name, name)
        ready = context.Barrier(len(tables) + 1)
        processes = [
            context.Process(
                target=_party, args=(name, plan.to_toml(), table, home, host, (port, dialled), space, ready)
            )
            for name, table in tables.items()
            for space in [None if network is None else network.spaces[name]]
        ]
        for process in processes:
            process.start()
        ready.wait()
        started = time.perf_counter()
        for process in processes:
            process.join()
        if any(process.exitcode for process in processes):
            raise SystemExit("a party failed; its error is above")
        wall = time.perf_counter() - started
        return Seconds(wall, sum(float((home / name / CPU).read_text()) for name in tables))


def _party(
    name: str,
    plan_text: str,
    table: Table,
    home: Path,
    host: str,
    ports: tuple[int, int],
    space: str | None,
    ready: Any,
) -> None:
    if space is not None and ctypes.CDLL(None, use_errno=True).setns(os.open(f"/run/netns/{space}", os.O_RDONLY), 0):
        raise OSError(ctypes.get_errno(), "the namespace cannot be entered; are you root?")
    plan = Plan.from_toml(plan_text)
    identity = Identity.load(home / name)
    listens = name == plan.label_party.name
    address = f"{host}:{ports[0] if listens else ports[1]}"
    peers = [
        Peer(other.name, read_certificate(home / other.name / "certificate.pem").der, None if listens else address)
        for other in plan.parties
        if other.name != name
    ]

    def connector_for(on_connection: Callable[[Connection], None]) -> Connector:
        return Connector(
            identity,
            peers,
            listen=address if listens else None,
            proxy=None,
            largest_message=largest_message(plan, len(table)),
            on_connection=on_connection,
        )

    journal = SqliteJournal(home / name / JOURNAL)
    party_run = PartyRun(name, plan, table, home / name, connector_for, engines.choose("auto", 1))
    simulated(plan, _tables(plan, SMALL))
    ready.wait()
    started = time.process_time()
    take_part(party_run, journal)
    journal.close()
    (home / name / CPU).write_text(str(time.process_time() - started))


def _tables(plan: Plan, rows: int) -> dict[str, Table]:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(rows, sum(COLUMNS)))
    y = (X @ generator.normal(size=sum(COLUMNS)) + generator.normal(size=rows) > 0).astype(np.int64)
    tables = split_array(X, y, COLUMNS)
    return {party.name: table for party, table in zip(plan.learners, tables, strict=True)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=27000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--protocol", default="exchange")
    parser.add_argument("--rate", type=float, default=0, help="Mbit/s of a shaped link; 0 = no relay")
    parser.add_argument("--delay", type=float, default=20, help="milliseconds in each direction, with --rate")
    parser.add_argument("--namespaces", action="store_true", help="with --rate: the line is between two namespaces")
    return parser.parse_args()


if __name__ == "__main__":
    main()
