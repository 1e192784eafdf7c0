"""The interface of attacks: what one sees, and what it may answer.

A `View` is one party's own rows and weights, the public plan and batches, and the sums that it received: the type has
no field for anything else. A passive attack is a function `View -> Claim`. Only the auditor knows the truth and scores.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking.rules import rule_of
from plumbob.data import Batch, batches
from plumbob.errors import DataError
from plumbob.lab import one_step
from plumbob.lab.transcript import Transcript
from plumbob.model import logistic
from plumbob.plan import Party, Plan
from plumbob.plan.sigmoids import SIGMOIDS, Sigmoid


@dataclass(frozen=True, repr=False, eq=False)
class View:
    """One party's knowledge of one run."""

    party: str
    plan: Plan
    X: Matrix
    """Own columns of the training rows as training saw them; the intercept, if any, is the label party's last one."""
    y: NDArray[np.int8] | None
    """The labels, at the label party."""
    seed: bytes
    """The seed that decides the batches; every party knows it."""
    start: Vector
    sums: Matrix
    """For each step, residuals @ own columns over the batch: the gradient before its scale. No columns in `shares`.

    Own draws of noise, which their party knows, are taken out of them."""
    weights: Vector
    """Own weights at the end; empty if they were never opened."""
    own_noise: Matrix | None = None
    """What own draws of noise added to the sums that its own weights were updated with, where they did."""
    flipped: NDArray[np.bool_] | None = None
    """The labels that the label party flipped before training, where the plan has it do so."""

    @classmethod
    def of(cls, transcript: Transcript, plan: Plan | None = None) -> "View":
        """A view from what one party really saw. A truncated or foreign transcript is refused.

        Whoever holds the run's plan gives it, so that the transcript's copy is compared and not parsed again.
        """
        if plan is None or transcript.plan != plan.to_toml():
            plan = Plan.from_toml(transcript.plan)
        view = cls(
            transcript.party,
            plan,
            transcript.X,
            transcript.y,
            transcript.seed,
            transcript.start,
            transcript.sums if transcript.own_noise is None else transcript.sums - transcript.own_noise,
            transcript.weights,
            transcript.own_noise,
            transcript.flipped,
        )
        _refuse_misfit(view)
        return view

    @property
    def role(self) -> str:
        return self.plan.party(self.party).role

    @property
    def is_label_party(self) -> bool:
        return self.role == "label"

    @property
    def peers(self) -> tuple[Party, ...]:
        """The other parties with columns, in the plan's order."""
        return tuple(party for party in self.plan.learners if party.name != self.party)

    @property
    def signs(self) -> Vector | None:
        """The labels that training used, as -1/+1, at the label party."""
        if self.y is None:
            return None
        signs = logistic.signs_of(self.y)
        return signs if self.flipped is None else np.where(self.flipped, -signs, signs)

    @property
    def sigmoid(self) -> Sigmoid:
        return SIGMOIDS[self.plan.sigmoid]

    @property
    def has_sums(self) -> bool:
        """Whether this party saw its gradients; never in `shares`, and not without columns."""
        return self.plan.kind.shows_gradients and self.X.shape[1] > 0

    @property
    def rows(self) -> int:
        return len(self.X)

    @cached_property
    def batches(self) -> list[Batch]:
        return list(batches(self.seed, self.rows, self.plan))

    @cached_property
    def weights_before(self) -> Matrix:
        """Own weights before each step, replayed from the start and the sums."""
        has_intercept = self.plan.intercept and self.is_label_party
        penalties = one_step.penalties(self.plan.l2, self.X.shape[1], has_intercept)
        descent, history = one_step.Descent.from_start(self.start), []
        returned = self.sums if self.own_noise is None else self.sums + self.own_noise
        for batch, sums in zip(self.batches, returned, strict=True):
            history.append(descent.weights)
            gradient = one_step.gradient(sums, len(batch), self.sigmoid)
            rate = self.plan.rate_over(len(batch))
            descent = descent.after(gradient, rate, self.plan.momentum, penalties)
        return np.array(history)

    @property
    def residual_rounding(self) -> float:
        """The standard deviation with which encoding changed each residual of another party; 0 in `clear`."""
        if not self.plan.kind.is_encrypted:
            return 0.0
        return 2.0**-self.plan.residual_bits * float(np.sqrt((len(self.plan.learners) - 1) / 12))

    def steps(self) -> Iterator[tuple[Batch, Matrix, Vector, Vector]]:
        """For each step: the batch, own columns of its rows, own scores before it, and the sums received."""
        for batch, weights, sums in zip(self.batches, self.weights_before, self.sums, strict=True):
            X = self.X[batch.rows]
            yield batch, X, X @ weights, sums


def _refuse_misfit(view: View) -> None:
    """Refuse a view whose parts do not belong together: it would be solved and give nonsense."""
    party = view.plan.party(view.party)
    columns = party.features + (1 if view.plan.intercept and view.is_label_party else 0)
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "own columns": (view.X.shape[1:], (columns,)),
        "starting weights": (view.start.shape, (columns,)),
    }
    if len(view.weights):
        shapes["weights"] = (view.weights.shape, (columns,))
    if view.has_sums:
        shapes["sums of steps and columns"] = (view.sums.shape, (len(view.batches), columns))
    if view.is_label_party:
        shapes["labels"] = (() if view.y is None else view.y.shape, (view.rows,))
    for name, (got, expected) in shapes.items():
        if got != expected:
            raise DataError(
                f"transcript of {view.party}: expected {name} {expected}, got {got}; "
                "is it cut short, or of another plan?"
            )


