"""`make bench-peers`: plumbob and its peers on the same work, interleaved, one thread; a table and JSON.

    python benchmarks/peers/run.py [--rounds 5] [--full] [--only phe,HEU] [--output FILE]

Every round asks every worker once for the same things; figures are medians over rounds. One direction of an iteration
is measured and doubled, for all alike. A peer's cost is linear in the columns (it neither packs nor shares tables
between columns), so 392 columns are measured on `--sample` of them and scaled; the table shows how linear 12 columns
against the sample were. `--full` measures all 392.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from catalogue import ENVIRONMENTS, OURS, OWN, PEERS, Contestant
from channel import Worker, WorkerError
from environments import DidNotInstallError, ensure
from report import PAIR, markdown, summarise

ROOT = Path(__file__).parents[2]
KEY_BITS = 2048
MANY, FEW = 392, 12

Results = dict[str, Any]


def main() -> None:
    options = parse()
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    results: Results = {"machine": machine(), "settings": settings(options), "missing": {}, "rounds": {}, "notes": {}}
    contestants = [*OURS, *dispatched(options.engine_path), *chosen(options.only)]
    pythons = install(contestants, folder, results)
    workers = start(contestants, pythons, folder, results)
    pair = start_pair(folder, results)
    try:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            measure_round(workers, pair, options, results)
        results["own"] = own_figures(workers)
    finally:
        for worker in [*workers.values(), *([pair] if pair else [])]:
            worker.close()
    results["summary"] = summarise(results)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n")
    print(markdown(results))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="medians are taken over these")
    parser.add_argument("--sample", type=int, default=24, help="columns measured for a peer in place of 392")
    parser.add_argument(
        "--full", action="store_true", help="measure all 392 columns of every peer (half an hour a round)"
    )
    parser.add_argument("--only", default="", help="names of peers, or parts of them, separated by commas")
    parser.add_argument("--engine-path", default="", help="dispatch paths of our kernel to add, such as avx2,adx")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="which seconds the table shows")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "peers.json")
    return parser.parse_args()


def settings(options: argparse.Namespace) -> Results:
    sample = MANY if options.full else options.sample
    return {
        "key_bits": KEY_BITS,
        "many": MANY,
        "few": FEW,
        "sample": sample,
        "rounds": options.rounds,
        "clock": options.clock,
    }


def machine() -> Results:
    names = [line.split(":")[1].strip() for line in cpu_lines() if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": len(names),
        "python": platform.python_version(),
    }


def cpu_lines() -> list[str]:
    source = Path("/proc/cpuinfo")
    return source.read_text().splitlines() if source.exists() else []


def chosen(only: str) -> list[Contestant]:
    wanted = [part.lower() for part in only.split(",") if part]
    return [peer for peer in PEERS if not wanted or any(part in peer.name.lower() for part in wanted)]


def dispatched(paths: str) -> list[Contestant]:
    """Our native engine once more for each dispatch path asked for."""
    names = [path for path in paths.split(",") if path]
    return [Contestant(f"plumbob native {path}", OWN, OURS[0].worker, (f"native:{path}",)) for path in names]


def install(contestants: list[Contestant], folder: Path, results: Results) -> dict[str, Path]:
    """Each environment's Python; what does not install is remembered for the table."""
    pythons = {OWN: Path(sys.executable)}
    for environment in ENVIRONMENTS:
        users = [contestant.name for contestant in contestants if contestant.environment == environment.name]
        if not users:
            continue
        print(f"environment {environment.name}", file=sys.stderr, flush=True)
        try:
            pythons[environment.name] = ensure(environment, folder)
        except DidNotInstallError as reason:
            results["missing"].update(dict.fromkeys(users, f"did not install: {reason}"))
    return pythons


def start(contestants: list[Contestant], pythons: dict[str, Path], folder: Path, results: Results) -> dict[str, Worker]:
    workers = {}
    for contestant in contestants:
        if contestant.environment not in pythons:
            continue
        worker = open_worker(contestant, pythons[contestant.environment], folder)
        try:
            results["notes"][contestant.name] = worker.ask("setup", bits=KEY_BITS)["notes"]
            results["rounds"][contestant.name] = []
            workers[contestant.name] = worker
        except WorkerError as reason:
            results["missing"][contestant.name] = f"did not run: {reason}"
            worker.close()
    return workers


def open_worker(contestant: Contestant, python: Path, folder: Path, threads: int = 1) -> Worker:
    log = folder / (contestant.name.replace(" ", "-") + f"-{threads}.log")
    return Worker(python, contestant.worker, contestant.arguments, log, threads)


def start_pair(folder: Path, results: Results) -> Worker | None:
    """Our native engine once more, with two threads."""
    worker = open_worker(OURS[0], Path(sys.executable), folder, threads=2)
    try:
        worker.ask("setup", bits=KEY_BITS)
    except WorkerError as reason:
        results["missing"][PAIR] = f"did not run: {reason}"
        worker.close()
        return None
    results["rounds"][PAIR] = []
    return worker


def measure_round(
    workers: dict[str, Worker], pair: Worker | None, options: argparse.Namespace, results: Results
) -> None:
    for name, worker in workers.items():
        columns = MANY if options.full or name.startswith("plumbob") else options.sample
        results["rounds"][name].append(measure(worker, columns))
        if name.startswith("plumbob"):
            # In the same round and on the same clocks as the product that it is compared with.
            unit = worker.ask("own", what="modular_multiplication")
            results["rounds"][name][-1]["modular_multiplication"] = unit
    if pair:
        results["rounds"][PAIR].append(measure(pair, MANY))


def measure(worker: Worker, columns: int) -> Results:
    return {
        "columns": columns,
        "few": worker.ask("iteration", columns=FEW),
        "many": worker.ask("iteration", columns=columns),
        "non_negative": worker.ask("product", columns=columns, signed=False),
    }


def own_figures(workers: dict[str, Worker]) -> Results:
    own: Results = {}
    for name, worker in workers.items():
        if name.startswith("plumbob"):
            own[name] = {"traffic": worker.ask("own", what="traffic", columns=MANY)}
    return own


if __name__ == "__main__":
    main()
