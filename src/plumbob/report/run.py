"""The page of a run: the result, who learns what, and how it was done; the lines that a terminal shows of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plumbob.checking.filing import agreements, judgement_of_run
from plumbob.checking.judgement import Headlines, PlanJudgement
from plumbob.counting import counted, seconds, size
from plumbob.model.links import link_in_words
from plumbob.plan import KEYS, Plan, SettingKey, in_words
from plumbob.record import PartyRecord, RunRecord
from plumbob.report import templates
from plumbob.report.attacked import RedTeam, red_team
from plumbob.report.charts import Chart
from plumbob.report.quality import (
    Fact,
    epochs_table,
    gain_in_words,
    quality_charts,
    quality_facts,
    quality_table,
)
from plumbob.report.receipt import receipt_table, work_table
from plumbob.report.tables import PageTable
from plumbob.report.verdicts import pairs_table

ROLES = {"label": "holds the label", "features": "holds columns only", "arbiter": "holds the key"}
PUBLIC_RULE = "by the public rule"
ALWAYS_SHOWN = ("protocol", "epochs", "batches", "noise", "open")
WARNING_TEST_KEYS = "The keys were for tests only: too short to protect anything."
WARNING_CALCULATED = (
    "Calculated in the clear: nothing was encrypted and nothing was sent. What the parties see, and the weights, are "
    "those of the plan's protocol up to rounding. Time and traffic are not, and attacks that tamper with messages were "
    "left out."
)
WARNING_RANDOMNESS = "The randomness did not come from the operating system: nothing in this run was secret."
NOT_ATTACKED = "This run has not been attacked. What follows is `check`'s prediction from the plan alone."


@dataclass(frozen=True)
class NamedTable:
    """A table under a heading."""

    heading: str
    table: PageTable


@dataclass(frozen=True)
class PlanTables:
    """Who takes part, what is switched on, and the plan's file."""

    parties: PageTable
    settings: PageTable
    text: str


@dataclass(frozen=True)
class RunPage:
    """Everything that a run's page shows; what its record does not hold is empty."""

    title: str
    about: str
    warnings: Sequence[str]
    # The result.
    result: Sequence[str]
    facts: Sequence[Fact]
    quality: Sequence[PageTable]
    charts: Sequence[Chart]
    inputs: Sequence[NamedTable]
    """The columns of each party's table, with the lowest and the highest value."""
    more: Sequence[NamedTable]
    """Tables to unfold: each epoch, the weights."""
    # Who learns what.
    basis: Sequence[str]
    """What the headlines rest on, and what they do not settle."""
    headlines: Headlines | None
    pairs: PageTable | None
    attacked: RedTeam | None
    limits: Sequence[str]
    # How it was done.
    plan: PlanTables
    costs: str
    """How long it took; empty where nothing was encrypted."""
    work: PageTable
    receipt: PageTable | None


def page_of(record: RunRecord, known: PlanJudgement | None = None) -> str:
    """The page of a run; `known` is what was judged before: without it, the run is judged here."""
    return templates.page_of("run.html", run_page(record, known))


def run_page(record: RunRecord, known: PlanJudgement | None = None) -> RunPage:
    """A run's page as values."""
    known = known or judgement_of_run(record)
    found = record.findings or record.predicted
    is_work_shown = record.is_encrypted and bool(record.parties)
    return RunPage(
        title=record.parsed_plan.title or f"A run with {record.protocol}",
        about=summary(record),
        warnings=warnings(record),
        result=list(_result(record)),
        facts=[*quality_facts(record), *_cost_facts(record)],
        quality=[quality_table(rows, models) for rows, models in record.quality.items()],
        charts=list(quality_charts(record)),
        inputs=[NamedTable(party.name, _inputs_table(party)) for party in record.parties if party.inputs],
        more=list(_more(record)),
        basis=list(_basis(record, known)),
        headlines=known.headlines if found else None,
        pairs=pairs_table(record.parsed_plan, found),
        attacked=red_team(record),
        limits=limits_of(record, known),
        plan=plan_tables(record.parsed_plan, record.plan, record.rows),
        costs=_costs(record) if is_work_shown else "",
        work=work_table(record),
        receipt=receipt_table(record, known.noise) if record.parties else None,
    )


# The result.


def _result(record: RunRecord) -> Iterator[str]:
    """Sentences on how the run ended, what joining gave, and what a score says."""
    if not record.is_finished:
        yield f"The run did not finish: {record.status}."
    yield from gain_in_words(record)
    if record.predicted_class:
        yield f"The model predicts the class {record.predicted_class}."
    if record.quality:
        yield link_in_words(record.parsed_plan)
        yield from (f"{remark[:1].upper()}{remark[1:].removesuffix('.')}." for remark in record.remarks)


def _cost_facts(record: RunRecord) -> Iterator[Fact]:
    if record.seconds:
        yield Fact("time", seconds(record.seconds), steps_of(record))
    sent = sum(party.bytes_sent for party in record.parties)
    if sent:
        whose = "all parties together" if len(record.parties) > 1 else f"sent by {record.parties[0].name}"
        yield Fact("traffic", size(sent), whose)


