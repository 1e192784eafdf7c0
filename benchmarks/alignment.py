"""What one side of an alignment costs per id: `python -m benchmarks.alignment [--ids 20000] [--rounds 5]`.

Both sides are played once, and what one of them received is kept. Then that side alone is run again and again, from
the same draws and the same messages: hashing, multiplying, proving, checking, matching. Processor time of one thread,
the median of the rounds. `python -m benchmarks.organisations --only align` measures two organisations with files.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from statistics import median

from plumbob.crypto import Draws
from plumbob.crypto.kernel import INSTRUCTIONS
from plumbob.crypto.ristretto import available_paths
from plumbob.lab.simulate.memory_link import linked_pair
from plumbob.lab.simulate.training import run_together
from plumbob.plan import Plan
from plumbob.protocol.alignment import AlignmentParty
from plumbob.protocol.channel import Channel
from plumbob.protocol.participant import Participant

SIDE, OTHER = "label", "features"
COMMON = 0.8
"""The share of each side's ids that the other side has, too."""
ROOTS = {SIDE: bytes(32), OTHER: bytes([1]) * 32}
PATHS = ("avx512ifma", "avx2", "portable")


def main(words: Sequence[str]) -> None:
    """Measure every path of the kernel in turns, and print a table."""
    parser = argparse.ArgumentParser(description="one side of an alignment, per id")
    parser.add_argument("--ids", type=int, default=20_000, help="of each side")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(words)
    starts = {SIDE: 0, OTHER: round(options.ids * (1 - COMMON))}
    ids = {name: [f"customer-{row:09d}" for row in range(s, s + options.ids)] for name, s in starts.items()}
    tape = play(ids)
    spent: dict[str, list[float]] = {path: [] for path in PATHS if path in available_paths()}
    for _ in range(options.rounds):
        for path, seconds in spent.items():
            seconds.append(seconds_of(path, ids[SIDE], tape))
    print("| | us per id and side |\n|---|---|")
    for path, seconds in spent.items():
        print(f"| {path} | {1e6 * median(seconds) / options.ids:.1f} |", flush=True)


def play(ids: dict[str, list[str]]) -> list[bytes]:
    """Every message that the side gets."""
    ends = linked_pair()
    channels = {SIDE: Channel(OTHER, ends[0]), OTHER: Channel(SIDE, ends[1])}
    tape: list[bytes] = []
    channels[SIDE].recording = tape
    participants = {name: seat(name, channel) for name, channel in channels.items()}
    parties = {name: AlignmentParty(participant, ids[name], jobs=1) for name, participant in participants.items()}
    results = run_together({name: party.run for name, party in parties.items()}, participants)
    if any(result.ids != tuple(sorted(set(ids[SIDE]) & set(ids[OTHER]))) for result in results.values()):
        sys.exit("the alignment found other ids than both sides have")
    return tape


def seat(name: str, channel: Channel) -> Participant:
    """A participant whose draws are the same every time, for the measurement only."""
    plan = Plan.for_columns((1, 1), protocol="exchange")
    return Participant(name, plan, {channel.peer: channel}, Draws.begin(ROOTS[name]))


class Tape:
    """A peer that has said everything already."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._messages = iter(messages)

    def send(self, *parts: bytes | bytearray | memoryview) -> None:
        """Nobody listens."""

    def receive(self, seconds: float) -> bytes:
        """The next message of the tape."""
        return next(self._messages)

    def close(self) -> None:
        """Nobody hangs up."""


def seconds_of(path: str, ids: list[str], tape: Sequence[bytes]) -> float:
    """Processor seconds of the side's whole work on this path of the kernel."""
    os.environ[INSTRUCTIONS] = path
    started = time.process_time()
    AlignmentParty(seat(SIDE, Channel(OTHER, Tape(tape))), ids, jobs=1).run()
    return time.process_time() - started


if __name__ == "__main__":
    main(sys.argv[1:])
