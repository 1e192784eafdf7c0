"""The knowledge ledger: equations, ranks and unknowns, from a plan and from a real view."""

from typing import Any

import numpy as np
import pytest

from plumbob.checking.figures import Figures
from plumbob.checking.ledger import Account, Ledger, gains, planned
from plumbob.lab.attacks import View
from plumbob.lab.audit.filing import seen
from plumbob.plan import Plan
from tests.lab.audit.support import small_run


def plan_of(split: tuple[int, ...] = (11, 12), **keys: Any) -> Plan:
    """A plan without defences, unless told otherwise."""
    return Plan.for_columns(split, **({"protocol": "exchange", "rows": 27_000, "batch_size": 256} | keys))


def account_of(ledger: Ledger, party: str = "features", unknown: Any = "labels") -> Account:
    """A party's account, which must be there."""
    found = ledger.account(party, unknown)
    assert found is not None
    return found


def gains_of(plan: Plan, party: str = "The feature party") -> dict[str, str]:
    """What comes on top, by where it comes from."""
    told = [one.removeprefix(f"{party}, ") for one in gains(Figures.of(plan)) if one.startswith(party)]
    return dict(one.split(": ", 1) for one in told)


def test_each_step_gives_an_equation_a_column() -> None:
    """In general position a batch fixes as many residuals as there are columns, and never more than rows."""
    small = account_of(planned(plan_of(batch_size=8, remainder="drop", epochs=1)))
    large = account_of(planned(plan_of(epochs=1)))
    assert set(small.equations) == {12}
    assert set(small.ranks) == {8}
    assert set(large.ranks) == {12}


def test_equations_add_up_over_epochs() -> None:
    """About E * d / s equations for each label, until there are as many as labels."""
    one, twenty = (account_of(planned(plan_of(epochs=epochs))) for epochs in (1, 20))
    assert one.known == pytest.approx(12 / 256, rel=0.02)
    assert twenty.known == pytest.approx(20 * 12 / 256, rel=0.02)
    assert account_of(planned(plan_of(epochs=40))).known == 1.0
    assert account_of(planned(plan_of(epochs=40))).first_step_with(1.0) == pytest.approx(2250, rel=0.02)
    assert one.first_step_with(1.0) is None


@pytest.mark.parametrize("batches", ["fixed", "full"])
def test_the_same_batches_say_the_same(batches: str) -> None:
    """Without reshuffling, later epochs add nothing about labels; scores move, so theirs still count."""
    ledgers = [planned(plan_of(epochs=epochs, batches=batches)) for epochs in (1, 10)]
    labels = [account_of(ledger) for ledger in ledgers]
    assert labels[0].totals[-1] == labels[1].totals[-1]
    scores = [account_of(ledger, "label", "scores") for ledger in ledgers]
    assert scores[1].totals[-1] == 10 * scores[0].totals[-1]


def test_several_runs_add_up() -> None:
    """Two runs on the same rows are worth twice the epochs."""
    both, longer = planned(plan_of(epochs=5), runs=2), planned(plan_of(epochs=10))
    assert Figures.of(plan_of(epochs=5), runs=2).equations_a_row("features") == pytest.approx(
        account_of(longer).totals[-1] / 27_000
    )
    assert account_of(both).totals[-1] == account_of(longer).totals[-1]
    shares = plan_of(protocol="shares", open="own")
    assert gains_of(shares)["opened weights"] == "12 equations per run about everybody's labels."


def test_features_are_counted_up_to_a_rotation() -> None:
    """Theorem 3.6: of d columns a rotation, d (d - 1) / 2 numbers, stays open."""
    account = account_of(planned(plan_of((11, 3), batch_size=8)), "label", "features")
    assert account.unknowns == 3 * 27_000 + 3 - 3


def test_shares_give_nothing_but_opened_weights() -> None:
    """d equations a run, at its end, and none at all where weights are never opened."""
    own = account_of(planned(plan_of(protocol="shares", open="own")))
    assert own.equations_in_all == own.equations[-1] == 12
    assert account_of(planned(plan_of(protocol="shares", open="never"))).equations_in_all == 0
    assert planned(plan_of(protocol="shares", open="own")).account("label", "scores") is None


def test_replies_carry_what_they_are_cut_to() -> None:
    """Whole plaintexts carry dozens of hidden values a column, replies cut to an honest sum a few."""
    whole, cut = (Figures.of(plan_of(replies=one)).readable_residuals("features") for one in ("paper", "packed"))
    assert whole > 12 * 40
    assert cut < 12 * 4


def test_replies_are_as_wide_as_in_a_run() -> None:
    """The widths counted here are those that the protocol itself uses."""
    from plumbob.lab.exchange.schedule import slots_for

    for replies, slots in (("packed", 0), ("packed", 3), ("packed", 999), ("packed", 1), ("paper", 0)):
        plan = plan_of(replies=replies, reply_slots=slots, test_only_keys=True, key_bits=512)
        figures = Figures.of(plan)
        used = slots_for(plan, figures.widths, 12, 27_000)
        assert figures.reply_widths("features") == [(modulus - 1).bit_length() for modulus in used.moduli]


@pytest.mark.parametrize(("keys", "is_there"), [({}, True), ({"start": "xavier"}, False)])
def test_the_first_step_from_zero_is_an_integer_riddle(keys: dict[str, Any], is_there: bool) -> None:
    """From zero weights the first sums hold labels alone, which can be decoded and counted."""
    assert ("integer and lattice decoding" in gains_of(plan_of(**keys))) is is_there
    assert ("group counts" in gains_of(plan_of(**keys))) is is_there


def test_an_arbiter_without_masks_reads_all_sums() -> None:
    """An arbiter reads all sums without masks, and gains nothing with them."""
    plan = plan_of(protocol="arbiter")
    assert gains_of(plan, "The arbiter") == {}
    unmasked = plan.replace(unmasked_gradients_for_the_arbiter=True)
    assert gains_of(unmasked, "The arbiter") == {"unmasked gradients": "24 sums per step, in the clear."}


def test_a_view_has_real_ranks() -> None:
    """A column that repeats another adds an equation, and no knowledge."""
    run = small_run((2, 3), rows=64, batch_size=16, epochs=3)
    view = View.of(run.transcripts["features"])
    doubled = View(**{**vars_of(view), "X": np.column_stack([view.X[:, :2], view.X[:, 0]])})
    honest, dependent = account_of(seen(view)), account_of(seen(doubled))
    assert set(honest.ranks) == {3}
    assert set(dependent.ranks) == {2}
    assert set(dependent.equations) == {3}


def test_a_view_agrees_with_its_plan() -> None:
    """Columns in general position have exactly the ranks that the plan was given."""
    run = small_run((2, 3), rows=64, batch_size=16, epochs=3)
    view = View.of(run.transcripts["features"])
    real, expected = account_of(seen(view)), account_of(planned(view.plan, rows=64))
    assert real.is_exact
    assert np.array_equal(real.totals[3::4], expected.totals[3::4])
    # In every epoch the batches' sums add up to the same totals: three equations less from the second one on.
    assert real.totals[-1] == 3 * 4 * 3 - 2 * 3


def test_fixed_batches_of_a_view_do_not_add_up() -> None:
    """The stacked rank sees that later epochs repeat the first."""
    run = small_run((2, 3), rows=64, batch_size=16, epochs=3, batches="fixed")
    assert account_of(seen(View.of(run.transcripts["features"]))).totals[-1] == 4 * 3


def vars_of(view: View) -> dict[str, Any]:
    """The fields of an object, without what was derived from them."""
    return {name: getattr(view, name) for name in View.__dataclass_fields__}
