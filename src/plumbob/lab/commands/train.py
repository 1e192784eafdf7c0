"""`train`: trains with all parties on this machine, from tables to a folder with record, parts and report.

A finished run that lay there before is set aside until the new one is finished too.
"""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from plumbob.caller import Result
from plumbob.checking.check import figures_of
from plumbob.checking.consent import refuse_leaks
from plumbob.checking.filing import with_predictions
from plumbob.checking.row_notes import noise_notes
from plumbob.checking.rules.gradients import OWN_WEIGHTS
from plumbob.checking.rules.keys import KEYS
from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.data import Table
from plumbob.data.summary import class_in_words
from plumbob.data.table_files import column_names
from plumbob.errors import DataError
from plumbob.lab import datasets
from plumbob.lab.commands import TrainingHere
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.files import LoadedTables, drafted_plan, files_by_party, load_tables
from plumbob.lab.simulate.quality import keep_rows, with_quality
from plumbob.party.home import LEDGER
from plumbob.party.ledger import SpendingLedger
from plumbob.plan import Plan, suggestion
from plumbob.plan.encodings import few_rows
from plumbob.protocol.outcome import unfinished_record
from plumbob.protocol.row_noise import spending_of_a_run
from plumbob.record import RunRecord
from plumbob.report.progress import StepProgress
from plumbob.report.results import lines_of, make_folder, write_report
from plumbob.run_folder import RunFolder
from plumbob.terminal import print_progress

HELD_OUT_KEY = b"held-out rows on one machine"
"""The key that draws held-out rows on one machine: they follow from the ids, so that two runs can be compared."""


def run(asked: TrainingHere, quiet: bool) -> Result:
    """Train, compare, save and report. A plan that leaks is refused before anything is written, unless accepted."""
    plan, drafted = plan_for(asked)
    _refuse_replacing(asked)
    loaded = load(plan, asked, drafted)
    # All data are here already: short keys and a model that remembers its rows give this machine nothing more.
    labelled = loaded.tables[plan.label_party.name]
    positives = None if labelled.labels is None else float(labelled.labels.mean())
    refuse_leaks(plan, len(labelled), asked.accept_leaks, [KEYS, OWN_WEIGHTS], positives)
    return result_of(_train(plan, loaded, asked, quiet).record, asked)


def carry_out(plan: Plan, drafted: str, asked: TrainingHere, quiet: bool) -> Run:
    """Train and write the folder, whatever the plan leaks."""
    _refuse_replacing(asked)
    return _train(plan, load(plan, asked, drafted), asked, quiet)


def refuse_finished(out: Path) -> None:
    """Refuse to replace a finished run unasked: with weights never opened, it cannot be made again."""
    if found := RunFolder(out).finished_work():
        raise DataError(f"{out}: this folder holds {found}; choose another --out, or add --new to replace it")


def _refuse_replacing(asked: TrainingHere) -> None:
    """Refuse a folder with a finished run before any table is read."""
    if not asked.is_new:
        refuse_finished(asked.out)


def begin(plan: Plan, loaded: LoadedTables, out: Path, accepted_leaks: bool = False) -> RunRecord:
    """Make the folder, with a record that says that the run is under way."""
    make_folder(out)
    folder = RunFolder(out)
    folder.set_finished_run_aside()
    rows = len(loaded.tables[plan.label_party.name])
    rows -= plan.held_out(rows)
    begun = replace(unfinished_record(plan, rows, "running"), accepted_leaks=accepted_leaks)
    folder.save_record(begun)
    return begun


def load(plan: Plan, asked: TrainingHere, drafted: str) -> LoadedTables:
    """All parties' tables, aligned; `drafted` says why the plan is encoded as it is, if it was drafted from them."""
    loaded = load_tables(plan, asked.sources, asked.ids, asked.label, asked.data_dir, asked.reading, asked.test)
    return replace(loaded, drafted=drafted)


def plan_for(asked: TrainingHere) -> tuple[Plan, str]:
    """The plan in a file or from flags; from neither, one that fits the data, and why it is encoded as it is.

    For a data set its columns are cut up as usual. For files the plan is as `propose` drafts it: its parties are those
    of the files, the one whose file has the label's column first.
    """
    keys, label = asked.keys, asked.label
    if asked.plan is not None:
        return asked.plan, ""
    if asked.source != "files":
        split = datasets.usual_split(asked.source, asked.data_dir)
        return Plan.for_columns(list(split.values()), **keys).with_names(list(split)), ""
    files = files_by_party(asked.sources)
    columns = {party: column_names(file) for party, file in files.items()}
    holders = [party for party, names in columns.items() if label in names]
    if len(holders) != 1:
        if not label:
            raise DataError("no plan, and no --label; name the column that holds the label, which one of the files has")
        close = suggestion(label, [name for names in columns.values() for name in names])
        found = "none of the files has" if not holders else f"{' and '.join(holders)} have"
        raise DataError(f"--label {label}: {found} this column; expected it in one file{close}")
    if len(files) == 1:
        raise DataError(
            f"--data names one party only, {holders[0]}; expected two at least: add PARTY=FILE for each of the others"
        )
    names = [holders[0], *(party for party in files if party != holders[0])]
    plan, drafted = drafted_plan(names, keys, asked.sources, asked.ids, label, asked.reading, asked.test)
    return plan, "" if drafted is None else drafted.sentence


