"""Noise for whole rows in a plan: what it costs, what `clear` does with it, and which plans would break the promise."""

import math
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from plumbob.checking.check import check
from plumbob.checking.row_notes import noise_in_words
from plumbob.crypto.lattice import local
from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.data import Shard, Table, build_shard, encoder, stream, table_from
from plumbob.data.encoder import encoded_width, with_columns
from plumbob.errors import BudgetExceededError, PlanError, PrivacyError
from plumbob.lab.simulate import train
from plumbob.lab.simulate.parties import party_at
from plumbob.model.logistic import signs_of
from plumbob.plan import Plan, mistakes
from plumbob.plan.common import USUAL_EPOCHS
from plumbob.plan.sigmoids import AMPLITUDES, SIGMOIDS
from plumbob.privacy import rows
from plumbob.privacy.accounting import zcdp_epsilon
from plumbob.privacy.rows import RowSpending
from plumbob.protocol import row_cost, row_noise
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import ENTRY_INTEGER_BITS
from plumbob.protocol.shares.shape import DROPPED_BITS, GRADIENT_RING, STRAY_UNITS, RunShape
from plumbob.protocol.shares.training import SharesParty
from tests.privacy.descent import NoisyDescent
from tests.protocol.support import Wire, has_deviation, outcomes, seated, tables_for, trained, weights_of

KEYS: dict[str, Any] = {
    "protocol": "clear",
    "noise": "rows",
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "learning_rate": 0.0,
    "momentum": 0.5,
    "feature_bits": 13,
    "epochs": 8,
    "seed": 1,
}


def plan_for(columns: tuple[int, ...] = (3, 4), **keys: Any) -> Plan:
    """An experiment with noise for whole rows."""
    return Plan.for_columns(columns, **{**KEYS, **keys})


def people(count: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Correlated columns of different sizes, and labels that depend on them."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(count, 1))
    X = (common + generator.normal(size=(count, 7))) * [1, 100, 0.01, 5, 1, 1, 30] + [0, 500, 0, -3, 1, 0, 9]
    logits = (X[:, 0] + X[:, 4] - X[:, 5]) / 1.2
    return X, (generator.random(count) < 1 / (1 + np.exp(-logits))).astype(np.int64)


def test_no_row_may_be_too_long_for_the_products() -> None:
    """A norm that lets one row leave the range of a product's numbers is refused, because that row would stop a run."""
    with pytest.raises(PlanError, match=r"label's rows may be 200 long, .* a row beyond that would stop the run"):
        plan_for((40_000, 1), protocol="shares", open="never")
    assert mistakes.MOST_ENTRY_BITS == ENTRY_BITS - 1
    assert mistakes.MOST_INTEGER_BITS == ENTRY_INTEGER_BITS


def test_the_cost_is_the_plan_s_promise() -> None:
    """Passes and both whitenings together cost at most epsilon, and almost all of it."""
    plan = plan_for(epsilon=2.0)
    cost = row_cost.row_cost(plan, 0.0)
    assert cost is not None
    assert len(cost.at_home) == 2
    assert cost.passes == 8
    assert 1.99 < cost.epsilon(plan.delta) <= 2.0
    assert row_cost.row_cost(plan.replace(noise="none"), 0.0) is None


def test_a_party_without_columns_pays_nothing_at_home() -> None:
    """Only whoever has columns whitens them; columns that are left as they are cost nothing either."""
    one = row_cost.row_cost(plan_for((0, 5)), 0.0)
    none = row_cost.row_cost(plan_for(scale="none", learning_rate=0.1), 0.0)
    assert one is not None
    assert none is not None
    assert len(one.at_home) == 1
    assert none.at_home == ()


def test_the_norm_is_the_root_of_all_columns_unless_stated() -> None:
    """R_k follows the columns, R includes the intercept, and the rate counts it as one more block."""
    plan = plan_for((3, 6))
    assert row_cost.norms(plan) == pytest.approx((math.sqrt(3), math.sqrt(6)))
    assert plan.rate == pytest.approx(4 / 3)
    assert row_cost.norms(plan_for((3, 6), row_norm=3.0)) == pytest.approx((math.sqrt(3), math.sqrt(6)))
    with_intercept, without = (row_cost.sensitivity(plan_for(intercept=value)).units for value in (True, False))
    assert with_intercept / without == pytest.approx(math.sqrt(8 / 7), rel=1e-6)


@pytest.mark.parametrize("name", ["fourier", "exact", "piecewise"])
def test_every_admitted_curve_is_within_the_bound(name: str) -> None:
    """Lemma 2: no residual exceeds 1.0016 at any score; the series comes close to it."""
    sigmoid = SIGMOIDS[name]
    scores = np.linspace(-64, 64, 100_001)
    largest = max(np.abs(sigmoid.residuals(scores, np.full(len(scores), sign))).max() for sign in (-1.0, 1.0))
    assert largest <= float(rows.SERIES_BOUND)
    assert name != "fourier" or largest > 1.0015


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"sigmoid": "taylor"}, "no bound"),
        ({"scale": "standard", "learning_rate": 0.1}, "not paid for"),
        ({"batches": "fixed", "learning_rate": 0.1}, "one noisy sum over all rows"),
        ({"bins": 65}, "a histogram of 64 cells"),
        ({"bins": 5, "scale": "none", "learning_rate": 0.1}, "paid for as ranges"),
        ({"class_weight": "balanced"}, "every label"),
        ({"row_weights": True}, "rows that count the same"),
        ({"label_flip_epsilon": 1.0}, "enlarge the residuals"),
        ({"protocol": "exchange", "sigmoid": "taylor", "momentum": 0.0}, "only labels can be protected"),
    ],
    ids=str,
)
def test_a_plan_whose_promise_would_be_false_is_refused(keys: dict[str, Any], why: str) -> None:
    """Each reason is said, with what to set instead."""
    with pytest.raises(PlanError, match=why):
        plan_for(**keys)


