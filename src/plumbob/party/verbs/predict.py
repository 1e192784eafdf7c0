"""`party predict`: gets scores of aligned rows at the label party, and answers one session at the others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.arrays import Vector
from plumbob.caller import IN_PYTHON, Caller, Outcome, Result, Tell
from plumbob.counting import counted, decimal
from plumbob.data import Table, read_table
from plumbob.errors import DataError, PeerAwayError, ScoresWaitError
from plumbob.model.logistic import fit_logistic
from plumbob.party import prediction
from plumbob.party.evidence import evidence_of_a_prediction
from plumbob.party.gate import refuse_before_replay
from plumbob.party.held_out import keep_scores, known_scores, quality_in_words, read_trained_rows
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_of, refuse_strangers
from plumbob.party.log import logged_verb
from plumbob.party.row_count import AnsweredRows, row_limit
from plumbob.party.rows import aligned_table, check_list_name, common_rows, ids_only
from plumbob.party.runs import finished_run, make_session_folder, one_session
from plumbob.party.scores import refuse_unwritable, unusual_lines, write_scores
from plumbob.party.session import Session, session_at
from plumbob.party.verbs.align import align
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.outcome import HELD_OUT, Metrics, measure_quality
from plumbob.protocol.part import ModelPart
from plumbob.run_folder import RunFolder

TEST = "test"  # The name under which test rows are aligned.
SECONDS_FOR_PEERS = 20.0
"""How long the label party waits for absent peers: a service that is running comes by then."""
IF_AWAY = (
    "Nothing was scored. Let the peer type plumbob party serve (or predict), then type this again; --wait SECONDS "
    "waits longer"
)
NEW_ROWS = (
    "for new rows type, on all sides: plumbob party align PLAN --name NAME --data FILE, then predict with the same "
    "--name and --data"
)


@dataclass(frozen=True)
class Wanted:
    """What the label party wants to have scored, and where the scores go."""

    out: Path
    ids: Sequence[str] = ()
    """Only these rows; empty for all."""
    is_held_out: bool = False
    """Only the rows that training held out."""
    name: str = ""
    """The name under which the rows were aligned."""
    data: str | Path | None = None
    """Their table, if it is not the one in the settings."""
    is_strict: bool = False
    seconds: float = SECONDS_FOR_PEERS

    @property
    def is_whole_list(self) -> bool:
        """Whether these are all rows of training."""
        return not (self.name or self.data or self.ids or self.is_held_out)


@logged_verb
def predict(
    home: GivenHome,
    plan: GivenPlan,
    *,
    ids: Sequence[str] = (),
    data: str | Path | None = None,
    name: str = "",
    most_rows: int | None = None,
    out: str | Path = "scores.csv",
    strict: bool = False,
    wait: float | None = None,
    test: str | Path | None = None,
    held_out: bool = False,
    caller: Caller = IN_PYTHON,
) -> Outcome:
    """Get scores of aligned rows at the label party; answer one session at the others."""
    opened, agreed, labels = Home.open(home), plan_of(plan), None
    name, seconds = check_list_name(name), SECONDS_FOR_PEERS if wait is None else wait
    wanted = Wanted(Path(out), ids, held_out, name, data, strict, seconds)
    if held_out:
        _refuse_no_held_out(opened, agreed, wanted, test)
    if test is not None:
        labels = _test_labels(opened, agreed, wanted, test)
        wanted = replace(wanted, name=TEST, data=test)
        caller.tell(align(home, plan, name=TEST, data=test, caller=caller).lines[0])
    if opened.identity.name == agreed.label_party.name:
        return Outcome(_ask(opened, agreed, wanted, labels, caller.tell))
    return Outcome(answer_once(opened, agreed, wanted.name, wanted.data, most_rows, strict, caller.tell))


def _ask(home: Home, plan: Plan, wanted: Wanted, labels: dict[str, int] | None, tell: Tell) -> Result:
    """Ask for scores, as the label party; with labels of test rows, by id, also say how good the scores are."""
    refuse_strangers(home, plan)
    run = finished_run(home, plan)
    part = ModelPart.load(run.part_file(home.identity.name))
    if part.classes is None:
        raise DataError("the label party's part names no classes; was it saved by another version?")
    table, absent = _table_to_predict(home, plan, part, wanted.name, wanted.data, wanted.is_strict)
    trained = read_trained_rows(run, home.identity.name) or {}
    if wanted.is_held_out:
        rows, absent = _held_out_rows(table, trained)
    elif wanted.ids:
        rows, absent = _rows_of_ids(table, wanted.ids)
    else:
        rows = list(range(len(table)))
    known = known_scores(run, home.identity.name) if wanted.is_whole_list else {}
    asked = [row for row in rows if table.ids[row] not in known]
    out = wanted.out
    refuse_unwritable(out)
    try:
        with _session_with_evidence(home, plan, run, table, wanted.name, wanted.seconds, tell) as (session, journal):
            found = prediction.ask(session, journal, part, asked) if asked else np.zeros(0)
    except PeerAwayError as error:
        raise PeerAwayError(f"{error} {IF_AWAY}") from None
    # Ids with what is predicted of them: nobody else's business.
    out.touch(mode=0o600)
    ids, answers = [table.ids[row] for row in rows], iter(found.tolist())
    scores = np.array([known[identity] if identity in known else next(answers) for identity in ids])
    remarks = [*_unusual_levels(part, table), *_kept_scores_in_words(len(rows) - len(asked))]
    written: Result = write_scores(out, ids, scores, part.classes, remarks, held_out=trained, absent=absent)
    written["list"] = wanted.name
    if wanted.is_held_out:
        keep_scores(run, home.identity.name, ids, scores.tolist())
        training = [row for row, identity in enumerate(table.ids) if trained.get(identity) is False]
        models = _models_on_held_out(aligned_table(home, plan), part, training, rows, scores, plan)
        return with_line({**written, "quality": {HELD_OUT: models}}, quality_in_words(HELD_OUT, models))
    return written if labels is None else {**written, **_quality(labels, ids, scores, written)}


def answer_once(
    home: Home,
    plan: Plan,
    name: str,
    data: str | Path | None,
    most_rows: int | None,
    strict: bool,
    tell: Tell,
    meeting: float | None = None,
) -> Result:
    """Answer one session about the list of this name, as a feature party."""
    refuse_strangers(home, plan)
    run = finished_run(home, plan)
    # First: while scores are shut, no query is taken and no table is read.
    turn_away_until_replayed(home, plan, name, tell, meeting)
    part = ModelPart.load(run.part_file(home.identity.name))
    table, _ = _table_to_predict(home, plan, part, name, data, strict)
    ledger = AnsweredRows.of(home, plan)
    limit = row_limit(plan, part.training_rows, most_rows or home.settings.most_rows)
    with _session_with_evidence(home, plan, run, table, name, meeting, tell) as (session, journal):
        served = prediction.answer(session, journal, part, ledger, limit)
    in_all, queries = ledger.answered(), counted(served.queries, "query", "queries")
    line = (
        f"answered {counted(served.rows, 'row')} in {queries} of {plan.label_party.name}, "
        f"{counted(in_all, 'row')} of this plan in all"
    )
    counts = {"queries": served.queries, "rows": served.rows, "rows_in_all": in_all}
    return {"list": name, **counts, "lines": [*_unusual_levels(part, table), line]}


def turn_away_until_replayed(home: Home, plan: Plan, name: str, tell: Tell, meeting: float | None) -> None:
    """Raise ScoresWaitError while this plan's scores are shut here, once the label party has been told so."""
    try:
        refuse_before_replay(home, plan, finished_run(home, plan))
    except ScoresWaitError as error:
        tell(str(error))
        session = _session(home, plan, None, name, SECONDS_FOR_PEERS if meeting is None else meeting, tell)
        with one_session(session.folder) as journal, suppress(PeerAwayError), session.meet(journal):
            raise
        raise


