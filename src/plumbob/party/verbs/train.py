"""`party train`: takes part in a run and signs its record; `plumbob report` makes the page, and needs no key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from plumbob.callbacks import Tell
from plumbob.counting import counted, decimal, seconds
from plumbob.errors import UnsafePlanError
from plumbob.party import receipts, signature, training
from plumbob.party.answered_rows import AnsweredRows, book_held_out, row_limit
from plumbob.party.home import Home
from plumbob.party.party_run import PartyRun, largest_message, party_run_at, refuse_strangers
from plumbob.party.plan_runs import RUN_ONCE, PlanRuns, beginnings, open_journal
from plumbob.party.rows import aligned_table, is_arbiter
from plumbob.party.verbs import Train
from plumbob.plan import Plan
from plumbob.protocol.openings import most_scored_rows, shows_quality
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import RunRecord
from plumbob.report.progress import StepProgress
from plumbob.run_folder import RunFolder
from plumbob.verb import Caller, Result
from plumbob.verb.flags import plan_argument, plan_of

if TYPE_CHECKING:
    from plumbob.party.evidence import Keeping


def train(asked: Train, caller: Caller) -> Result:
    """Take part in a run, from its beginning or from where it was interrupted."""
    home, plan, tell = Home.open(asked.home), plan_of(asked.plan), caller.tell
    refuse_strangers(home, plan)
    _refuse_test_keys(plan, asked.allow_test_keys)
    signed = signature.own_signature(home, plan)
    table = None if is_arbiter(home, plan) else aligned_table(home, plan)
    if plan.seed:
        tell(f"the plan fixes the seed ({plan.seed}): everybody knows batches and starting weights beforehand")
    rows = len(table) if table is not None else plan.rows
    run = PlanRuns(home, plan).open_run(asked.new)
    party_run = party_run_at(home, plan, table, run.path, largest_message(plan, rows), tell)
    keeping = _keeping(home, plan, run, rows) if plan.keeps_evidence else None
    run.plan_file.write_text(plan.to_toml(), encoding="utf-8")
    with (
        StepProgress(plan.protocol, caller.quiet, plan.step_nouns[0]) as progress,
        open_journal(run.path) as journal,
    ):
        place = replace(party_run, signature=signed, keeping=keeping)
        _book(home, place, journal, tell)
        record = training.train(place, journal, progress)
    result = _signed(home, plan, record, run)
    # An arbiter takes no part in prediction.
    if table is None:
        return result
    has_room = has_room_for_all(home, plan, rows, beginnings(run))
    lines = [*result["lines"], *held_out_in_words(plan, rows)]
    return {**result, "lines": [*lines, *next_commands(plan, plan_argument(asked.plan), rows, has_room)]}


def _keeping(home: Home, plan: Plan, run: RunFolder, rows: int) -> "Keeping | None":
    # Late: without evidence nothing is sealed.
    from plumbob.party.evidence import keeping_at

    return keeping_at(home, plan, "train", run.path, rows)


def _refuse_test_keys(plan: Plan, are_allowed: bool) -> None:
    """Refuse short keys unless they are allowed here: a plan is as much the peer's proposal as ours."""
    if plan.test_only_keys and plan.kind.has_key_bits and not are_allowed:
        raise UnsafePlanError(
            f"the plan has keys of {plan.key_bits} bits for tests only, which can be factored; set key_bits = 2048 and "
            "test_only_keys = false, or, with made-up data, add --allow-test-keys"
        )


def _book(home: Home, party_run: PartyRun, journal: SqliteJournal, tell: Tell) -> None:
    """Book what the run will give away of this party's rows before it does; once, however often it is resumed."""
    if journal.resumed() is not None:
        tell("resuming a run that was interrupted")
    plan, table = party_run.plan, party_run.table
    if table is None:
        return
    if home.identity.name == plan.label_party.name:
        _book_labels(home, plan, journal.identity(), table.ids)
    else:
        book_held_out(home, plan, journal, len(table))


def _book_labels(home: Home, plan: Plan, run: str, ids: Sequence[str]) -> None:
    """Where the plan's noise promises something for labels."""
    if plan.noise == "sound":
        from plumbob.party.ledger import book_labels  # Late: other plans have no such budget.

        book_labels(home.ledger_file, plan, run, ids, home.settings.label_epsilon, home.settings.most_delta)


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
        *(
            f"AUC, {rows}: {'; '.join(_auc(model, found) for model, found in models.items())}"
            for rows, models in record.quality.items()
        ),
    ]


def _auc(model: str, found: Mapping[str, float | None]) -> str:
    low, high = found.get("auc_low"), found.get("auc_high")
    interval = "" if low is None or high is None else f" ({decimal(low)} to {decimal(high)})"
    return f"{model} {decimal(found.get('auc'))}{interval}, log loss {decimal(found.get('log_loss'))}"


def has_room_for_all(home: Home, plan: Plan, rows: int, begun: int) -> bool:
    """Whether every aligned row may still be scored, as far as this party knows: the label party keeps no count."""
    is_asking = home.identity.name == plan.label_party.name
    held_out = plan.held_out(rows) if shows_quality(plan, rows) else 0
    used = held_out * begun if is_asking else AnsweredRows.of(home, plan).answered()
    limit = row_limit(plan, rows - plan.held_out(rows), 0 if is_asking else home.settings.most_rows)
    return limit is None or used + rows <= limit.rows


def held_out_in_words(plan: Plan, rows: int) -> Iterator[str]:
    """What held-out rows mean for comparing two runs, and how to train on all rows."""
    if held_out := plan.held_out(rows):
        yield (
            f"{held_out:,} of {rows:,} rows were held out to measure the model. Every run draws them anew, so the"
            " figures of two runs are of different people. To train on all rows, agree on a plan with test_share = 0:"
            " plumbob party propose --test-share 0"
        )


def next_commands(plan: Plan, plan_file: str, rows: int, has_room: bool) -> list[str]:
    """What the plan allows, and the commands that it leaves room for."""
    limit = most_scored_rows(plan, rows - plan.held_out(rows))
    shown = f", the {plan.held_out(rows):,} held-out ones of each beginning included"
    held_out = shown if shows_quality(plan, rows) else ""
    allowed = f"the plan allows {limit:,} scored rows in all{held_out}"
    new_rows = (
        f"next, on all sides, for new rows: plumbob party align {plan_file} --name NAME --data FILE, then "
        f"plumbob party predict {plan_file} --name NAME --data FILE"
    )
    all_rows = f"; for the {rows:,} aligned rows: plumbob party predict {plan_file}" if has_room else ""
    return [*([allowed] if limit else []), new_rows + all_rows]
