"""The checkpoint of a simulated run, which can be killed at any moment: where all parties stand after one step.

On a network every party keeps a journal of its own, with each message in it, because its peers continue without it.
Parties in one process stop together. So they go back together, to the last step that all had finished and that is on
the disk, and no message needs to be kept. What was drawn before the first step (keys, the seed, flipped labels) is
drawn again from the root that is kept, and so is what a lost step drew: it never left this process.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from plumbob import __version__
from plumbob.data import Table
from plumbob.errors import DataError, DivergenceError
from plumbob.net.identity import make_private_folder
from plumbob.plan import Plan
from plumbob.protocol.account import hash_fields
from plumbob.protocol.journal import Journal, Resumed, State
from plumbob.protocol.sqlite_journal import SqliteJournal, locked
from plumbob.run_folder import JOURNAL, RunFolder

SECONDS_BETWEEN_WRITES = 1.0
REST = 100.0  # So many times as long as a write took nothing is written: a disk that is slow to answer slows no run.
LONGEST_REST = 10.0  # Seconds; later there would only be more to write.
SECONDS = "/seconds"  # Beside the parties' states, as what the run is about; no party has a name with a stroke.


class Checkpoint:
    """The place of all parties of one run; each reports from its own thread."""

    def __init__(self, store: SqliteJournal, about: State) -> None:
        self._store = store
        self._about = about
        self._lock = threading.Lock()
        self._parties = 0
        self._roots: dict[str, bytes] = {}
        self._waiting: dict[int, dict[str, tuple[State, State]]] = {}
        self._results: dict[str, list[State]] = {}
        """The results of every step since the last write."""
        self._started = time.monotonic()
        self._due = self._started + SECONDS_BETWEEN_WRITES
        found = store.resumed()
        self.step = 0 if found is None else found.step
        """The last step that is on the disk; 0 if none is."""
        self.seconds = 0.0 if found is None else float(found.state[SECONDS])
        """The seconds that earlier starts spent on it."""

    def journal(self, name: str) -> "PartyJournal":
        """A journal for one party, made before any of them begins."""
        self._parties += 1
        return PartyJournal(name, self)

    def root(self, name: str, fresh: bytes) -> bytes:
        """The root of a party's draws: the first start's, if the run resumes."""
        self._roots[name] = (self._store.fact(f"root/{name}") if self.step else None) or fresh
        return self._roots[name]

    def finish(self, name: str, step: int, result: State, state: State) -> None:
        """Note that one party finished a step; the last one to do so completes it."""
        with self._lock:
            parts = self._waiting.setdefault(step, {})
            parts[name] = result, state
            if len(parts) == self._parties:
                self._complete(step, self._waiting.pop(step))

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() >= self._due

    def resumed(self, name: str) -> Resumed | None:
        """The state of one party when the run was interrupted."""
        with self._lock:
            found = self._store.resumed()
        if found is None:
            return None
        results: list[State] = [
            one for several in found.results for one in _decode(several[name], type=list[dict[str, bytes]])
        ]
        return Resumed(found.step, _decode(found.state[name], type=dict[str, bytes]), results)

    def _complete(self, step: int, parts: Mapping[str, tuple[State, State]]) -> None:
        for name, (result, _) in parts.items():
            self._results.setdefault(name, []).append(result)
        if self.is_due():
            began = time.monotonic()
            self._write(step, {name: _encode(state) for name, (_, state) in parts.items()})
            ended = time.monotonic()
            self._due = ended + max(SECONDS_BETWEEN_WRITES, min(REST * (ended - began), LONGEST_REST))

    def _write(self, step: int, states: State) -> None:
        # First, because a step without them is of no use.
        for name, root in self._roots.items():
            self._store.note(f"root/{name}", root)
        seconds = self.seconds + time.monotonic() - self._started
        results = {name: _encode(several) for name, several in self._results.items()}
        self._store.finish(step, results, {**states, **self._about, SECONDS: str(seconds).encode()})
        self._store.flush()
        self._roots.clear()
        self._results.clear()
        self.step = step


class PartyJournal(Journal):
    """One party's side of a checkpoint; it remembers no messages."""

    def __init__(self, name: str, checkpoint: Checkpoint) -> None:
        self._name = name
        self._checkpoint = checkpoint

    def finish(self, step: int, result: State, state: State) -> None:
        self._checkpoint.finish(self._name, step, result, state)

    def is_due(self) -> bool:
        """Whether the checkpoint will be written after this step."""
        return self._checkpoint.is_due()

    def resumed(self) -> Resumed | None:
        return self._checkpoint.resumed(self._name)


@contextmanager
def unfinished(out: Path, plan: Plan, tables: Mapping[str, Table], is_new: bool = False) -> Iterator[Checkpoint]:
    """The checkpoint of a run into this folder: what an interrupted one left there, unless `is_new`.

    It vanishes when the block ends well, when resuming would end as badly again, and when there is nothing to resume
    from. Raises DataError where what was left is of another plan or other data, JournalError where it cannot be
    written or another process is at work on it.
    """
    folder = RunFolder(out).unfinished
    file = folder / JOURNAL
    if is_new and folder.exists():
        os.close(locked(file))
        shutil.rmtree(folder)
    make_private_folder(folder)
    about, is_over = _about(plan, tables), False
    store = SqliteJournal(file)
    try:
        _refuse_another(out, store.resumed(), about)
        checkpoint = Checkpoint(store, about)
        try:
            yield checkpoint
            is_over = True
        except BaseException as error:
            is_over = isinstance(error, DivergenceError) or not checkpoint.step
            raise
    finally:
        # Closed first: it is one file then, which is there or not, also for who is killed in between.
        store.close()
        if is_over:
            shutil.rmtree(folder)


def _about(plan: Plan, tables: Mapping[str, Table]) -> dict[str, bytes]:
    """The digests that a run must share with the one that it resumes."""
    digests = [field for name, table in sorted(tables.items()) for field in (name.encode(), table.digest())]
    return {"/plan": plan.hash().encode(), "/data": hash_fields(*digests), "/version": __version__.encode()}


def _refuse_another(out: Path, found: Resumed | None, about: State) -> None:
    for key, value in about.items():
        if found is not None and found.state[key] != value:
            what = key.removeprefix("/")
            raise DataError(
                f"{out}: this folder holds an interrupted run with a different {what}; restore it to resume, "
                "choose another --out, or add --new to start over"
            )


_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.decode
