"""The compiled kernel: how many cores it may use, and a path through it.

A path is an instruction set; the kernel (native/kernel.cpp) has one for each part of the cryptography.
"""

import os
from collections.abc import Sequence

INSTRUCTIONS = "PLUMBOB_TEST_INSTRUCTIONS"
"""The environment variable by which a test takes another path than the best one here. A party refuses it."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class KernelEngine:
    """One path through the kernel (default: the best one here) on a number of threads (default: all we may use)."""

    def __init__(self, paths: Sequence[str], path: str | None, threads: int | None) -> None:
        self.path = path or os.environ.get(INSTRUCTIONS) or paths[0]
        if self.path not in paths:
            raise ValueError(f"expected a path among {', '.join(paths)}, got {self.path!r}: this machine has no other")
        self.threads = cores() if threads is None else threads
        if self.threads < 1:
            raise ValueError(f"expected at least one thread, got {self.threads}: leave it out for all cores")
        self.name = f"native-{self.path}"
