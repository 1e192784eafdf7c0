"""Commands of plumbob, started together and watched: time, processor time and memory of each."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PLUMBOB = [sys.executable, "-c", "from plumbob.cli import main; main()"]
TICKS = 100


class Seen(NamedTuple):
    """What one command took; memory in MiB, as it was at its largest."""

    seconds: float
    processor: float
    anonymous: float
    """What the process must have."""
    resident: float
    """With pages of files, which the system can take back."""
    others: float
    """Cores that everybody else on the machine used meanwhile: 0 on a quiet one."""


NAMES = ("run", "seconds", "processor seconds", "anonymous MiB", "resident MiB", "cores used by others")
HEAD = f"| {' | '.join(NAMES)} |\n{'|---' * len(NAMES)}|"


def row(name: str, seen: Seen) -> str:
    """One line of a table."""
    *amounts, others = seen
    return f"| {name} | " + " | ".join(f"{amount:.0f}" for amount in amounts) + f" | {others:.1f} |"


def watched(*commands: list[str]) -> list[Seen]:
    """Run them side by side; memory is looked at every tenth of a second."""
    started, busy = time.perf_counter(), _busy_seconds()
    processes = [subprocess.Popen([*PLUMBOB, *command], stdout=subprocess.DEVNULL) for command in commands]
    peaks = {process.pid: (0.0, 0.0) for process in processes}
    spent = dict.fromkeys(peaks, 0.0)
    ended: dict[int, float] = {}
    while len(ended) < len(processes):
        for process in processes:
            peaks[process.pid] = _larger(peaks[process.pid], _memory(process.pid))
            spent[process.pid] = max(spent[process.pid], _processor_seconds(process.pid))
            if process.pid not in ended and process.poll() is not None:
                ended[process.pid] = time.perf_counter() - started
        time.sleep(0.1)
    for process, command in zip(processes, commands, strict=True):
        if process.returncode:
            sys.exit(f"plumbob {' '.join(command)} ended with {process.returncode}")
    others = (_busy_seconds() - busy - sum(spent.values())) / max(ended.values())
    return [Seen(ended[each], spent[each], *peaks[each], max(0.0, others)) for each in peaks]


def _larger(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), max(one[1], other[1])


def _memory(process: int) -> tuple[float, float]:
    """MiB, anonymous and resident; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    fields = {words[0]: int(words[1]) / 1024 for line in lines if (words := line.split())[-1] == "kB"}
    return fields.get("RssAnon:", 0.0), fields.get("VmRSS:", 0.0)


def _processor_seconds(process: int) -> float:
    """User and system time so far, all threads."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def _busy_seconds() -> float:
    """Of all cores of the machine: everything but idling and waiting for the disk."""
    user, nice, system, _idle, _disk, *interrupts = Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    return sum(int(ticks) for ticks in (user, nice, system, *interrupts)) / TICKS
