"""`party train`: takes part in a run and signs its record; `plumbob report` makes the page, and needs no key."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from plumbob.caller import IN_PYTHON, Caller, Outcome, Result, Tell
from plumbob.counting import counted, seconds
from plumbob.party import receipts, signature, training
from plumbob.party.answered_rows import AnsweredRows, book_held_out, row_limit
from plumbob.party.given import GivenPlan, plan_argument, plan_of, refuse_strangers
from plumbob.party.home import GivenHome, Home
from plumbob.party.log import logged_verb
from plumbob.party.plan_runs import RUN_ONCE, PlanRuns, beginnings, open_journal
from plumbob.party.rows import aligned_table
from plumbob.party.scores import quality_in_words
from plumbob.party.session import session_at
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import most_scored_rows, shows_quality
from plumbob.record import RunRecord
from plumbob.report.progress import StepProgress
from plumbob.run_folder import RunFolder

if TYPE_CHECKING:
    from plumbob.party.evidence import Keeping


@logged_verb
def train(home: GivenHome, plan: GivenPlan, *, new: bool = False, caller: Caller = IN_PYTHON) -> Outcome:
    """Train with the peers, from the beginning or from where it was interrupted; `new` begins a run again."""
    opened, agreed = Home.open(home), plan_of(plan)
    record, run, rows = _trained(opened, agreed, new, caller)
    result = _signed(opened, agreed, record, run)
    has_room = has_room_for_all(opened, agreed, rows, beginnings(run))
    lines = [
        *result["lines"],
        *held_out_in_words(agreed, rows),
        *replay_in_words(agreed, opened.identity.name, run),
        *next_commands(agreed, plan_argument(plan), rows, has_room),
    ]
    return Outcome({**result, "lines": lines})


def _trained(home: Home, plan: Plan, is_new: bool, caller: Caller) -> tuple[RunRecord, RunFolder, int]:
    """The record of the run, the run's folder, and how many rows were aligned."""
    tell = caller.tell
    refuse_strangers(home, plan)
    signed = signature.own_signature(home, plan)
    table = aligned_table(home, plan)
    rows = len(table)
    run = PlanRuns(home, plan).open_run(is_new)
    largest = training.largest_message(plan, rows)
    session = session_at(home, plan, "train", table=table, folder=run.path, largest_message=largest, tell=tell)
    if plan.has_evidence_of(home.identity.name):
        session = replace(session, keeping=_keeping(home, plan, run, rows))
    run.plan_file.write_text(plan.to_toml(), encoding="utf-8")
    with (
        StepProgress(plan.protocol, caller.quiet, plan.step_nouns[0]) as progress,
        open_journal(run.path) as journal,
    ):
        _book(home, plan, journal, rows, tell)
        return training.train(session, journal, progress, signature=signed), run, rows


def _keeping(home: Home, plan: Plan, run: RunFolder, rows: int) -> "Keeping | None":
    # Late: without evidence nothing is sealed.
    from plumbob.party.evidence import keeping_at

    return keeping_at(home, plan, "train", run.path, rows)


def _book(home: Home, plan: Plan, journal: SqliteJournal, rows: int, tell: Tell) -> None:
    """Book what the run will give away of this party's rows before it does; once, however often it is resumed."""
    if journal.last_state() is not None:
        tell("resuming a run that was interrupted")
    if home.identity.name != plan.label_party.name:
        book_held_out(home, plan, journal, rows)


def _signed(home: Home, plan: Plan, record: RunRecord, run: RunFolder) -> Result:
    """Sign the record, unless that was done before: what was signed once keeps its date."""
    lines = [
        *_quality_lines(record),
        *record.remarks,
        f"for its page: plumbob report {run.path}",
        f"to see the signed receipt: plumbob party receipt {run.path}",
    ]
    receipt = receipts.signature_of(run)
    if receipt.is_valid:
        lines = [
            f"this run was finished already, and signed on {receipt.date}; {RUN_ONCE}",
            *lines,
        ]
    else:
        receipts.sign_record(home, run, [party.name for party in plan.parties])
    return {"out": str(run.path), **record.to_dict(), "lines": lines}


def _quality_lines(record: RunRecord) -> list[str]:
    """How long it took and, at the label party, how good each model is."""
    steps = counted(record.steps, *record.parsed_plan.step_nouns)
    took = f"{record.status}: {record.rows:,} training rows, {steps}, {seconds(record.seconds)}"
    return [
        took,
        *(quality_in_words(rows, models) for rows, models in record.quality.items()),
    ]


def has_room_for_all(home: Home, plan: Plan, rows: int, begun: int) -> bool:
    """Whether every aligned row may still be scored, as far as this party knows: the label party keeps no count.

    Scores of held-out rows are with the label party already, and are not asked for again.
    """
    is_asking = home.identity.name == plan.label_party.name
    held_out = plan.held_out(rows) if shows_quality(plan, rows) else 0
    used = held_out * begun if is_asking else AnsweredRows.of(home, plan).answered()
    limit = row_limit(plan, rows - plan.held_out(rows), 0 if is_asking else home.settings.most_rows)
    return limit is None or used + rows - held_out <= limit.rows


def held_out_in_words(plan: Plan, rows: int) -> Iterator[str]:
    """What held-out rows mean for comparing two runs, and how to train on all rows."""
    if held_out := plan.held_out(rows):
        yield (
            f"{held_out:,} of {rows:,} rows were held out to measure the model. Every run draws them anew, so the"
            " figures of two runs are of different people. To train on all rows, agree on a plan with test_share = 0:"
            " plumbob party propose --test-share 0"
        )


def replay_in_words(plan: Plan, own: str, run: RunFolder) -> Iterator[str]:
    """What has to happen before the first score, where the plan opens scores only after a replay."""
    label = plan.label_party.name
    if not plan.is_replayed:
        return
    if own == label:
        yield (
            f"scores stay shut until your auditor has replayed this training: plumbob auditor replay {run.path} "
            "--auditor KEYS, on the auditor's machine; give the statement that it writes to your peer"
        )
    else:
        yield (
            f"scores stay shut until the statement of {label}'s auditor is here: plumbob party receipt {run.path} "
            "--statement FILE"
        )


def next_commands(plan: Plan, plan_file: str, rows: int, has_room: bool) -> list[str]:
    """What the plan allows, and the commands that it leaves room for."""
    limit = most_scored_rows(plan, rows - plan.held_out(rows))
    shown = f"; the {plan.held_out(rows):,} held-out rows count once for every time that the run was begun"
    held_out = shown if shows_quality(plan, rows) else ""
    allowed = f"the plan allows {limit:,} scored rows in all{held_out}"
    new_rows = (
        f"next, on all sides, for new rows: plumbob party align {plan_file} --name NAME --data FILE, then "
        f"plumbob party predict {plan_file} --name NAME --data FILE"
    )
    all_rows = f"; for the {rows:,} aligned rows: plumbob party predict {plan_file}" if has_room else ""
    return [*([allowed] if limit else []), new_rows + all_rows]