def test_every_trained_row_is_within_its_party_s_norm() -> None:
    """What training sees is whole units of bounded length at every party, and the intercept's column stays 1."""
    plan = plan_for()
    run = trained(plan, people(500))
    for party, norm in zip(plan.learners, row_cost.norms(plan), strict=True):
        units = run.transcripts[party.name].X[:, : party.features] * 2.0**plan.feature_bits
        assert (units == np.rint(units)).all()
        assert (units**2).sum(axis=1).max() <= rows.squared_norm_units(norm, plan.feature_bits)
    assert (run.transcripts["label"].X[:, -1] == 1.0).all()


@pytest.mark.parametrize("protocol", ["clear", "shares"])
def test_a_plan_that_names_no_rows_trains_as_one_that_does(protocol: str) -> None:
    """Passes and the norm of rows follow from the rows that are trained on, in the run and in its record."""
    X, y = people(300)
    keys: dict[str, Any] = {"epochs": 0, "protocol": protocol, "test_share": 0.2, "epsilon": 0.5}
    if protocol == "shares":
        keys["open"] = "own"
    rule = rows.row_rule(240, (3, 4), 0.5, plan_for(**keys).delta)
    for named in (0, 300):
        run = trained(plan_for(rows=named, **keys), (X, y))
        assert rule.passes < USUAL_EPOCHS
        assert f"in each of {rule.passes} passes" in noise_in_words(run.model.plan, run.record.rows)
        for name, share in (("label", 3 / 7), ("features", 4 / 7)):
            transcript = run.transcripts[name]
            own = transcript.X[:, : run.model.plan.party(name).features]
            longest = float(np.linalg.norm(own, axis=1).max())
            assert longest <= rule.row_norm * math.sqrt(share) * (1 + 1e-9) < math.sqrt(7 * share)
            assert protocol == "shares" or len(transcript.sums) == rule.passes


def test_clear_is_the_reference_descent() -> None:
    """`clear` and the descent in whole numbers give the same weights from the same noise."""
    plan = plan_for().on(300)
    run = trained(plan, people(300))
    cost = row_cost.row_cost(plan, 0.0)
    assert cost is not None
    label = run.transcripts["label"]
    # The label party's columns come first, its intercept last among them.
    units = np.hstack([run.transcripts[party.name].X for party in plan.learners]) * 2.0**plan.feature_bits
    assert label.y is not None
    descent = NoisyDescent(
        units.astype(np.int64),
        label.y,
        SIGMOIDS["fourier"].curve,
        plan.feature_bits,
        plan.residual_bits,
        row_cost.sensitivity(plan),
        cost,
        plan.rate_over(len(label.y)),
        plan.momentum,
    )
    draw = stream(label.seed, "noise").bytes
    assert weights_of(run) == pytest.approx(descent.run([draw, draw]), abs=1e-9)


