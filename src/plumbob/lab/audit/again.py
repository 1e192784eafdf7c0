"""Repeating the same training: runs that an attack has to itself, and scores of rows after them.

Rows are as training saw them, and nothing is encrypted where nothing else matters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Labels, Matrix, Vector
from plumbob.data import Shard, Table, build_shard
from plumbob.data.tables import Column
from plumbob.errors import RemoteProtocolError
from plumbob.lab.attacks import Claim, NotApplicable, View
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.attacks.interface import HONEST, Changed, Claims
from plumbob.lab.attacks.label_stacked import MOST_ENTRIES
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange.engines.interface import PaillierEngine
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.parties import party_class
from plumbob.lab.simulate.unhidden import UnhiddenEngine
from plumbob.plan import KEYS, Plan
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.party import AfterStep, TrainingParty

# Rows x columns x epochs that an active attack trains on again: about two minutes on two cores.
CELLS = 50_000_000
# Real Paillier and Okamoto-Uchiyama ciphertexts take about eight times as long as unhidden ones and as lattices.
ENCRYPTED_COST = 8
NO_EVIDENCE = {"evidence": "none", "days": 0, "auditors": {}}
"""Nobody replays a run that an attack has to itself, and what is calculated in the clear cannot be replayed."""


def train_again(
    truth: Truth,
    plan: Plan,
    *,
    labels: Labels | None = None,
    only: NDArray[np.intp] | None = None,
    instead: Mapping[str, type[TrainingParty]] = MappingProxyType({}),
    paillier: PaillierEngine | None = None,
    progress: AfterStep | None = None,
) -> Run:
    """Train on the run's own rows as training saw them, but for `labels`; `only` some of the rows are brought."""
    tables = tables_again(truth)
    if labels is not None:
        name = truth.plan.label_party.name
        tables[name] = replace(tables[name], labels=labels)
    if only is not None:
        tables = {name: table.take(only) for name, table in tables.items()}
    shards = {name: _as_it_is(plan, name, table) for name, table in tables.items()}
    return train(plan, tables, shards=shards, instead=instead, paillier=paillier, progress=progress)


def _as_it_is(plan: Plan, name: str, table: Table) -> Shard:
    """Rows that were scaled with all of a party's file, and clipped: doing so once more would make others of them."""
    split = {party.name: party.features for party in plan.learners}
    bits = {"feature_bits": plan.feature_bits, "intercept": plan.intercept}
    plain = Plan.for_columns(tuple(split.values()), protocol="clear", scale="none", learning_rate=1.0, **bits)
    return build_shard(table, plain, plain.learners[list(split).index(name)].name, b"")


def plan_again(truth: Truth) -> Plan:
    """The plan for the same training of all rows that the run was trained on."""
    # Under noise for whole rows the public rule's passes and norm follow from the rows.
    rows = truth.rows if truth.plan.noise == "rows" else 0
    return truth.plan.replace(test_share=0.0, rows=rows, **NO_EVIDENCE)


def tables_again(truth: Truth) -> dict[str, Table]:
    """Every party's training rows, as training saw them."""
    ids = tuple(str(row) for row in range(truth.rows))
    tables = {}
    for name in truth.views:
        columns = tuple(Column(f"x{place}", values) for place, values in enumerate(truth.features(name).T))
        is_label_party = name == truth.plan.label_party.name
        labels = truth.is_positive.astype(np.int8) if is_label_party else None
        tables[name] = Table(ids, columns, labels, (0, 1) if is_label_party else None)
    return tables


def in_clear(plan: Plan) -> Plan:
    """The plan without cryptography, and without an arbiter."""
    # What was the protocol's own default must not become that of `clear`: it would be another training.
    same = {key.name: getattr(plan, key.name) for key in KEYS if key.is_fitted}
    # Outside the public rule, how many passes there are depends on the protocol.
    same["epochs"] = plan.epochs if plan.follows_rule and plan.noise == "none" else plan.passes_without_sample
    same["row_norm"] = plan.joint_norm
    plain = {"replies": "packed", "open": "own", "unmasked_gradients_for_the_arbiter": False}
    return plan.replace(protocol="clear", parties=plan.learners, **{**same, **plain, **NO_EVIDENCE})


