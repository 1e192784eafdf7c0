"""What alignment costs beside the multiplications that it needs, and how much a second core helps; a table and JSON.

    python benchmarks/alignment.py [--ids 100000] [--rounds 3] [--output FILE]

Both sides are played once and what one of them received is kept. Then that side alone is run again and again, from the
same draws and the same messages, in turns with a bare loop over the library's ECDH: as many multiplications as the side
has to do, two for each id, on points that lie ready. Processor seconds, workers included; wall seconds for the cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from plumbob.crypto import Randomness, curve
from plumbob.crypto.engines.python import PythonEngine
from plumbob.net import linked_pair
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment, AlignmentParty
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant

SIDE, OTHER = "label", "features"
PLAN = Plan.for_columns((1, 1), protocol="exchange")
COMMON = 0.8  # Of each side's ids.
LOADED_AT_ONCE = 5000


def main() -> None:
    """Measure, print, write."""
    options = parse()
    ids = sides(options.ids)
    tape = played(ids)
    lines = [measured(ids[SIDE], tape) for _ in range(options.rounds)]
    result = {"ids": options.ids, "rounds": options.rounds, "load": os.getloadavg()[0], "lines": lines} | summary(lines)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(markdown(result))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="alignment against the multiplications that it needs")
    parser.add_argument("--ids", type=int, default=100_000, help="of each side")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "alignment.json")
    return parser.parse_args()


def sides(count: int) -> dict[str, list[str]]:
    """As many ids a side, most of them common."""
    shift = round(count * (1 - COMMON))
    return {name: [f"customer-{row:09d}" for row in range(s, s + count)] for name, s in ((SIDE, 0), (OTHER, shift))}


def repeatable(name: str) -> Randomness:
    """The same draws every time, for the measurement only."""
    counter = iter(range(1 << 62))
    return Randomness(lambda size: hashlib.shake_256(f"{name} {next(counter)}".encode()).digest(size))


def played(ids: dict[str, list[str]]) -> list[bytes]:
    """Every message that the side gets."""
    from plumbob.lab.simulate.training import run_together  # Not at the top: workers import this file too.

    ends = linked_pair()
    channels = {SIDE: Channel(OTHER, ends[0]), OTHER: Channel(SIDE, ends[1])}
    channels[SIDE].recording = recording = []
    participants = {name: desk_of(name, channel) for name, channel in channels.items()}
    parties = {name: AlignmentParty(participant, ids[name], jobs=1) for name, participant in participants.items()}
    results = run_together({name: party.run for name, party in parties.items()}, participants)
    assert results[SIDE].ids == results[OTHER].ids == tuple(sorted(set(ids[SIDE]) & set(ids[OTHER])))
    return recording


def desk_of(name: str, channel: Channel) -> Participant:
    return Participant(name, PLAN, {channel.peer: channel}, PythonEngine(), repeatable(name))


class Tape:
    """A peer that has said everything already."""

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = iter(messages)

    def send(self, data: bytes) -> None:
        assert data

    def receive(self, seconds: float) -> bytes:
        assert seconds > 0
        return next(self._messages)

    def close(self) -> None:
        raise AssertionError("nobody hangs up here")


def measured(ids: list[str], tape: list[bytes]) -> dict[str, float]:
    """One round, everything in turns."""
    exchange, loaded = bare_loop(tape)
    one, one_wall = timed(lambda: replayed(ids, tape, jobs=1))
    two, two_wall = timed(lambda: replayed(ids, tape, jobs=2))
    return {
        "exchange": exchange,
        "exchange_and_load": loaded,
        "one_process": one,
        "one_process_wall": one_wall,
        "two_processes": two,
        "two_processes_wall": two_wall,
    }


def replayed(ids: list[str], tape: list[bytes], jobs: int) -> Alignment:
    """The whole protocol of one side."""
    participant = desk_of(SIDE, Channel(OTHER, Tape(tape)))
    return AlignmentParty(participant, ids, jobs=jobs).run()


def bare_loop(tape: list[bytes]) -> tuple[float, float]:
    """Processor seconds of two multiplications for each point of the tape: alone, and with handing the points over."""
    key = ec.derive_private_key(0xC0FFEE << 200, ec.SECP256R1())
    algorithm, exchange_seconds, load_seconds = ec.ECDH(), 0.0, 0.0
    for points in ready_points(tape):
        start = time.process_time()
        keys = [ec.EllipticCurvePublicKey.from_encoded_point(key.curve, point) for point in points]
        middle = time.process_time()
        for public in keys:
            key.exchange(algorithm, public)
        load_seconds += middle - start
        exchange_seconds += time.process_time() - middle
    return exchange_seconds, exchange_seconds + load_seconds


def ready_points(tape: list[bytes]) -> Iterator[list[bytes]]:
    """The peer's points and our own twice blinded ones, as the library reads them fastest."""
    messages = [message[32:] for message in tape if len(message) > 32 and message[6] in (20, 21)]
    points = b"".join(messages)
    for start in range(0, len(points), LOADED_AT_ONCE * curve.POINT_BYTES):
        yield curve.uncompressed(points[start : start + LOADED_AT_ONCE * curve.POINT_BYTES])


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds, those of ended children included, and wall seconds."""
    wall, cpu = time.perf_counter(), processor_seconds()
    work()
    return processor_seconds() - cpu, time.perf_counter() - wall


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def summary(lines: list[dict[str, float]]) -> dict[str, float]:
    """Medians of the rounds' own ratios."""
    return {
        "ratio": median(line["one_process"] / line["exchange_and_load"] for line in lines),
        "ratio_without_load": median(line["one_process"] / line["exchange"] for line in lines),
        "speed_up": median(line["one_process_wall"] / line["two_processes_wall"] for line in lines),
    }


def markdown(result: dict[str, Any]) -> str:
    """A row a round."""
    lines = result["lines"]
    header = list(lines[0])
    rows = [header, ["---"] * len(header), *([f"{line[name]:.2f}" for name in header] for line in lines)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return (
        f"{result['ids']} ids a side; seconds.\n\n{table}\n\n"
        f"Protocol / multiplications: {result['ratio']:.3f} (points handed to the library counted as its work), "
        f"{result['ratio_without_load']:.3f} (not counted).\n"
        f"Two processes / one: {result['speed_up']:.2f} times faster, at a load of {result['load']:.1f}."
    )


if __name__ == "__main__":
    main()