def test_the_model_is_still_good_and_the_record_says_that_it_is_an_experiment() -> None:
    """With 6,000 rows and epsilon 4 it ranks almost as well as without noise; seeded noise is called not private."""
    plan = plan_for(epsilon=4.0)
    noisy, plain = (trained(one, people(6000)) for one in (plan, plan.replace(noise="none")))
    assert any("not private" in note for note in noisy.record.notes)
    X, y = people(4000, seed=1)
    aucs = [roc_auc_score(y, run.model.scores(tables_for(plan, X, None))) for run in (noisy, plain)]
    assert aucs[0] > aucs[1] - 0.02 > 0.7


# Over shares.


def shared_plan(**keys: Any) -> Plan:
    """The same promise over lattices; weights are opened, so that they can be compared."""
    return plan_for(protocol="shares", open="own", **keys)


def noise_drawn(run: Any) -> list[NDArray[np.float64]]:
    """Both parties' noise of a run, in the units of a sum."""
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    drawn = [party.row_noise for party in parties]
    unit = 2.0 ** -parties[0].shape.gradient_fraction
    return [noise.astype(np.float64) * unit for noise in drawn if noise is not None]


@pytest.mark.parametrize("columns", [(3, 4), (3, 2, 2)])
def test_shares_carry_everybody_s_noise_before_the_cut(columns: tuple[int, ...]) -> None:
    """The opened weights are those of a plain descent on the same rows whose sums have all parties' noise added."""
    plan = plan_for(columns, protocol="shares", open="own", epochs=4 if len(columns) == 2 else 2)
    run = trained(plan, people(300))
    noise = np.sum(noise_drawn(run), axis=0)
    assert len(noise_drawn(run)) == len(columns)
    X = np.hstack([run.transcripts[party.name].X for party in plan.learners])
    y = run.transcripts["label"].y
    assert y is not None
    weights, velocity = np.zeros(8), np.zeros(8)
    for drawn in noise:
        residuals = SIGMOIDS["fourier"].residuals(X @ weights, signs_of(y))
        velocity = plan.momentum * velocity + (residuals @ X + drawn) / len(X)
        weights = weights - plan.rate * velocity
    assert np.abs(weights_of(run) - weights).max() < 1e-5


def test_each_party_s_noise_is_full_and_fresh() -> None:
    """Each party alone adds the whole deviation, and no two runs or parties add the same."""
    plan = shared_plan(epochs=20, epsilon=20.0)
    first, second = (noise_drawn(trained(plan, people(60))) for _ in range(2))
    cost = RunShape(plan, 60).row_cost
    assert cost is not None
    deviation = cost.std * 2.0 ** -RunShape(plan, 60).gradient_fraction
    for noise in (*first, *second):
        assert has_deviation(noise, deviation)
    assert len({noise.tobytes() for noise in (*first, *second)}) == 4


def test_what_the_masks_of_many_can_show_is_paid_for() -> None:
    """Between three and eight parties delta holds 1 + e^epsilon times the chance that a run fails."""
    for parties in range(3, 9):
        plan = plan_for((3,) * parties, protocol="shares", open="own")
        shape = RunShape(plan, 100_000)
        cost = shape.row_cost
        assert cost is not None
        assert cost.failure == pytest.approx(2.0**shape.shown_bits + 2.0**shape.failure_bits)
        paid = rows.failures_in_delta(plan.epsilon, cost.failure)
        assert zcdp_epsilon(cost.rho, plan.delta - paid) <= plan.epsilon
        assert 0.99 < cost.epsilon(plan.delta) <= 1.0


