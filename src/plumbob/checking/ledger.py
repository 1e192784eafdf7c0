"""The knowledge ledger: what each party's equations are about, how many are independent, how many unknowns there are.

Every release to a party adds equations: its sums one per column and step, opened weights one per column and run. They
are about the same people, so they add up over steps, epochs and runs. That sum against the unknowns, and not
"batch size > columns", decides whether something leaks. Here the accounts are drawn up from a plan, in general
position; the auditor draws up the same ones from a party's real view.

An account for labels takes the other parties' scores as standing still, which is nearly so (docs/check.md). One for
scores has one unknown per visit, because scores move. One for features has the peers' columns up to a rotation
(Theorem 3.6).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.checking.figures import Figures
from plumbob.checking.words import sentence
from plumbob.data import steps_per_epoch
from plumbob.plan import Party, Plan

Counts = NDArray[np.int64]
Unknown = Literal["labels", "scores", "features"]


@dataclass(frozen=True, eq=False)
class Account:
    """One party's equations about one kind of unknown, step by step."""

    party: str
    unknown: Unknown
    about: str
    """The parties whose labels, scores or columns these are."""
    unknowns: int
    equations: Counts
    """The equations gained in each step."""
    ranks: Counts
    """How many of a step's equations are independent of one another."""
    totals: Counts
    """How many of all equations up to a step are independent; never more than the unknowns."""
    is_exact: bool
    """Whether the totals are the stacked equations' real rank; otherwise they are an upper bound."""

    @property
    def known(self) -> float:
        """The share of the unknowns that the equations can fix at the end."""
        return float(self.totals[-1]) / self.unknowns if self.unknowns and len(self.totals) else 0.0

    @property
    def equations_in_all(self) -> int:
        return int(self.equations.sum())

    def first_step_with(self, share: float) -> int | None:
        """The first step after which at least this share could be fixed; None if that never happens."""
        reached = np.flatnonzero(self.totals >= share * self.unknowns)
        return int(reached[0]) + 1 if self.unknowns and len(reached) else None


@dataclass(frozen=True)
class Ledger:
    """All accounts of a plan or of one view."""

    accounts: tuple[Account, ...]

    def account(self, party: str, unknown: Unknown) -> Account | None:
        """A party's account of one kind; None where it has none."""
        return next((one for one in self.accounts if (one.party, one.unknown) == (party, unknown)), None)


# From a plan.


def planned(plan: Plan, rows: int | None = None, runs: int = 1) -> Ledger:
    """What a plan will give to each party, its columns in general position."""
    figures = Figures.of(plan, rows, runs)
    names = [party.name for party in plan.learners if figures.columns(party.name)]
    return Ledger(tuple(account for name in names for account in _planned_accounts(figures, name)))


def _planned_accounts(figures: Figures, party: str) -> Iterator[Account]:
    lengths = batch_lengths(figures)
    columns = figures.columns(party)
    if figures.sees_sums:
        equations = np.full(len(lengths), columns)
        ranks = np.minimum(columns, lengths)
    else:
        equations = ranks = opened_weights(figures, len(lengths), columns)
    for unknown, about, unknowns in unknowns_of(figures, party):
        fresh = _without_repetitions(figures, ranks, columns) if unknown == "labels" and figures.sees_sums else ranks
        totals = np.minimum(np.cumsum(fresh), unknowns)
        yield Account(party, unknown, about, unknowns, equations, ranks, totals, is_exact=False)


def batch_lengths(figures: Figures) -> Counts:
    """The rows of every batch, all runs one after the other."""
    steps = steps_per_epoch(figures.rows, figures.plan)
    epoch = np.full(steps, figures.batch)
    epoch[-1] = figures.longest_batch
    return np.tile(epoch, figures.visits)


