"""The budget of one attack's work, and the sentences about it in the output and in the report."""

import time
from collections.abc import Sequence

from plumbob.callbacks import Tell
from plumbob.counting import percent
from plumbob.crypto.engines.interface import Engine
from plumbob.data import Batch
from plumbob.lab.attacks import ACTIVE
from plumbob.lab.attacks.label_stacked import MOST_ENTRIES
from plumbob.lab.simulate.unhidden import UnhiddenEngine
from plumbob.plan import Plan
from plumbob.protocol.party import AfterStep
from plumbob.record import Finding

# Rows x columns x epochs that an active attack trains on again: about two minutes on two cores.
CELLS = 50_000_000
# Real Paillier and Okamoto-Uchiyama ciphertexts take about eight times as long as unhidden ones and as lattices.
ENCRYPTED_COST = 8
SECONDS_BETWEEN_LINES = 5.0


def engine_for(plan: Plan) -> str | Engine:
    """The engine of an active attack's own run: one that hides nothing, where only time depends on it."""
    is_unhidden = plan.kind.lends_keys
    return UnhiddenEngine() if is_unhidden else "auto"


def epochs_within(plan: Plan, rows: int) -> int:
    """How many of the plan's epochs an active attack may run, at least one."""
    is_cheap = plan.kind.has_lattices or isinstance(engine_for(plan), UnhiddenEngine)
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


def shortened(plan: Plan, rows: int) -> str:
    """The sentence that a finding of an active attack adds where the budget was not enough; empty otherwise."""
    epochs = epochs_within(plan, rows)
    if epochs == plan.passes(rows):
        return ""
    return f" Its budget allowed {epochs} of {plan.passes(rows)} epochs; with more it may reach more."


def cut_short(plan: Plan, rows: int, findings: Sequence[Finding]) -> list[str]:
    """The active attacks that ran for fewer epochs than the plan has, and so may reach more than they did."""
    if epochs_within(plan, rows) == plan.passes(rows):
        return []
    active = {attack.name for attack in ACTIVE}
    return list(dict.fromkeys(one.attack for one in findings if one.attack in active and one.rate is not None))


def cut_short_sentence(attacks: Sequence[str]) -> str:
    """A sentence that an audit whose attacks had too little time decides nothing."""
    return f"This audit is partial: its budget cut these attacks short: {', '.join(attacks)}."


def tell_now_and_then(tell: Tell) -> AfterStep:
    """Tells, every few seconds, how far an active attack's own run is."""
    said = time.monotonic()

    def follow(batch: Batch, steps: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= SECONDS_BETWEEN_LINES:
            said = now
            tell(percent(batch.step / steps))

    return follow
