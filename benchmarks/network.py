"""What the network and the journal cost: the same run between two processes over TLS, and simulated in one.

    python benchmarks/network.py [--rows 27000] [--epochs 1] [--repeats 3] [--protocol exchange]

Interleaved, wall-clock medians, 2048-bit keys, one core for each party in both. Features are standardised numbers of 16
fraction bits, residuals have 20. Made-up rows in the shape of the credit data (11 + 12 columns).
"""

import argparse
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.crypto import Randomness, engines
from plumbob.data import Table, split_array
from plumbob.party.party_run import PartyRun
from plumbob.party.sizes import largest_message
from plumbob.party.training import JOURNAL
from plumbob.party.training import train as take_part
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.transport.connector import Connection, Connector, Peer
from plumbob.transport.identity import Identity, read_certificate
from plumbob.workshop.simulation import train

COLUMNS = (11, 12)


def main() -> None:
    arguments = _arguments()
    plan = Plan.for_columns(
        COLUMNS, protocol=arguments.protocol, epochs=arguments.epochs, batch_size=arguments.batch, seed=1
    )
    tables = _tables(plan, arguments.rows)
    # Once for what only the first run pays: imports, memory, the file system.
    simulated(plan, tables)
    times: dict[str, list[float]] = {"simulation": [], "network": []}
    for _ in range(arguments.repeats):
        times["simulation"].append(simulated(plan, tables))
        times["network"].append(networked(plan, tables))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["network"] / medians["simulation"]
    print(json.dumps({**medians, "ratio": ratio, "all": times, "rows": arguments.rows, "protocol": plan.protocol}))


def simulated(plan: Plan, tables: dict[str, Table]) -> float:
    started = time.perf_counter()
    train(plan, tables, jobs=2)
    return time.perf_counter() - started


def networked(plan: Plan, tables: dict[str, Table]) -> float:
    """From the moment when both processes are ready to the end of the slower one, parting included."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        home, port = Path(folder), _free_port()
        for name in tables:
            Identity.create(home / name, name)
        ready = context.Barrier(len(tables) + 1)
        processes = [
            context.Process(target=_party, args=(name, plan.to_toml(), table, home, port, ready))
            for name, table in tables.items()
        ]
        for process in processes:
            process.start()
        ready.wait()
        started = time.perf_counter()
        for process in processes:
            process.join()
        if any(process.exitcode for process in processes):
            raise SystemExit("a party failed; its error is above")
        return time.perf_counter() - started


def _party(name: str, plan_text: str, table: Table, home: Path, port: int, ready: Any) -> None:
    plan = Plan.from_toml(plan_text)
    identity = Identity.load(home / name)
    listens = name == plan.label_party.name
    address = f"127.0.0.1:{port}"
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
    ready.wait()
    take_part(party_run, journal, Randomness(journal.draw, is_kernel=True))
    journal.close()


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
    return parser.parse_args()


if __name__ == "__main__":
    main()