def _train(plan: Plan, loaded: LoadedTables, asked: TrainingHere, quiet: bool) -> Run:
    """Train, judge and save; a run that is interrupted leaves a record that says so, and begins again."""
    beforehand, out = _lines_beforehand(plan, loaded), asked.out
    make_folder(out)
    # Whoever wants no progress still wants to know whom the model does not see.
    unseen = loaded.says_the_label(plan) if quiet else []  # Otherwise the table of columns says so.
    for line in filter(None, [*loaded.remarks, loaded.left_out, *unseen]):
        print_progress(Console(stderr=True), line)
    with StepProgress(plan.protocol, quiet, plan.step_nouns[0]) as progress:
        for line in filter(None, beforehand):
            progress.say(line)
        begun = begin(plan, loaded, out, asked.accept_leaks)
        spent = _book_rows(plan, loaded, out)
        with mark_unfinished(begun, RunFolder(out), progress):
            trained = train(plan, loaded.tables, jobs=asked.jobs, progress=progress, held_out_key=HELD_OUT_KEY)
        finished = with_quality(trained, loaded.tables, loaded.test)
        record = replace(
            finished.record,
            notes=[*finished.record.notes, *spent],
            remarks=[
                *filter(None, [loaded.drafted, _few_rows(plan, loaded), _rest_of_the_rows(plan, loaded)]),
                *finished.record.remarks,
            ],
        )
        finished = replace(finished, record=record)
        keep_rows(finished, loaded, RunFolder(out))
        return _save(finished, RunFolder(out), asked.accept_leaks)


def _lines_beforehand(plan: Plan, loaded: LoadedTables) -> list[str]:
    """Lines on what each party's table gives, and what whoever waits for the model should know."""
    rows = len(loaded.tables[plan.label_party.name])
    label = loaded.tables[plan.label_party.name]
    return [
        *loaded.summary_lines(plan),
        class_in_words(label) + _to_predict_the_other(label, loaded),
        _few_rows(plan, loaded),
        *noise_notes(figures_of(plan, rows)),
    ]


def _to_predict_the_other(label: Table, loaded: LoadedTables) -> str:
    """The flag that exchanges the two classes of a file's label: which of them is the event, nobody but people know."""
    if label.classes is None or not loaded.has_ids:
        return ""
    return f"; --positive {shlex.quote(str(label.classes[0]))} predicts that one instead"


def _few_rows(plan: Plan, loaded: LoadedTables) -> str:
    table = loaded.tables[plan.label_party.name]
    rows, positives = len(table), 0 if table.labels is None else int(table.labels.sum())
    trained = rows - plan.held_out(rows)
    return few_rows(trained, plan.columns, min(positives, rows - positives) * trained // rows)


def _rest_of_the_rows(plan: Plan, loaded: LoadedTables) -> str:
    """A sentence on how to train on the held-out rows too; empty where none are held out."""
    rows = len(loaded.tables[plan.label_party.name])
    held_out = plan.held_out(rows)
    if not held_out:
        return ""
    return (
        f"{held_out:,} of {rows:,} rows were held out to measure the model, the same ones in every run on this machine."
        " To train on all rows, add --test-share 0 and another --out"
    )


def _book_rows(plan: Plan, loaded: LoadedTables, out: Path) -> list[str]:
    """Lines on what these rows have spent in this folder's runs; a seed's noise in `clear` promises nothing."""
    if plan.noise != "rows" or not plan.kind.is_encrypted:
        return []
    ledger, ids = SpendingLedger(out / LEDGER), loaded.tables[plan.label_party.name].ids
    trained = len(ids) - plan.held_out(len(ids))
    # Here nobody is to be refused: all parties' rows are in one process, and an experiment may be repeated.
    spent = ledger.book(SYSTEM_RANDOMNESS.draw(16).hex(), ids, spending_of_a_run(plan, trained))
    return [
        f"With this run the rows have spent epsilon {spent.epsilon(plan.delta):.3g} (delta {plan.delta:g}) in the"
        f" runs of this folder, {LEDGER} counts them. Between organisations every"
        " party keeps such a ledger and refuses a run beyond its most_epsilon."
        " A ledger recognises people by id: if two plans use different id columns, it counts one as two."
    ]


def _save(finished: Run, folder: RunFolder, accepted_leaks: bool) -> Run:
    """Save the run on the disk before the run that lay there before is deleted."""
    finished = replace(finished, record=with_predictions(replace(finished.record, accepted_leaks=accepted_leaks)))
    # First the pages: once run.json says `finished`, nothing is missing and nothing replaces the run unasked.
    write_report(finished.record, folder.path)
    finished.save(folder.path)
    folder.settle()
    folder.earlier.remove_run()
    return finished


def result_of(record: RunRecord, asked: TrainingHere) -> Result:
    """The result for people, and for programs."""
    places = {"out": str(asked.out), "report": str(RunFolder(asked.out).report_file), "data": asked.source}
    return {**places, **record.to_dict(), "lines": lines_of(record, asked.out)}


@contextmanager
def mark_unfinished(begun: RunRecord, folder: RunFolder, progress: StepProgress) -> Iterator[None]:
    """Mark the run.json of a run that does not finish, with how far it came."""
    started = time.perf_counter()
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        word = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        status = f"{word} {progress.where}"
        aside = folder.earlier
        earlier = f"; the run that was there before is in {aside.path}" if aside.record_file.exists() else ""
        # On a full disk the reason for stopping says more than that this could not be written either.
        with suppress(OSError):
            seconds = time.perf_counter() - started
            folder.save_record(replace(begun, status=status, steps=progress.reached, seconds=seconds))
            progress.say(f"{status}; {folder.record_file} says so{earlier}")
        raise
