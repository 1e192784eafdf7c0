"""The table of messages: what a channel waits for, in which order, and that real runs say what it has."""

import re
from pathlib import Path

import pytest

from plumbob.errors import LocalProtocolError
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import Kind, decode
from plumbob.protocol.order import OUTSIDE, STEPS, Order
from plumbob.transport import linked_pair
from plumbob.workshop.simulation import train
from tests.protocol.support import made_up, plan_for, tables_for


@pytest.mark.parametrize("protocol", STEPS)
@pytest.mark.parametrize("split", [(2, 3), (0, 2), (2, 2, 1)], ids=str)
def test_a_run_says_what_the_table_has(protocol: str, split: tuple[int, ...]) -> None:
    """In every step, toward every peer, the kinds that came are those of the table, in its order."""
    plan = plan_for(split, protocol=protocol, test_share=0.2)
    run = train(plan, tables_for(plan, *made_up(columns=sum(split))), keep_bytes=True)
    seen = set()
    for transcript in run.transcripts.values():
        for frames in transcript.frames.values():
            order = Order(protocol)
            for message in map(decode, frames):
                order.take(message.kind, message.step)
                seen.add(message.kind)
    assert {turn.kind for turn in STEPS[protocol]} <= seen


def test_a_message_is_not_due_twice_nor_before_an_earlier_one() -> None:
    """The table says what comes next; a new step begins it again."""
    order = Order("exchange")
    order.take(Kind.MASKED_SUMS, 1)
    for kind in (Kind.RESIDUALS, Kind.MASKED_SUMS, Kind.SCORES):
        with pytest.raises(LocalProtocolError, match="expected OPENED_SUMS"):
            order.take(kind, 1)
    order.take(Kind.OPENED_SUMS, 1)
    with pytest.raises(LocalProtocolError, match="expected SCORE_SHARE"):
        order.take(Kind.OPENED_SUMS, 1)
    assert order.take(Kind.RESIDUALS, 2).line == "5"


def test_a_channel_does_not_wait_for_what_is_not_due() -> None:
    """It says so at once, and not after all patience."""
    channel = Channel("features", linked_pair()[0], patience=600.0)
    channel.follow("exchange")
    with pytest.raises(LocalProtocolError, match="SCORES is not due in step 1"):
        channel.receive(Kind.SCORES, 1, 10)


def test_no_kind_stands_twice_in_a_table() -> None:
    """Its place would not be known from the kind."""
    for turns in (OUTSIDE, *STEPS.values()):
        assert len({turn.kind for turn in turns}) == len(turns)


def test_each_line_of_the_papers_protocol_is_in_the_code() -> None:
    """Whoever reads Protocol 1 finds each of its lines beside the code that carries it out."""
    folder = Path(__file__).parents[2] / "src" / "plumbob" / "protocol"
    text = "\n".join((folder / name).read_text() for name in ("exchange.py", "primitive.py"))
    found: set[int] = set()
    for first, last in re.findall(r"[Ll]ines? (\d+)(?:(?: to | and )(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    assert set(range(1, 13)) <= found
