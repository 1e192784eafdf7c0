"""The messages of every kind of session: who says what to whom, in which order and in how many bytes.

They follow from the plan and the number of aligned rows alone; a protocol adds its own. A channel takes the next one of
its direction for every message that is sent or awaited, and refuses anything else; estimates add them up, and
docs/protocol.md shows them. Sizes are functions of public numbers. A message that would be empty is not sent: a party
without columns learns nothing, so nobody asks it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import permutations, repeat

from plumbob.data import all_steps, largest_batch, steps_per_epoch
from plumbob.plan import Plan
from plumbob.protocol.account import HASH_BYTES, seal_bytes
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind
from plumbob.protocol.openings import OPENED_SCORES, shows_quality
from plumbob.protocol.shares.shape import LatticeShape


@dataclass(frozen=True)
class Due:
    """One message that is due in one direction of a channel."""

    kind: Kind
    step: int
    sender: str
    receiver: str
    size: int
    """Bytes of the message's body."""
    where: str = ""
    """The line of the paper's Protocol 1, or the step of docs/protocol.md, section 10, that it belongs to."""
    is_most: bool = False
    """Whether the size is a limit: for a text, or for a message that has fewer parts when it is repeated."""
    again: str = ""
    """Messages with the same word here may repeat, together and in their order, each time in the next step."""


def text(kind: Kind, sender: str, receiver: str) -> Due:
    """A message of text, whose body is checked separately."""
    return Due(kind, 0, sender, receiver, LONGEST_TEXT, is_most=True)


SCORE_BYTES = 16  # Of a part of a score, modulo 2**128.
ROWS_AT_ONCE = 4096  # Rows that are scored with one message.
QUERY_BYTES, ROW_BYTES, VERDICT_BYTES = 16, 8, 17
PROPOSED_NUMBERS = 8  # A table's width under the draft, rows, numeric columns, levels, widths as the rule encodes it.


def session(plan: Plan, purpose: str, aligned: int) -> Iterator[Due]:
    """The messages after the greeting, as far as they are known then."""
    return session_of_prediction(plan) if purpose == "predict" else training_schedule(plan, aligned).messages()


# What most sessions have.


def to_all(kind: Kind, names: Iterable[str], size: int, step: int = 0, where: str = "") -> Iterator[Due]:
    """A message of this size from everybody to everybody else."""
    for ends in permutations(names, 2):
        yield Due(kind, step, *ends, size, where)


def texts(kind: Kind, names: Iterable[str]) -> Iterator[Due]:
    """A text from everybody to everybody else."""
    return (text(kind, *ends) for ends in permutations(names, 2))


def agreement(plan: Plan) -> Iterator[Due]:
    """Messages for a joint seed, unless the plan has one, and for the same rows."""
    names = names_of(plan)
    if not plan.seed:
        yield from to_all(Kind.SEED_COMMITMENT, names, HASH_BYTES)
        yield from to_all(Kind.SEED_SHARE, names, HASH_BYTES)
    yield from to_all(Kind.CONFIRMATION, names, HASH_BYTES)


def numbers(names: Iterable[str]) -> Iterator[Due]:
    """Messages in which everybody commits to what it calculates with."""
    return to_all(Kind.NUMBERS, names, HASH_BYTES)


def seals(ends: Iterable[tuple[str, str]], step: int, parties: int) -> Iterator[Due]:
    """Signatures over everything so far, in a session of this many parties; a simulation leaves them out."""
    for sender, receiver in ends:
        yield Due(Kind.SEAL, step, sender, receiver, seal_bytes(parties), "signatures")


def pair_keys(plan: Plan) -> Iterator[Due]:
    """Messages for the keys that hide one party's answer among the others': two need none."""
    return to_all(Kind.PAIR_KEY, () if plan.is_between_two else names_of(plan), 32)


def names_of(plan: Plan) -> list[str]:
    """The names of the parties that hold rows."""
    return [party.name for party in plan.learners]


# Training.


