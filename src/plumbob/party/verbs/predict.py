"""`party predict`: scores of aligned rows at the label party; at the others, one session of answers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.arrays import Vector
from plumbob.callbacks import Tell
from plumbob.counting import counted, decimal
from plumbob.data import Table, canonical_ids, held_out_rows, in_agreed_order, read_table
from plumbob.errors import DataError
from plumbob.model.links import log_odds
from plumbob.party import prediction
from plumbob.party.aligned import checked_list_name, kept_for
from plumbob.party.evidence import Keeping
from plumbob.party.home import Home
from plumbob.party.journals import one_session
from plumbob.party.outcome import plan_of
from plumbob.party.party_run import PartyRun, keeping_at, party_run_at, refuse_strangers, tell_refusals_at
from plumbob.party.plan_runs import PlanRuns
from plumbob.party.rows import ids_only, place_of
from plumbob.party.scores import refuse_unwritable, threshold_of, unusual_lines, write_scores
from plumbob.party.verbs import Align, Predict
from plumbob.party.verbs.align import align
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart
from plumbob.protocol.prediction import RowLimit
from plumbob.protocol.quality import measured
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.run_folder import RunFolder
from plumbob.verb import Caller, Result

TEST = "test"  # The name under which test rows are aligned.
NEW_ROWS = (
    "for new rows type, on all sides: plumbob party align PLAN --name NAME --data FILE, then predict with the same "
    "--name and --data"
)


def predict(options: Predict, tell: Tell) -> Result:
    """Scores of aligned rows at the label party; at the others, one session of answers."""
    home, plan = Home.open(options.home), plan_of(options.plan)
    if options.test is None:
        return _predict_aligned(home, plan, options, None, tell)
    with tell_refusals_at(home, plan, "align", tell, TEST):
        labels = _test_labels(home, plan, options)
    aligning = Align(options.plan, home=options.home, name=TEST, data=options.test, new=True)
    tell(align(aligning, Caller(tell))["lines"][0])
    return _predict_aligned(home, plan, replace(options, name=TEST, data=options.test), labels, tell)


def _predict_aligned(home: Home, plan: Plan, options: Predict, labels: dict[str, int] | None, tell: Tell) -> Result:
    """With the labels of test rows, by id, how good the scores are."""
    name = checked_list_name(options.name)
    is_asking = home.identity.name == plan.label_party.name
    runs = PlanRuns(home, plan)
    refuse_strangers(home, plan)
    with tell_refusals_at(home, plan, "predict", tell, name):
        run = runs.last_finished()
        part = ModelPart.load(run.part_file(home.identity.name))
        table = _table_to_predict(home, plan, part, options)
        rows = _rows_asked(table, options.ids) if is_asking else []
        threshold = threshold_of(options.threshold, options.cost, part)
        if is_asking:
            refuse_unwritable(Path(options.out))
    unseen, rare = part.encoder.unseen(table), part.encoder.counted_as_rare(table)
    unusual = unusual_lines(home.identity.name, unseen, rare, len(table))
    place = runs.make_prediction_folder()
    with tell_refusals_at(home, plan, "predict", tell, name):
        keeping = _keeping(home, plan, run, len(table))
    party_run = party_run_at(home, plan, table, place, prediction.largest_message(plan), tell)
    party_run = replace(party_run, list_name=name, keeping=keeping)
    with one_session(place) as journal:
        if not is_asking:
            limit = prediction.row_limit(plan, part.training_rows, options.most_rows or home.settings.most_rows)
            result = _answer(party_run, journal, part, prediction.AnsweredRows.of(home, plan), limit)
            return {**result, "lines": [*unusual, *result["lines"]]}
        scores = prediction.ask(party_run, journal, part, rows)
    if part.classes is None:
        raise DataError("the label party's part names no classes; was it saved by another version?")
    # Ids with what is predicted of them: nobody else's business.
    out = Path(options.out)
    out.touch(mode=0o600)
    ids = [table.ids[row] for row in rows]
    held_out, judged = _held_out(home, plan, run), run.record().calibration.get("joint", [])
    written = write_scores(out, ids, scores, part.classes, unusual, threshold, plan, held_out, judged)
    return written if labels is None else {**written, **_quality(labels, ids, log_odds(plan, scores), written)}


def _keeping(home: Home, plan: Plan, run: RunFolder, rows: int) -> Keeping | None:
    """Evidence of a session lies with the run whose model it uses."""
    if not plan.keeps_evidence:
        return None
    sessions = run.path / "predictions"
    sessions.mkdir(mode=0o700, exist_ok=True)
    place = RunFolder(sessions / str(1 + len(list(sessions.iterdir()))))
    place.path.mkdir(mode=0o700)
    place.plan_file.write_text(plan.to_toml(), encoding="utf-8")
    return keeping_at(home, plan, "predict", place.path, rows)


def _answer(
    party_run: PartyRun,
    journal: SqliteJournal,
    part: ModelPart,
    ledger: prediction.AnsweredRows,
    limit: RowLimit | None,
) -> Result:
    served = prediction.answer(party_run, journal, part, ledger, limit)
    in_all = ledger.answered()
    asker = party_run.plan.label_party.name
    queries = counted(served.queries, "query", "queries")
    line = (
        f"answered {counted(served.rows, 'row')} in {queries} of {asker}, {counted(in_all, 'row')} of this plan in all"
    )
    return {"queries": served.queries, "rows": served.rows, "rows_in_all": in_all, "lines": [line]}


def _table_to_predict(home: Home, plan: Plan, part: ModelPart, options: Predict) -> Table:
    """Only the model's columns: rows to predict need no label."""
    reading = part.encoder.reading
    gaps = tuple(dict.fromkeys([*reading.gaps, *home.settings.reading.gaps]))
    file = options.data or home.data_file
    aligned = kept_for(home, plan, options.name)
    types = {**reading.types, **ids_only(home).types}
    choices = replace(reading, gaps=gaps, types=types, duplicates=aligned.duplicates)
    table = read_table(file, home.settings.id_column, choices=choices)
    common = in_agreed_order(table, aligned.ids, NEW_ROWS, place_of(home, plan))
    if options.strict:
        part.encoder.refuse_unseen(common)
    return common