def opened_weights(figures: Figures, steps: int, columns: int) -> Counts:
    """Equations in `shares`: only the weights at the end of each run, if they are opened."""
    equations = np.zeros(steps, dtype=np.int64)
    if figures.plan.opens_weights:
        equations[figures.steps - 1 :: figures.steps] = columns
    return equations


def unknowns_of(figures: Figures, party: str) -> Iterator[tuple[Unknown, str, int]]:
    """(kind, whose, how many) for each kind of unknown that a party's equations are about."""
    plan, rows = figures.plan, figures.rows
    if party != plan.label_party.name:
        yield "labels", plan.label_party.name, rows
    columns = figures.peer_columns(party)
    if columns and figures.sees_sums:
        names = " + ".join(peer.name for peer in figures.peers(party))
        yield "scores", names, rows * figures.visits
        yield "features", names, columns * rows + columns - columns * (columns - 1) // 2


def _without_repetitions(figures: Figures, ranks: Counts, rank: int) -> Counts:
    """The rank that each step adds to earlier ones: none for a batch seen before, equal totals in every epoch."""
    per_epoch = steps_per_epoch(figures.rows, figures.plan)
    epochs = ranks.reshape(-1, per_epoch).copy()
    if figures.plan.batches == "full":
        epochs[1:] = 0
    elif figures.plan.batches == "fixed":
        epochs.reshape(figures.runs, figures.passes, per_epoch)[:, 1:] = 0
    if figures.visits_everybody:
        is_new = epochs[:, -1] > 0
        is_new[0] = False
        epochs[is_new, -1] = np.maximum(0, epochs[is_new, -1] - rank)
    return epochs.ravel()


# What comes on top: equations that come otherwise than step by step, or fix more than one unknown each.


def gains(figures: Figures) -> Iterator[str]:
    """A sentence on each gain by decoding, hidden slots, group counts, opened weights and scores, and the arbiter."""
    plan = figures.plan
    for party in plan.learners:
        for source, says in _gains_of(figures, party) if figures.columns(party.name) else ():
            yield sentence(f"{figures.spoken(party.name)}, {source}: {says}.")
    if plan.arbiter is not None and plan.unmasked_gradients_for_the_arbiter:
        columns = sum(figures.columns(party.name) for party in plan.learners)
        arbiter = figures.spoken(plan.arbiter.name)
        yield sentence(f"{arbiter}, unmasked gradients: {columns} sums per step, in the clear.")


def _gains_of(figures: Figures, party: Party) -> Iterator[tuple[str, str]]:
    """(source, what it gives) of one party."""
    plan, columns = figures.plan, figures.columns(party.name)
    if not figures.sees_sums:
        if plan.opens_weights and party.role == "features":
            yield "opened weights", f"{columns} equations per run about everybody's labels"
        return
    if party.role == "features":
        yield from _decoding_gains(figures, columns)
    if plan.kind.lends_keys:
        bits, readable = sum(figures.reply_widths(party.name)), figures.readable_residuals(party.name)
        room = f"{readable} residuals of a batch of {figures.longest_batch:,}"
        yield "replies", f"{bits} bits per step hold {columns} sums, or {room}"


def _decoding_gains(figures: Figures, columns: int) -> Iterator[tuple[str, str]]:
    where = "every step" if figures.has_labels_alone else "the first step from zero weights"
    if figures.has_labels_alone or figures.plan.start == "zero":
        solve, box, lattice = (min(figures.batch, reach * columns) for reach in (1, 2, 5))
        yield (
            "integer and lattice decoding",
            f"{where}: {columns} equations about {figures.batch} labels that can only be -1 or +1; solving reads "
            f"{solve} of them, limits on the labels {box}, integer and lattice decoding about {lattice}",
        )
        counts = f"{columns} sums; for a column with two values, exactly how many positives each value has"
        yield "group counts", f"{where}: {counts}"
    chosen = min(columns, figures.batch)
    yield "chosen rows", f"{chosen} chosen people's residuals per step, at any batch size"
