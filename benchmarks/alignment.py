"""What one side of an alignment costs per id, and how much a second core helps; a table and JSON.

    python benchmarks/alignment.py [--ids 20000] [--rounds 5] [--against FOLDER] [--threads] [--output FILE]

Both sides are played once and what one of them received is kept. Then that side alone is run again and again, from the
same draws and the same messages. With `--against` another checkout (its folder, with an environment of its own) is
measured in turns with this one. Processor seconds; wall seconds for the threads. Between two organisations, from their
files: `scale/organisations.py --only align`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

SIDE, OTHER = "label", "features"
COMMON = 0.8  # Of each side's ids.
ROOTS = {SIDE: bytes(32), OTHER: bytes([1]) * 32}
PATHS = ("avx512ifma", "avx2", "portable")


def main() -> None:
    """Measure, print, write."""
    options = parse()
    if options.serve:
        serve(options.ids)
        return
    sides = {"here": Measured(sys.executable, options.ids)}
    if options.against:
        sides["before"] = Measured(str(options.against / ".venv" / "bin" / "python"), options.ids)
    lines = [one_round(sides, options.threads) for _ in range(options.rounds)]
    for side in sides.values():
        side.close()
    result = {"ids": options.ids, "rounds": options.rounds, "load": os.getloadavg()[0], "lines": lines}
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(summary(result))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="one side of an alignment, per id")
    parser.add_argument("--ids", type=int, default=20_000, help="of each side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, help="folder of another checkout")
    parser.add_argument("--threads", action="store_true", help="also with two threads, in wall seconds")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


class Measured:
    """A process that has the messages ready and runs one side when it is asked to."""

    def __init__(self, python: str, ids: int) -> None:
        command = [python, __file__, "--serve", "--ids", str(ids)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.paths: list[str] = self._answer()

    def run(self, path: str, jobs: int) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([path, jobs]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, float] = self._answer()
        return answer

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def one_round(sides: dict[str, Measured], threads: bool) -> dict[str, dict[str, float]]:
    """Everything in turns."""
    found = {}
    for name, side in sides.items():
        for path in side.paths:
            found[f"{name} {path}"] = side.run(path, 1)
    if threads:
        here = sides["here"]
        found["one thread"], found["two threads"] = here.run(here.paths[0], 1), here.run(here.paths[0], 2)
        found["kernel, one"], found["kernel, two"] = here.run("kernel", 1), here.run("kernel", 2)
    return found


def serve(count: int) -> None:
    """In a process of its own: play, then run one side for each line that comes in."""
    ids = {name: [f"customer-{row:09d}" for row in range(s, s + count)] for name, s in shifts(count).items()}
    tape = played(ids)
    print(json.dumps(paths_here()), flush=True)
    for line in sys.stdin:
        path, jobs = json.loads(line)
        if path == "kernel":
            print(json.dumps(timed(partial(kernel_alone, count, jobs))), flush=True)
            continue
        choose_path(path)
        print(json.dumps(timed(partial(replayed, ids[SIDE], tape, jobs))), flush=True)


def kernel_alone(count: int, jobs: int) -> None:
    """As many multiplications as a side does, in one call each: what two threads can bring at most."""
    from plumbob.crypto.ristretto import NativeGroup

    group = NativeGroup(threads=jobs)
    group.times(group.times_hashed(bytes(range(64)) * count, 12345), 12345)


def shifts(count: int) -> dict[str, int]:
    return {SIDE: 0, OTHER: round(count * (1 - COMMON))}


def paths_here() -> list[str]:
    """The kernel's paths; one nameless path where the checkout has no group in its kernel for alignment."""
    try:
        from plumbob.crypto import curve  # noqa: F401  # Points of P-256, which the library multiplied.
    except ImportError:
        from plumbob.crypto.ristretto import available_paths

        return [path for path in PATHS if path in available_paths()]
    return [""]


def choose_path(path: str) -> None:
    """For the next alignment of this process."""
    if path:
        from plumbob.crypto import ristretto

        ristretto.choose = lambda name="auto", threads=None: ristretto.NativeGroup(path, threads)


def played(ids: dict[str, list[str]]) -> list[bytes]:
    """Every message that the side gets."""
    from plumbob.lab.simulate.training import run_together
    from plumbob.net import linked_pair
    from plumbob.protocol.alignment import AlignmentParty
    from plumbob.protocol.channel import Channel

    ends = linked_pair()
    channels = {SIDE: Channel(OTHER, ends[0]), OTHER: Channel(SIDE, ends[1])}
    recording: list[bytes] = []
    channels[SIDE].recording = recording
    participants = {name: seat(name, channel) for name, channel in channels.items()}
    parties = {name: AlignmentParty(participant, ids[name], jobs=1) for name, participant in participants.items()}
    results = run_together({name: party.run for name, party in parties.items()}, participants)
    assert results[SIDE].ids == results[OTHER].ids == tuple(sorted(set(ids[SIDE]) & set(ids[OTHER])))
    return recording


def seat(name: str, channel: Any) -> Any:
    """A participant whose draws are the same every time, for the measurement only."""
    from plumbob.crypto import Draws
    from plumbob.crypto.engines.python import PythonEngine
    from plumbob.plan import Plan
    from plumbob.protocol.handshake import Participant

    plan = Plan.for_columns((1, 1), protocol="exchange")
    return Participant(name, plan, {channel.peer: channel}, PythonEngine(), Draws.begin(ROOTS[name]))


class Tape:
    """A peer that has said everything already."""

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = iter(messages)

    def send(self, *parts: bytes | bytearray | memoryview) -> None:
        assert parts

    def receive(self, seconds: float) -> bytes:
        assert seconds > 0
        return next(self._messages)

    def close(self) -> None:
        raise AssertionError("nobody hangs up here")


def replayed(ids: list[str], tape: list[bytes], jobs: int) -> object:
    """The whole protocol of one side."""
    from plumbob.protocol.alignment import AlignmentParty
    from plumbob.protocol.channel import Channel

    return AlignmentParty(seat(SIDE, Channel(OTHER, Tape(tape))), ids, jobs=jobs).run()


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Processor seconds, those of ended children included, and wall seconds."""
    wall, cpu = time.perf_counter(), processor_seconds()
    work()
    return {"cpu": processor_seconds() - cpu, "wall": time.perf_counter() - wall}


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def summary(result: dict[str, Any]) -> str:
    """Medians: microseconds of processor time per id, and the rounds' own ratios to what was before."""
    lines, ids = result["lines"], result["ids"]
    rows = [f"{ids} ids a side, {result['rounds']} rounds, at a load of {result['load']:.1f}"]
    for name in lines[0]:
        spent = median(1e6 * line[name]["cpu"] / ids for line in lines)
        row = f"{name:16} {spent:7.1f} us of processor time per id"
        if "before " in lines[0]:
            times = median(line["before "]["cpu"] / line[name]["cpu"] for line in lines)
            row += f", {times:5.2f} times less than before"
        rows.append(row)
    if "two threads" in lines[0]:
        faster = median(line["one thread"]["wall"] / line["two threads"]["wall"] for line in lines)
        alone = median(line["kernel, one"]["wall"] / line["kernel, two"]["wall"] for line in lines)
        rows.append(f"two threads: {faster:.2f} times as fast as one (the kernel alone {alone:.2f} times)")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
