"""Hidden values in honest replies: read exactly where plaintexts come back whole, and few where they are cut."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.lab import bounds
from plumbob.lab.attacks import ATTACKS, Claim, NotApplicable, View
from plumbob.lab.attacks.feature_single import recover_single_feature
from plumbob.lab.attacks.hooks import Hook, exact_product, signed_digits, solve_exactly
from plumbob.lab.attacks.packing import AuxiliaryPacking, OneHotPacking, TruncatedPacking, arm, recover_column
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from tests.lab.attacks.active.support import Staged, staged
from tests.lab.attacks.support import claimed, largest_error, refused
from tests.protocol.support import plan_for, uniformity


def exchange(replies: str = "paper", **keys: object) -> Plan:
    """Batches of 32, five times as many rows as the feature party has columns."""
    return plan_for((5, 6), protocol="exchange", replies=replies, **({"batch_size": 32} | keys))


PACKINGS: dict[str, type[OneHotPacking]] = {"one-hot": OneHotPacking, "auxiliary": AuxiliaryPacking}


@cache
def packed(role: str, packing: str = "one-hot", start: str = "zero") -> Staged:
    """A run with whole replies, played once for all tests."""
    return staged(exchange(start=start), role, PACKINGS[packing]())


@pytest.mark.parametrize("role", ["features", "label"])
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("start", ["zero", "normal"])
def test_every_residual_is_read_exactly(role: str, packing: str, start: str) -> None:
    """With whole replies either party reads every coefficient of every step, to the last bit of the encoding."""
    play = packed(role, packing, start)
    assert sum(len(reading.rows) for reading in play.spy.readings) == 2 * 64
    assert play.misread() == 0
    assert all(condition.is_met for condition in play.conditions)


@pytest.mark.parametrize("role", ["features", "label"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_training_is_undisturbed(role: str, packing: str) -> None:
    """The final model is the honest one bit for bit, and the honest peer counts the same messages, bytes and work."""
    play = packed(role, packing)
    assert play.disturbance() == 0
    for name, transcript in play.run.transcripts.items():
        assert np.array_equal(transcript.sums, play.honest.transcripts[name].sums)
    assert play.outward(play.run) == play.outward(play.honest)


class WatchingParty(ExchangeParty):
    """Honest, but keeps every plaintext that it decrypts for its peer."""

    opened: bytes = b""

    def use(self, name: str, step: int, value: Any) -> Any:
        for opened in value.values() if name == "replies for peers" else ():
            # The highest bits of a number below n are not quite uniform.
            self.opened += b"".join((one % 2**448).to_bytes(56, "little") for one in opened)
        return value


def test_the_helper_decrypts_noise() -> None:
    """What the helper sees of a packed reply is as uniform as of an honest one: the mask covers hidden values too."""
    plan = exchange(epochs=8)
    play = staged(plan, "features", OneHotPacking(), others={plan.label_party.name: WatchingParty})
    watcher = play.run.parties[plan.label_party.name]
    assert isinstance(watcher, WatchingParty)
    assert len(watcher.opened) > 5000
    assert uniformity(watcher.opened) > 1e-6


def test_labels_follow_from_what_was_read() -> None:
    """The feature party claims every label rightly, far beyond as many rows as it has columns."""
    play = packed("features")
    assert play.label_claim().is_determined.all()
    assert play.is_right().all()
    assert len(play.is_right()) == 64


def test_scores_follow_from_what_was_read() -> None:
    """The label party claims the peer's score of every row's last visit."""
    play = packed("label")
    claim = play.claim()
    assert isinstance(claim, Claim)
    assert claim.target == "scores"
    assert claim.against == play.plan.feature_parties[0].name
    assert claim.is_determined.all()
    assert claim.values.shape == (64, 1)


@pytest.mark.parametrize("start", ["zero", "xavier"])
def test_the_only_column_follows_from_the_scores(start: str) -> None:
    """Section 5.2 reads scores and then the column: every value comes out, at batches that own sums do not solve."""
    keys = {"batch_size": 32, "start": start, "residual_bits": 36, "key_bits": 1024}
    play = staged(plan_for((6, 1), protocol="exchange", replies="paper", **keys), "label", OneHotPacking())
    view, truth = View.of(play.run.transcripts["label"]), play.run.transcripts["features"].X[:, 0]
    claims = play.claims()
    assert isinstance(claims, list)
    scores, column = claims
    assert (scores.target, column.target) == ("scores", "features")
    assert column.is_determined.all()
    assert largest_error(column, truth) < 1e-9
    assert isinstance(recover_single_feature(view), NotApplicable)


def test_no_column_follows_from_cut_replies_or_of_two() -> None:
    """One step's scores tell nothing of a column but its scale; of two columns only sums are read."""
    cut = staged(plan_for((6, 1), protocol="exchange", batch_size=32, start="small"), "label", TruncatedPacking())
    claim = claimed(recover_column(View.of(cut.run.transcripts["label"]), cut.spy.readings))
    assert not claim.is_determined.any()
    two = View.of(packed("label").run.transcripts["label"])
    assert refused(recover_column(two, packed("label").spy.readings), "exactly one")