def test_eight_parties_are_not_promised_what_fails() -> None:
    """Eight parties, 300,000 rows and epsilon 8 fail too often for a delta of 1e-6: `check` and a run refuse the plan.

    1 + e^8 times the chance is 1.6e-6, beside what the noise takes.
    """
    plan = Plan.for_columns((3,) * 8, rows=300_000, noise="rows", epsilon=8.0, delta=1e-6)
    chance = 2.0 ** RunShape(plan, plan.rows).shown_bits
    assert 1.5e-6 < (1 + math.exp(8)) * chance < 1.7e-6
    for promised in (lambda: check(plan).notes, lambda: RunShape(plan, plan.rows).row_cost):
        with pytest.raises(PrivacyError, match=r"with epsilon 8 that is 1\.6e-06.*lower epsilon, raise delta"):
            promised()
    assert any("3e-08 pays for the run's own failures" in note for note in check(plan.replace(epsilon=4.0)).notes)


@pytest.mark.parametrize("noise", ["rows", "sound"])
def test_a_run_on_too_few_rows_for_its_delta_is_refused(noise: str) -> None:
    """A plan may leave its rows open; when they are known, a delta of 1 / rows or more is no promise."""
    keys: dict[str, Any] = {} if noise == "rows" else {"sigmoid": "taylor", "row_norm": 1.0}
    with pytest.raises(PlanError, match=r"privacy\.delta: 0\.02 is one in 60 rows or more: .*set it far below 0\.017"):
        trained(plan_for(noise=noise, delta=0.02, **keys), people(60))


def test_the_series_in_stages_is_within_the_bound() -> None:
    """Eight factors with 20 fraction bits each miss the series by less than the bound leaves."""
    slack = float(rows.SERIES_BOUND) - 1.001538
    assert 8 * 2.0**-20 * sum(map(abs, AMPLITUDES)) < slack


@pytest.mark.parametrize("rows_and_passes", [(27_000, 20), (900_000, 20)])
def test_many_rows_and_passes_leave_room_for_the_noise(rows_and_passes: tuple[int, int]) -> None:
    """A row's entries are bounded by its norm, so that sums and noise fit the ring with 40 bits to spare."""
    count, passes = rows_and_passes
    RunShape(shared_plan(epochs=passes), count).prove()


def test_a_refused_budget_sends_nothing_about_rows() -> None:
    """What a run costs is booked before anything leaves that depends on a row: only greetings and the seed are out."""
    plan, wire = shared_plan(seed=0), Wire()
    X, y = people(60)

    def refuse(spending: RowSpending) -> NoReturn:
        raise BudgetExceededError(f"{spending.rho} is too much")

    seats = {name: replace(seat, spend_rows=refuse) for name, seat in seated(plan, wire).items()}
    parties = {name: party_at(seats[name], table) for name, table in tables_for(plan, X, y).items()}
    ends = outcomes({name: party.run for name, party in parties.items()}, seats)
    assert all(isinstance(end, BudgetExceededError) for end in ends.values())
    assert {message.kind for *_, message in wire.log} <= {
        Kind.HELLO,
        Kind.SEED_COMMITMENT,
        Kind.SEED_SHARE,
        Kind.CONFIRMATION,
    }


def test_rounding_inside_the_products_is_paid_for() -> None:
    """The sensitivity over shares is that of clear in coarser units, plus the strays; never less."""
    plan = shared_plan().on(300)
    cost, exact = RunShape(plan, 300).row_cost, row_cost.row_cost(plan, 0.0)
    assert cost is not None
    assert exact is not None
    in_plain_units = cost.sensitivity * 2.0 ** -RunShape(plan, 300).gradient_fraction
    assert in_plain_units >= 2 * math.hypot(plan.joint_norm, 1.0) * 1.0016
    assert in_plain_units == pytest.approx(exact.sensitivity * 2.0**-33, rel=1e-5)
    assert 0.999 < cost.epsilon(plan.delta) <= 1.0