@dataclass(frozen=True)
class Condition:
    """A condition of the theory, evaluated on this run: shown beside what happened."""

    name: str
    value: float
    needed: str
    is_met: bool
    reference: str


NO_ROWS: NDArray[np.bool_] = np.zeros(0, dtype=bool)


@dataclass(frozen=True, repr=False, eq=False)
class Claim:
    """What an attack believes about other parties: a row for each training row, or for each weight; NaN: no answer."""

    target: Literal["labels", "scores", "features", "weights"]
    against: str
    """A party's name, or several joined by "+" where only their columns or scores together are known."""
    values: Matrix
    """For labels one column: its sign is the believed label, and its size says how sure."""
    is_determined: NDArray[np.bool_] = field(default_factory=lambda: NO_ROWS)
    """Rows whose answer is the only solution of their equations, apart from those that were inferred; by default none.
    """
    left_open: Literal["nothing", "sign", "rotation", "own columns"] = "nothing"
    """What the equations cannot fix: all columns' signs together, an orthogonal matrix, or, of one column, a factor and
    what the attacker's own columns explain."""
    conditions: tuple[Condition, ...] = ()
    targets: NDArray[np.intp] | None = None
    """The rows that the attack chose, or that it knew; None = all."""
    column: int | None = None
    """The one column of the party that it is about; None = all."""
    remark: str = ""
    """One more sentence about it; for weights how it got them, as the beginning of a sentence."""
    is_conditional: bool = False
    """Whether it takes something for granted that an attacker need not have: then it degrades at most."""
    is_beside_guessing: bool = False
    """Whether it is what the attacker's own part of the model says, and so is judged beside the class prior alone."""

    def __post_init__(self) -> None:
        if not len(self.is_determined):
            object.__setattr__(self, "is_determined", np.zeros(len(self.values), dtype=bool))

    @classmethod
    def of_labels(
        cls,
        beliefs: Vector,
        is_determined: NDArray[np.bool_] = NO_ROWS,
        conditions: tuple[Condition, ...] = (),
        **more: Any,
    ) -> "Claim":
        """A number for every training row whose sign is the believed label and whose size says how sure."""
        return cls("labels", "", beliefs[:, None], is_determined, conditions=conditions, **more)

    @property
    def beliefs(self) -> Vector:
        """What is believed of the labels."""
        return self.values[:, 0]


@dataclass(frozen=True)
class NotApplicable:
    """The answer of an attack that has nothing to work on in this view, or that an honest peer refused."""

    why: str
    conditions: tuple[Condition, ...] = ()
    is_refused: bool = False


Claims = Claim | NotApplicable | Sequence[Claim]


@dataclass(frozen=True, repr=False, eq=False)
class Changed:
    """The changes in a run that an attack has to itself."""

    labels: NDArray[np.int8] | None = None
    """Labels invented by the label party."""
    only: NDArray[np.intp] | None = None
    """The training rows that are brought; None = all."""
    hook: Any = None
    """The hook on the attacker's quantities."""


HONEST = Changed()


class AttackStage(Protocol):
    """What an attack gets: its party's view of the run, runs of its own, and scores of rows after them."""

    @property
    def view(self) -> View:
        """The attacker's view of the honest run."""

    @property
    def scored(self) -> int:
        """How many rows it may have scored."""

    def known(self, rows: NDArray[np.intp]) -> Matrix:
        """The peers' columns of training rows, which the attacker is assumed to know from elsewhere."""

    def scores(self, rows: NDArray[np.intp], changed: Changed) -> Vector:
        """The scores of training rows with own columns at their mean, after a changed run."""

    def shown(self, rows: NDArray[np.intp], changed: Changed = HONEST) -> Vector:
        """The joint scores of training rows after a run, as the label party sees them."""

    def take_part(self, hook: Any) -> "Claims":
        """Train again with a hook on own quantities, as far as the budget goes: what the hook then believes."""


@dataclass(frozen=True)
class Attack:
    """An attack under the name that the command line and reports use, by parties of one role.

    A passive one reads a view; any other one acts on a stage, where it has runs of its own.
    """

    name: str
    by: Literal["label", "features"]
    read: Callable[[View], Claim | NotApplicable] | None = None
    reference: str = ""
    """The theorem or section of the paper, or a word on going beyond it; if empty, the rule's."""
    target: Literal["labels", "scores", "features", ""] = ""
    """What it is after; if empty, labels for a feature party, unless the name says otherwise, and else features."""
    act: Callable[[AttackStage], Claims] | None = None

    def __post_init__(self) -> None:
        is_on_features = self.by == "label" or self.name.startswith("feature-")
        target = self.target or ("features" if is_on_features else "labels")
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "reference", self.reference or rule_of(self.name, target, self.by).attacks[self.name])

    is_budgeted: bool = False
    """Whether it trains again, for as many epochs as its work budget allows."""

    @property
    def is_passive(self) -> bool:
        """Whether it needs no more than a view."""
        return self.read is not None

    def __call__(self, view: View) -> Claim | NotApplicable:
        """Read one view; for passive attacks."""
        if self.read is None:
            raise DataError(f"{self.name} needs runs of its own; plumbob.audit gives it those")
        return self.read(view)

    def claims(self, stage: AttackStage) -> Sequence[Claim | NotApplicable]:
        """What it believes after all that it does on this stage."""
        if self.act is None:
            return [self(stage.view)]
        answer = self.act(stage)
        return answer if isinstance(answer, Sequence) else [answer]
