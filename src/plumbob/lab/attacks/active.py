"""What an active attack is, what it keeps, and the claim that follows from that alone.

An active attacker is a party of the protocol: it gets its own table, the plan and its channels, exactly as an honest
one does. In `shares` it is a hook on the program's quantities (hooks.py); in `exchange` and `arbiter`, where it lays
other ciphertexts into its messages, it overrides a step. Who runs a simulation casts it for a party's part, and asks it
for its claim afterwards (audit/redteam.py).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.checking.rules import rule_for
from plumbob.errors import DataError
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.integers import is_noisy
from plumbob.lab.attacks.interface import Claim, Condition, LabelClaim, NotApplicable, ValueClaim, View
from plumbob.plan import Plan
from plumbob.protocol.party import TrainingParty

if TYPE_CHECKING:
    from plumbob.lab.attacks.hooks import Hook


@dataclass(frozen=True)
class ActiveAttack:
    """An active attack under the name that the command line and reports use."""

    name: str
    by: Literal["label", "features"]
    arm: Callable[[Plan, str], "type[TrainingParty] | Hook | NotApplicable | None"]
    """The hook on the named party's quantities, or the class that plays its part; else why there is nothing to
    work on, or None where the plan is judged by the rule alone."""
    reference: str = ""
    """The theorem or section of the paper, or where it goes beyond; without it, what the rule says."""
    target: Literal["labels", "scores", "features", ""] = ""
    """What it is after; without it, what the others' residuals give away: labels to a feature party, else scores."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", self.target or ("labels" if self.by == "features" else "scores"))
        object.__setattr__(self, "reference", self.reference or rule_for(self.name, self.by, self.target).reference)

    def claim(self, party: object, view: View) -> Claim | NotApplicable:
        """What the attacking party believes after its run, from its own readings and its own view only."""
        return claim_of(party, view)


@dataclass(frozen=True, repr=False, eq=False)
class Reading:
    """What was read in one step: for some training rows, the sum of the other parties' parts of their residuals."""

    step: int
    rows: NDArray[np.intp]
    residuals: Vector


class AttackingParty:
    """What an attacking party has beside its honest half."""

    @cached_property
    def readings(self) -> list[Reading]:
        """In the order of the steps."""
        return []

    @abstractmethod
    def conditions(self) -> tuple[Condition, ...]:
        """What theory asks for, evaluated on this run."""

    def targets(self) -> NDArray[np.intp] | None:
        """The rows that the attack was after; None: all."""
        return None

    def believed(self, view: View) -> Claim:
        """What its readings say: labels, read by a feature party; the peer's scores, read by the label party."""
        return _score_claim(self, view) if view.is_label_party else _label_claim(self, view)


def claim_of(party: object, view: View) -> Claim | NotApplicable:
    """What a party that attacked believes; nothing where it read nothing."""
    if not isinstance(party, AttackingParty):
        raise DataError(f"{view.party}: expected a party that attacked, got an honest one; train with what `arm` gives")
    if not party.readings:
        return NotApplicable("no step of this run had room for a reading", party.conditions())
    return party.believed(view)


def _label_claim(party: AttackingParty, view: View) -> LabelClaim:
    """A residual is (the others' scores) - 2y: its sign is the label's while those scores stay under the threshold."""
    # Scores grow from a small start, so the first visit shows labels best; against noise only the mean helps.
    chosen = mean_residuals if is_noisy(view.plan) else first_residuals
    residuals = chosen(party.readings, view.rows)
    return LabelClaim(
        beliefs=-residuals,
        # A noisy residual is read exactly and still determines nothing.
        is_determined=~np.isnan(residuals) & (noise_on_residuals(view) == 0) & (view.plan.noise != "rows"),
        conditions=party.conditions(),
        targets=party.targets(),
    )


def _score_claim(party: AttackingParty, view: View) -> ValueClaim:
    """Without labels, the others' part of a residual is their score: determined if read at the row's last visit."""
    scores, steps, last = np.full(view.rows, np.nan), np.zeros(view.rows), np.zeros(view.rows)
    for reading in party.readings:
        scores[reading.rows] = reading.residuals
        steps[reading.rows] = reading.step
    for batch in view.batches:
        last[batch.rows] = batch.step
    return ValueClaim(
        target="scores",
        against=" + ".join(peer.name for peer in view.peers),
        values=scores[:, None],
        is_determined=(steps == last) & (steps > 0) & (noise_on_residuals(view) == 0),
        conditions=party.conditions(),
    )


def first_residuals(readings: list[Reading], rows: int) -> Vector:
    """What was read of each row when it was first read; NaN where nothing was."""
    residuals = np.full(rows, np.nan)
    for reading in reversed(readings):
        residuals[reading.rows] = reading.residuals
    return residuals


def mean_residuals(readings: list[Reading], rows: int) -> Vector:
    """The mean over all readings of each row; NaN where there was none."""
    totals, counts = np.zeros(rows), np.zeros(rows)
    for reading in readings:
        totals[reading.rows] += reading.residuals
        counts[reading.rows] += 1
    means: Vector = np.divide(totals, counts, out=np.full(rows, np.nan), where=counts > 0)
    return means
