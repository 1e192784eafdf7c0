"""Finding the common rows with the peers; `aligned` keeps what was found."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plumbob.callbacks import Progress
from plumbob.crypto import Draws
from plumbob.crypto.ristretto import POINT_BYTES
from plumbob.data.ids import TEXT, PackedIds
from plumbob.party.party_run import PartyRun
from plumbob.party.status import Status
from plumbob.protocol.alignment import CHUNK, MOST_IDS, Alignment, AlignmentParty, GoOn
from plumbob.protocol.alignment_schedule import agree_on_held_out
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.protocol.sqlite_journal import SqliteJournal

LARGEST_MESSAGE = HEADER.size + max(CHUNK * POINT_BYTES, LONGEST_TEXT)


@dataclass(frozen=True)
class IntersectionOptions:
    """How this party wants to find the common rows."""

    go_on: GoOn | None = None
    jobs: int | None = None
    progress: Progress | None = None
    chunk: int = CHUNK
    most_ids: int = MOST_IDS
    columns: tuple[str, ...] = (TEXT,)
    """How each column of an id is written: both sides must agree."""
    holds_out: bool = True
    """Whether rows of this list may be held out."""
    choose: Callable[[tuple[str, ...]], NDArray[np.bool_]] | None = None
    """Says which of the common rows are held out, at the party that chooses them."""


def align(
    party_run: PartyRun, ids: PackedIds, journal: SqliteJournal, draws: Draws, options: IntersectionOptions
) -> tuple[Alignment, bool]:
    """Find the common ids, from wherever the journal stands; also tells whether the peers have all they need from here.

    While they have not, the journal is kept: started again, this side ends at once and serves them.
    """
    status = Status("align")
    with party_run.talk("align", journal, status) as talk:
        participant = party_run.participant(talk, journal, draws)

        def after_step(done: int, steps: int) -> None:
            # A step is a message or two: what it left is all that a restart needs.
            participant.finish_step(done, {"piece": party.chunk_state(done - 1)}, {})
            participant.begin_step(done + 1)
            status.step, status.steps = done, steps
            if options.progress is not None:
                options.progress(done, steps)

        party = AlignmentParty(
            participant,
            ids,
            go_on=options.go_on,
            jobs=options.jobs,
            progress=after_step,
            chunk=options.chunk,
            most_ids=options.most_ids,
            folder=party_run.folder,
            columns=options.columns,
        )
        resumed = participant.take_up()
        for result in [] if resumed is None else resumed.results:
            party.restore_chunk(result["piece"])
        if resumed is not None:
            # The first step greets, and nothing is drawn for a step before that: it is the session's set-up.
            participant.begin_step(resumed.step + 1)
        found = _with_held_out(participant, party.run(), options)
        journal.flush()
        if late := talk.leave():
            party_run.tell(f"{', '.join(late)}: did not say that it is done; if it still waits, start this again")
    return found, not late


def _with_held_out(participant: Participant, found: Alignment, options: IntersectionOptions) -> Alignment:
    """The alignment with the rows held out; lists with a name are rows to predict, of which none are."""
    if not participant.plan.held_out_by or found.ids is None or not options.holds_out:
        return found
    chosen = options.choose(found.ids) if options.choose is not None else None
    held_out = agree_on_held_out(participant, len(found.ids), chosen)
    return replace(found, held_out=tuple(np.flatnonzero(held_out).tolist()))
