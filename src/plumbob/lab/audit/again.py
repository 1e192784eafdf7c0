"""Repeating the same training: runs that an attack has to itself, and scores of rows after them.

Rows are as training saw them, and nothing is encrypted where nothing else matters.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import Column, Table
from plumbob.lab.attacks import View
from plumbob.lab.attacks.hooks import hooked
from plumbob.lab.attacks.interface import HONEST, Changed
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run, train
from plumbob.plan import KEYS, Plan
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.party import party_class
from plumbob.protocol.transcript import Transcript

NO_EVIDENCE = {"evidence": "none", "days": 0, "auditors": {}}
"""Nobody replays a run that an attack has to itself, and what is calculated in the clear cannot be replayed."""


def run_again(truth: Truth) -> Truth:
    """The same training of the same rows in the clear: with everybody's weights, and views as in `exchange`."""
    return Truth.of(train(in_clear(plan_again(truth)), tables_again(truth)))


def plan_again(truth: Truth) -> Plan:
    """The plan for the same training of rows that are prepared already, with the same widths."""
    plan = truth.plan.on(truth.rows)
    # Scaling what is scaled changes nothing, and the plan's widths rest on it; scaling what was clipped would.
    scale = "none" if plan.joint_norm else plan.scale
    # The public rate is for whitened columns, and these are, although the plan cannot say so again.
    rate = plan.rate if plan.joint_norm else plan.learning_rate
    as_they_are = {"missing": "refuse", "categorical": "refuse", "bins": 0, "test_share": 0.0, "rows": 0}
    return plan.replace(**as_they_are, **NO_EVIDENCE, scale=scale, learning_rate=rate)


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
    same["epochs"] = plan.epochs if plan.follows_rule else plan.passes_without_sample
    plain = {"replies": "packed", "open": "own", "unmasked_gradients_for_the_arbiter": False}
    return plan.replace(protocol="clear", parties=plan.learners, lattice_set=0, **{**same, **plain, **NO_EVIDENCE})


def as_seen_under(plan: Plan, run: Run) -> Run:
    """A run of `clear` with the views that the plan's own protocol would have given."""
    transcripts = {name: _as_seen(plan, transcript) for name, transcript in run.transcripts.items()}
    record = replace(
        run.record,
        plan=plan.to_toml(),
        parsed_plan=plan,
        plan_hash=plan.hash(),
        protocol=plan.protocol,
        transcripts=transcripts,
    )
    return Run(record, transcripts, run.model)


def _as_seen(plan: Plan, transcript: Transcript) -> Transcript:
    seen = replace(transcript, plan=plan.to_toml())
    if plan.kind.shows_gradients:
        return seen
    weights = transcript.weights if plan.opens_weights else np.zeros(0)
    return replace(seen, sums=np.zeros((len(transcript.sums), 0)), weights=weights)


@dataclass(frozen=True, repr=False, eq=False)
class RunsAgain:
    """One attacker's stage: the same rows and plan, except for what it changes."""

    truth: Truth
    by: str
    scored: int

    @property
    def view(self) -> View:
        return self.truth.views[self.by]

    @property
    def share_of_positives(self) -> float:
        return float(self.truth.is_positive.mean())

    def known(self, rows: NDArray[np.intp]) -> Matrix:
        return np.hstack([self.truth.features(name)[rows] for name in self._peers])

    def scores(self, rows: NDArray[np.intp], changed: Changed) -> Vector:
        own = _at_their_mean(tables_again(self.truth)[self.by])
        return self._scores_after(changed, rows, own)

    def shown(self, rows: NDArray[np.intp], own: Matrix | None = None, changed: Changed = HONEST) -> Vector:
        if changed is not HONEST:
            return self._scores_after(changed, rows)
        joint = np.zeros(len(rows))
        for name, view in self.opened.views.items():
            X = own if own is not None and name == self.by else self.truth.views[name].X[rows]
            joint += X @ view.weights
        return self._as_opened(joint)

    def weights(self, changed: Changed) -> Vector:
        """The weights in the units of the recorded run: a run on other rows scales its columns slightly differently."""
        run = self._run(changed)
        own = run.model.parts[self.by].encode(tables_again(self.truth)[self.by])
        own_scores = own @ run.transcripts[self.by].weights
        design = np.column_stack([self.truth.features(self.by), np.ones(self.truth.rows)])
        return np.asarray(np.linalg.lstsq(design, own_scores, rcond=None)[0][:-1], dtype=np.float64)

    @cached_property
    def opened(self) -> Truth:
        """The recorded run with everybody's weights; where they stay shared, the same training in the clear."""
        has_weights = all(len(view.weights) for view in self.truth.views.values() if view.X.shape[1])
        return self.truth if has_weights else run_again(self.truth)

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
        plan, tables = plan_again(self.truth), tables_again(self.truth)
        if changed.hook is not None:
            return train(plan, tables, instead={self.by: hooked(party_class(plan.kind), changed.hook)})
        if changed.labels is not None:
            tables[self.by] = replace(tables[self.by], labels=changed.labels)
        if changed.only is not None:
            tables = {name: table.take(changed.only) for name, table in tables.items()}
        if changed.without is not None:
            others = np.delete(np.arange(self.truth.rows), changed.without)
            tables = {name: table.take(others) for name, table in tables.items()}
        # A plan's seed would give every run of `clear` the same noise, which no two runs of parties have.
        seed = plan.seed if plan.noise == "none" else 0
        return train(in_clear(plan).replace(seed=seed), tables)

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
