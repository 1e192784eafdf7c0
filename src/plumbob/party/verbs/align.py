"""`party align`: finds the rows that all parties share and keeps them in this party's folder."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from plumbob.caller import IN_PYTHON, Caller, Outcome, Progress
from plumbob.counting import counted
from plumbob.crypto.ristretto import POINT_BYTES
from plumbob.data.ids import USUAL_OVERLAP, PackedIds, ids_in_words
from plumbob.data.same_rows import remarks_on_ids
from plumbob.errors import DataError
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_argument, plan_of, refuse_strangers
from plumbob.party.log import logged_verb
from plumbob.party.rows import (
    check_list_name,
    keep_common_rows,
    list_names,
    own_ids,
    own_table,
)
from plumbob.party.runs import make_session_folder, one_session
from plumbob.party.session import Session, session_at
from plumbob.party.waiting import Status
from plumbob.protocol.alignment import CHUNK, MOST_IDS, Alignment, AlignmentParty, GoOn
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT
from plumbob.report.progress import StepProgress

ANOTHER_LIST = (
    "you have aligned with these parties before; two lists that differ by one person show whether that person is in "
    "the other table (docs/alignment.md)"
)
LARGEST_MESSAGE = HEADER.size + max(CHUNK * POINT_BYTES, LONGEST_TEXT)


@logged_verb
def align(
    home: GivenHome,
    plan: GivenPlan,
    *,
    data: str | Path | None = None,
    name: str = "",
    at_least: int | None = None,
    at_most: int | None = None,
    jobs: int | None = None,
    caller: Caller = IN_PYTHON,
) -> Outcome:
    """Find the rows that all parties have; with `at_least`, only if there are at least that many."""
    opened, agreed, tell = Home.open(home), plan_of(plan), caller.tell
    # Before there is a folder for the session: a refusal leaves none.
    refuse_strangers(opened, agreed)
    name = check_list_name(name)
    table = (own_ids if name else own_table)(opened, agreed, data)
    # Ids are all that is needed of it from here on, and they take less memory than its texts.
    table, shape = replace(table, columns=(), labels=None), ids_in_words(table.ids)
    ids = PackedIds.of(table.ids)
    for remark in remarks_on_ids(table):
        tell(remark)
    del table
    place = make_session_folder(opened, agreed, "align", name)
    session = session_at(
        opened,
        agreed,
        "align",
        table=None,
        folder=place,
        largest_message=LARGEST_MESSAGE,
        tell=tell,
        list_name=name,
    )
    with StepProgress("align", caller.quiet) as progress, one_session(place) as journal:
        try:
            found = intersect(
                session,
                ids,
                journal,
                go_on=None if at_least is None else lambda size: size >= at_least,
                jobs=jobs,
                # Three parties do not know how many steps it takes, so none is called the last one.
                progress=lambda done, steps: progress(_Chunk(done, done / (steps + 1)), steps + 1),
                most_ids=at_most or MOST_IDS,
            )
        except DataError as error:
            # No id is common: what to compare is said here, where the ids are still known.
            raise DataError(f"{error} This file has {shape}: compare that on the telephone") from None
    remarks = [ANOTHER_LIST] if list_names(opened, agreed) else []
    if found.size < USUAL_OVERLAP * min(found.sizes.values()):
        remarks.append(
            f"fewer than nine in ten rows are in common; this file has {shape}: compare on the telephone how ids are "
            "written"
        )
    file = None if found.ids is None else keep_common_rows(opened, agreed, found, name)
    result = {"list": name, "size": found.size, "sizes": found.sizes, "order_hash": found.order_hash}
    if file is None:
        line = f"{_sizes(found)}; a party declined to continue, so no ids were revealed"
        return Outcome({**result, "lines": [line]})
    lines = [_sizes(found), f"hash of their order, the same at every party: {found.order_hash}", str(file)]
    from_file = f" --data {data}" if data else ""
    step = f"predict {plan_argument(plan)} --name {name}{from_file}" if name else f"sign {plan_argument(plan)}"
    lines = [*lines, *remarks, f"next, on all sides: plumbob party {step}"]
    return Outcome({**result, "file": str(file), "lines": lines})


def _sizes(found: Alignment) -> str:
    sizes = ", ".join(f"{party} {size}" for party, size in found.sizes.items())
    return f"{counted(found.size, 'row')} in common ({sizes})"


class _Chunk(NamedTuple):
    """The part of a batch that the progress bar needs."""

    step: int
    done: float
    epoch: int = 0
    told: str = ""


def intersect(
    session: Session,
    ids: PackedIds,
    journal: SqliteJournal,
    *,
    go_on: GoOn | None = None,
    jobs: int | None = None,
    progress: Progress = lambda done, steps: None,
    chunk: int = CHUNK,
    most_ids: int = MOST_IDS,
) -> Alignment:
    """Find the common ids with everybody; an alignment that breaks off begins again."""
    status = Status("align")

    def after_step(done: int, steps: int) -> None:
        status.step, status.steps = done, steps
        progress(done, steps)

    with session.meet(journal, status) as peers:
        found = AlignmentParty(
            session.participant(peers, journal, journal.draws()),
            ids,
            go_on=go_on,
            jobs=jobs,
            progress=after_step,
            chunk=chunk,
            most_ids=most_ids,
        ).run()
        journal.flush()
        if late := peers.leave():
            session.tell(
                f"{', '.join(late)}: did not say that it is done; if it has no result, align again on all sides"
            )
    return found
