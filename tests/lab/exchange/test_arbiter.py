"""`arbiter`: a third party that sees masked sums, or, as others ship it, all gradients; weights: `test_protocol`."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from plumbob.errors import CiphertextRefusedError, RemoteProtocolError, TransportError
from plumbob.lab.exchange.arbiter import Arbiter, greeted
from plumbob.lab.simulate.training import transcript_of
from plumbob.lab.transcript import ArbiterTranscript
from plumbob.plan import Plan
from plumbob.protocol.handshake import agree, greet
from plumbob.protocol.messages import Kind
from tests.lab.exchange.support import SINGLE
from tests.protocol.support import (
    Wire,
    changing,
    outcomes,
    plan_for,
    played,
    seated,
    trained,
    uniformity,
    weights_of,
)

IDS = ("anna", "bert", "carl")
WITH_ARBITER = plan_for((2, 3), protocol="arbiter", seed=0)
UNMASKED = {"unmasked_gradients_for_the_arbiter": True}


def arbiter_plan(split: tuple[int, ...] = (2, 3), **keys: Any) -> Plan:
    """A small plan for this protocol."""
    return plan_for(split, protocol="arbiter", **keys)


def test_a_label_party_without_columns() -> None:
    """d_A = 0: the label party adds the scores up, asks the arbiter for nothing, and its peer learns."""
    wire = Wire()
    played(arbiter_plan((0, 5), intercept=False), wire=wire)
    assert not wire.bodies(Kind.MASKED_SUMS, sender="label")
    assert wire.bodies(Kind.MASKED_SUMS, sender="features")


@pytest.mark.parametrize("replies", [{}, SINGLE, {"replies": "paper"}], ids=str)
def test_an_unmasked_arbiter_sees_every_gradient(replies: dict[str, Any]) -> None:
    """Without masks its transcript holds exactly the sums of every party and step."""
    run = trained(arbiter_plan((2, 2, 1), **replies, **UNMASKED))
    assert run.arbiter is not None
    seen = run.arbiter.sums
    assert set(seen) == {"label", "features", "features-2"}
    for name, sums in seen.items():
        assert np.array_equal(sums, run.transcripts[name].sums)


def test_a_masked_arbiter_sees_nothing() -> None:
    """With masks its transcript is empty, and what it decrypts passes for uniform."""
    wire = Wire()
    run = played(arbiter_plan(epochs=12, batches="full", **SINGLE), wire=wire)
    transcript = transcript_of(run.parties["arbiter"])
    assert isinstance(transcript, ArbiterTranscript)
    assert transcript.sums == {}
    opened = b"".join(wire.bodies(Kind.OPENED_SUMS))
    # The slots fill no whole number of bytes, so the top byte of each is left out.
    size = len(wire.bodies(Kind.OPENED_SUMS, receiver="label")[0]) // 3
    values = [opened[start : start + size - 1] for start in range(0, len(opened), size)]
    assert len(set(values)) == len(values)
    assert uniformity(b"".join(values)) > 1e-7


def test_the_arbiter_gets_no_residual() -> None:
    """Ciphertexts of scores and residuals, which it could decrypt, never go to it."""
    wire = Wire()
    played(arbiter_plan((2, 2, 1)), wire=wire)
    reached = {message.kind for _, target, message in wire.log if target == "arbiter"}
    assert reached == {Kind.HELLO, Kind.NUMBERS, Kind.MASKED_SUMS}


def test_joint_residuals_are_fresh_for_everybody() -> None:
    """Every feature party gets its own randomisation of the residuals; none can divide by its own ciphertexts."""
    wire = Wire()
    played(arbiter_plan((2, 2, 1)), wire=wire)
    first = wire.bodies(Kind.JOINT_RESIDUALS, receiver="features")
    second = wire.bodies(Kind.JOINT_RESIDUALS, receiver="features-2")
    assert len(first) == len(second) > 0
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert not set(first) & set(wire.bodies(Kind.SCORES))


def test_noise_is_drawn_by_every_party() -> None:
    """With noise each party draws one vector a step, and two runs differ."""
    plan = arbiter_plan(noise="std", noise_std=1.0, row_norm=1.0)
    first, second = trained(plan), trained(plan)
    draws = {party.name: party.noise_draws for party in first.record.parties}
    assert draws == {"label": 80, "features": 80, "arbiter": 0}
    assert not np.array_equal(weights_of(first), weights_of(second))


@pytest.mark.parametrize(
    ("sender", "kind", "change", "receiver", "error"),
    [
        ("features", Kind.SCORES, lambda body: body[:-1], "label", RemoteProtocolError),
        ("features", Kind.SCORES, lambda body: bytes(len(body)), "label", CiphertextRefusedError),
        ("label", Kind.JOINT_RESIDUALS, lambda body: body + b"x", "features", RemoteProtocolError),
        ("label", Kind.MASKED_SUMS, lambda body: bytes(len(body)), "arbiter", CiphertextRefusedError),
        ("arbiter", Kind.OPENED_SUMS, lambda body: b"\xff" * len(body), "features", RemoteProtocolError),
    ],
)
def test_a_misbehaving_peer_is_refused(
    sender: str, kind: Kind, change: Any, receiver: str, error: type[Exception]
) -> None:
    """Wrong sizes, zero ciphertexts and too wide answers are refused where they arrive, and all parties end."""
    ends = played(arbiter_plan(**SINGLE, batches="full"), wire=changing(kind, change, sender)).ends
    assert isinstance(ends[receiver], error)
    assert all(isinstance(end, error | TransportError | RemoteProtocolError) for end in ends.values())


def test_the_arbiter_holds_no_rows() -> None:
    """Beside its key it has neither a table nor a shard nor weights, and knows of the rows how many there are."""
    arbiter = played(arbiter_plan()).parties["arbiter"]
    assert isinstance(arbiter, Arbiter)
    assert set(vars(arbiter)) == {"key", "participant", "plan", "training_rows", "sums"}
    assert arbiter.sums == {}
    assert isinstance(arbiter.training_rows, int)


def test_an_arbiter_hears_the_rows_and_nothing_else() -> None:
    """It is greeted, learns how many rows there are, and no share of the seed nor hash over ids reaches it."""
    wire = Wire()
    participants = seated(WITH_ARBITER, wire)
    tasks: dict[str, Any] = {name: partial(agree, participant, IDS) for name, participant in participants.items()}
    ends = outcomes(tasks | {"arbiter": partial(greeted, participants["arbiter"])}, participants)
    assert ends["arbiter"] == (ends["label"].identity, 3)
    assert {message.kind for _, target, message in wire.log if target == "arbiter"} == {Kind.HELLO}


@pytest.mark.parametrize("rows", [0, 4])
def test_an_arbiter_is_not_told_different_rows(rows: int) -> None:
    """A party that tells the arbiter no rows, or others than its peer, is refused there."""
    participants = seated(WITH_ARBITER)
    tasks: dict[str, Any] = {
        "label": partial(greet, participants["label"], 3),
        "features": partial(greet, participants["features"], rows),
    }
    ends = outcomes(tasks | {"arbiter": partial(greeted, participants["arbiter"])}, participants)
    assert isinstance(ends["arbiter"], RemoteProtocolError)
