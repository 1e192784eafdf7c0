"""The sizes of a run: sums over its products are what real parties send, to the byte."""

from collections import Counter

import pytest

from plumbob.plan import Plan
from plumbob.protocol.messages import HEADER, Kind
from plumbob.protocol.shares.sizes import largest_body, sent_in_a_run, total_bytes
from tests.frozen.files import frozen_messages
from tests.frozen.messages import TRAININGS, rows_of
from tests.protocol.support import Wire, played

ROWS = 40
SHARES = [name for name in TRAININGS if name.startswith("shares")]
TESTS = (Kind.KEY_CHALLENGES, Kind.KEY_COMMITMENTS, Kind.KEY_REVEALS, Kind.KEY_NONCES)
GREETING = (Kind.HELLO, Kind.SEED_COMMITMENT, Kind.SEED_SHARE, Kind.CONFIRMATION)
Body = tuple[str, int]
"""Its receiver and its size."""


def trained_rows(plan: Plan) -> int:
    """The rows that are not held out."""
    return ROWS - plan.held_out(ROWS)


def counted(plan: Plan, messages: list[tuple[int, Kind, str, str, int]]) -> Counter[Body]:
    """The bodies without the greeting, repeated tests of keys and the scores of held-out rows, which come last."""
    first: Counter[tuple[Kind, str, str]] = Counter()
    bodies: Counter[Body] = Counter()
    steps = plan.passes(trained_rows(plan))
    for step, kind, sender, receiver, size in messages:
        is_scored = step > steps or (kind in (Kind.NUMBERS, Kind.PAIR_KEY) and first[kind, sender, receiver] > 0)
        first[kind, sender, receiver] += 1
        if kind not in GREETING and not is_scored and not (kind in TESTS and step):
            bodies[receiver, size] += 1
    return bodies


def listed(plan: Plan, *, signed: bool) -> Counter[Body]:
    """What the sums count."""
    sent = sent_in_a_run(plan, trained_rows(plan), signed=signed)
    return sum((Counter({(one.receiver, one.size): one.times}) for one in sent), Counter[Body]())


@pytest.mark.parametrize("name", SHARES)
def test_a_run_sends_what_is_counted(name: str) -> None:
    """Every body of frozen runs, in which nobody signs, is counted; the longest is no shorter than any of them."""
    split, keys = TRAININGS[name]
    plan = Plan.for_columns(split, **keys)
    lines = [line.split() for line in frozen_messages()[f"training, {name}"]]
    messages = [(int(step), Kind[kind], sender, receiver, int(size)) for step, kind, sender, receiver, size, _ in lines]
    assert counted(plan, messages) == listed(plan, signed=False)
    assert largest_body(plan, trained_rows(plan)) == max(int(line[4]) for line in lines)


@pytest.mark.parametrize("name", ["shares of two, opened", "shares of three"])
def test_signatures_are_counted(name: str) -> None:
    """Parties that sign send what is counted with signatures, and each receives its part of it."""
    split, keys = TRAININGS[name]
    plan = Plan.for_columns(split, **keys)
    wire = Wire()
    ends = played(plan, rows_of(plan), wire, signed=True, quality=True).ends
    assert not [end for end in ends.values() if isinstance(end, Exception)], ends
    sent = [(one.step, one.kind, sender, receiver, len(one.body)) for sender, receiver, one in wire.log]
    bodies = counted(plan, sent)
    assert bodies == listed(plan, signed=True)
    for name in ends:
        own = sum(times * (HEADER.size + size) for (receiver, size), times in bodies.items() if receiver == name)
        assert total_bytes(plan, trained_rows(plan), receiver=name) == own