def test_the_sums_over_shares_stray_less_than_is_paid_for() -> None:
    """Lemma 3's `stray` at work: shared sums are within the paid units of exact ones, in every coordinate."""
    plan = shared_plan(epochs=3, epsilon=20.0)
    seen: list[tuple[SharesParty, list[int]]] = []

    class Watched(SharesParty):
        def _noisy(self, number: int, shared: dict[str, list[int]]) -> dict[str, list[int]]:
            seen.append((self, [value for share in shared.values() for value in share]))
            return super()._noisy(number, shared)

        def _shared_residuals(self, shared: Any) -> Any:
            shared = super()._shared_residuals(shared)
            residuals.append(local.integers_of(shared))
            return shared

    residuals: list[list[int]] = []
    X, y = people(200)
    run = train(plan, tables_for(plan, X, y), instead={"label": Watched, "features": Watched})
    rows_in_units = np.rint(
        np.hstack([run.transcripts[party.name].X for party in plan.learners]) * 2.0**plan.feature_bits
    ).astype(int)
    for number in range(3):
        shares = [
            [values for party, values in seen if party.participant.name == name][number]
            for name in ("label", "features")
        ]
        cut = [_centred(a + b, 1 << GRADIENT_RING) for a, b in zip(*shares, strict=True)]
        both = [residuals[2 * number + place] for place in range(2)]
        joint = [_centred(a + b) for a, b in zip(*both, strict=True)]
        exact = [sum(r * int(z) for r, z in zip(joint, column, strict=True)) for column in rows_in_units.T]
        strays = [a - e / 2**DROPPED_BITS for a, e in zip(cut, exact, strict=True)]
        assert max(strays) - min(strays) < 2 * STRAY_UNITS


def _centred(value: int, ring: int = local.RING) -> int:
    value %= ring
    return value - ring if value >= ring // 2 else value


# The encoding under the promise.


def mixed_table(count: int = 200) -> Table:
    """Numbers, counts, flags and texts, with gaps in some."""
    generator = np.random.default_rng(7)
    debt = generator.normal(size=count)
    debt[:40] = np.nan
    columns = {
        "debt": debt,
        "late": np.arange(count) % 3.0,
        "owner": generator.integers(0, 2, count).astype(float),
        "town": generator.choice(["Bonn", "Mainz", "Ulm"], count),
    }
    return table_from(pd.DataFrame(columns), labels=generator.integers(0, 2, count))


ENCODED: dict[str, Any] = {"bins": 4, "rare": 30}


def shard_of(table: Table, plan: Plan) -> Shard:
    """The table as training sees it, with noise from a seed."""
    treatment = row_noise.HomeTreatment(plan.on(len(table)), "label", stream(b"x" * 32, "noise").bytes, 0.0)
    return build_shard(table, plan, "label", b"", treatment)


def test_the_schema_gives_numbers_bins_and_gaps_a_slot_and_texts_always_one_for_gaps() -> None:
    """A column of two values stands alone; a count has no more bins than values; a text without gaps has their slot."""
    table = mixed_table()
    plan = plan_for((1, 4), **ENCODED)
    table = with_columns(table, plan)
    plan = plan.replace(features=(encoded_width(table, plan), 4))
    names = shard_of(table, plan).encoder.names
    assert [sum(name.startswith(own) for name in names) for own in ("debt", "late", "owner", "town")] == [5, 3, 1, 3]
    assert {"debt=(gap)", "town=(gap)"} < set(names)


def test_nothing_exact_is_computed_of_rows_without_payment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cut, share or mean: what computes them without noise is not called under the promise."""

    def unpaid(*_: object) -> NoReturn:
        raise AssertionError("an exact statistic of rows")

    monkeypatch.setattr(encoder, "cut_points", unpaid)
    monkeypatch.setattr(encoder, "_moments", unpaid)
    monkeypatch.setattr(encoder.ColumnEncoder, "_with_shares", unpaid)
    plan = plan_for((1, 4), **ENCODED)
    table = with_columns(mixed_table(), plan)
    plan = plan.replace(features=(encoded_width(table, plan), 4))
    assert len(shard_of(table, plan)) == 200
    with pytest.raises(AssertionError, match="an exact statistic"):
        with_columns(mixed_table(), plan.replace(noise="none"))


@pytest.mark.parametrize("value", [math.nan, 1e9, 0.5], ids=str)
def test_neighbours_have_the_same_width_under_one_schema(value: float) -> None:
    """One row with a new level, a gap or any number changes no width, however close the counts are to a limit."""
    plan = plan_for((1, 4), **ENCODED)
    table = with_columns(mixed_table(), plan)
    plan = plan.replace(features=(encoded_width(table, plan), 4))
    columns = []
    for column in table.columns:
        values = column.values.copy()
        values[0] = "Trier" if column.is_text else value
        columns.append(replace(column, values=values))
    neighbour = replace(table, columns=tuple(columns))
    assert shard_of(neighbour, plan).X.shape == shard_of(table, plan).X.shape