def _rows_asked(table: Table, ids: Sequence[str]) -> list[int]:
    if not ids:
        return list(range(len(table)))
    position = {identity: row for row, identity in enumerate(table.ids)}
    if unknown := sum(identity not in position for identity in ids):
        are = "is" if unknown == 1 else "are"
        raise DataError(
            f"of {counted(len(ids), 'id')} asked for, {unknown} {are} not among the {len(table):,} aligned rows; "
            f"{NEW_ROWS}"
        )
    return [position[identity] for identity in ids]


def _held_out(home: Home, plan: Plan, run: RunFolder) -> dict[str, bool]:
    """Of every row that was aligned for training, whether the run held it out."""
    aligned = kept_for(home, plan)
    ids = aligned.ids
    if plan.held_out_by and aligned.held_out is not None:
        held_out = np.array(aligned.held_out, dtype=np.intp)
    else:
        _, held_out = held_out_rows(ids, plan.held_out(len(ids)), bytes.fromhex(run.record().seed))
    return dict.fromkeys(ids, False) | dict.fromkeys((ids[row] for row in held_out.tolist()), True)


def _test_labels(home: Home, plan: Plan, options: Predict) -> dict[str, int] | None:
    """By id, at the label party; read before anybody is met, so that a file without labels is refused here."""
    if options.name or options.data is not None or options.ids:
        raise DataError("--test goes without --name, --data and --ids: all rows of that file are aligned and judged")
    run = PlanRuns(home, plan).last_finished()
    if home.identity.name != plan.label_party.name:
        return None
    reading = replace(ids_only(home), positive=home.settings.reading.positive)
    table = read_table(
        options.test or home.data_file, home.settings.id_column, home.settings.label_column, choices=reading
    )
    if table.labels is None or table.classes != ModelPart.load(run.part_file(home.identity.name)).classes:
        raise DataError(f"--test {options.test}: its labels have other classes than those of training; correct them")
    return dict(zip(canonical_ids(table.ids), table.labels.tolist(), strict=True))


def _quality(labels: dict[str, int], ids: Sequence[str], odds: Vector, written: dict[str, Any]) -> dict[str, Any]:
    """The model's quality on the user's own test rows."""
    found = measured([labels[identity] for identity in ids], odds)
    shown = ", ".join(
        f"{name.replace('_', ' ')} {decimal(value)}" for name, value in found.items() if value is not None
    )
    return {"quality": found, "lines": [*written["lines"], f"on the {len(ids)} test rows: {shown}"]}
