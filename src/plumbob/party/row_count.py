"""How many rows of a plan this party has answered or will score: the count, its limits, and what a run books."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import msgspec

from plumbob.errors import DataError
from plumbob.net.identity import make_private_folder, write_over
from plumbob.party.home import Home
from plumbob.plan import Plan
from plumbob.protocol.limits import RowLimit, most_scored_rows, refuse_beyond


def row_limit(plan: Plan, trained: int, own: int) -> RowLimit | None:
    """The smaller of the plan's and this party's own limit; None where neither has one."""
    limits = (RowLimit(most_scored_rows(plan, trained), is_planned=True), RowLimit(own))
    return min((limit for limit in limits if limit.rows), key=lambda limit: limit.rows, default=None)


class Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a ledger's file."""

    rows: Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class AnsweredRows:
    """How many rows of a plan this party has answered over all sessions; without its file, none."""

    file: Path

    @classmethod
    def of(cls, home: Home, plan: Plan) -> Self:
        return cls(home.answered / f"{plan.hash()}.json")

    def answered(self) -> int:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=Count).rows
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError):
            raise DataError(
                f'{self.file}: expected how many rows were answered; restore it, or write {{"rows":N}} with '
                "the number that your last answer to predict printed"
            ) from None

    def add(self, rows: int, limit: int = 0, announced: int = 0) -> None:
        """Count these rows too, on the disk when it returns; BudgetExceededError, with nothing counted, beyond a limit.

        What another process counts at the same time is neither lost nor overlooked: training may begin while a session
        answers.
        """
        with alone_at(self.file):
            before = self.answered()
            refuse_beyond(limit, before, max(rows, announced))
            write_over(self.file, msgspec.json.encode(Count(before + rows)))


@contextmanager
def alone_at(file: Path) -> Iterator[None]:
    """Wait until no other process holds the file, and hold it; a process that dies releases it."""
    make_private_folder(file.parent)
    handle = os.open(file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
