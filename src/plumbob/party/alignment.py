"""Finding the common rows with the peers, and keeping what was found for every run between the same parties."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.callbacks import Progress
from plumbob.crypto import Randomness
from plumbob.crypto.curve import POINT_BYTES
from plumbob.errors import DataError
from plumbob.party.home import ALIGNED, Home
from plumbob.party.party_run import PartyRun
from plumbob.party.status import Status
from plumbob.plan import PARTY_NAME, Plan
from plumbob.protocol.alignment import CHUNK, MOST_IDS, Alignment, AlignmentParty, GoOn
from plumbob.protocol.handshake import Participant
from plumbob.protocol.held_out import agree_on_held_out
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.transport.identity import make_private_folder, write_over

LARGEST_MESSAGE = HEADER.size + max(CHUNK * POINT_BYTES, LONGEST_TEXT)


class Aligned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept: the ids that all have, in the agreed order. Not printed: ids are about people."""

    ids: tuple[str, ...]
    order_hash: str
    sizes: dict[str, int]
    held_out: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Aligned({len(self.ids)} ids)"


@dataclass(frozen=True)
class IntersectionOptions:
    """How this party wants it done."""

    go_on: GoOn | None = None
    jobs: int | None = None
    progress: Progress | None = None
    chunk: int = CHUNK
    most_ids: int = MOST_IDS
    holds_out: bool = True
    """Whether rows of this list may be held out."""
    choose: Callable[[tuple[str, ...]], NDArray[np.bool_]] | None = None
    """Which of the common rows are held out, at the party that says so."""


def align(
    party_run: PartyRun, journal: SqliteJournal, randomness: Randomness, options: IntersectionOptions
) -> tuple[Alignment, bool]:
    """From wherever the journal stands to the common ids; and whether the peers have all that they need from here.

    While they have not, the journal is kept: started again, this side ends at once and serves them.
    """
    status = Status("align")
    with party_run.talk("align", journal, status) as talk:
        participant = party_run.participant(talk, journal, randomness)
        if party_run.table is None:
            raise DataError("an arbiter has no rows to align")

        def after_step(done: int, steps: int) -> None:
            # A step is a message or two: what it left is all that a restart needs.
            participant.finish_step(done, {"piece": party.chunk_state(done - 1)}, {})
            journal.begin(done + 1)
            status.step, status.steps = done, steps
            if options.progress is not None:
                options.progress(done, steps)

        party = AlignmentParty(
            participant,
            party_run.table.ids,
            go_on=options.go_on,
            jobs=options.jobs,
            progress=after_step,
            chunk=options.chunk,
            most_ids=options.most_ids,
        )
        resumed = participant.take_up()
        for result in [] if resumed is None else resumed.results:
            party.restore_chunk(result["piece"])
        journal.begin(1 if resumed is None else resumed.step + 1)
        found = _with_held_out(participant, party.run(), options)
        journal.flush()
        if late := talk.leave():
            party_run.tell(f"{', '.join(late)}: did not say that it is done; if it still waits, start this again")
    return found, not late


def _with_held_out(participant: Participant, found: Alignment, options: IntersectionOptions) -> Alignment:
    """Lists with a name are rows to predict, of which none is held out."""
    if not participant.plan.held_out_by or found.ids is None or not options.holds_out:
        return found
    chosen = options.choose(found.ids) if options.choose is not None else None
    held_out = agree_on_held_out(participant, len(found.ids), chosen)
    return replace(found, held_out=tuple(np.flatnonzero(held_out).tolist()))


def keep(home: Home, plan: Plan, found: Alignment, name: str = "") -> Path:
    """For every plan between these parties; `name` tells several tables apart."""
    file = _file(home.aligned, plan, name)
    make_private_folder(file.parent)
    kept = Aligned(found.ids or (), found.order_hash or "", found.sizes, found.held_out)
    write_over(file, json.dumps(msgspec.to_builtins(kept)).encode())
    return file


def kept_for(home: Home, plan: Plan, name: str = "") -> Aligned:
    """What was aligned before; DataError if nothing was."""
    file = _file(home.aligned, plan, name)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Aligned)
    except OSError:
        under = f" under the name {name}" if name else ""
        flags = f" --name {name} --data FILE" if name else ""
        raise DataError(
            f"these parties have not aligned their rows{under}; type, on all sides: plumbob party align PLAN{flags}"
        ) from None
    except msgspec.DecodeError:
        raise DataError(f"{file}: expected aligned ids; the file is damaged, align again") from None


def rows_kept_in(folder: Path, plan: Plan) -> int:
    """How many rows the parties of this plan have in common, by a party's folder; 0 where that is not known."""
    try:
        return len(msgspec.json.decode(_file(folder / ALIGNED, plan, "").read_bytes(), type=Aligned).ids)
    except (OSError, msgspec.DecodeError):
        return 0


def checked_list_name(name: str) -> str:
    """It becomes part of a file's name, and both ends must say the same."""
    if name and not PARTY_NAME.fullmatch(name):
        raise DataError(
            '--name: expected up to 32 letters, digits, "-" and "_", starting with a letter or '
            f'digit, got "{name[:40]}"'
        )
    return name


def _file(folder: Path, plan: Plan, name: str) -> Path:
    parties = "+".join(sorted(party.name for party in plan.learners))
    return folder / f"{parties}{f'.{name}' if name else ''}.json"
