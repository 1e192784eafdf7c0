"""Rows that a party chooses to hold out: the same at every party, as many as the plan says."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plumbob.data import split_array, split_rows
from plumbob.errors import DataError, LocalProtocolError, PlanError, RemoteProtocolError
from plumbob.plan import Party, Plan
from plumbob.protocol import alignment_schedule
from plumbob.protocol.alignment_schedule import agree_on_held_out

PLAN = Plan((Party("bank", "label", 2), Party("fund", "features", 3)), test_share=0.2, held_out_by="fund")


def participant(name: str, said: list[bytes]) -> Any:
    """Sends into a list, or receives from it."""
    channel = SimpleNamespace(receive=lambda kind, step: said.pop(0))
    return SimpleNamespace(
        name=name,
        plan=PLAN,
        data_peers={"fund": channel},
        send_all=lambda kind, body: said.append(body),
        follow=lambda messages: None,
    )


@pytest.mark.parametrize("rows", [10, 16, 101])
def test_both_sides_hold_out_the_same_rows(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Both sides hold out the same rows, whatever the number of messages."""
    monkeypatch.setattr(alignment_schedule, "ROWS_AT_ONCE", 16)
    chosen = np.arange(rows) >= rows - round(0.2 * rows)
    said: list[bytes] = []
    assert np.array_equal(agree_on_held_out(participant("fund", said), rows, chosen), chosen)
    assert len(said) == -(-rows // 16)
    assert np.array_equal(agree_on_held_out(participant("bank", said), rows, None), chosen)


@pytest.mark.parametrize("bits", [b"\x00\x00", b"\xff\x00", b"\x80\x01"])
def test_another_number_of_rows_is_refused(bits: bytes) -> None:
    """Too few rows, too many, or a bit beyond the last row are refused."""
    with pytest.raises(RemoteProtocolError, match="of 10 rows to hold out, and the plan says 2"):
        agree_on_held_out(participant("bank", [bits]), 10, None)


def test_the_chooser_must_choose() -> None:
    """Nothing is sent by a party that has not chosen."""
    said: list[bytes] = []
    with pytest.raises(LocalProtocolError, match="expected 2 of 10 rows"):
        agree_on_held_out(participant("fund", said), 10, None)
    assert said == []


def test_training_needs_the_choice() -> None:
    """A plan that lets a party choose never falls back on chance."""
    table = split_array(np.zeros((10, 5)), np.arange(10) % 2, (2, 3))[0]
    with pytest.raises(DataError, match=r"lets fund choose 2 of 10 rows .* --split-by COLUMN"):
        split_rows(table, PLAN, b"key")


@pytest.mark.parametrize(
    ("keys", "words"),
    [({"held_out_by": "arbitrator"}, "expected one of bank, fund"), ({"noise": "rows"}, "which is not paid for")],
)
def test_choices_that_cannot_hold_are_refused(keys: dict[str, Any], words: str) -> None:
    """A stranger cannot choose, and a choice by values would break a promise about rows."""
    with pytest.raises(PlanError, match=words):
        PLAN.replace(**keys)
