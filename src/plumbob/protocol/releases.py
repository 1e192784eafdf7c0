"""Who gets to read what in a run, how often, how wide and about whom: from a plan's numbers, for every protocol.

Everything that says what a plan opens is derived from this list: the bits that a party can carry out, the limits on
scored rows, and the sentences of `checking.facts`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from plumbob.plan import Plan
from plumbob.protocol.openings import OPENED_SCORES, SCORE_PART, WEIGHTS, most_scored_rows
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.protocol.widths import columns_of

What = Literal["gradient", "all gradients", "weights", "scores", "parts of scores", "masked numbers", "held-out rows"]
When = Literal["in every step", "when training ends", "for each scored row", "when rows are aligned"]


@dataclass(frozen=True)
class Release:
    """Numbers that one party gets to read."""

    what: What
    to: str
    when: When
    numbers: int
    """Each time, or, of scored rows, in all; 0 = without a limit."""
    bits: int
    """That one of them carries at most, whatever anybody sends; 0 = as wide as the plan's encoding."""
    about: tuple[str, ...]
    """The parties whose columns or labels they depend on."""
    assumes: Literal["honest", "cheating"] = "honest"
    """Whether they tell something only to a party that does not keep to the protocol."""

    @property
    def bits_in_all(self) -> int:
        """0 where nothing limits them."""
        return self.numbers * self.bits


def releases(plan: Plan, trained: int) -> Iterator[Release]:
    """Of a run over so many training rows, and of the predictions that the plan allows after it."""
    if plan.held_out_by:
        for party in plan.learners:
            if party.name != plan.held_out_by:
                yield Release("held-out rows", party.name, "when rows are aligned", trained, 1, (plan.held_out_by,))
    for party in plan.learners:
        columns, others = columns_of(plan, party.name), _others(plan, party.name)
        if columns and plan.kind.shows_gradients:
            yield Release("gradient", party.name, "in every step", columns, 0, others)
        elif columns and plan.opens_weights:
            yield Release("weights", party.name, "when training ends", columns, WEIGHTS.bits, others)
    if plan.arbiter is not None and plan.unmasked_gradients_for_the_arbiter:
        columns = sum(columns_of(plan, party.name) for party in plan.learners)
        yield Release("all gradients", plan.arbiter.name, "in every step", columns, 0, _others(plan, plan.arbiter.name))
    label, features = plan.label_party.name, tuple(party.name for party in plan.feature_parties)
    if plan.kind.has_lattices and not plan.is_between_two:
        shape = LatticeShape(plan, max(trained, 1))
        bits = shape.most_bits_behind_a_mask
        yield Release("masked numbers", label, "in every step", shape.masked_numbers, bits, features, "cheating")
    if plan.kind.is_encrypted:
        width, most = (OPENED_SCORES if plan.is_closed else SCORE_PART), most_scored_rows(plan, trained)
        what: What = "scores" if plan.is_closed else "parts of scores"
        yield Release(what, label, "for each scored row", most, width.bits, features)


def _others(plan: Plan, name: str) -> tuple[str, ...]:
    return tuple(party.name for party in plan.learners if party.name != name)


def released_to(plan: Plan, name: str, what: What, trained: int = 1) -> Release | None:
    """What one party gets of one kind, if it gets any."""
    return next((one for one in releases(plan, trained) if (one.to, one.what) == (name, what)), None)


def opened_bits(plan: Plan, name: str) -> int:
    """Bits about the peers that this party's opened weights can carry in one run of `shares`, if it deviates."""
    weights = released_to(plan, name, "weights")
    return 0 if weights is None else weights.bits_in_all


def scored_bits(plan: Plan, rows: int) -> int:
    """Bits about the feature parties that this many scores, opened from shares, can carry to the label party."""
    scores = released_to(plan, plan.label_party.name, "scores")
    return 0 if scores is None else rows * scores.bits
