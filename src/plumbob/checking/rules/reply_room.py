"""What replies have room for beside honest sums, or in their place."""

from dataclasses import dataclass

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import Judgement, not_applicable, without_sums
from plumbob.counting import counted


def without_replies(figures: Figures, party: str) -> Judgement | None:
    """Hidden values need somebody who hands opened sums back."""
    if not figures.sees_sums:
        return not_applicable("In shares no sums are handed back, so nothing can be hidden in them.")
    if not figures.plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: nobody hands opened sums back.")
    if figures.plan.unmasked_gradients_for_the_arbiter:
        return not_applicable("Replies have no masks: the arbiter would see what is hidden in them.")
    return without_sums(figures, party)


@dataclass(frozen=True)
class ReplyCapacity:
    """What replies have room for beside honest sums, or in their place."""

    share: float
    """Of all rows, those whose residual is read at least once."""
    is_every_step: bool
    """Whether that works in every step without its gradient being lost; otherwise it is done once."""
    numbers: str


def hidden_room(figures: Figures, party: str) -> ReplyCapacity:
    """From the widths that come back."""
    readable, rows = figures.readable_residuals(party), figures.batch
    bits, sums = sum(figures.reply_widths(party)), counted(figures.columns(party), "sum")
    room = f"{counted(readable, 'residual')} of {counted(rows, 'row')}"
    numbers = f"Replies of {bits:,} bits per step, meant for {sums}, have room for {room}"
    if figures.plan.replies == "paper":
        return ReplyCapacity(min(1.0, readable / rows), True, numbers)
    if readable < rows:
        return ReplyCapacity(min(readable, rows) / figures.rows, False, numbers)
    in_longest = figures.longest_batch / figures.rows if figures.longest_batch > readable else 0.0
    return ReplyCapacity(
        1.0 if figures.plan.batches == "reshuffled" and figures.visits > 1 else 1.0 - in_longest, True, numbers
    )
