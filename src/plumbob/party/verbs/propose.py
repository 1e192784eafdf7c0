"""`party propose`: makes one plan from everybody's tables, and writes the same file at every party."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from plumbob.caller import IN_PYTHON, Caller, Outcome, Tell
from plumbob.checking.advice import offered_price
from plumbob.checking.row_notes import loss_in_words, price_notes
from plumbob.checking.rules.remedies import ROW_EPSILON, small_delta
from plumbob.counting import size
from plumbob.data import ColumnChoices, Table
from plumbob.data.encoder import choices_of
from plumbob.data.summary import summarise
from plumbob.errors import PlanError
from plumbob.party.evidence import evidence_bytes
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import refuse_study
from plumbob.party.ledger import USUAL_DELTA, EpsilonLimit
from plumbob.party.log import logged_verb
from plumbob.party.proposal import Proposal
from plumbob.party.proposal import propose as propose_to_peers
from plumbob.party.rows import whole_table
from plumbob.party.runs import open_journal
from plumbob.party.settings import HomeSettings
from plumbob.plan import Party, Plan
from plumbob.plan.encodings import DraftedEncoding, TableSize, suggested_keys
from plumbob.privacy.rows import RowSpending
from plumbob.protocol.row_noise import spending_of_a_run
from plumbob.protocol.shares.shape import RunShape

NO_CHOICES = ColumnChoices()
NO_SIZE = TableSize(1, 0, 1)
"""The size of a table that nobody has counted yet."""
MOST_RUNS = 100
"""Up to how many runs are counted in words."""


@logged_verb
def propose(
    home: GivenHome,
    out: str | Path = "joint.toml",
    *,
    reading: ColumnChoices = NO_CHOICES,
    caller: Caller = IN_PYTHON,
    **keys: Any,
) -> Outcome:
    """Agree on a plan with the peers, on all sides at once, and write its file.

    `keys` change the plan's keys, at the party that has the label.
    """
    refuse_study(keys.get("protocol", ""))
    out, opened = Path(out), _with_choices(Home.open(home), reading)
    own = whole_table(opened)
    # Whoever names a column of weights wants them used.
    weighs = {} if own.weights is None else {"row_weights": True}
    drafts = _Drafts(own, {**weighs, **keys})
    proposal = _prepare(opened, drafts, out)
    plan, reason = _agree_on_plan(opened, proposal, caller.tell)
    remark = "" if reason is None else reason.sentence
    # Everybody reads the same price: what the draft was made for, which `check` and `sign` take too.
    drafted = trained_rows(len(own), plan) if reason is None else reason.rows
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(plan.to_toml(remark), encoding="utf-8")
    summary = summarise(own, choices_of(plan))
    widths = ", ".join(f"{party.name} {party.features}" for party in plan.learners)
    is_offered = bool(opened.settings.label) and drafts.may_offer_noise
    lines = [
        *summary.lines(),
        *([remark] if remark else []),
        f"the plan: {plan.protocol}, {widths} columns; {out}, hash {plan.hash()}",
        *([offer_in_words(plan, trained_rows(drafts.most_rows, plan))] if is_offered else []),
        *rows_in_words(plan, trained_rows(len(own), plan)),
        *(price_notes(plan, drafted) if plan.noise == "rows" else []),
        *runs_in_words(plan, opened.settings, trained_rows(len(own), plan)),
        *evidence_in_words(plan, opened, len(own)),
        f"next, on all sides: plumbob party align {out}; then plumbob party sign {out}; then plumbob party train {out}",
    ]
    fields = {"plan": plan.to_dict(), "hash": plan.hash(), "out": str(out), "table": summary.to_dict(), "lines": lines}
    return Outcome(fields)


def evidence_in_words(plan: Plan, home: Home, rows: int) -> Iterator[str]:
    """What keeping evidence gives and costs, or what it would take."""
    if plan.is_replayed:
        label = plan.label_party.name
        yield (
            f"scores stay shut until {label}'s auditor has replayed {label}'s training and found it clean; those "
            "of held-out rows too (--release always opens them when training ends)"
        )
    if not plan.has_evidence_of(home.identity.name):
        if plan.keeps_evidence:
            kept_by = " and ".join(name for name, _ in plan.auditors)
            yield f"evidence is kept by {kept_by}; this party has no auditor and keeps none"
        elif home.settings.evidence_key:
            yield (
                "no evidence is kept, although this party has an auditor: a draft keeps it where every party has one, "
                'or between two the label party (evidence_key in party.toml), and open = "never"; with --evidence keep '
                "those that have one keep it"
            )
        return
    room = size(evidence_bytes(plan, home.identity.name, rows))
    yield (
        f"evidence is kept for {plan.days} days, at most about {room} here: your auditor can show that you "
        "kept to the protocol, and a party that sent a single false byte cannot. Whoever "
        "opens it reads, with a peer's traffic, every residual, weight and score of the run (--evidence none keeps "
        "none, --set days=N says how long)"
    )
    if plan.noise == "rows":
        yield (
            "with noise for rows, whoever opens a party's evidence takes that party's noise away: plumbob party sign "
            "will ask for --accept-evidence"
        )


# The draft has noise for whole rows only where the label party asks for it, which is told what it does and costs.


def noise_keys(rows: int) -> dict[str, Any]:
    """The keys of the noise that is offered; `rows` are those that the label party's table can train on."""
    return {"noise": "rows", "epsilon": ROW_EPSILON, "delta": small_delta(USUAL_DELTA, rows)}


