"""An active attacker as a hook: one object that puts other numbers in the place of its program's quantities.

A program passes each named quantity through `TrainingParty.use` (CONTRIBUTING.md lists the names). A method of a hook
whose name is a quantity's is asked for it; what the hook has no method for stays as it is. The party around it is the
protocol's own, so it speaks in the simulation and over TLS alike:

    party = hooked(LatticeParty, hook)(participant, table)
    party.run()
    hook.believed(party, View.of(...))

No flag, file or variable of a real party leads here: the party floor does not know this folder.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.lab.attacks.active import AttackingParty
from plumbob.lab.attacks.interface import Claim, Condition, View
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.shares.training import LatticeParty


class Hook(AttackingParty):
    """What an attacker does with its own quantities, and what it reads."""

    def use(self, me: Any, name: str, step: int, value: Any) -> Any:
        """What the method named like the quantity makes of it; without one, the quantity itself."""
        method = getattr(self, name.replace(" ", "_"), None)
        return value if method is None else method(me, step, value)

    def after(self, me: Any) -> None:
        """When training has ended: what it reads then."""
        return

    def claimed(self, me: Any, view: View) -> Claim:
        """What it believes, from its readings and its own view."""
        return self.believed(view)

    def conditions(self) -> tuple[Condition, ...]:
        return ()


def hooked(honest: type[TrainingParty], hook: Hook) -> type[TrainingParty]:
    """The protocol's own party, with the hook on all of its quantities."""

    class HookedParty(honest):  # type: ignore[valid-type, misc]  # The class is chosen by the plan.
        def use(self, name: str, step: int, value: Any) -> Any:
            return hook.use(self, name, step, value)

        def finish(self) -> None:
            super().finish()
            hook.after(self)

        def refuse_result(self) -> None:
            """Weights that no honest run ends with are what it wanted."""

    return HookedParty


class Bare(Hook):
    """In `shares`, own columns that count for nothing, but for what an attack lays into the gradients of a pass."""

    _step = _rows_done = 0

    def rows_for_scores(self, me: LatticeParty, step: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.zeros_like(rows)

    def rows_for_gradients(self, me: LatticeParty, step: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """One block of the level's rows after the other; the penalty's, below the last one, pull nothing back."""
        start = self._rows_done if step == self._step else 0
        self._step, self._rows_done = step, start + len(rows)
        laid, here = np.zeros_like(rows), self.laid(me, step)[me.level.rows][start : start + len(rows)]
        laid[: len(here)] = here
        return laid

    def laid(self, me: LatticeParty, step: int) -> NDArray[np.int64]:
        """For all training rows, in the scale of the plan's fraction bits; nothing, if not for an attack."""
        return np.zeros((len(me.shard), me.columns), dtype=np.int64)

    def is_last(self, me: LatticeParty, step: int) -> bool:
        return step == me.plan.passes(len(me.shard))

    def moved(self, me: LatticeParty) -> NDArray[np.float64]:
        """By how much the opened weights differ from the start: nothing but the attack moved them."""
        return me.start - me.weights