@contextmanager
def _session_with_evidence(
    home: Home, plan: Plan, run: RunFolder, table: Table, name: str, meeting: float | None, tell: Tell
) -> Iterator[tuple[Session, SqliteJournal]]:
    """A session about the list of this name, and its journal, of which nothing stays."""
    with evidence_of_a_prediction(home, plan, run, len(table)) as evidence:
        session = replace(_session(home, plan, table, name, meeting, tell), evidence=evidence)
        with one_session(session.folder) as journal:
            yield session, journal


def _session(home: Home, plan: Plan, table: Table | None, name: str, meeting: float | None, tell: Tell) -> Session:
    """This party's place in a session about the list of this name; without a table it only turns its peers away."""
    place, largest = make_session_folder(home, plan, "predict"), prediction.largest_message(plan)
    session = session_at(
        home, plan, "predict", table=table, folder=place, largest_message=largest, tell=tell, list_name=name
    )
    return replace(session, finished_run=finished_run(home, plan).path, meeting=meeting)


def _kept_scores_in_words(rows: int) -> list[str]:
    """A sentence on rows whose scores were here already; none where there are none."""
    return (
        [f"the scores of the {counted(rows, 'held-out row')} were here already and were not asked for again"]
        if rows
        else []
    )


def _unusual_levels(part: ModelPart, table: Table) -> list[str]:
    return unusual_lines(part.party, part.encoder.unseen(table), part.encoder.counted_as_rare(table), len(table))


def _table_to_predict(
    home: Home, plan: Plan, part: ModelPart, name: str, data: str | Path | None, strict: bool
) -> tuple[Table, list[str]]:
    """(the common rows, the ids of the others); only the model's columns: rows to predict need no label."""
    reading = part.encoder.reading
    gaps = tuple(dict.fromkeys([*reading.gaps, *home.settings.reading.gaps]))
    aligned = common_rows(home, plan, name)
    choices = replace(reading, gaps=gaps)
    table = read_table(data or home.data_file, home.settings.id, choices=choices)
    if home.identity.name != plan.label_party.name:
        _refuse_lost_rows(table, aligned.ids)
    common = table.select(aligned.ids, NEW_ROWS)
    if strict:
        part.encoder.refuse_unseen(common)
    known = set(aligned.ids)
    return common, [identity for identity in table.ids if identity not in known]