def _inputs_table(party: PartyRecord) -> PageTable:
    rows = [[column.name, column.kind, column.lowest or "-", column.highest or "-"] for column in party.inputs]
    return PageTable(["column", "kind", "lowest", "highest"], rows)


def _more(record: RunRecord) -> Iterator[NamedTable]:
    if record.epochs:
        yield NamedTable("Quality after each epoch", epochs_table(record))
    for party in record.parties:
        if party.coefficients is not None:
            yield NamedTable(f"Weights of {party.name}", _weights_table(party))


def _weights_table(party: PartyRecord) -> PageTable:
    """A party's weights in the units of its own table."""
    weights = zip(party.columns, party.coefficients or (), strict=True)
    rows = [[name, f"{value:.6g}"] for name, value in weights]
    return PageTable(["column", "coefficient"], [*rows, ["(offset)", f"{party.offset:.6g}"]])


# Who learns what.


def _basis(record: RunRecord, known: PlanJudgement) -> Iterator[str]:
    if known.left_out:
        yield partial_sentence(known.left_out)
    if not record.findings and record.predicted:
        yield NOT_ATTACKED
    hidden = [party.name for party in record.parties if party.coefficients is None and party.role != "arbiter"]
    if hidden and record.is_finished:
        yield f"Weights that were never opened: those of {', '.join(hidden)}."


def partial_sentence(left_out: Sequence[str]) -> str:
    """A sentence that an audit with only some attacks decides nothing."""
    return f"This audit is partial and says nothing about safety. These attacks were not run: {', '.join(left_out)}."


def limits_of(record: RunRecord, known: PlanJudgement) -> list[str]:
    """What this plan leaves open, and the run's own notes; mistakes of `check` stand beside its predictions."""
    wrong = (
        {str(agreement) for agreement in agreements(record.predicted, record.findings)} if record.findings else set()
    )
    return [*known.limits, *(note for note in record.notes if note not in wrong)]


# How it was done.


def plan_tables(plan: Plan, text: str, rows: int = 0) -> PlanTables:
    """The tables of a plan; `rows` are training rows, if known."""
    parties = [[party.name, ROLES[party.role], str(party.features)] for party in plan.parties]
    changed = [[key.name, _value_of_key(plan, key, rows), _default(plan, key)] for key in KEYS if _is_shown(plan, key)]
    note = "What differs from the defaults, and what protects."
    return PlanTables(
        PageTable(["party", "role", "columns"], parties), PageTable(["setting", "here", "default"], changed, note), text
    )


def _is_shown(plan: Plan, key: SettingKey) -> bool:
    if key.name == "key_bits":
        # A lattice has parameter sets, which the receipt names; `clear` has no keys.
        return plan.kind.has_key_bits
    if key.name == "batch_size":
        return plan.batches != "full"
    return key.name in ALWAYS_SHOWN or (key.name != "title" and getattr(plan, key.name) != plan.default(key))


def _value_of_key(plan: Plan, key: SettingKey, rows: int) -> str:
    """The value that the run uses: for epochs left to the public rule, the rule's."""
    if key.name != "epochs" or plan.epochs:
        return _setting(getattr(plan, key.name))
    return PUBLIC_RULE if not rows else f"{in_words(plan.levels(rows))} ({PUBLIC_RULE})"


def _default(plan: Plan, key: SettingKey) -> str:
    default = plan.default(key)
    return PUBLIC_RULE if key.name == "epochs" and not default else _setting(default)


def _setting(value: object) -> str:
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def _costs(record: RunRecord) -> str:
    return f"{seconds(record.seconds)} for {steps_of(record)} on this machine, engine {record.engine}."


def steps_of(record: RunRecord) -> str:
    """How many steps there were, in words; where each uses all rows, a step is a pass."""
    return counted(record.steps, *record.parsed_plan.step_nouns)


def summary(record: RunRecord) -> str:
    """One line on what ran, on how many rows, and for how long."""
    plan = record.parsed_plan
    named = "lattice keys" if plan.kind.has_lattices else f"{plan.key_bits}-bit keys"
    keys = f", {named}" if record.is_encrypted else ""
    if record.is_calculated:
        keys = ", calculated in the clear"
    engine = "" if record.engine in ("", "none") else f", engine {record.engine}"
    return (
        f"{record.protocol}{keys}{engine}: {record.status}, {record.rows:,} training rows, {steps_of(record)}, "
        f"{seconds(record.seconds)}"
    )


def warnings(record: RunRecord) -> list[str]:
    """Warnings where the run's protection or figures mean nothing, in words."""
    lines = []
    if record.is_calculated:
        lines.append(WARNING_CALCULATED)
    if record.key_profile == "test-only" and record.is_encrypted:
        lines.append(WARNING_TEST_KEYS)
    if record.randomness != "kernel":
        lines.append(WARNING_RANDOMNESS)
    return lines