def test_a_batch_beyond_the_slots_is_read_in_part() -> None:
    """What does not fit is not read, and the condition says so; the rest is still exact."""
    play = staged(plan_for((5, 1), protocol="exchange", replies="paper", batch_size=32), "features", OneHotPacking())
    (condition,) = play.conditions
    assert not condition.is_met
    assert {len(reading.rows) for reading in play.spy.readings} == {condition.value}
    assert play.misread() == 0
    assert play.disturbance() == 0


@pytest.mark.parametrize("role", ["features", "label"])
def test_cut_replies_keep_to_the_bound(role: str) -> None:
    """Truncation leaves no more residuals than floor(reply bits / (residual bits + 2)), and those cost a gradient."""
    play = staged(exchange("packed", start="small", row_norm=1.0), role, TruncatedPacking())
    (condition,) = play.conditions
    (reading,) = play.spy.readings
    assert 0 < len(reading.rows) <= condition.value < 32
    assert not condition.is_met
    assert play.misread() == 0
    assert play.disturbance() > 0
    assert play.outward(play.run) == play.outward(play.honest)


def test_a_batch_within_the_bound_is_read_whole() -> None:
    """Where the cut replies carry the whole batch, every step is read and the honest sums are made from it."""
    play = staged(exchange("packed", batch_size=8), "features", TruncatedPacking())
    (condition,) = play.conditions
    assert condition.is_met
    assert sum(len(reading.rows) for reading in play.spy.readings) == 2 * 64
    assert play.misread() == 0
    assert play.disturbance() == 0


def test_among_three_only_the_sum_is_read() -> None:
    """With more helpers than one the slots hold the sum of their residuals, and nothing of any single one."""
    plan = plan_for((3, 3, 3), protocol="exchange", batch_size=32, start="small", row_norm=1.0)
    play = staged(plan, "features", TruncatedPacking())
    assert len(play.spy.readings) == 1
    assert play.misread() == 0


@pytest.mark.parametrize("role", ["features", "label"])
@pytest.mark.parametrize("replies", ["paper", "packed"])
def test_an_arbiter_is_used_the_same_way(role: str, replies: str) -> None:
    """Whole replies of an arbiter give everything away, cut ones no more than the bound; own parts are taken off."""
    plan = plan_for((5, 6), protocol="arbiter", replies=replies, batch_size=32, start="small", row_norm=1.0)
    hook = arm(plan, role)
    assert isinstance(hook, Hook)
    play = staged(plan, role, hook)
    (condition,) = play.conditions
    assert play.misread() == 0
    assert max(len(reading.rows) for reading in play.spy.readings) <= condition.value
    assert (play.disturbance() == 0) == condition.is_met == (replies == "paper")


def test_an_arbiter_that_sees_gradients_would_see_the_attack() -> None:
    """Without masks there is no hiding from the arbiter, nor for the attacker."""
    plan = plan_for((5, 6), protocol="arbiter", unmasked_gradients_for_the_arbiter=True)
    assert isinstance(arm(plan, "features"), NotApplicable)


def test_noise_takes_the_labels_away() -> None:
    """Residuals are still read one by one, but with noise in them they no longer say much about labels."""
    noisy = exchange(noise="std", noise_std=20.0, row_norm=1.0, epochs=1)
    play = staged(noisy, "features", OneHotPacking(), rows=128)
    assert play.is_right().mean() < 0.7


def test_the_bound_of_the_default_widths() -> None:
    """Twelve sums of 65 bits carry 35 residuals of 22 bits."""
    assert bounds.readable_residuals(12 * 65, 20) == 35


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_not_where_no_helper_hands_sums_back(protocol: str) -> None:
    """Without replies there is nothing to pack into, and the attack says so."""
    assert isinstance(arm(plan_for((5, 6), protocol=protocol), "features"), NotApplicable)


def test_not_without_columns() -> None:
    """A label party that has no columns is no learner."""
    assert isinstance(arm(plan_for((0, 6), protocol="exchange", intercept=False), "label"), NotApplicable)


def test_both_sides_are_on_the_list() -> None:
    """The red team knows packing for either party."""
    assert {attack.by for attack in ATTACKS if attack.name == "packing"} == {"label", "features"}


# Numbers side by side come apart again, and equations in integers have integer solutions.


@given(st.lists(st.integers(-(2**11) + 1, 2**11 - 1), min_size=1, max_size=20))
def test_signed_digits_survive_their_borrows(digits: list[int]) -> None:
    """Any signed values that fit their slots are read back, whatever the signs of their neighbours."""
    packed = sum(digit << (12 * place) for place, digit in enumerate(digits))
    assert signed_digits(packed, 12, len(digits)) == digits


def test_a_solution_is_proved_or_not_given() -> None:
    """Integers come out exactly where the equations fix them, and not at all where they do not."""
    generator = np.random.default_rng(3)
    values = generator.integers(-(2**30), 2**30, 40).tolist()
    matrix = generator.integers(-127, 128, (40, 44))
    assert solve_exactly(matrix, exact_product(values, matrix)) == values
    assert solve_exactly(matrix[:, :39], exact_product(values, matrix[:, :39])) is None
    wrong = exact_product(values, matrix)
    wrong[5] += 1
    assert solve_exactly(matrix, wrong) is None
