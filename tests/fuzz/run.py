"""`make fuzz`: a million inputs for the decoders, five thousand sessions, and what came of them.

    python -m tests.fuzz.run [--inputs N] [--sessions N] [--seed N]

Prints a line for each decoder and each share of the sessions, and ends with 1 if anything was found. The number of a
session, or the file that is named, is all that is needed to see it again:

    python -m tests.fuzz.run --inputs 0 --sessions 1 --first 1234
"""

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from tests.fuzz.decoders import DECODERS

CORES = 2
SESSION_PROCESSES = 4  # Sessions wait more than they work.
GROWTH_MB = 6.0  # Of a process over its 1,250 sessions, once it is warm: 5 kB a session; some 2 are seen.
WARM = 100  # Sessions until caches are full.


def main() -> int:
    """Everything, in processes of their own."""
    parser = argparse.ArgumentParser(description="fuzz everything that a peer can reach")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for all decoders together")
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first session")
    parser.add_argument("--seed", type=int, default=1, help="of the decoders' mutations")
    parser.add_argument("--share", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        return run_sessions(range(*options.share))
    started, folder = time.monotonic(), workplace()
    is_clean = fuzz_decoders(options.inputs, options.seed) if options.inputs else True
    if options.sessions:
        is_clean = fuzz_sessions(options.first, options.sessions) and is_clean
    say(f"{'nothing found' if is_clean else 'SOMETHING WAS FOUND'} in {time.monotonic() - started:.0f} s")
    if is_clean:
        shutil.rmtree(folder)
    return 0 if is_clean else 1


def workplace() -> str:
    """Where all processes put their files: in memory where the system has such a place, since journals are synced."""
    memory = "/dev/shm"  # noqa: S108  # Any folder serves.
    folder = tempfile.mkdtemp(prefix="plumbob-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    os.environ["TMPDIR"] = folder
    return folder


def say(line: str) -> None:
    """Now, also into a file."""
    print(line, flush=True)  # noqa: T201  # This is a script.


# Decoders.


def fuzz_decoders(inputs: int, seed: int) -> bool:
    """Each in its share; whether nothing was found."""
    whole = sum(decoder.share for decoder in DECODERS)
    runs = {decoder.name: max(100, -(-inputs * decoder.share // whole)) for decoder in DECODERS}
    with ThreadPoolExecutor(CORES) as pool:
        counts = list(pool.map(lambda name: fuzz_decoder(name, runs[name], seed), runs))
    say(f"decoders: {sum(count for count, _ in counts)} inputs")
    return all(is_clean for _, is_clean in counts)


def fuzz_decoder(name: str, runs: int, seed: int) -> tuple[int, bool]:
    """How many inputs it really took, and whether nothing was found."""
    arguments = [name, f"-runs={runs}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=2048"]
    done = subprocess.run([sys.executable, "-m", "tests.fuzz.target", *arguments], capture_output=True, text=True)
    found = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    count = int(found[1]) if found else 0
    is_clean = done.returncode == 0 and count >= runs
    say(f"  {name:20} {count:8} inputs  {'clean' if is_clean else 'FOUND:'}")
    if not is_clean:
        say((done.stdout + done.stderr)[-4000:])
    return count, is_clean


# Sessions.


def fuzz_sessions(first: int, count: int) -> bool:
    """Shared out among processes; whether nothing was found."""
    processes = min(SESSION_PROCESSES, count)
    edges = [first + count * index // processes for index in range(processes + 1)]
    with ThreadPoolExecutor(processes) as pool:
        ends = list(pool.map(_share, pairwise(edges)))
    say(f"sessions: {count}")
    return not any(ends)


def _share(share: tuple[int, int]) -> int:
    command = [sys.executable, "-m", "tests.fuzz.run", "--share", *map(str, share)]
    return subprocess.run(command).returncode


def run_sessions(numbers: range) -> int:
    """One process' share, one after the other."""
    from tests.fuzz.sessions import Script, hurried, play, undisturbed

    expected, kinds = undisturbed(), Counter[str]()
    mistakes, warm, slowest = 0, 0.0, 0.0
    with hurried():
        for done, number in enumerate(numbers):
            started = time.monotonic()
            outcome = play(Script.of(number))
            slowest = max(slowest, time.monotonic() - started)
            kinds[f"{outcome.script.world} {'finished' if outcome.is_finished else 'refused'}"] += 1
            if (mistake := outcome.mistake(expected)) is not None:
                mistakes += 1
                say(f"  session {number}: {mistake[:1000]}\n    {outcome.script}")
            if done == WARM:
                warm = resident_mb()
    growth = resident_mb() - warm if warm else 0.0
    is_clean = not mistakes and growth < GROWTH_MB and threading.active_count() < 10
    ended = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    say(
        f"  sessions {numbers.start} to {numbers.stop - 1}: {ended}; slowest {slowest:.1f} s, "
        f"memory {growth:+.1f} MB, {threading.active_count()} threads left  {'clean' if is_clean else 'FOUND'}"
    )
    return 0 if is_clean else 1


def resident_mb() -> float:
    """Of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
