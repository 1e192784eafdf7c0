"""A worker process, as the driver sees it: a request goes in, an answer comes out."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

WORKERS = Path(__file__).parent / "workers"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "PLUMBOB_THREADS")


class WorkerError(Exception):
    """What the worker said went wrong, or that it ended."""


class Worker:
    """One adapter inside its environment. One thread on one core, or `threads` on all."""

    def __init__(self, python: Path, script: str, arguments: tuple[str, ...], log: Path, threads: int = 1) -> None:
        self.log = log.open("w+")
        self.process = subprocess.Popen(
            [str(python), str(WORKERS / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=surroundings(threads),
        )

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": self.last_words()}
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def last_words(self) -> str:
        """Why a worker that ended did so."""
        self.process.wait(timeout=60)
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        return lines[-1][:160].replace("|", "/") if lines else f"the worker ended with {self.process.returncode}"

    def close(self) -> None:
        if self.process.stdin and self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.log.close()


def surroundings(threads: int) -> dict[str, str]:
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **dict.fromkeys(ONE_THREAD, str(threads)))
    if threads == 1 and hasattr(os, "sched_getaffinity"):
        environment["BENCH_CORE"] = str(max(os.sched_getaffinity(0)))
    return environment
