"""An active attacker as a hook: one object that replaces its program's quantities by other numbers; their arithmetic.

A program passes each named quantity through `TrainingParty.use` (CONTRIBUTING.md lists the names). A method of a hook
whose name is a quantity's is asked for it; what the hook has no method for stays as it is. The party around it is the
protocol's own, so it speaks in the simulation and over TLS alike:

    party = hooked(SharesParty, hook)(participant, table)
    party.run()
    hook.claim(party, View.of(...))

No flag, file or variable of a real party leads here: the party floor does not know this folder.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.checking import study
from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.data import Batch, batches
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.interface import (
    Attack,
    AttackStage,
    Claim,
    Claims,
    Condition,
    NotApplicable,
    View,
)
from plumbob.lab.exchange.arbiter import ArbitratedParty
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import EncryptedVector
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from plumbob.plan.study import label_scale
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.training import SharesParty

LARGEST_PART = 4.0  # Beyond it Criterion 4.2 reads no label: abs(score) < 2, plus 2 for the label.

Summing = ExchangeParty | ArbitratedParty
"""A party that gets opened sums back."""


@dataclass(frozen=True, repr=False, eq=False)
class Reading:
    """What was read in one step: the sum of the other parties' parts of some training rows' residuals."""

    step: int
    rows: NDArray[np.intp]
    residuals: Vector


class Hook:
    """What an attacker does with its own quantities, and what it reads."""

    def prepare(self, view: View, positives: int) -> None:
        """Look at the own view of an honest run, and at how many positives there are: a base rate is no secret."""
        return

    @cached_property
    def readings(self) -> list[Reading]:
        """The readings in the order of the steps."""
        return []

    def use(self, me: Any, name: str, step: int, value: Any) -> Any:
        """Pass a quantity through the method of its name; without one, it stays as it is."""
        method = getattr(self, name.replace(" ", "_"), None)
        return value if method is None else method(me, step, value)

    def after(self, me: Any) -> None:
        """Read what there is when training has ended."""
        return

    def conditions(self, me: Any) -> tuple[Condition, ...]:
        """The conditions of the theory, evaluated on this run."""
        return ()

    def targets(self, me: Any) -> NDArray[np.intp] | None:
        """The rows that the attack was after; None = all."""
        return None

    def claim(self, me: Any, view: View) -> Claims:
        """The belief after the run, from readings and own view; none where nothing was read."""
        if not self.readings:
            return NotApplicable("no step of this run had room for a reading", self.conditions(me))
        return self.believed(me, view)

    def believed(self, me: Any, view: View) -> Claims:
        """The claims from the readings: labels, by a feature party; the peer's scores, by the label party."""
        return self._scores(me, view) if view.is_label_party else self._labels(me, view)

    def _labels(self, me: Any, view: View) -> Claim:
        """Labels from residuals, (the others' scores) - 2y: the sign is right while scores stay under the threshold."""
        # Scores grow from a small start, so the first visit shows labels best; against noise only the mean helps.
        chosen = mean_residuals if is_noisy(view.plan) else first_residuals
        residuals = chosen(self.readings, view.rows)
        return Claim.of_labels(
            beliefs=-residuals,
            # A noisy residual is read exactly and still determines nothing.
            is_determined=~np.isnan(residuals) & (noise_on_residuals(view) == 0) & (view.plan.noise != "rows"),
            conditions=self.conditions(me),
            targets=self.targets(me),
        )

    def _scores(self, me: Any, view: View) -> Claim:
        """Scores from residuals without labels: determined if read at the row's last visit."""
        scores, steps, last = np.full(view.rows, np.nan), np.zeros(view.rows), np.zeros(view.rows)
        for reading in self.readings:
            scores[reading.rows] = reading.residuals
            steps[reading.rows] = reading.step
        for batch in view.batches:
            last[batch.rows] = batch.step
        is_determined = (steps == last) & (steps > 0) & (noise_on_residuals(view) == 0)
        against = "+".join(peer.name for peer in view.peers)
        return Claim("scores", against, scores[:, None], is_determined, conditions=self.conditions(me))


Arm = Callable[[Plan, str], Hook | NotApplicable | None]
"""Makes the hook on the named party's quantities.

Otherwise it says why there is nothing to work on, or returns None where the plan is judged by the rule alone.
"""


def attack_with_hook(
    name: str, by: Literal["label", "features"], arm: Arm, target: Literal["labels", "scores", "features", ""] = ""
) -> Attack:
    """An attack that puts a hook on its party's quantities, in a run of its own."""

    def act(stage: AttackStage) -> Claims:
        hook = arm(stage.view.plan, stage.view.party)
        if hook is None:
            return []
        return hook if isinstance(hook, NotApplicable) else stage.take_part(hook)

    return Attack(name, by, target=target, act=act, is_budgeted=True)


def first_residuals(readings: list[Reading], rows: int) -> Vector:
    """The residual of each row when it was first read; NaN where nothing was."""
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


def hooked(honest: type[TrainingParty], hook: Hook) -> type[TrainingParty]:
    """The protocol's own party, with the hook on all of its quantities."""

    class HookedParty(honest):  # type: ignore[valid-type, misc]  # The class is chosen by the plan.
        def use(self, name: str, step: int, value: Any) -> Any:
            return hook.use(self, name, step, value)

        def finish(self) -> None:
            super().finish()
            hook.after(self)

        def refuse_result(self) -> None:
            """Accept weights that no honest run ends with: they are what the attacker wanted."""

    return HookedParty