@dataclass(repr=False, eq=False)
class RunsAgain:
    """One attacker's stage: the same rows and plan, except for what it changes."""

    truth: Truth
    by: str
    scored: int
    progress: AfterStep | None = None
    """Hears of the steps of a run that the attacker takes part in."""
    _own_run: Truth | None = None
    """The truth about the last run that it took part in."""

    @property
    def view(self) -> View:
        return self.truth.views[self.by]

    def begin(self, progress: AfterStep | None) -> None:
        """Forget the run that the last attack took part in."""
        self.progress, self._own_run = progress, None

    def take_part(self, hook: Hook) -> Claims:
        hook.prepare(self.view, int(self.truth.is_positive.sum()))
        plan = plan_again(self.truth)
        if (epochs := epochs_within(plan, self.truth.rows)) < plan.passes(self.truth.rows):
            plan = plan.replace(epochs=epochs)
        attacker = {self.by: hooked(party_class(plan.kind), hook)}
        engine = UnhiddenEngine() if plan.kind.lends_keys else None
        try:
            run = train_again(self.truth, plan, instead=attacker, paillier=engine, progress=self.progress)
        except RemoteProtocolError as error:
            return NotApplicable(f"The honest peer ended the run: {error}", is_refused=True)
        again = Truth.of(run)
        # What its own part of the model predicts is taken from the honest run: it may have spoilt its part in this one.
        self._own_run = Truth(self.truth.plan, {**again.views, self.by: self.view})
        return hook.claim(run.parties[self.by], again.views[self.by])

    def truth_about(self, claim: Claim | NotApplicable) -> Truth:
        """The truth that a claim is scored against: about weights, where everybody's are known."""
        if isinstance(claim, Claim) and claim.target == "weights":
            return self.opened
        return self._own_run or self.truth

    def known(self, rows: NDArray[np.intp]) -> Matrix:
        return np.hstack([self.truth.features(name)[rows] for name in self._peers])

    def scores(self, rows: NDArray[np.intp], changed: Changed) -> Vector:
        own = _at_their_mean(tables_again(self.truth)[self.by])
        return self._scores_after(changed, rows, own)

    def shown(self, rows: NDArray[np.intp], changed: Changed = HONEST) -> Vector:
        if changed is not HONEST:
            return self._scores_after(changed, rows)
        parts = (self.truth.views[name].X[rows] @ view.weights for name, view in self.opened.views.items())
        return self._as_opened(np.sum(list(parts), axis=0))

    @cached_property
    def opened(self) -> Truth:
        """The recorded run with everybody's weights; where they stay shared, the same training in the clear."""
        has_weights = all(len(view.weights) for view in self.truth.views.values() if view.X.shape[1])
        return self.truth if has_weights else Truth.of(train_again(self.truth, in_clear(plan_again(self.truth))))

    @property
    def _peers(self) -> list[str]:
        plan = self.truth.plan
        return [party.name for party in plan.learners if party.name != self.by and party.features]

    def _scores_after(self, changed: Changed, rows: NDArray[np.intp], own: Table | None = None) -> Vector:
        asked = {name: table.take(rows) for name, table in tables_again(self.truth).items()}
        if own is not None:
            asked[self.by] = own.take(rows)
        return self._as_opened(self._run(changed).model.scores(asked))

    def _run(self, changed: Changed) -> Run:
        """Run with a hook as it is, and without one in the clear: honest messages give the same numbers."""
        plan = plan_again(self.truth)
        if changed.hook is not None:
            return train_again(self.truth, plan, instead={self.by: hooked(party_class(plan.kind), changed.hook)})
        # A plan's seed would give every run of `clear` the same noise, which no two runs of parties have.
        seed = plan.seed if plan.noise == "none" else 0
        plan = in_clear(plan).replace(seed=seed)
        if changed.only is not None and plan.batches != "full":
            # Fewer rows than a batch has are one batch.
            plan = plan.replace(batch_size=min(plan.batch_size, len(changed.only)))
        return train_again(self.truth, plan, labels=changed.labels, only=changed.only)

    def _as_opened(self, scores: Vector) -> Vector:
        """The scores as they are opened: cut to their width where they are opened from shares."""
        if not self.truth.plan.is_closed:
            return scores
        unit = 2.0**OPENED_SCORES.fraction_bits
        return np.asarray(np.rint(scores * unit) / unit, dtype=np.float64)


def _at_their_mean(table: Table) -> Table:
    """The table with columns that add only a constant to a score."""
    columns = (replace(column, values=np.full(len(table), np.mean(column.values))) for column in table.columns)
    return replace(table, columns=tuple(columns))


# The budget of one attack's work, and the sentences about it in the output and in the report.


def epochs_within(plan: Plan, rows: int) -> int:
    """How many of the plan's epochs an active attack may run, at least one."""
    is_cheap = plan.kind.has_lattices or plan.kind.lends_keys
    cells = rows * plan.columns * (1 if is_cheap else ENCRYPTED_COST)
    return max(1, min(plan.passes(rows), CELLS // max(1, cells)))


def budget_note(plan: Plan, rows: int) -> str:
    """A note for the record: what the attacks were allowed, and whether it was enough."""
    epochs, passes = epochs_within(plan, rows), plan.passes(rows)
    enough = f"all {passes}" if epochs == passes else f"the first {epochs} of {passes}"
    return (
        f"Work budget of each attack: an active one trains again for at most {CELLS:,} cells (rows x columns x epochs; "
        f"encrypted ones count {ENCRYPTED_COST} times), here {enough} epochs; label-stacked solves at most "
        f"{MOST_ENTRIES:,} entries."
    )


def shortened(truth: Truth) -> str:
    """The sentence that a finding of an active attack adds where the budget was not enough; empty otherwise."""
    epochs, passes = epochs_within(truth.plan, truth.rows), truth.plan.passes(truth.rows)
    return "" if epochs == passes else f" Its budget allowed {epochs} of {passes} epochs; with more it may reach more."