def _refuse_lost_rows(table: Table, ids: Sequence[str]) -> None:
    """Refuse rows that are gone since they were aligned, by ids, which the label party has too."""
    known = set(table.ids)
    lost = [identity for identity in ids if identity not in known]
    if not 0 < len(lost) < len(ids):
        # With none of them it is another table.
        return
    what = f"{counted(len(lost), 'aligned row')} {'is' if len(lost) == 1 else 'are'} no longer in this table"
    cure = "nothing was scored; bring them back, or align again on all sides: plumbob party align PLAN"
    refusal = DataError(f"{what}; {cure}, with the --name and --data of this list if it has them")
    refusal.for_peers = f"{what.replace('this table', 'its table')}; {cure}"
    raise refusal


def _rows_of_ids(table: Table, ids: Sequence[str]) -> tuple[list[int], list[str]]:
    """(the rows to ask for, the ids that are not among them); DataError where nothing can be asked for."""
    position = {identity: row for row, identity in enumerate(table.ids)}
    absent = [identity for identity in ids if identity not in position]
    if len(absent) == len(ids):
        asked = "the id that was asked for is" if len(ids) == 1 else f"none of the {len(ids):,} ids asked for is"
        raise DataError(f"{asked} {'not ' if len(ids) == 1 else ''}among the {len(table):,} aligned rows; {NEW_ROWS}")
    return [position[identity] for identity in ids if identity in position], absent


def _held_out_rows(table: Table, trained: Mapping[str, bool]) -> tuple[list[int], list[str]]:
    """(the rows that training held out, the ids of those that are not aligned any more); DataError without any row."""
    held_out = [identity for identity, is_held_out in trained.items() if is_held_out]
    position = {identity: row for row, identity in enumerate(table.ids)}
    rows = sorted(position[identity] for identity in held_out if identity in position)
    if not rows:
        raise DataError(
            f"--held-out: none of the {counted(len(held_out), 'row')} that training held out is among the "
            f"{len(table):,} aligned rows; align the list of training again on all sides: plumbob party align PLAN"
        )
    return rows, [identity for identity in held_out if identity not in position]


def _refuse_no_held_out(home: Home, plan: Plan, wanted: Wanted, test: str | Path | None) -> None:
    if wanted.name or wanted.data is not None or wanted.ids or test is not None:
        raise DataError("--held-out goes without --name, --data, --ids and --test: training chose those rows")
    if not plan.held_out(len(common_rows(home, plan).ids)):
        raise DataError("--held-out: this plan holds out no row (test_share = 0), so there is none to judge it on")


def _models_on_held_out(
    table: Table, part: ModelPart, training: Sequence[int], held_out: Sequence[int], odds: Vector, plan: Plan
) -> dict[str, Metrics]:
    """Metrics of the joint model, and of a model that this party fits to its own columns of the training rows alone."""
    labels = np.asarray(table.labels)
    X = np.column_stack([part.encoder.encode(table), np.ones(len(table))])
    penalty = (plan.l2 or 1.0 / len(training)) * np.diag([1.0] * (X.shape[1] - 1) + [0.0])
    weights = None if table.weights is None else table.weights[training]
    alone = fit_logistic(X[training], labels[training], penalty, weights)
    return {
        "joint": measure_quality(labels[held_out], odds),
        "local-only": measure_quality(labels[held_out], X[held_out] @ alone),
    }


def _test_labels(home: Home, plan: Plan, wanted: Wanted, test: str | Path) -> dict[str, int] | None:
    """The labels by id, at the label party; read first, so that a file without any is refused before peers come."""
    if wanted.name or wanted.data is not None or wanted.ids:
        raise DataError("--test goes without --name, --data and --ids: all rows of that file are aligned and judged")
    run = finished_run(home, plan)
    if home.identity.name != plan.label_party.name:
        return None
    reading = replace(ids_only(home), positive=home.settings.reading.positive)
    table = read_table(test, home.settings.id, home.settings.label, choices=reading)
    if table.labels is None or table.classes != ModelPart.load(run.part_file(home.identity.name)).classes:
        raise DataError(f"--test {test}: its labels have other classes than those of training; correct them")
    return dict(zip(table.ids, table.labels.tolist(), strict=True))


def _quality(labels: dict[str, int], ids: Sequence[str], odds: Vector, written: dict[str, Any]) -> dict[str, Any]:
    """The model's quality on the user's own test rows."""
    found = measure_quality([labels[identity] for identity in ids], odds)
    shown = ", ".join(
        f"{name.replace('_', ' ')} {decimal(value)}" for name, value in found.items() if value is not None
    )
    return with_line({"quality": found, "lines": written["lines"]}, f"on the {len(ids)} test rows: {shown}")


def with_line(result: Result, line: str) -> Result:
    """The result with one more line to print."""
    return {**result, "lines": [*result["lines"], line]}