@dataclass(frozen=True)
class TrainingSchedule:
    """All messages of one run with this many aligned rows, after the greeting."""

    plan: Plan
    aligned: int

    @property
    def rows(self) -> int:
        """How many rows are trained on."""
        return self.aligned - self.plan.held_out(self.aligned)

    def messages(self) -> Iterator[Due]:
        """All messages from the agreement to the last score."""
        yield from agreement(self.plan)
        yield from numbers(self.everybody)
        yield from self.set_up()
        for step, rows in enumerate(self.batches(), 1):
            yield from self.step(step, rows)
        yield from self.finish()
        yield from self.quality()
        yield from self.seals(0)

    @property
    def everybody(self) -> list[str]:
        """The names of all parties, an arbiter included."""
        return [party.name for party in self.plan.parties]

    def seals(self, step: int, ends: Iterable[tuple[str, str]] | None = None) -> Iterator[Due]:
        """Signatures between these ends, or from everybody to everybody."""
        return seals(permutations(self.everybody, 2) if ends is None else ends, step, len(self.everybody))

    def batches(self) -> Iterator[int]:
        """How many rows every step has."""
        for level in self.plan.levels(self.rows):
            for _ in range(level.passes):
                yield from self._epoch(level.rows)

    def _epoch(self, rows: int) -> Iterator[int]:
        """How many rows every step of one epoch has: the same number, except for the last one."""
        yield from repeat(self.plan.batch_size, steps_per_epoch(rows, self.plan) - 1)
        yield largest_batch(rows, self.plan)

    @property
    def total_bytes(self) -> int:
        """Bytes sent by all parties, headers included; texts and repeated tests of keys are not counted."""
        steps = (
            level.passes * count * _bytes_of(self.step(1, rows))
            for level in self.plan.levels(self.rows)
            for rows, count in Counter(self._epoch(level.rows)).items()
        )
        outside = [*numbers(self.everybody), *self.set_up(), *self.finish(), *self.seals(0)]
        return _bytes_of(outside) + sum(steps)

    @property
    def largest_message(self) -> int:
        """Bytes of the longest body."""
        longest = self.step(1, largest_batch(self.rows, self.plan))
        every = (*self.set_up(), *longest, *self.finish(), *self.quality())
        return max((due.size for due in every), default=0)

    def set_up(self) -> Iterator[Due]:
        """The messages before the first step."""
        return iter(())

    def step(self, number: int, rows: int) -> Iterator[Due]:
        """The messages of one step over this many rows."""
        return iter(())

    def finish(self) -> Iterator[Due]:
        """The messages after the last step."""
        return iter(())

    def quality(self) -> Iterator[Due]:
        """The messages for the scores of held-out rows, which only the label party sees."""
        if not shows_quality(self.plan, self.aligned):
            return
        yield from numbers(self.everybody)
        yield from pair_keys(self.plan)
        held_out, last = self.plan.held_out(self.aligned), all_steps(self.rows, self.plan)
        for place, start in enumerate(range(0, held_out, ROWS_AT_ONCE), 1):
            rows = min(ROWS_AT_ONCE, held_out - start)
            yield from scoring(self.plan, self.rows, last + place, rows, len(self.everybody))


def _bytes_of(messages: Iterable[Due]) -> int:
    return sum(HEADER.size + due.size for due in messages)


def training_schedule(plan: Plan, aligned: int) -> TrainingSchedule:
    """The schedule of a plan with this many aligned rows."""
    module, _, name = plan.kind.schedule.rpartition(".")
    found: type[TrainingSchedule] = getattr(import_module(module), name)
    return found(plan, aligned)


# Prediction.


def scoring(plan: Plan, trained: int, step: int, rows: int, parties: int = 0) -> Iterator[Due]:
    """Messages for the scores of some rows, to the label party; with shared weights, everybody multiplies first.

    `parties` are in the session: those with columns, or an arbiter too.
    """
    label, parties = plan.label_party.name, parties or len(plan.learners)
    if plan.is_closed:
        shape = LatticeShape(plan, trained)
        for sender, receiver in permutations(names_of(plan), 2):
            size = shape.scores(sender, rows).reply_bytes
            yield Due(Kind.LATTICE_REPLY, step, sender, receiver, size, "step 1")
    yield from seals(permutations(names_of(plan), 2), step, parties)
    size = OPENED_SCORES.size(rows) if plan.is_closed else SCORE_BYTES * rows
    for party in plan.feature_parties:
        yield Due(Kind.SCORE_SHARE, step, party.name, label, size)
    yield from seals([(party.name, label) for party in plan.feature_parties], step, parties)


def scored_rows(plan: Plan, trained: int, step: int, rows: int) -> Iterator[Due]:
    """Messages for the scores of any number of rows, some at a time."""
    for start in range(0, rows, ROWS_AT_ONCE):
        yield from scoring(plan, trained, step, min(ROWS_AT_ONCE, rows - start))


def session_of_prediction(plan: Plan) -> Iterator[Due]:
    """The messages before the first query."""
    yield from agreement(plan)
    yield from numbers(names_of(plan))
    yield from pair_keys(plan)


def asked(plan: Plan, step: int) -> Iterator[Due]:
    """Messages on how many rows a query is about; none ends the session."""
    for party in plan.feature_parties:
        yield Due(Kind.QUERY, step, plan.label_party.name, party.name, QUERY_BYTES)


def query(plan: Plan, step: int, rows: int) -> Iterator[Due]:
    """Messages on which rows are asked for, and whether they will be answered: all parties hear every verdict."""
    for party in plan.feature_parties:
        yield Due(Kind.QUERY_ROWS, step, plan.label_party.name, party.name, ROW_BYTES * rows)
        yield Due(Kind.QUERY_VERDICT, step, party.name, plan.label_party.name, VERDICT_BYTES)
    for party in () if plan.is_between_two else plan.feature_parties:
        size = VERDICT_BYTES * len(plan.feature_parties)
        yield Due(Kind.QUERY_DECISION, step, plan.label_party.name, party.name, size)


def last_seals(plan: Plan, step: int) -> Iterator[Due]:
    """Signatures at the end of a session of prediction, or where a query is refused."""
    yield from seals(permutations(names_of(plan), 2), step, len(plan.learners))


# A proposal, before there is a plan: first everybody says whether it has the label.


def proposed_roles(names: Iterable[str]) -> Iterator[Due]:
    """Messages on whether the sender has the label."""
    return texts(Kind.PROPOSAL_ROLE, names)


def proposal(label: str, others: Iterable[str]) -> Iterator[Due]:
    """Messages of a proposal: one draft, everybody's widths, and the final plan."""
    for name in others:
        yield text(Kind.PROPOSAL_DRAFT, label, name)
        yield Due(Kind.PROPOSAL_WIDTH, 0, name, label, 8 * PROPOSED_NUMBERS)
        yield text(Kind.PROPOSAL_PLAN, label, name)
