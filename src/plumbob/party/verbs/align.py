"""`party align`: finds the rows that all parties share and keeps them in this party's folder."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from plumbob.counting import counted
from plumbob.data.align import refuse_repeats_with_row_privacy, remarks_on_ids
from plumbob.data.ids import PackedIds, id_forms
from plumbob.net import Connection
from plumbob.party import aligned, alignment
from plumbob.party.conversation import AnyConnector
from plumbob.party.home import Home
from plumbob.party.journals import open_journal
from plumbob.party.outcome import plan_argument, plan_of
from plumbob.party.party_run import PartyRun, party_run_at, refuse_strangers, tell_refusals_at
from plumbob.party.plan_runs import PlanRuns, make_run_folder
from plumbob.party.rows import choice_of_held_out, own_ids, own_table
from plumbob.party.verbs import Align
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.report.progress import StepProgress
from plumbob.verb import Caller, Result

ANOTHER_LIST = (
    "you have aligned with these parties before; two lists that differ by one person show whether that person is in "
    "the other table (docs/alignment.md)"
)
CHOSEN_BY_COLUMN = "all parties know which, and nothing else about the column that decided"


def align(options: Align, caller: Caller) -> Result:
    """Find the rows that all parties have; with `at_least`, only if there are at least that many."""
    home, plan, tell = Home.open(options.home), plan_of(options.plan), caller.tell
    # Before there is a folder for the session: a refusal leaves none.
    refuse_strangers(home, plan)
    name = aligned.checked_list_name(options.name)
    with tell_refusals_at(home, plan, "align", tell, name):
        table = (own_ids if name else own_table)(home, plan, options.data, options.duplicates)
        choose = None
        if not name:
            choose = choice_of_held_out(home, plan, options.split_by, options.data, options.duplicates)
        refuse_repeats_with_row_privacy(plan, table)
        duplicates, repeated_rows = table.choices.duplicates, table.repeated
        # Ids are all that is needed of it from here on, and they take less memory than its texts.
        table = replace(table, columns=(), labels=None)
        ids = PackedIds.of(table.ids, repeat=duplicates == "repeat")
    for remark in remarks_on_ids(table):
        tell(remark)
    del table
    place = PlanRuns(home, plan).alignment_folder(name)
    if options.new:
        shutil.rmtree(place, ignore_errors=True)
    party_run = replace(party_run_at(home, plan, None, place, alignment.LARGEST_MESSAGE, tell), list_name=name)
    with (
        StepProgress("align", caller.quiet) as progress,
        _folder_if_met(party_run) as party_run,
        open_journal(place) as journal,
    ):
        at_least = options.at_least
        intersection = alignment.IntersectionOptions(
            None if at_least is None else lambda size: size >= at_least,
            options.jobs,
            # Three parties do not know how many steps it takes, so none is called the last one.
            lambda done, steps: progress(_Chunk(done, steps + 1), steps + 1),
            most_ids=options.at_most,
            columns=id_forms(home.settings.id_column, home.settings.reading.types),
            holds_out=not name,
            choose=choose,
        )
        found, peers_are_done = alignment.align(party_run, ids, journal, journal.draws(), intersection)
    # Before its journal goes: whoever is killed in between need not ask the peers again.
    remarks = [ANOTHER_LIST] if aligned.names_kept(home, plan) else []
    file = None if found.ids is None else aligned.keep(home, plan, found, name, duplicates)
    if peers_are_done:
        shutil.rmtree(place)
    result = {"list": name, "size": found.size, "sizes": found.sizes, "order_hash": found.order_hash}
    if file is None:
        return {**result, "lines": [f"{_sizes(found)}; a party declined to continue, so no ids were revealed"]}
    repeated = {"repeated_rows": repeated_rows, "rows": len(found.ids or ())}
    *lines, following = _lines(plan, found, file, plan_argument(options.plan), options)
    return {**result, **repeated, "file": str(file), "lines": [*lines, *remarks, following]}


def _lines(plan: Plan, found: Alignment, file: Path, plan_file: str, options: Align) -> list[str]:
    lines = [_sizes(found), f"hash of their order, the same at every party: {found.order_hash}", str(file)]
    if found.held_out is not None:
        lines.append(f"{plan.held_out_by} chose {len(found.held_out)} of them to be held out: {CHOSEN_BY_COLUMN}")
    data = f" --data {options.data}" if options.data else ""
    step = f"predict {plan_file} --name {options.name}{data}" if options.name else f"sign {plan_file}"
    return [*lines, f"next, on all sides: plumbob party {step}"]


def _sizes(found: Alignment) -> str:
    sizes = ", ".join(f"{party} {size}" for party, size in found.sizes.items())
    pairs = "" if found.ids is None or len(found.ids) == found.size else f", {len(found.ids)} pairs of rows"
    return f"{counted(found.size, 'row')} in common ({sizes}){pairs}"


@contextmanager
def _folder_if_met(party_run: PartyRun) -> Iterator[PartyRun]:
    """Remove the folder of a session that ends before it met any peer: nobody could resume it."""
    is_new = not party_run.folder.exists()
    make_run_folder(party_run.folder)
    peers_met: list[str] = []

    def connector_for(on_connection: Callable[[Connection], None]) -> AnyConnector:
        def attach(connection: Connection) -> None:
            # From its greeting on, the peer knows this journal and wants no other.
            peers_met.append(connection.peer)
            on_connection(connection)

        return party_run.connector_for(attach)

    try:
        yield replace(party_run, connector_for=connector_for)
    except BaseException:
        if is_new and not peers_met:
            shutil.rmtree(party_run.folder)
        raise


class _Chunk:
    """The part of a batch that the progress bar needs."""

    def __init__(self, step: int, steps: int) -> None:
        self.step, self.epoch, self.told, self.done = step, 0, "", step / steps
