"""Lists who gets to read what in a run, how often and how wide: from a plan's numbers, for every protocol.

What a plan opens is derived from this list: the sentences of `checking.facts`, and the bits that a party can carry out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from plumbob.plan import Plan
from plumbob.protocol.limits import most_scored_rows
from plumbob.protocol.openings import OPENED_SCORES, SCORE_PART, WEIGHTS, columns_of
from plumbob.protocol.shares.shape import RunShape

What = Literal["gradient", "all gradients", "weights", "scores", "parts of scores", "masked numbers"]


@dataclass(frozen=True)
class Release:
    """Numbers that one party gets to read."""

    what: What
    to: str
    numbers: int
    """How many: in each step, when training ends, when rows are aligned or, for scores, in all; 0 = no limit."""
    bits: int = 0
    """The most bits that one of them carries, whatever anybody sends; 0 = as wide as the plan's encoding."""

    assumes: Literal["honest", "cheating"] = "honest"
    """`cheating` where they tell something only to a party that does not keep to the protocol."""

    @property
    def bits_in_all(self) -> int:
        """The bits of all numbers together; 0 = no limit."""
        return self.numbers * self.bits


def releases(plan: Plan, trained: int) -> Iterator[Release]:
    """What is released in a run over this many training rows, and in the predictions allowed after it."""
    for party in plan.learners:
        columns = columns_of(plan, party.name)
        if columns and plan.kind.shows_gradients:
            yield Release("gradient", party.name, columns)
        elif columns and plan.opens_weights:
            yield Release("weights", party.name, columns, WEIGHTS.bits)
    if plan.arbiter is not None and plan.unmasked_gradients_for_the_arbiter:
        columns = sum(columns_of(plan, party.name) for party in plan.learners)
        yield Release("all gradients", plan.arbiter.name, columns)
    label = plan.label_party.name
    if plan.kind.has_lattices and not plan.is_between_two:
        shape = RunShape(plan, max(trained, 1))
        yield Release("masked numbers", label, shape.masked_numbers, shape.most_bits_behind_a_mask, "cheating")
    if plan.kind.is_encrypted:
        what: What = "scores" if plan.is_closed else "parts of scores"
        width = OPENED_SCORES if plan.is_closed else SCORE_PART
        yield Release(what, label, most_scored_rows(plan, trained), width.bits)


def is_released(plan: Plan, what: What) -> bool:
    """Whether anybody gets to read it."""
    return any(each.what == what for each in releases(plan, 1))


def opened_bits(plan: Plan, name: str) -> int:
    """Bits about the peers that this party's opened weights can carry in one run of `shares`, if it deviates."""
    return sum(each.bits_in_all for each in releases(plan, 1) if (each.to, each.what) == (name, "weights"))


def scored_bits(plan: Plan, rows: int) -> int:
    """Bits about the feature parties that this many scores, opened from shares, can carry to the label party."""
    return rows * sum(each.bits for each in releases(plan, 1) if each.what == "scores")
