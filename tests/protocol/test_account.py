"""Commitments and seals: two versions of one thing, and a signature that is missing, end the run before an opening."""

from dataclasses import replace
from typing import Any

import pytest

from plumbob.protocol import signing
from plumbob.protocol.handshake import Hello
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant
from tests.protocol.support import Wire, changing, plan_for, played

PLAN = plan_for((2, 2, 1), epochs=1)


def ends_of(wire: Wire, unsigned: str = "") -> dict[str, Any]:
    """What became of everybody in a run of three that sign; one of them may leave its seals out."""
    with pytest.MonkeyPatch.context() as patch:
        if unsigned:
            seal = signing.seal

            def sealed(one: Participant, step: int, names: Any = None) -> None:
                if one.name != unsigned:
                    seal(one, step, names)

            patch.setattr(signing, "seal", sealed)
        return played(PLAN, wire=wire, signed=True, quality=True).ends


def other_hello(body: bytes) -> bytes:
    """The greeting with another commitment of the same length."""
    return replace(Hello.from_bytes(body), commitment=b"\xab" * 32).to_bytes()


def other_body(body: bytes) -> bytes:
    """Another body of the same length."""
    return bytes([body[0] ^ 1]) + body[1:]


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (Kind.HELLO, other_hello, "differ from ours"),
        (Kind.NUMBERS, other_body, "other commitments|does not hold"),
        (Kind.SEAL, other_body, "does not hold"),
    ],
)
def test_two_versions_of_one_thing_end_the_run(kind: Kind, change: Any, words: str) -> None:
    """A first or second commitment, or a seal, that one of two peers gets in another form."""
    wire = changing(kind, change, "label", "features-2")
    ends = ends_of(wire)
    assert any(
        isinstance(end, Exception) and any(word in str(end) for word in words.split("|")) for end in ends.values()
    )
    assert not wire.bodies(Kind.WEIGHT_SHARE, sender="features-2")


def test_nothing_is_opened_to_a_party_that_does_not_sign() -> None:
    """Its peers wait for its signature, and get something else."""
    wire = Wire()
    ends = ends_of(wire, unsigned="label")
    assert "expected SEAL" in str(ends["features"])
    assert not wire.bodies(Kind.WEIGHT_SHARE, sender="features")
    assert not wire.bodies(Kind.WEIGHT_SHARE, sender="features-2")