class SumsHook(Hook):
    """A hook in `exchange` and `arbiter`, where a party multiplies peers' ciphertexts and gets opened sums back.

    Everything else is as agreed: the number of ciphertexts, their masks, their fresh randomness. Nothing that a helper
    or the arbiter receives looks different.
    """

    released: Encoded
    """This step's own part of the residuals."""
    received: EncryptedVector
    """This step's ciphertexts of residuals."""
    matrix: Encoded
    """The matrix that they are multiplied with."""

    def residuals(self, me: Summing, step: int, released: Encoded) -> Encoded:
        self.released = released
        return released

    def encrypted_residuals(self, me: Summing, step: int, received: EncryptedVector) -> EncryptedVector:
        self.received = received
        return received

    def rows_for_gradients(self, me: Summing, step: int, matrix: Encoded) -> Encoded:
        self.matrix = matrix
        return matrix

    def keep(self, me: Summing, step: int, places: Sequence[int] | NDArray[np.intp], residuals: Sequence[int]) -> None:
        """Remember what was read at some places of a batch; an arbiter's sums also hold this party's own part."""
        chosen = np.asarray(places, dtype=np.intp)
        values = np.array([float(value) for value in residuals])
        if me.plan.kind.has_arbiter:
            values -= self.released.values[chosen]
        rows = self.batches_of(me)[step - 1].rows[chosen]
        self.readings.append(Reading(step, rows, me.widths.residuals.decode(values)))

    def batches_of(self, me: Summing) -> list[Batch]:
        """The batches of all steps, which everybody knows from the seed."""
        if not self._batches:
            self._batches = list(batches(me.session.seed, len(me.shard), me.plan))
        return self._batches

    _batches: list[Batch] | None = None


class Bare(Hook):
    """A hook in `shares` whose own columns count for nothing, except for what an attack puts into a pass."""

    _step = _rows_done = 0

    def rows_for_scores(self, me: SharesParty, step: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.zeros_like(rows)

    def rows_for_gradients(self, me: SharesParty, step: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """One block of the level's rows after the other; the penalty's rows, below the last one, pull nothing back."""
        start = self._rows_done if step == self._step else 0
        self._step, self._rows_done = step, start + len(rows)
        laid, here = np.zeros_like(rows), self.laid(me, step)[me.level.rows][start : start + len(rows)]
        laid[: len(here)] = here
        return laid

    def laid(self, me: SharesParty, step: int) -> NDArray[np.int64]:
        """What the attack puts in for all training rows, in the plan's fraction bits; nothing by default."""
        return np.zeros((len(me.shard), me.columns), dtype=np.int64)

    def is_last(self, me: SharesParty, step: int) -> bool:
        return step == me.plan.passes(len(me.shard))

    def moved(self, me: SharesParty) -> NDArray[np.float64]:
        """How far the opened weights differ from the start: only the attack moved them."""
        return me.start - me.weights


# Integers side by side in one number, and integers from linear equations.


def signed_digits(value: int, bits: int, count: int) -> list[int]:
    """The signed digits of a number, lowest first; a negative one borrowed from the next."""
    digits = []
    for _ in range(count):
        digits.append(centred(value, 1 << bits))
        value = (value - digits[-1]) >> bits
    return digits


def exact_product(values: Sequence[int], matrix: IntegerMatrix) -> list[int]:
    """values @ matrix, however wide."""
    wide: NDArray[Any] = np.array(values, dtype=object) @ matrix.astype(object)
    return [int(value) for value in wide]


def solve_exactly(matrix: IntegerMatrix, sums: Sequence[int]) -> list[int] | None:
    """The only integers v with v @ matrix = sums; None where least squares does not find them, or they are not unique.

    Floating point brings v near enough to be rounded; integer arithmetic then proves it.
    """
    solved, _, rank, _ = np.linalg.lstsq(
        matrix.T.astype(np.float64), np.array([float(value) for value in sums]), rcond=None
    )
    values = [int(value) for value in np.rint(solved)]
    return values if rank == len(matrix) and exact_product(values, matrix) == list(sums) else None


def narrow_residual(plan: Plan) -> Encoding:
    """The narrowest encoding that still tells labels apart, for an attacker where room is scarce."""
    helpers = len(plan.learners) - 1
    magnitude = max(LARGEST_PART, study.largest_released(plan)) * math.sqrt(helpers)
    return Encoding(plan.residual_bits, math.ceil(math.log2(magnitude)))


def is_noisy(plan: Plan) -> bool:
    """Whether anybody adds noise to its residuals."""
    return any(study.noise_std(plan, party.role) > 0 for party in plan.learners)


def label_size(me: TrainingParty) -> float:
    """The size of a residual that holds only a label."""
    return me.sigmoid.label_weight * label_scale(me.plan.label_flip_epsilon)


def label_unit(me: TrainingParty) -> int:
    """What a label alone adds to an encoded residual, or takes from it."""
    return round(math.ldexp(label_size(me), me.plan.residual_bits))


def own_generator(me: TrainingParty) -> np.random.Generator:
    """The generator of an attacker's own numbers."""
    return np.random.default_rng(int.from_bytes(me.participant.draws.of("attack").draw(16), "little"))
