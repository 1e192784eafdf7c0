"""Who says what to whom, in which order and in how many bytes: one table for each protocol, and following it.

The table of `exchange` and `arbiter` is in exchange_order.py, and what a turn is in turns.py; all others are here.

A channel that was told its table (`Channel.follow`) waits only for a message that the peer may send at that place. A
message may be left out (a party without columns learns nothing, so nobody asks it), but none may come before one that
stands above it, and turns with the same `again` repeat together. A kind stands either outside the steps or in them.

Words in sizes: those of exchange_order.py, where `rows` are also those of a piece or a query; `key` and `element`,
bytes of one; `request` and `reply`, bytes of a lattice product, by its kind and by who multiplies; `factors` that are
turned for each row; `all_columns` of all parties; `keys`, bytes of each key that somebody proves to the other; `ids` of
a chunk.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from plumbob.errors import LocalProtocolError
from plumbob.plan import Plan
from plumbob.protocol.exchange_order import ARBITER, EXCHANGE
from plumbob.protocol.lattice_sets import Stage, has_penalty_products, stages_of
from plumbob.protocol.messages import Kind
from plumbob.protocol.turns import (
    GREETING,
    HELD_OUT,
    PAIR_KEY,
    STREAM_HASHES,
    TEXT,
    MessageOrder,
    Role,
    Speaker,
    Turn,
)
from plumbob.protocol.widths import columns_of

WEIGHT_SHARE = Turn("party", "party", Kind.WEIGHT_SHARE, "4 * columns(receiver)", "step 5")
# Where weights are never opened, rows are scored in pieces, when training ends and in every session of prediction.
SCORED_ON_SHARES = (
    Turn("party", "party", Kind.LATTICE_REPLY, "reply(scores, sender)", "step 1", again="scored piece"),
    Turn("feature party", "label party", Kind.SCORE_SHARE, "3 * rows", again="scored piece"),
)


def _lattice_keys(test: str) -> tuple[Turn, ...]:
    """Both directions at once, for all keys still to be tested; a test has its round where steps have their number."""
    return (
        Turn("party", "party", Kind.LATTICE_KEYS, "sum(keys(sender))", "step 0"),
        Turn("party", "party", Kind.KEY_CHALLENGES, "2 * sum(keys(receiver))", "step 0", again=test),
        Turn("party", "party", Kind.KEY_COMMITMENTS, "32 * len(keys(sender))", "step 0", again=test),
        Turn("party", "party", Kind.KEY_REVEALS, "32 * len(keys(receiver))", "step 0", again=test),
        Turn("party", "party", Kind.KEY_NONCES, "33 * len(keys(sender))", "step 0", again=test),
    )


START_BY_LATTICE = Turn("party", "party", Kind.START_SHARE, "columns(sender) * element", "step 0")
BOUND_BY_LATTICE = (
    *_lattice_keys("test for prediction"),
    Turn("party", "party", Kind.BOUND_SHARE, "request(bound, receiver)", "step 5"),
)


def _product(of: str, where: str) -> tuple[Turn, ...]:
    """Both directions at once: everybody encrypts for everybody, and everybody multiplies."""
    return (
        Turn("party", "party", Kind.LATTICE_REQUEST, f"request({of}, receiver)", where),
        Turn("party", "party", Kind.LATTICE_REPLY, f"reply({of}, sender)", where),
    )


SCORES, GRADIENTS = _product("scores", "step 1"), _product("gradients", "step 3")
PENALTIES = _product("penalties", "step 4")  # In a plan whose penalty is a product, before the scores.
SHARES_BY_LATTICE = MessageOrder(
    outside=(
        *GREETING,
        START_BY_LATTICE,
        *_lattice_keys("test"),
        WEIGHT_SHARE,
        *BOUND_BY_LATTICE,
        STREAM_HASHES,
    ),
    steps=(
        *SCORES,
        Turn("label party", "feature party", Kind.LATTICE_REQUEST, "request(slots, rows)", "step 2", again="piece"),
        Turn("feature party", "label party", Kind.LATTICE_REPLY, "reply(slots, rows)", "step 2", again="piece"),
        *GRADIENTS,
    ),
)

# Three and more parties.
LIFTED_SUMS = Turn("feature party", "label party", Kind.MASKED_SHARE, "13 * all_columns", "step 3")
LIFTED_PENALTIES = replace(LIFTED_SUMS, where="step 4")


def _stages(stages: Sequence[Stage]) -> Iterator[Turn]:
    """Step 2 of docs/protocol.md: in every stage the owners ask the evaluators, and all of them lift what they hold."""
    for stage in stages:
        slots = "turned" if stage.is_turn else "slots"
        owners, evaluators = stage.owners, stage.evaluators
        yield Turn(owners, evaluators, Kind.LATTICE_REQUEST, f"request({slots}, rows)", "step 2", again="piece")
        yield Turn(evaluators, owners, Kind.LATTICE_REPLY, f"reply({slots}, rows)", "step 2", again="piece")
        if stage.is_masked:
            numbers = "factors * rows" if stage.is_turn else "rows"
            holders = stage.holders[1:]
            yield Turn(holders, "label party", Kind.MASKED_SHARE, f"14 * {numbers}", "step 2", again="piece")


def _shares_of_many(parties: int) -> MessageOrder:
    return MessageOrder(
        outside=(
            *GREETING,
            PAIR_KEY,
            START_BY_LATTICE,
            *_lattice_keys("test"),
            WEIGHT_SHARE,
            *BOUND_BY_LATTICE,
            Turn("party", "party", Kind.BOUND_HASHES, "32 * (parties - 1)", "step 5"),
            PAIR_KEY,
            STREAM_HASHES,
        ),
        steps=(*SCORES, *_stages(stages_of(parties)), *GRADIENTS, LIFTED_SUMS),
    )


PREDICTION = MessageOrder(
    outside=(*GREETING, PAIR_KEY, STREAM_HASHES),
    steps=(
        Turn("label party", "feature party", Kind.QUERY, 16),
        Turn("label party", "feature party", Kind.QUERY_ROWS, "8 * rows"),
        Turn("feature party", "label party", Kind.QUERY_VERDICT, 17),
    ),
)

# A step is a chunk, so nothing here begins again with a new one.
ALIGNMENT = MessageOrder(
    outside=(
        *GREETING,
        Turn("party", "party", Kind.ALIGNMENT_OPENING, TEXT),
        Turn("party", "party", Kind.BLINDED_IDS, "32 * ids", again="blinded chunk"),
        Turn("party", "party", Kind.RETURN_COMMITMENT, 97),
        Turn("party", "party", Kind.SHUFFLED_IDS, "32 * ids", again="shuffled chunk"),
        Turn("party", "party", Kind.ALIGNMENT_DECISION, 1),
        Turn("party", "party", Kind.TWICE_BLINDED_IDS, "32 * ids", again="returned chunk"),
        Turn("party", "party", Kind.RETURN_SIGNS, "ceil(ids / 8)", again="chunk of signs"),
        Turn("party", "party", Kind.RETURN_CHALLENGE, 64),
        Turn("party", "party", Kind.RETURN_PROOF, 64),
        Turn("party", "party", Kind.UNBLINDED_IDS, "32 * ids", again="unblinded chunk"),
        Turn("party", "party", Kind.CONFIRMATION, 32),
        Turn("party", "party", Kind.HELD_OUT_ROWS, "ceil(common / 8)", again="piece of rows"),
    )
)

# `party propose`, before there is a plan: first everybody says whether it has the label.
PROPOSED_ROLES = MessageOrder((Turn("anybody", "anybody", Kind.PROPOSAL_ROLE, TEXT),))
PROPOSAL = MessageOrder(
    (
        Turn("label party", "feature party", Kind.PROPOSAL_DRAFT, TEXT),
        Turn("feature party", "label party", Kind.PROPOSAL_WIDTH, 8),
        Turn("label party", "feature party", Kind.PROPOSAL_PLAN, TEXT),
    )
)


def order_for(plan: Plan, purpose: str) -> MessageOrder | None:
    """What a session of this plan says; None for training in the clear, where nothing is said."""
    if purpose == "align":
        return ALIGNMENT
    if purpose == "predict":
        return replace(PREDICTION, steps=(*PREDICTION.steps, *_scoring_turns(plan)))
    if not plan.kind.has_lattices:
        return {"exchange": EXCHANGE, "arbiter": ARBITER}.get(plan.protocol)
    table = SHARES_BY_LATTICE if len(plan.learners) == 2 else _shares_of_many(len(plan.learners))
    penalties = PENALTIES if len(plan.learners) == 2 else (*PENALTIES, LIFTED_PENALTIES)
    return replace(
        table, steps=(*(penalties if has_penalty_products(plan) else ()), *table.steps, *_scoring_turns(plan))
    )


def _scoring_turns(plan: Plan) -> tuple[Turn, ...]:
    return SCORED_ON_SHARES if plan.is_closed else (HELD_OUT,)


def heard(table: MessageOrder, plan: Plan, sender: str, receiver: str) -> MessageOrder:
    """Of a table, what one party may say to another."""
    return _between(table, partial(_is, plan, sender), partial(_is, plan, receiver))


def proposal_order_between(sender: Role, receiver: Role) -> MessageOrder:
    """The same where roles are all that is known."""
    return _between(PROPOSAL, sender.__eq__, receiver.__eq__)


def _between(table: MessageOrder, sends: Callable[[Speaker], bool], hears: Callable[[Speaker], bool]) -> MessageOrder:
    def said(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        return tuple(turn for turn in turns if sends(turn.sender) and hears(turn.receiver))

    return MessageOrder(said(table.outside), said(table.steps))


def _is(plan: Plan, name: str, speaker: Speaker) -> bool:
    if isinstance(speaker, range):
        return name in [party.name for party in plan.learners][speaker.start : speaker.stop]
    role = plan.party(name).role
    if speaker == "learner":
        return role != "arbiter" and columns_of(plan, name) > 0
    roles = {"label party": {"label"}, "feature party": {"features"}, "arbiter": {"arbiter"}}
    return role in roles.get(speaker, {"label", "features"} if speaker != "anybody" else {role})


class ChannelOrder:
    """How far one channel is in its table, in one direction."""

    def __init__(self, table: MessageOrder) -> None:
        self._table = table
        self._outside = _Position(table.outside)
        self._inside = _Position(table.steps)
        self._step = 0

    def take(self, kind: Kind, step: int) -> Turn:
        """The turn that this kind of message is; LocalProtocolError where it is not due any more, or not at all."""
        if step == 0 or any(turn.kind == kind for turn in self._table.outside):
            return self._outside.take(kind, "outside the steps")
        if step != self._step:
            self._step, self._inside = step, _Position(self._table.steps)
        return self._inside.take(kind, f"in step {step}")


class _Position:
    """How far one list of turns is."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self._turns = turns
        self._next = 0

    def take(self, kind: Kind, where: str) -> Turn:
        due: list[int] = [*self._again(), *range(self._next, len(self._turns))]
        for place in due:
            turn: Turn = self._turns[place]
            if turn.kind == kind:
                self._next = place + 1
                return turn
        expected = " or ".join(dict.fromkeys(self._turns[place].kind.name for place in due)) or "nothing more"
        raise LocalProtocolError(f"{kind.name} is not due {where}; expected {expected}")

    def _again(self) -> Sequence[int]:
        """The turns that repeat with the last one: first what is left of this round, then the next round's."""
        word = self._turns[self._next - 1].again if self._next else ""
        places = [place for place, turn in enumerate(self._turns) if word and turn.again == word]
        return [place for place in places if place >= self._next] + [place for place in places if place < self._next]
