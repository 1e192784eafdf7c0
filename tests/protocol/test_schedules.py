"""The schedules: a channel keeps to them in both directions, and real sessions say just that, to the byte."""

from collections import defaultdict
from functools import partial

import pytest

from plumbob.errors import LocalProtocolError, RemoteProtocolError
from plumbob.net import linked_pair
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel, DueMessages
from plumbob.protocol.messages import HEADER, Kind
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.party import party_at
from plumbob.protocol.schedules import Due, training_schedule
from tests.frozen.files import frozen_messages
from tests.frozen.messages import TRAININGS, rows_of
from tests.protocol.support import Wire, outcomes, seated, tables_for

ROWS = 40
TESTS = (Kind.KEY_CHALLENGES, Kind.KEY_COMMITMENTS, Kind.KEY_REVEALS, Kind.KEY_NONCES)
Said = tuple[Kind, int, int]
"""Its kind, step and size."""
GREETING = (Kind.SEED_COMMITMENT, Kind.SEED_SHARE, Kind.CONFIRMATION)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_schedule_lists_what_a_training_says(name: str) -> None:
    """Every message of every direction, in its order and of its size; only tests of keys may be repeated."""
    split, keys = TRAININGS[name]
    said = defaultdict(list)
    # What real parties said, which another test compares with them; nobody signs in a simulation.
    for step, kind, sender, receiver, size, _ in map(str.split, frozen_messages()[f"training, {name}"]):
        said[sender, receiver].append((Kind[kind], int(step), int(size)))
    due = listed(Plan.for_columns(split, **keys))
    assert due.keys() == said.keys()
    for ends, messages in said.items():
        assert said_once(messages) == [one for one in due[ends] if one[0] is not Kind.SEAL]


@pytest.mark.parametrize("name", ["exchange of three", "arbiter of two", "shares of two, opened", "shares of three"])
def test_a_schedule_lists_every_signature(name: str) -> None:
    """Parties that sign say what is listed, seals included."""
    split, keys = TRAININGS[name]
    plan = Plan.for_columns(split, **keys)
    wire = Wire()
    participants = seated(plan, wire, signed=True)
    tables = tables_for(plan, *rows_of(plan))
    parties = {name: party_at(one, tables.get(name)) for name, one in participants.items()}
    ends = outcomes({name: partial(run_to_its_quality, party) for name, party in parties.items()}, participants)
    assert not [end for end in ends.values() if isinstance(end, Exception)], ends
    said = defaultdict(list)
    for sender, receiver, message in wire.log:
        said[sender, receiver].append((message.kind, message.step, len(message.body)))
    assert {ends: said_once(messages) for ends, messages in said.items()} == listed(plan)


def listed(plan: Plan) -> dict[tuple[str, str], list[Said]]:
    """What the schedule has for each direction."""
    due = defaultdict(list)
    for one in training_schedule(plan, ROWS).messages():
        due[one.sender, one.receiver].append((one.kind, one.step, one.size))
    return due


def said_once(messages: list[Said]) -> list[Said]:
    """The messages without the greeting, and without tests of keys that are not the first one."""
    return [one for one in messages if one[0] is not Kind.HELLO and (one[0] not in TESTS or one[1] == 0)]


@pytest.mark.parametrize("name", TRAININGS)
def test_totals_and_the_longest_message_follow(name: str) -> None:
    """What an estimate adds up, and what a connector lets through, are the schedule's own sum and maximum."""
    split, keys = TRAININGS[name]
    plan = Plan.for_columns(split, **keys)
    schedule = training_schedule(plan, ROWS)
    listed = list(schedule.messages())
    quality = sum(HEADER.size + due.size for due in schedule.quality())
    agreed = sum(HEADER.size + due.size for due in listed if due.kind in GREETING)
    assert schedule.total_bytes == sum(HEADER.size + due.size for due in listed) - quality - agreed
    assert schedule.largest_message == max(due.size for due in listed)


def channels() -> tuple[Channel, Channel]:
    """Two ends; the first one may say a residual and hear a sum."""
    here, there = linked_pair()
    one, other = Channel("features", here, 1.0), Channel("label", there, 1.0)
    said, heard = Due(Kind.RESIDUALS, 1, "label", "features", 4), Due(Kind.MASKED_SUMS, 1, "features", "label", 2)
    one.follow([said], [heard])
    other.follow([heard], [said])
    return one, other


def test_what_is_due_is_sent_and_heard() -> None:
    """What is due is sent and heard in its order, with its size."""
    one, other = channels()
    one.send(Kind.RESIDUALS, 1, bytes(4))
    assert other.receive(Kind.RESIDUALS, 1) == bytes(4)
    other.send(Kind.MASKED_SUMS, 1, bytes(2))
    assert one.receive(Kind.MASKED_SUMS, 1) == bytes(2)


@pytest.mark.parametrize(
    ("kind", "step", "size"), [(Kind.MASKED_SUMS, 1, 4), (Kind.RESIDUALS, 2, 4), (Kind.RESIDUALS, 1, 5)]
)
def test_nothing_else_leaves(kind: Kind, step: int, size: int) -> None:
    """Another kind, step or size is our own mistake and is not sent."""
    one, _ = channels()
    with pytest.raises(LocalProtocolError):
        one.send(kind, step, bytes(size))
    assert one.traffic.messages_sent == 0


def test_nothing_else_is_awaited() -> None:
    """We do not wait for what the peer will not say."""
    one, _ = channels()
    with pytest.raises(LocalProtocolError, match="expected MASKED_SUMS of step 1"):
        one.receive(Kind.OPENED_SUMS, 1)


def test_a_peers_other_size_ends_the_run() -> None:
    """A peer that keeps to no schedule is noticed by ours."""
    one, other = channels()
    other.break_free()
    other.send(Kind.MASKED_SUMS, 1, bytes(3))
    with pytest.raises(RemoteProtocolError, match="with 2 bytes, got 3"):
        one.receive(Kind.MASKED_SUMS, 1)


def test_only_what_repeats_is_repeated() -> None:
    """A round of tests may come again, in later steps and in its order; then what follows."""
    first, second, last = (
        Due(Kind.KEY_CHALLENGES, 0, "", "", 8, again="test"),
        Due(Kind.KEY_REVEALS, 0, "", "", 8, again="test"),
        Due(Kind.LATTICE_REQUEST, 1, "", "", 8),
    )
    direction = DueMessages()
    direction.extend([first, second, last])
    for kind, step in (
        (Kind.KEY_CHALLENGES, 0),
        (Kind.KEY_REVEALS, 0),
        (Kind.KEY_CHALLENGES, 1),
        (Kind.KEY_REVEALS, 2),
    ):
        assert direction.take(kind, step).kind is kind
    with pytest.raises(LocalProtocolError):
        direction.take(Kind.KEY_CHALLENGES, 2)
    assert direction.take(Kind.LATTICE_REQUEST, 1) == last
    with pytest.raises(LocalProtocolError, match="nothing more"):
        direction.take(Kind.KEY_CHALLENGES, 3)


def test_after_a_restart_what_was_said_is_skipped_once() -> None:
    """The first message may be a later one; from there on all are due again."""
    dues = [Due(Kind.LATTICE_REQUEST, step, "", "", 8) for step in range(1, 5)]
    direction = DueMessages()
    direction.extend(dues)
    direction.may_skip = True
    assert direction.take(Kind.LATTICE_REQUEST, 3) == dues[2]
    with pytest.raises(LocalProtocolError):
        direction.take(Kind.LATTICE_REQUEST, 5)
