"""Chosen inputs: read at any batch size, with any reply; stopped by noise, flipped labels and weights never opened."""

from typing import Any

import numpy as np
import pytest

from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.label_chosen_rows import ChosenRows, OpenedWeights, arm, signs_in
from plumbob.plan import Plan
from tests.lab.attacks.active.support import staged
from tests.protocol.support import plan_for

REPLIES = ["packed", "paper"]


def exchange(replies: str = "packed", **keys: object) -> Plan:
    """Batches of 32 from random weights, five times as many rows as the feature party has columns."""
    return plan_for((5, 6), protocol="exchange", replies=replies, **({"batch_size": 32, "start": "normal"} | keys))


@pytest.mark.parametrize("replies", REPLIES)
def test_chosen_people_are_read_at_any_batch_size(replies: str) -> None:
    """One person a column: the residuals of exactly those who were chosen, in a batch of five rows a column."""
    chosen = (40, 3, 17, 63, 22, 9, 50)
    play = staged(exchange(replies, row_norm=1.0), "features", ChosenRows(chosen))
    claim = play.label_claim()
    assert play.misread() == 0
    assert set(np.flatnonzero(~np.isnan(claim.beliefs))) == set(chosen)
    assert claim.targets is not None
    assert set(claim.targets) == set(chosen)
    assert play.is_right().all()


@pytest.mark.parametrize("replies", REPLIES)
def test_from_zero_weights_one_sum_reads_dozens(replies: str) -> None:
    """In the first step residuals are labels, and superincreasing columns read the whole batch; nobody else sees it."""
    plan = exchange(replies, start="zero", row_norm=1.0, batch_size=128, epochs=1)
    play = staged(plan, "features", ChosenRows(tuple(range(128))), rows=128)
    (reading,) = play.spy.readings
    assert len(reading.rows) == 128
    assert play.misread() == 0
    assert play.is_right().all()
    assert play.outward(play.run) == play.outward(play.honest)


def test_one_column_is_a_binary_number() -> None:
    """A single column reads as many labels as its sum has bits beside a residual's."""
    plan = plan_for((5, 1), protocol="exchange", batch_size=64, epochs=1)
    play = staged(plan, "features", ChosenRows((60,)), rows=64)
    (reading,) = play.spy.readings
    assert 30 <= len(reading.rows) < 64
    assert reading.rows[0] == 60
    assert play.misread() == 0
    assert play.is_right().all()


def test_a_label_party_without_columns_is_read_in_every_step() -> None:
    """Where nothing but labels is in the residuals, every batch is read as the first one."""
    plan = plan_for((0, 6), protocol="exchange", intercept=False, batch_size=32, start="normal")
    play = staged(plan, "features", ChosenRows())
    assert len(play.is_right()) == 64
    assert play.is_right().all()


def test_among_three_parties() -> None:
    """The masks between helpers hide single parties, not the chosen people."""
    plan = plan_for((3, 3, 3), protocol="exchange", batch_size=32, start="small", row_norm=1.0)
    play = staged(plan, "features", ChosenRows())
    assert play.misread() == 0
    assert len(play.is_right()) == 3
    assert play.is_right().all()


@pytest.mark.parametrize("start", ["zero", "small"])
@pytest.mark.parametrize("replies", REPLIES)
def test_an_arbiter_does_not_see_it(start: str, replies: str) -> None:
    """The arbiter decrypts masked sums: what they are sums of it cannot know."""
    plan = plan_for((5, 6), protocol="arbiter", replies=replies, batch_size=32, start=start, row_norm=1.0)
    play = staged(plan, "features", ChosenRows())
    assert play.misread() == 0
    assert play.is_right().all()
    assert len(play.is_right()) >= (32 if start == "zero" else 6)


@pytest.mark.parametrize(
    ("widths", "keys", "labels"),
    [
        ((5, 6), {"epochs": 4}, 64),
        ((5, 6), {"l2": 0.1}, 64),
        ((3, 3, 3), {}, 40),
    ],
    ids=str,
)
def test_opened_weights_read_many_labels(widths: tuple[int, ...], keys: dict[str, Any], labels: int) -> None:
    """`shares`: superincreasing columns in the first pass and zeros after it read many labels from each opened weight.

    Nobody can see which matrix a party multiplies with.
    """
    play = staged(plan_for(widths, protocol="shares", **keys), "features", OpenedWeights())
    assert len(play.is_right()) >= labels
    assert play.is_right().all()
    # How many messages test the keys is drawn by lot; what is multiplied and decrypted is not.
    assert [work[2:] for work in play.outward(play.run)] == [work[2:] for work in play.outward(play.honest)]


def test_weights_that_are_never_opened_say_nothing() -> None:
    """`open = "never"` leaves no number to read, and `clear` no party."""
    assert isinstance(arm(plan_for((5, 6), protocol="shares", open="never"), "features"), NotApplicable)
    assert isinstance(arm(plan_for((5, 6), protocol="clear"), "features"), NotApplicable)


def test_noise_takes_the_labels_away() -> None:
    """The residuals of chosen people are read, but noise hides the labels in them."""
    plan = exchange(noise="std", noise_std=20.0, row_norm=1.0, start="zero", batch_size=16, epochs=1)
    play = staged(plan, "features", ChosenRows(tuple(range(256))), rows=256)
    assert len(play.is_right()) >= 80
    assert play.is_right().mean() < 0.7


def test_flipped_labels_are_all_that_is_read() -> None:
    """Randomised response: every flipped label is read, which is the true one as often as epsilon allows."""
    plan = exchange(start="zero", label_flip_epsilon=1.0, batch_size=128, epochs=1)
    play = staged(plan, "features", ChosenRows(), rows=128)
    assert 0.55 < play.is_right().mean() < 0.9


def test_signs_in_a_sum() -> None:
    """Every choice of signs has a sum of its own."""
    for count in range(1, 7):
        found = {tuple(signs_in(total, count)) for total in range(-(2**count) + 1, 2**count, 2)}
        assert len(found) == 2**count
        assert all(
            sum(sign << j for j, sign in enumerate(signs)) in range(-(2**count) + 1, 2**count) for signs in found
        )
