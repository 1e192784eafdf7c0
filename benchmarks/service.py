"""How fast a service answers: `party serve` in a process of its own, over TLS on loopback, and a label party that asks.

    python benchmarks/service.py [--rows 10000] [--parties 2] [--repeats 20] [--protocol shares]

Made-up rows in the shape of the credit data. One session: the time until everybody is there and has agreed, then single
rows, each a query of its own, and then all rows; and `party predict` of one row from its start to its file.
"""

import argparse
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from plumbob.data import Table, split_array
from plumbob.lab.simulate import train
from plumbob.party import prediction, signature
from plumbob.party.home import Home
from plumbob.party.party_run import party_run_at
from plumbob.party.plan_runs import PlanRuns, one_session
from plumbob.party.rows import keep_aligned
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import Asker
from plumbob.protocol.schedules import ROWS_AT_ONCE
from plumbob.run_folder import RunFolder

COLUMNS = {2: (11, 12), 3: (9, 7, 7)}
NAMES = ("bank", "fund", "shop")
LABEL = "late"


def main() -> None:
    """Set everybody up with a model from a simulation, let the others serve, and ask."""
    arguments = _arguments()
    columns, names = COLUMNS[arguments.parties], NAMES[: arguments.parties]
    plan = _plan(columns, names, arguments.protocol)
    tables = _tables(arguments.rows, columns, names)
    run = train(plan, tables)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "plan.toml"
        file.write_text(plan.to_toml(), encoding="utf-8")
        homes = _homes(folder, plan, tables)
        for name, part in run.model.parts.items():
            finished = RunFolder(homes[name].runs / plan.hash()[:12])
            for made in (homes[name].runs, finished.path):
                made.mkdir(mode=0o700)
            finished.make_party_folder(name)
            part.save(finished.part_file(name))
            finished.save_record(run.record)
        spawn = multiprocessing.get_context("spawn")
        services = [spawn.Process(target=_serve, args=(homes[name].folder, file), daemon=True) for name in names[1:]]
        for service in services:
            service.start()
        try:
            print(json.dumps(_measured(homes["bank"], plan, tables["bank"], file, arguments.repeats)))
        finally:
            for service in services:
                service.terminate()


def _serve(folder: Path, plan: Path) -> None:
    Home.open(folder).serve(plan, verbose=False)


def _measured(home: Home, plan: Plan, table: Table, file: Path, repeats: int) -> dict[str, float]:
    part = ModelPart.load(PlanRuns(home, plan).last_finished().part_file("bank"))
    home.predict(file, ids=table.ids[:1], out=home.folder / "scores.csv", wait=120, verbose=False)
    began = time.perf_counter()
    home.predict(file, ids=table.ids[:1], out=home.folder / "scores.csv", wait=120, verbose=False)
    command = time.perf_counter() - began
    place = PlanRuns(home, plan).make_prediction_folder()
    party_run = party_run_at(home, plan, table, place, prediction.largest_message(plan), lambda words: None)
    began = time.perf_counter()
    with one_session(place) as journal, party_run.talk("predict", journal) as talk:
        draws = party_run.draws(journal, prediction.Brought(part.brought(), []).to_bytes())
        asker = Asker(party_run.participant(talk, journal, draws), table, part)
        asker.begin()
        connected = time.perf_counter() - began
        single = [_seconds(asker, [row]) for row in range(repeats)]
        starts = range(0, len(table), ROWS_AT_ONCE)
        many = sum(_seconds(asker, range(start, min(start + ROWS_AT_ONCE, len(table)))) for start in starts)
        asker.end()
        talk.leave()
    return {
        "one row, whole command": round(command, 3),
        "connecting": round(connected, 3),
        "one row, connected": round(statistics.median(single), 4),
        "slowest of these": round(max(single), 4),
        f"{len(table)} rows, connected": round(many, 3),
        "rows per second": round(len(table) / many),
    }


def _seconds(asker: Asker, rows: "range | list[int]") -> float:
    began = time.perf_counter()
    asker.scores(rows)
    return time.perf_counter() - began


def _homes(folder: Path, plan: Plan, tables: dict[str, Table]) -> dict[str, Home]:
    homes = {}
    for name, table in tables.items():
        place = f"127.0.0.1:{_free_port()}"
        data = folder / f"{name}.csv"
        header = ["id", *(column.name for column in table.columns)]
        values = np.column_stack([column.values for column in table.columns])
        lines = (f"{one},{','.join(map(repr, row))}" for one, row in zip(table.ids, values.tolist(), strict=True))
        data.write_text("\n".join([",".join(header), *lines, ""]), encoding="utf-8")
        label = LABEL if table.labels is not None else ""
        homes[name] = Home.create(folder / name, HomeSettings(name, listen=place, data=str(data), label_column=label))
    for name, home in homes.items():
        for other in homes.values():
            if other.identity.name != name:
                homes[name] = homes[name].join(other.invitation())
        ids = tables[name].ids
        keep_aligned(home, plan, Alignment(ids, "", len(ids), dict.fromkeys(tables, len(ids))))
        signature.sign(homes[name], plan)
    return homes


def _tables(rows: int, columns: tuple[int, ...], names: tuple[str, ...]) -> dict[str, Table]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, sum(columns)))
    y = (X @ generator.normal(size=X.shape[1]) + generator.normal(size=rows) > 0).astype(np.int8)
    return dict(zip(names, split_array(X, y, columns), strict=True))


def _plan(columns: tuple[int, ...], names: tuple[str, ...], protocol: str) -> Plan:
    roles = ("label", "features", "features")
    parties = {
        name: {"role": role, "features": width} for name, role, width in zip(names, roles, columns, strict=False)
    }
    rest = {"model": {"epochs": 2, "full_passes": 0}, "crypto": {"protocol": protocol, "most_rows": 10**6}}
    return Plan.from_dict({"parties": parties, **rest})


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--parties", type=int, choices=COLUMNS, default=2)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--protocol", default="shares")
    return parser.parse_args()


if __name__ == "__main__":
    main()
