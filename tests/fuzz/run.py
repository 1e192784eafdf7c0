"""`make fuzz`: ten million inputs for the parsers, five thousand sessions over a hostile wire, and what came of them.

    python -m tests.fuzz.run [--inputs N] [--sessions N] [--seed N] [--save]

Inputs that reach new code are found by libFuzzer, in the kernel and, by atheris, in Python; with --save the smallest of
them join the corpus. Prints a line for each target and each share of the sessions, and ends with 1 if anything was
found, with 2 if something is missing. The number of a session, or the file that is named, is all that is needed to see
it again:

    python -m tests.fuzz.run --inputs 0 --sessions 1 --first 1234
    python -m tests.fuzz.target NAME FILE
"""

import argparse
import ctypes
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
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.fuzz import kernel
from tests.fuzz.decoders import CORPUS, DECODERS

CORES = 2
SAVED_BYTES = 4_000  # Of one target, at a time.
SESSION_PROCESSES = 4  # Sessions wait more than they work.
GROWTH_MB = 6.0  # Of a process over its 1,250 sessions, once it is warm: 5 kB a session; some 2 are seen.
WARM = 100  # Sessions until caches are full.
LEVELS = 20  # Sessions whose lowest level is what a process holds.


def main() -> int:
    """Everything, in processes of their own."""
    parser = argparse.ArgumentParser(description="fuzz everything that a peer can reach")
    parser.add_argument("--inputs", type=int, default=10_000_000, help="for all targets together")
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first session")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations")
    parser.add_argument("--save", action="store_true", help="add what reaches new code to the corpus")
    parser.add_argument("--share", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        return run_sessions(range(*options.share))
    started, folder = time.monotonic(), workplace()
    is_clean = True
    if options.inputs:
        targets = targets_in(folder)
        if targets is None:
            return 2
        is_clean = fuzz_targets(targets, folder, options.inputs, options.seed, options.save)
    if options.sessions:
        is_clean = fuzz_sessions(options.first, options.sessions) and is_clean
    say(f"{'nothing found' if is_clean else 'SOMETHING WAS FOUND'} in {time.monotonic() - started:.0f} s")
    if is_clean:
        shutil.rmtree(folder)
    return 0 if is_clean else 1


def workplace() -> Path:
    """The folder of all processes' files: in memory where the system has such a place, as journals are synced."""
    memory = "/dev/shm"  # noqa: S108  # Any folder serves.
    folder = tempfile.mkdtemp(prefix="plumbob-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    os.environ["TMPDIR"] = folder
    return Path(folder)


def say(line: str) -> None:
    """Say something at once, also into a file."""
    print(line, flush=True)  # noqa: T201  # This is a script.


# Decoders, and the kernel's parsers.


@dataclass(frozen=True)
class Target:
    """A function that libFuzzer feeds."""

    name: str
    share: int
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        surroundings = os.environ | self.environment
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, env=surroundings)


def targets_in(folder: Path) -> list[Target] | None:
    """The long ones first; None where the kernel's parsers cannot be built."""
    clang = kernel.find_clang()
    if clang is None:
        say(kernel.MISSING)
        return None
    fuzzer = str(kernel.built(clang, folder))
    parsers = [Target(f"kernel-{name}", share, (fuzzer,), {"PARSER": name}) for name, share in kernel.PARSERS.items()]
    script = (sys.executable, "-m", "tests.fuzz.target")
    return parsers + [Target(decoder.name, decoder.share, (*script, decoder.name)) for decoder in DECODERS]


def fuzz_targets(targets: list[Target], folder: Path, inputs: int, seed: int, is_saved: bool) -> bool:
    """Each in its share; whether nothing was found."""
    whole = sum(target.share for target in targets)

    def fuzz(target: Target) -> tuple[int, bool]:
        return fuzz_target(target, folder, max(100, -(-inputs * target.share // whole)), seed, is_saved)

    with ThreadPoolExecutor(CORES) as pool:
        counts = list(pool.map(fuzz, targets))
    say(f"targets: {sum(count for count, _ in counts)} inputs")
    return all(is_clean for _, is_clean in counts)


def fuzz_target(target: Target, folder: Path, runs: int, seed: int, is_saved: bool) -> tuple[int, bool]:
    """How many inputs it really took, and whether nothing was found."""
    corpus, found = CORPUS / target.name, folder / "found" / target.name
    found.mkdir(parents=True)
    limits = [
        "-max_len=4096",
        "-timeout=60",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
    ]
    folders = [str(each) for each in (found, corpus) if each.exists()]
    done = target.run(f"-runs={runs}", f"-seed={seed}", *limits, *folders)
    executed = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    reached = re.findall(r"cov: (\d+)", done.stderr) or ["0"]
    count = int(executed[1]) if executed else 0
    is_clean = done.returncode == 0 and count >= runs
    say(f"  {target.name:20} {count:8} inputs, {reached[-1]:>4} places  {'clean' if is_clean else 'FOUND:'}")
    if not is_clean:
        say((done.stdout + done.stderr)[-4000:])
    elif is_saved:
        save(found, corpus)
    return count, is_clean


def save(found: Path, corpus: Path) -> None:
    """The smallest inputs that reached something new, as far as a small corpus has room."""
    corpus.mkdir(exist_ok=True)
    room = SAVED_BYTES
    for file in sorted(found.iterdir(), key=lambda file: file.stat().st_size):
        room -= file.stat().st_size
        if room >= 0:
            shutil.copy(file, corpus / file.name[:12])


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
    from tests.fuzz.sessions import Script, hurried, play

    kinds = Counter[str]()
    mistakes, slowest, levels = 0, 0.0, list[float]()
    with hurried():
        for number in numbers:
            started = time.monotonic()
            outcome = play(Script.of(number))
            slowest = max(slowest, time.monotonic() - started)
            kinds[f"{outcome.script.place} {'finished' if outcome.is_finished else 'refused'}"] += 1
            if outcome.mistake is not None:
                mistakes += 1
                say(f"  session {number}: {outcome.mistake[:1000]}\n    {outcome.script}")
            levels.append(resident_mb())
    # The least of several: what a session leaves goes with the next one or two.
    growth = min(levels[-LEVELS:]) - min(levels[WARM - LEVELS : WARM]) if len(levels) >= WARM + LEVELS else 0.0
    is_clean = not mistakes and growth < GROWTH_MB and threading.active_count() < 10
    ended = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    say(
        f"  sessions {numbers.start} to {numbers.stop - 1}: {ended}; slowest {slowest:.1f} s, "
        f"memory {growth:+.1f} MB, {threading.active_count()} threads left  {'clean' if is_clean else 'FOUND'}"
    )
    return 0 if is_clean else 1


def resident_mb() -> float:
    """The resident memory of this process, in megabytes."""
    gc.collect()
    # What is free goes back to the system: how much of it the allocator keeps depends on the last session's kind.
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
