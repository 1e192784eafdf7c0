"""Greetings: strict, short, and clear about a misunderstanding."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from plumbob import __version__
from plumbob.errors import PlumbobError, RemoteProtocolError
from plumbob.net.greeting import (
    HEAD,
    LARGEST_GREETING,
    VERSION,
    Greeting,
    decode,
    encode,
    plan_difference,
    refuse_other_run,
)
from plumbob.plan import Plan
from plumbob.plan.file import marks_of

PLAN = Plan.for_columns((11, 12))
FULL = Greeting(
    purpose="train",
    plan=PLAN.hash(),
    keys=marks_of(PLAN),
    name="march",
    run="01" * 16,
    knows="02" * 16,
    received=7,
    clock=1.5,
)


def test_it_reads_back() -> None:
    """Every field arrives as it was sent, within the limit of size, with our version by default."""
    assert decode(encode(FULL), "fund") == FULL
    assert len(encode(FULL)) <= len(HEAD) + LARGEST_GREETING
    assert (FULL.version, FULL.plumbob) == (VERSION, __version__)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("purpose", "attack"),
        ("purpose", None),
        ("plan", "ab"),
        ("plan", "AB" * 32),
        ("name", "x" * 33),
        ("name", "march\n"),
        ("name", "../march"),
        ("keys", "abc"),
        ("keys", "XYZW"),
        ("number", 3),
        ("refuses", "it does not accept this plan"),
        ("run", "abc"),
        ("run", "00" * 33),
        ("knows", "xy"),
        ("received", -1),
        ("received", 1.5),
        ("received", "7"),
        ("received", 2**60),
        ("clock", "now"),
        ("clock", None),
        ("plumbob", "x" * 65),
        ("plumbob", "1.0\x1b[31m"),
        ("more", 1),
    ],
)
def test_wrong_fields_are_refused(field: str, value: object) -> None:
    """Another type, an unknown word, a wrong length or a field that nobody knows is no greeting."""
    changed = {**json.loads(encode(FULL)[len(HEAD) :]), field: value}
    with pytest.raises(RemoteProtocolError, match="no greeting"):
        decode(HEAD + json.dumps(changed).encode(), "fund")


def test_a_missing_purpose_is_refused() -> None:
    """A greeting must say what it is here for."""
    with pytest.raises(RemoteProtocolError, match="no greeting"):
        decode(HEAD + f'{{"version":{VERSION}}}'.encode(), "fund")


def test_another_version_is_named() -> None:
    """A newer version is told as such, whatever else it says."""
    with pytest.raises(RemoteProtocolError, match=f"speaks version 9 of the protocol, we speak {VERSION}"):
        decode(HEAD + b'{"version":9,"colour":"green"}', "fund")


def test_a_long_greeting_is_refused_unread() -> None:
    """Above the limit nothing is parsed."""
    with pytest.raises(RemoteProtocolError, match="at most"):
        decode(encode(FULL) + b" " * LARGEST_GREETING, "fund")


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"epochs": 3}, "model.epochs"),
        ({"features": (11, 13)}, "parties"),
        ({"epochs": 3, "bins": 5}, "data.bins, model.epochs"),
        ({"tolerance_labels": 0.1}, "tolerance.labels"),
    ],
)
def test_plans_that_differ_are_told_by_their_keys(changes: dict[str, Any], keys: str) -> None:
    """Whoever has to put it right reads which lines to compare, without either plan having been sent."""
    other = PLAN.replace(**changes)
    theirs = Greeting(purpose="train", plan=other.hash(), keys=marks_of(other))
    assert plan_difference(FULL, theirs) == f"its plan differs from ours in {keys}"


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ({}, {}, None),
        ({"knows": "03" * 16}, {}, None),
        ({}, {"knows": "01" * 16}, None),
        ({}, {"plan": "ab" * 32}, "its plan's hash"),
        # Without a name, a peer that lost its journal could not be told from one that has it.
        ({}, {"run": ""}, "does not say which run it is in"),
        ({"knows": "04" * 16}, {}, "began a new run, we are in the middle of one with it.*with --new"),
        ({"knows": "04" * 16, "purpose": "align"}, {}, "began a new run.*both type this again"),
        ({}, {"knows": "04" * 16}, "a run that this journal does not belong to"),
    ],
)
def test_both_sides_must_be_in_the_same_run(ours: dict[str, str], theirs: dict[str, str], words: str | None) -> None:
    """The same plan, and on each side the journal that the other one met before, if it met one."""
    base = Greeting(purpose="train", plan=PLAN.hash(), run="01" * 16)
    mine = structs.replace(base, **ours)
    with nullcontext() if words is None else pytest.raises(PlumbobError, match=words):
        refuse_other_run(mine, structs.replace(base, **{"run": "03" * 16, **theirs}), "fund")


def test_plans_that_cannot_be_compared_are_told_by_their_hashes() -> None:
    """A greeting without marks is no reason to say nothing."""
    theirs = Greeting(purpose="train", plan="ab" * 32)
    assert plan_difference(FULL, theirs) == f"its plan's hash is '{'ab' * 8}'..., ours is '{PLAN.hash()[:16]}'..."


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    """Whatever comes first, the answer is our own error."""
    for frame in (data, HEAD + data):
        with pytest.raises(RemoteProtocolError):
            decode(frame, "fund")


def test_a_greeting_stands_in_a_frame_of_its_kind() -> None:
    """The same words in another kind of frame are none."""
    with pytest.raises(RemoteProtocolError, match="no greeting"):
        decode(b"\0" + encode(FULL)[1:], "fund")