def trained_rows(most: int, plan: Plan) -> int:
    """The most rows that a run can train on: the rows in common are not known before they are aligned."""
    return max(1, most - plan.held_out(most))


def offer_in_words(plan: Plan, rows: int) -> str:
    """A sentence for the label party: what the draft without noise leaves open, and what noise is expected to cost."""
    price = offered_price(plan, rows)
    return (
        f"no noise is in the plan: noise for whole rows (epsilon {ROW_EPSILON:g}) is expected to cost"
        f" {loss_in_words(price.expected)} of AUC with {rows:,} training rows; without it, {plan.label_party.name}"
        " can read the row of a person of its choice if it invents labels; --noise rows adds it"
    )


def rows_in_words(plan: Plan, rows: int) -> Iterator[str]:
    """A warning where this party's table has more rows to train on than `shares` can run this plan with."""
    if rows > (most := RunShape(plan, rows).most_rows_proved):
        yield (
            f"WARNING: this plan trains on at most {most:,} rows, and this table has {rows:,}. If more than {most:,} "
            "are in common, plumbob party sign refuses the plan; fewer columns (--bins 0) or no --l2 allow more rows"
        )


def runs_in_words(plan: Plan, settings: HomeSettings, rows: int) -> Iterator[str]:
    """A sentence for every party: how many runs like this one its own limit allows on the same people."""
    if plan.noise != "rows":
        return
    limit = EpsilonLimit.of(plan, settings.most_epsilon, settings.most_delta, "most_epsilon")
    one, spent, runs = spending_of_a_run(plan, rows), RowSpending(), 0
    while runs < MOST_RUNS and limit.allows((spent + one).epsilon(limit.delta)):
        spent, runs = spent + one, runs + 1
    allowed = {0: "no run", 1: "one run"}.get(runs, f"{runs} runs")
    yield f"your budget allows {allowed} of this plan on the same people: {limit.words}"


# The drafts, and the session in which one of them is agreed on.


@dataclass
class _Drafts:
    """The label party's draft, before and after the sizes of everybody's tables are known."""

    table: Table
    keys: Mapping[str, Any]
    sizes: Sequence[TableSize] = ()
    """The sizes of everybody's tables, once they are known."""

    def draft(self, parties: tuple[Party, ...], sizes: Sequence[TableSize] = ()) -> tuple[Plan, DraftedEncoding | None]:
        """The plan with the encoding that these sizes call for, and what that is chosen from."""
        self.sizes = sizes
        return self._draft(parties, self.keys)

    @property
    def most_rows(self) -> int:
        """The most rows that can be common to all: own ones, until the others have said how many they have."""
        return min([len(self.table), *(size.rows for size in self.sizes)])

    @cached_property
    def may_offer_noise(self) -> bool:
        """Whether nobody said anything about noise, and the other keys allow it."""
        if {"noise", "epsilon", "label_flip_epsilon"} & set(self.keys):
            return False
        try:
            self._draft(
                (Party("a", "label", 1), Party("b", "features", 1)), {**self.keys, **noise_keys(self.most_rows)}
            )
        except PlanError:
            return False
        return True

    def _draft(self, parties: tuple[Party, ...], given: Mapping[str, Any]) -> tuple[Plan, DraftedEncoding | None]:
        keys, reason = suggested_keys(given, self.sizes or (NO_SIZE,))
        return Plan.for_columns([party.features for party in parties], **keys).replace(parties=parties), reason


def _prepare(home: Home, drafts: _Drafts, out: Path) -> Proposal:
    """The proposal of this party, with its table."""
    if out.exists():
        raise PlanError(f"{out}: there is a file already; remove it, or choose another name with --out")
    has_label = bool(home.settings.label)
    if drafts.keys and not has_label:
        raise PlanError("the party that has the label chooses the plan's keys; leave the flags out here")
    auditor = (
        "" if drafts.keys.get("evidence") == "none" or not home.settings.evidence_key else home.auditor.fingerprint
    )
    may_wait = drafts.keys.get("release") != "always"
    return Proposal(drafts.table, has_label, auditor, drafts.draft, may_wait)


def _with_choices(home: Home, reading: ColumnChoices) -> Home:
    """The home with what is said about the columns, kept for the commands that follow."""
    if reading == ColumnChoices():
        return home
    return home.with_settings(home.settings.with_reading(reading))


def _agree_on_plan(home: Home, proposal: Proposal, tell: Tell) -> tuple[Plan, DraftedEncoding | None]:
    """Agree in a session that leaves nothing behind: proposed again, everything is said again."""
    place = Path(tempfile.mkdtemp(prefix="propose-", dir=home.folder))
    try:
        with open_journal(place) as journal:
            return propose_to_peers(home, proposal, place, journal, tell)
    finally:
        shutil.rmtree(place, ignore_errors=True)
