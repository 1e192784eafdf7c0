"""The tables of messages: what a channel waits for, in which order and how long; real sessions say just that."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from plumbob.crypto import PrivateKey, Slots
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.crypto.proof import ROOTS
from plumbob.data import batches, seed_from_int
from plumbob.errors import LocalProtocolError
from plumbob.plan import Plan
from plumbob.protocol import order
from plumbob.protocol.cast import player
from plumbob.protocol.channel import Channel
from plumbob.protocol.exchange_order import ARBITER, EXCHANGE
from plumbob.protocol.lattice_sets import TERMS, LatticeShape
from plumbob.protocol.lattice_shares import ELEMENT_BYTES
from plumbob.protocol.messages import LONGEST_TEXT, Kind, Message
from plumbob.protocol.order import ChannelOrder, heard, order_for
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.quality import run_to_its_quality
from plumbob.protocol.turns import TEXT, MessageOrder, Turn
from plumbob.protocol.widths import columns_of, slots_for
from plumbob.transport import linked_pair
from tests.protocol.support import Wire, made_up, outcomes, plan_for, seated, tables_for
from tests.protocol.test_alignment import ANNA, BERT, THREE, TWO, aligned, always, sets_for
from tests.protocol.test_lattice_shares import lattice_plan
from tests.protocol.test_prediction import predicted, run_of

ROWS = 40
FIRST_TESTS = 8  # Messages before training with a plan's seed, and of one test of all keys; later ones have fewer keys.
PLANS = {
    "exchange": plan_for((2, 3), protocol="exchange", test_share=0.2),
    "exchange, no columns": plan_for((0, 2), protocol="exchange", test_share=0.2),
    "exchange of three": plan_for((2, 2, 1), protocol="exchange", test_share=0.2),
    "arbiter": plan_for((2, 3), protocol="arbiter", test_share=0.2),
    "arbiter of three": plan_for((2, 2, 1), protocol="arbiter", seed=0, test_share=0.2),
    "shares, opened": lattice_plan(epochs=2, test_share=0.2),
    "shares, no columns": lattice_plan((0, 3), epochs=1, intercept=False, test_share=0.2),
    "shares, never opened": lattice_plan(epochs=2, open="never", l2=0.05, test_share=0.2, seed=0),
    "shares of three": lattice_plan((2, 2, 1), epochs=2, test_share=0.2),
    "shares of three, never opened": lattice_plan((2, 2, 1), epochs=2, open="never", l2=0.05, test_share=0.2, seed=0),
    "shares of five": lattice_plan((0, 2, 1, 1, 1), epochs=1, l2=0.05, test_share=0.2),
}

CLOSED: dict[str, Any] = {"protocol": "shares", "open": "never"}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_training_says_what_the_table_has(plan: Plan) -> None:
    """In every step, from every party to every other one: kinds, order and sizes are the table's."""
    wire = Wire()
    participants = seated(plan, wire)
    tables = tables_for(plan, *made_up(ROWS, plan.columns))
    parties = {name: player(one, tables.get(name)) for name, one in participants.items()}
    ends = outcomes({name: partial(run_to_its_quality, party) for name, party in parties.items()}, participants)
    assert all(isinstance(end, tuple) for end in ends.values()), ends
    table = order_for(plan, "train")
    assert table is not None
    said = follow(wire, plan, table, sizes_of(plan, parties))
    assert {turn.kind for turn in table.steps} <= said


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        ((2, 3), {}),
        ((2, 2, 1), {}),
        ((2, 3), CLOSED),
        ((2, 2, 1), CLOSED),
    ],
    ids=["two", "three", "shares of two", "shares of three"],
)
def test_prediction_says_what_the_table_has(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """A session of two queries, and its end."""
    wire = Wire()
    plan = run_of(split, **keys).model.plan
    session = predicted(run_of(split, **keys), [[3, 1], [4]], wire)
    assert len(session.scores) == 2
    table = order_for(plan, "predict")
    assert table is not None
    assert {Kind.QUERY, Kind.QUERY_ROWS, Kind.QUERY_VERDICT, Kind.SCORE_SHARE} <= follow(wire, plan, table)


@pytest.mark.parametrize("size_first", [False, True])
@pytest.mark.parametrize("plan", [TWO, THREE], ids=["two", "three"])
def test_alignment_says_what_the_table_has(plan: Plan, size_first: bool) -> None:
    """Of two and of three parties, the ids at once or the size first."""
    wire = Wire()
    ids = sets_for(plan, [ANNA, BERT, ["anna", "carl", "yves"]][: len(plan.learners)])
    aligned(plan, ids, wire, dict.fromkeys(ids, always) if size_first else None)
    said = follow(wire, plan, order.ALIGNMENT)
    assert (Kind.RETURN_PROOF in said) == (plan is TWO)
    assert (Kind.UNBLINDED_IDS in said) == (plan is THREE)


Words = Callable[[str, str, Message], dict[str, Any]]


def follow(wire: Wire, plan: Plan, table: MessageOrder, words: Words | None = None) -> set[Kind]:
    """Every message that was sent, taken in the table's order; the kinds that were said."""
    orders: dict[tuple[str, str], ChannelOrder] = {}
    for sender, receiver, message in wire.log:
        own = heard(table, plan, sender, receiver)
        turn = orders.setdefault((sender, receiver), ChannelOrder(own)).take(message.kind, message.step)
        known = {} if words is None else words(sender, receiver, message)
        # The order counts no pieces and no steps: what follows pieces, or the last step, may be taken for one more.
        is_unsure = turn in own.steps and (turn.again == "piece" or known.get("is_held_out"))
        assert_size([one for one in own.steps if one.kind == turn.kind] if is_unsure else [turn], message, known)
    return {message.kind for _, _, message in wire.log}


def assert_size(due: list[Turn], message: Message, words: dict[str, Any]) -> None:
    """The body has as many bytes as the table says."""
    [turn, *_] = due
    if isinstance(turn.size, int):
        assert len(message.body) == turn.size
    elif turn.size == TEXT:
        assert len(message.body) <= LONGEST_TEXT
    elif words and "keys" not in turn.size:
        sizes = [eval(str(one.size), {"__builtins__": {}}, words) for one in due]  # noqa: S307  # The table's own.
        assert len(message.body) in sizes, due
    elif words and message.sequence < FIRST_TESTS:
        assert len(message.body) == eval(turn.size, {"sum": sum, "len": len}, words)  # noqa: S307  # As above.


def sizes_of(plan: Plan, parties: dict[str, Any]) -> Words:
    """The words of the table's expressions, for each message of a training."""
    trained = ROWS - plan.held_out(ROWS)
    lengths = [len(batch) for batch in batches(seed_from_int(1), trained, plan)]
    by_keys = lattice_words if plan.kind.has_lattices else paillier_words

    def words(sender: str, receiver: str, message: Message) -> dict[str, Any]:
        rows = lengths[message.step - 1] if 0 < message.step <= len(lengths) else plan.held_out(ROWS)
        is_held_out = message.step > len(lengths)
        ends = {"sender": sender, "receiver": receiver, "rows": rows, "columns": partial(columns_of, plan)}
        return ends | by_keys(parties, {sender, receiver}, trained, is_held_out) | {"is_held_out": is_held_out}

    return words


def paillier_words(parties: dict[str, Any], _ends: set[str], trained: int, _is_held_out: bool) -> dict[str, Any]:
    """What depends on keys and slots."""
    party = next(one for one in parties.values() if isinstance(one, TrainingParty))
    plan, widths = party.plan, party.widths
    [public, *_] = [
        key.public for one in parties.values() for key in one.participant.keys if isinstance(key, PrivateKey)
    ]

    def slots(sums: int) -> Slots:
        return slots_for(plan, widths, public, sums, trained)

    return {
        "ciphertext": public.ciphertext_bytes,
        "key": plan.key_bits // 8,
        "roots": ROOTS,
        "is_proved": True,
        "replies": lambda sums: slots(sums).replies,
        "opened": lambda sums: slots(sums).opened_bytes,
    }


def lattice_words(parties: dict[str, Any], ends: set[str], trained: int, is_held_out: bool) -> dict[str, Any]:
    """What depends on layouts; keys only in the first test, of all passes together."""
    [party, *_] = parties.values()
    shape = LatticeShape(party.plan, trained)
    scored = party.plan.held_out(ROWS)
    return {
        "element": ELEMENT_BYTES,
        "keys": lambda who: [
            one.parameters.polynomial_bytes
            for one in party._listed_products()
            if one.is_between(*ends) and one.context.owner == who
        ],
        "request": lambda layout, who: SEED_BYTES + layout(who).request_bytes,
        "reply": lambda layout, who: layout(who).reply_bytes,
        "scores": (lambda who: shape.scores(who, scored)) if is_held_out else shape.scores,
        "bound": lambda who: shape.scores(who, 1),
        "gradients": shape.gradients,
        "penalties": shape.penalties,
        "slots": lambda rows: shape.slots(slice(0, rows)),
        "turned": lambda rows: shape.slots(slice(0, rows), is_turn=True),
        "factors": TERMS,
        "all_columns": sum(columns_of(party.plan, name) for name in parties),
        "parties": len(parties),
    }


def test_a_message_is_not_due_twice_nor_before_an_earlier_one() -> None:
    """The table says what comes next; a new step begins it again."""
    due = ChannelOrder(EXCHANGE)
    due.take(Kind.MASKED_SUMS, 1)
    for kind in (Kind.RESIDUALS, Kind.MASKED_SUMS, Kind.SCORES):
        with pytest.raises(LocalProtocolError, match="not due in step 1; expected OPENED_SUMS"):
            due.take(kind, 1)
    due.take(Kind.OPENED_SUMS, 1)
    with pytest.raises(LocalProtocolError, match="expected SCORE_SHARE"):
        due.take(Kind.OPENED_SUMS, 1)
    assert due.take(Kind.RESIDUALS, 2).where == "line 5"
    due.take(Kind.PUBLIC_KEY, 0)
    with pytest.raises(LocalProtocolError, match="HELLO is not due outside the steps; expected PAIR_KEY"):
        due.take(Kind.HELLO, 0)


def test_turns_repeat_together() -> None:
    """After the last turn of a round its first one may come again; once the order has moved on, it may not."""
    due = ChannelOrder(order.ALIGNMENT)
    for _ in range(3):
        due.take(Kind.BLINDED_IDS, 1)
    due.take(Kind.RETURN_COMMITMENT, 4)
    with pytest.raises(LocalProtocolError, match="BLINDED_IDS is not due"):
        due.take(Kind.BLINDED_IDS, 5)


def test_only_who_may_speak_is_waited_for() -> None:
    """Opened sums come from an arbiter and from nobody else, and a party without columns is sent no residuals."""
    plan = PLANS["arbiter"]
    ChannelOrder(heard(ARBITER, plan, "arbiter", "label")).take(Kind.OPENED_SUMS, 1)
    with pytest.raises(LocalProtocolError, match="OPENED_SUMS is not due"):
        ChannelOrder(heard(ARBITER, plan, "features", "label")).take(Kind.OPENED_SUMS, 1)
    nobody = plan_for((0, 2), protocol="exchange", intercept=False)
    with pytest.raises(LocalProtocolError, match="RESIDUALS is not due"):
        ChannelOrder(heard(EXCHANGE, nobody, "features", "label")).take(Kind.RESIDUALS, 1)


def test_every_pair_meets_in_one_stage() -> None:
    """Of five by lattices, parties ask those before them in the plan; what is lifted goes to the label party alone."""
    plan = lattice_plan((1, 1, 1, 1, 1))
    table = order_for(plan, "train")
    assert table is not None
    places = {party.name: place for place, party in enumerate(plan.learners)}
    for sender, receiver in permutations(places, 2):
        staged = [turn for turn in heard(table, plan, sender, receiver).steps if turn.where == "step 2"]
        kind = Kind.LATTICE_REQUEST if places[sender] > places[receiver] else Kind.LATTICE_REPLY
        # The first three lift what they hold before the last stage, and all five what the last stage makes.
        liftings = (2 if places[sender] < 3 else 1) if receiver == "label" else 0
        assert [turn.kind for turn in staged] == [kind, *[Kind.MASKED_SHARE] * liftings]


def test_only_the_label_party_drafts() -> None:
    """Once roles are known, a feature party waits for nothing from another one, and for no width from anybody."""
    drafted = order.proposal_order_between("label party", "feature party")
    assert [turn.kind for turn in drafted.outside] == [Kind.PROPOSAL_DRAFT, Kind.PROPOSAL_PLAN]
    assert [turn.kind for turn in order.proposal_order_between("feature party", "label party").outside] == [
        Kind.PROPOSAL_WIDTH
    ]
    assert order.proposal_order_between("feature party", "feature party") == MessageOrder(())


def test_a_channel_does_not_wait_for_what_is_not_due() -> None:
    """It says so at once, and not after all patience; nor does it wait for another size than the table's."""
    channel = Channel("features", linked_pair()[0], patience=600.0)
    channel.follow(EXCHANGE)
    with pytest.raises(LocalProtocolError, match="SCORES is not due in step 1"):
        channel.receive(Kind.SCORES, 1, 10)
    with pytest.raises(LocalProtocolError, match="CONFIRMATION has 32 bytes, and we would wait for 31"):
        channel.receive(Kind.CONFIRMATION, 0, 31)


def every_table() -> Iterator[MessageOrder]:
    """Of all purposes."""
    for plan in PLANS.values():
        yield from (table for purpose in ("train", "predict", "align") if (table := order_for(plan, purpose)))


def test_a_kind_stands_outside_the_steps_or_in_them() -> None:
    """By its kind alone a channel knows which list a message is in."""
    for table in every_table():
        assert not {turn.kind for turn in table.outside} & {turn.kind for turn in table.steps}


def test_each_line_of_the_papers_protocol_is_in_the_code() -> None:
    """Whoever reads Protocol 1 finds each of its lines beside the code that carries it out."""
    folder = Path(__file__).parents[2] / "src" / "plumbob" / "protocol"
    text = "\n".join((folder / name).read_text() for name in ("exchange.py", "primitive.py"))
    found: set[int] = set()
    for first, last in re.findall(r"[Ll]ines? (\d+)(?:(?: to | and )(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    assert set(range(1, 13)) <= found
