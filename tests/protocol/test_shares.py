"""`shares`: it is `clear` on shares, opens what it says and no more, and its bounds are those of the page.

What holds in every session, each message that is changed, and what no file may hold, is in `tests/sessions`.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from plumbob.arrays import Matrix, Vector
from plumbob.checking.check import check
from plumbob.checking.filing import judgement_of_run, with_predictions
from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.crypto.lattice import MaskedOpening, Pairs, local
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import DataError, DivergenceError, PlanError, PlumbobError
from plumbob.lab.audit.again import in_clear
from plumbob.lab.simulate import Run
from plumbob.model import metrics
from plumbob.plan import Level, Plan, common
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import OPENED_SCORES, WEIGHTS
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares import shape as shares_shape
from plumbob.protocol.shares.products import Pass
from plumbob.protocol.shares.shape import PULLED, SIGMOID, RunShape, most_opened_bits
from plumbob.protocol.shares.training import SharesParty
from plumbob.report.receipt import keys_in_words
from tests.crypto.lattice.support import to_floats
from tests.crypto.support import seeded
from tests.protocol.support import (
    Labels,
    Wire,
    has_deviation,
    made_up,
    played,
    shares_plan,
    tables_for,
    trained,
    uniformity,
    weights_of,
)

TWO, THREE = (2, 3), (2, 3, 2)
LAST_BITS = 3e-6  # What is cut off when two parties' weights are opened; another 1e-6 for each further party.


def distance(plan: Plan, data: tuple[Matrix, Labels] | None = None) -> float:
    """The largest difference between the opened weights and those of `clear`.

    The shares are the same each time: how far rounding goes depends on them, in some runs beyond the limit.
    """
    roots = {party.name: seeded(f"{party.name} in shares").draw(32) for party in plan.parties}
    difference = weights_of(trained(plan, data, roots=roots)) - weights_of(trained(in_clear(plan), data))
    return float(np.abs(difference).max())


# It is `clear` on shares.


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        (TWO, {"row_weights": True, "class_weight": "balanced"}),
        ((1, 2, 1, 2), {"class_weight": "balanced", "l2": 0.01, "epochs": 1}),
        ((1,) * 8, {"epochs": 1}),
    ],
    ids=str,
)
def test_weights_are_those_of_clear(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """They agree within what is cut off when weights are opened, among the most parties too."""
    data = made_up(columns=sum(split))
    data[1][:30] = 0
    assert distance(shares_plan(split, **keys), data) < LAST_BITS + 1e-6 * len(split)


@pytest.mark.parametrize(("split", "keys"), [((2, 2), {"l2": 0.01, "class_weight": "balanced"}), ((2, 1, 1), {})])
def test_samples_are_those_of_clear(
    split: tuple[int, ...], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First passes over a public sample, last ones over all rows: both protocols take the same rows."""
    # The rule's own levels would take five times as long.
    monkeypatch.setattr(common, "levels_by_rule", lambda rows, *_: (Level(5000, 2), Level(rows, 1)))
    data, plan = made_up(rows=10_500, columns=4), shares_plan(split, epochs=0, **keys)
    # Scores of 10,500 rows are rounded at random: over twelve sessions weights were up to 1.3e-6 away.
    assert distance(plan, data) < LAST_BITS
    sampled, whole = (weights_of(trained(in_clear(one), data)) for one in (plan, plan.replace(epochs=3)))
    assert np.abs(sampled - whole).max() > 1e-3


@pytest.mark.parametrize(("split", "l2"), [(TWO, 0.0), (TWO, 0.05), ((2, 2, 1), 0.05)], ids=str)
def test_rows_in_blocks_add_up_to_the_same(split: tuple[int, ...], l2: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients over blocks of rows, each with a key of its own and the last with the penalty, are those of one sum."""
    monkeypatch.setattr(shares_shape, "ROWS_SUMMED", 15)
    plan = shares_plan(split, l2=l2, epochs=2)
    assert [(block.start, block.stop) for block in RunShape(plan, 40).sum_blocks] == [(0, 15), (15, 30), (30, None)]
    assert distance(plan) < LAST_BITS


def test_the_intercept_is_not_penalised() -> None:
    """A penalty that would hold every weight near zero leaves the intercept where it is."""
    X, y = made_up()
    y[:30] = 1
    heavy = trained(shares_plan(l2=9.0, epochs=12), (X, y)).transcripts["label"].weights
    assert np.abs(heavy[:-1]).max() < 0.05
    assert abs(heavy[-1]) > 0.3


@pytest.mark.parametrize("rows", [1, 455, 27_000, 20_000_000])
def test_the_step_is_a_whole_number_of_22_bits(rows: int) -> None:
    """`clear` has the same rate, which is right to one of 2**22."""
    plan = shares_plan()
    factor, _ = plan.whole_step(rows)
    assert 2**21 <= factor <= 2**22
    assert in_clear(plan).rate_over(rows) == plan.rate_over(rows) == pytest.approx(plan.rate, rel=2.0**-22)


def test_weights_too_large_to_be_opened_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees a run diverge before its end; then the owner of the weights says it, at home."""
    # One long step: a weight of about 46 is opened, and is too large. What is larger still wraps, and may look small.
    monkeypatch.setattr(Plan, "rate", 160.0)
    with pytest.raises(
        DivergenceError,
        match="training diverged: expected opened weights below 32, got larger ones; set l2, or fewer epochs",
    ):
        trained(shares_plan(epochs=1))


@pytest.mark.parametrize("split", [TWO, (2, 2, 1)], ids=str)
def test_rows_far_out_get_the_same_scores_whether_weights_are_opened_or_not(split: tuple[int, ...]) -> None:
    """Beyond five deviations a value counts as five, on shares, with opened weights and in `clear`."""
    X, y = made_up(rows=60)
    # Two columns that agree in training, and not in a new row: whitened, that row lies a hundred deviations out.
    X[:, 4] = X[:, 3] + 1e-3 * X[:, 4]
    centre, deviation = X.mean(axis=0), X.std(axis=0)
    away = np.array([[4.9], [5.1], [10.0], [1e6]]) * np.array([[1.0, -1.0, 1.0, 1.0, -1.0]])
    rows = centre + np.vstack([away, -away]) * deviation
    closed, opened = (shares_plan(split, open=how) for how in ("never", "own"))
    runs = [trained(plan, (X, y)) for plan in (closed, opened, in_clear(opened))]
    scores = [run.model.scores(tables_for(run.model.plan, rows, None)) for run in runs]
    assert np.abs(scores[2][3] - scores[2][0]) > 1e-2
    for other in scores[:2]:
        assert other == pytest.approx(scores[2], abs=3e-3)
    # The last two of each half lie beyond the limit, so they are the same row.
    assert [one[2] for one in scores] == pytest.approx([one[3] for one in scores], abs=1e-3)


def test_three_parties_keep_their_promise_and_their_quality() -> None:
    """Each adds its own noise, of the full deviation, for the plan's epsilon, and the model still ranks people."""
    X, y = made_up(rows=1_500, columns=7)
    plan = shares_plan(THREE, noise="rows", epsilon=6.0, epochs=8, seed=0)
    run = trained(plan, (X, y))
    cost = RunShape(plan, len(X)).row_cost
    assert cost is not None
    assert cost.epsilon(plan.delta) <= 6.0
    drawn = [party.row_noise for party in sharing(run)]
    noise = np.array([values for values in drawn if values is not None])
    assert len({values.tobytes() for values in noise}) == 3
    assert has_deviation(noise, cost.std)
    assert metrics.auc(y, run.model.scores(tables_for(plan, X, None))) > 0.85


# Weights that stay shared.


def sharing(run: Run) -> list[SharesParty]:
    """The parties that hold shares."""
    return [party for party in run.parties.values() if isinstance(party, SharesParty)]


@pytest.fixture(scope="module", params=[(3, 4), THREE], ids=["two", "three"])
def closed_run(request: pytest.FixtureRequest) -> Run:
    """A run whose weights nobody ever has."""
    return closed(request.param)


def closed(split: tuple[int, ...]) -> Run:
    """A run of these columns."""
    return trained(shares_plan(split, open="never", epochs=2), made_up(rows=60, columns=7))


def test_weights_that_are_never_opened_are_nowhere(closed_run: Run) -> None:
    """Neither transcript, part nor record holds weights, no share of them is sent, and starts look uniform."""
    lengths = {party.name: party.features + (party.role == "label") for party in closed_run.model.plan.learners}
    for name, transcript in closed_run.transcripts.items():
        part = closed_run.model.parts[name]
        assert transcript.weights.size == 0
        assert part.weights is None
        assert {owner: len(share) for owner, share in part.shares.items()} == lengths
    assert all(party.coefficients is None for party in closed_run.record.parties)
    wire = Wire()
    played(shares_plan(open="never", epochs=1), wire=wire)
    assert uniformity(b"".join(wire.bodies(Kind.START_SHARE))) > 1e-7
    assert not wire.bodies(Kind.WEIGHT_SHARE)


def test_parts_come_back_from_their_files(closed_run: Run, tmp_path: Path) -> None:
    """What prediction works on is stored for its owner alone; all parts have one hash; a changed file is refused."""
    parts = closed_run.model.parts
    for name, part in parts.items():
        part.save(tmp_path / f"{name}.json")
        again = ModelPart.load(tmp_path / f"{name}.json")
        assert (again.bound, again.shares) == (part.bound, part.shares)
        assert part.whitening is not None
        assert again.whitening is not None
        np.testing.assert_array_equal(again.whitening.matrix, part.whitening.matrix)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    assert len({part.model for part in parts.values()}) == 1
    file, bound = tmp_path / "label.json", parts["label"].bound
    assert bound is not None
    file.write_text(file.read_text().replace(bound.ends["features"].hash(), "0" * 64))
    with pytest.raises(DataError, match="damaged"):
        ModelPart.load(file)


def test_parts_that_do_not_belong_together_score_nothing(closed_run: Run) -> None:
    """A part whose bound shares are another run's, and shares of other columns, are refused before a row is scored."""
    plan, parts = closed_run.model.plan, closed_run.model.parts
    split = tuple(party.features for party in plan.learners)
    others = closed(split).model.parts, closed((*split[1:], split[0])).model.parts
    foreign = dict(parts) | {"features": others[0]["features"]}, others[1]
    for mixed, error, words in zip(foreign, (PlumbobError, DataError), ("differ from ours", "no shares"), strict=True):
        with pytest.raises(error, match=words):
            dataclasses.replace(closed_run.model, parts=mixed).scores(tables_for(plan, made_up(5, 7)[0], None))


def test_shares_look_uniform_whatever_the_labels() -> None:
    """Two runs on the same data share no number, and the bytes of shares pass for uniform with any labels."""
    X, y = made_up(columns=8)
    plan = shares_plan((4, 4), open="never", epochs=1)
    runs = [sharing(trained(plan, (X, labels))) for labels in (y, y, 1 - y, y[::-1].copy())]
    drawn = [[value for party in run for share in party.held.values() for value in share] for run in runs]
    assert len({value for run in drawn for value in run}) == sum(map(len, drawn))
    for run in drawn:
        assert uniformity(b"".join((value % local.RING).to_bytes(16, "little") for value in run)) > 1e-7


def test_whole_shares_never_reach_the_ring() -> None:
    """Weights' shares stay far below 2**127, where they would wrap on their way to the journal."""
    run = trained(shares_plan((1, 1, 1), epochs=2), made_up(rows=10, columns=3))
    held = [value for party in sharing(run) for share in party.held.values() for value in share]
    assert max(map(abs, held)) < local.RING >> 16


def test_the_end_of_a_run_depends_on_51_bits_of_a_share() -> None:
    """Own products and requests of prediction are the same whatever a weight's share is beyond one period."""
    shape = RunShape(shares_plan(TWO, open="never"), 40)
    entries = np.random.default_rng(2).integers(-(2**15), 2**15, (7, 3)).astype(np.int32)
    share = SYSTEM_RANDOMNESS.many_below(local.RING, 3)
    beyond = [(value + (number + 1 << shape.input_bits)) % local.RING for number, value in enumerate(share)]
    assert shape.input_bits == 51
    within, outside = (local.scores(Engine(), entries, each, shape.input_bits) for each in (share, beyond))
    np.testing.assert_array_equal(within, outside)
    layout = shape.score_layout("features", 1)
    [[first], [second]] = (layout.place(local.pairs_of(each)) for each in (share, beyond))
    np.testing.assert_array_equal(first, second)


# Keys.


class EndsWithoutKeys(SharesParty):
    """Says what it still has of keys when the last pass is over and nothing has been opened yet."""

    def finish(self) -> None:
        assert not self.keys.own
        assert not self.keys.tested
        super().finish()


@pytest.mark.parametrize(
    ("split", "epochs", "keys", "passes"),
    [(TWO, 4, 5, [4]), (THREE, 2, 2 * (2 * 6 + 2), [1, 2])],
    ids=["two", "three"],
)
def test_every_product_has_a_key_of_its_own_that_vanishes_with_its_last_pass(
    split: tuple[int, ...], epochs: int, keys: int, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two a key serves one kind and direction in all passes, among more in one.

    The journal lists a key under the last pass that needs it, and nothing is opened before all of them are gone. Three
    parties have in each pass two kinds for every ordered pair, and one for the second and the third one's sines.
    """
    listed, finish = [], Participant.finish_step

    def recorded(self: Participant, step: int, state: Any = None, needs: Mapping[int, bytes] | None = None) -> None:
        if needs:
            listed.append(sorted(needs))
        finish(self, step, state, needs)

    monkeypatch.setattr(Participant, "finish_step", recorded)
    plan = shares_plan(split, l2=0.01, epochs=epochs)
    run = trained(plan, instead=dict.fromkeys([party.name for party in plan.learners], EndsWithoutKeys))
    assert listed == [passes] * len(split)
    for party in sharing(run):
        products = list(party.shape.keyed_products)
        assert len(set(products)) == len(products) == keys == party.shape.keys_in_all
        assert {product.last for product in products} == set(passes)


# What parties see together, behind masks.


def test_masked_numbers_look_uniform_whatever_the_data() -> None:
    """What everybody sends behind masks is uniform, whatever the honest party's columns hold."""
    plan, (X, y) = shares_plan(THREE, epochs=2), made_up(rows=400, columns=7)
    other = X.copy()
    other[:, 2:5] = np.where(np.arange(400)[:, None] % 2, 1000.0, -1000.0)
    for data in ((X, y), (other, 1 - y)):
        wire = Wire()
        played(plan, data, wire)
        for sender in ("features", "features-2"):
            residuals = [body for body in wire.bodies(Kind.MASKED_SHARE, sender, "label") if len(body) == 400 * 14]
            assert len(residuals) == 2
            # The top bits of 108 are not uniform: t is no power of two.
            low = b"".join(body[at : at + 12] for body in residuals for at in range(0, len(body), 14))
            assert uniformity(low) > 1e-4


def lifted_by(plan: Plan, data: tuple[Matrix, Labels], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Vector]]:
    """What each party held after each lifting of residuals, in units of the mask's width."""
    held: dict[str, list[Vector]] = {party.name: [] for party in plan.learners}
    lift = Pass.lift

    def watched(self: Pass, kind: str, opening: MaskedOpening, share: Pairs) -> Pairs:
        whole = lift(self, kind, opening, share)
        if kind.startswith(SIGMOID):
            held[self.holders.name].append(to_floats(whole, 128, opening.mask_bits))
        return whole

    with monkeypatch.context() as patched:
        patched.setattr(Pass, "lift", watched)
        trained(plan, data)
    return held


@pytest.mark.parametrize("is_short", [False, True], ids=["masks", "masks that are too short"])
def test_all_but_one_together_see_a_uniform_number(is_short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Residuals behind the honest party's mask are spread evenly, whatever its columns hold, and follow no score.

    The same look finds the honest party's columns at once where its mask is no wider than the residual.
    """
    if is_short:
        monkeypatch.setattr(MaskedOpening, "mask_bits", property(lambda self: self.value_bits))
        # Such a plan would be refused.
        monkeypatch.setattr(RunShape, "prove", lambda self: None)
    plan = shares_plan(THREE, open="never", epochs=2)
    X, _ = made_up(rows=2000, columns=7)
    # Labels that one of the honest party's columns decides: residuals follow it as closely as any can.
    y = (X[:, 2] > 0).astype(np.int64)
    other = X.copy()
    other[:, 2:5] = np.sign(X[:, 2:5]) * 4
    for columns in (X,) if is_short else (X, other):
        held = lifted_by(plan, (columns, y), monkeypatch)
        # The residuals of the last pass, plus the third party's mask.
        seen = held["label"][-1] + held["features-2"][-1]
        follows = max(abs(np.corrcoef(seen, columns[:, place])[0, 1]) for place in (2, 3, 4))
        assert bool(follows > 4.5 / math.sqrt(len(y))) is is_short
        assert is_short or kstest(seen, "uniform").pvalue > 1e-4


def test_two_runs_never_share_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass and run draws fresh masks, so the difference of two masked numbers tells nothing."""
    plan, data = shares_plan(THREE, open="never", epochs=2), made_up(rows=50, columns=7)
    held = [lifted_by(plan, data, monkeypatch)["features"] for _ in range(2)]
    assert len({values.tobytes() for run in held for values in run}) == 4


# What is opened.


@pytest.mark.parametrize(("open", "kind"), [("own", Kind.WEIGHT_SHARE), ("never", Kind.SCORE_SHARE)])
def test_one_sender_s_share_of_an_opened_number_is_uniform(open: str, kind: Kind) -> None:
    """Only the sum over the senders tells anything; each of them alone fills its K bits evenly."""
    plan = shares_plan((1, 60, 60), epochs=1, test_share=0.5, open=open, most_rows=600)
    opening, receiver = (WEIGHTS, "features") if open == "own" else (OPENED_SCORES, "label")
    wire = Wire()
    ends = played(plan, made_up(rows=600, columns=plan.columns), wire, quality=True).ends
    assert not [end for end in ends.values() if isinstance(end, Exception)], ends
    values = opening.from_bytes(wire.bodies(kind, "features-2", receiver)[0], "features-2")
    assert len(values) == (60 if open == "own" else 300)
    counts = np.bincount([value >> (opening.bits - 3) for value in values], minlength=8)
    assert chisquare(counts).pvalue > 1e-4


def test_a_score_is_opened_with_the_bits_of_an_honest_one() -> None:
    """A sign, five integer bits and sixteen fraction bits: 22 bits are all that a row can carry out."""
    assert OPENED_SCORES.bits == 22
    values: Vector = np.array([31.5, -31.5, 0.25])
    halves = [int(v * 2**16) % (1 << 22) for v in values]
    assert OPENED_SCORES.open(halves, {}) == pytest.approx(values)


@pytest.mark.parametrize(
    ("open", "bits"), [("own", 12 * WEIGHTS.bits), ("never", min(12 * 51, 500 * OPENED_SCORES.bits))], ids=str
)
def test_what_is_opened_bounds_what_can_be_carried_out(open: str, bits: int) -> None:
    """Opened weights count with their width, whoever's they are, scores with all that the weights' shares hold."""
    assert most_opened_bits(shares_plan((5, 6), open=open), 500) == bits


def test_no_more_rows_are_held_out_than_may_be_scored() -> None:
    """Without `most_rows` all aligned rows may be scored, and keys withstand it; with it, held-out ones must fit."""
    plan = shares_plan((4, 6), open="never", test_share=0.9)
    assert most_opened_bits(plan, 2) == 24 * OPENED_SCORES.bits
    RunShape(plan, 100).refuse_scores(plan.held_out(1000))
    shape = RunShape(plan.replace(most_rows=100), 100)
    shape.refuse_scores(100)
    with pytest.raises(PlanError, match="100 rows may be scored, and 900 are held out"):
        shape.refuse_scores(plan.held_out(1000))
    # Before the first key is made.
    with pytest.raises(PlanError, match=r"2 rows may be scored, and .* are held out"):
        trained(shares_plan(open="never", most_rows=2, test_share=0.2))


# Parameters and bounds, from public numbers.


@pytest.mark.parametrize(
    ("split", "keys", "rows", "expected"),
    [
        ((5, 6), {"open": "never", "most_rows": 10}, 500, 1),
        ((50, 60), {"open": "never"}, 500, 3),
        ((392, 392), {"open": "never"}, 12_665, 4),
        (
            (500, 500),
            {"open": "never"},
            5000,
            r"^opening\.most_rows: .*most_rows = 1909 scored rows, or 822 columns in all",
        ),
        ((500, 500), {"open": "never", "most_rows": 1909}, 5000, 4),
        ((300, 300), {"open": "own"}, 500, r'^opening\.open: .*280 columns in all, or open = "never"'),
        ((200, 200, 200), {"open": "own"}, 500, 3),
    ],
    ids=str,
)
def test_parameters_grow_with_what_is_opened(
    split: tuple[int, ...], keys: dict[str, Any], rows: int, expected: int | str
) -> None:
    """Few scored rows take the smallest sets, many columns larger ones, and what no set withstands is refused."""
    shape = RunShape(shares_plan(split, **keys), rows)
    if isinstance(expected, int):
        assert shape.number == expected
        return
    with pytest.raises(PlanError, match=expected):
        _ = shape.number


def test_keys_that_no_opening_reaches_are_the_smallest() -> None:
    """Nothing is opened to the feature party under `never`, so the label party's keys need not withstand anything."""
    shape = RunShape(shares_plan((50, 60), open="never"), 500)
    assert [each.number for each in shape.sets_for("features")] == [1, 3, 5]
    assert [each.number for each in shape.sets_for("label")] == [6, 4, 5]
    opened = RunShape(shares_plan((50, 60), open="own"), 500)
    assert opened.sets_for("features") == opened.sets_for("label") == opened.profile


def test_the_penalty_makes_sums_less_than_four_times_as_large() -> None:
    """What gradients of 1 or less make of the penalty's part in any direction, with the public rate and momentum."""
    largest = 0.0
    for pull, momentum in product(np.linspace(0.01, 1.0, 100), (0.0, 0.25, 0.5)):
        before, now, total = 0.0, float(pull), float(pull)
        for _ in range(300):
            before, now = now, (1 + momentum - pull) * now - momentum * before
            total += abs(now)
        largest = max(largest, total)
    assert 2.6 < largest < 2.64 < PULLED - 1


@pytest.mark.parametrize(
    ("split", "rows", "keys"),
    [
        ((20, 20), 20_000_000, {}),
        ((20, 20), 20_000_000, {"epochs": 14}),
        ((20, 20), 20_000_000, {"l2": 0.001}),
        ((14, 14, 13), 5_000_000, {}),
        # The default plan takes as many rows as the page of limits says, with the public rule's passes.
        *(
            ((10,) * parties, rows, {})
            for parties, rows in ((2, 60_000_000), (4, 6_000_000), (5, 5_000_000), (6, 2_900_000), (8, 900_000))
        ),
    ],
    ids=str,
)
def test_many_rows_are_accepted(split: tuple[int, ...], rows: int, keys: dict[str, Any]) -> None:
    """Every layout of a run holds up to the largest number of rows, and beyond it a refusal gives that number."""
    plan = Plan.for_columns(split, **keys)
    shape = RunShape(plan, rows)
    shape.prove()
    for party in plan.learners:
        assert all(layout.failure_chance < 2**-60 for layout in shape.gradients(party.name))
    most = shape.most_rows_proved
    RunShape(plan, most).prove()
    with pytest.raises(PlanError, match=f"train on at most {most:,} rows"):
        RunShape(plan, most + 1).prove()


def test_the_bounds_of_the_page() -> None:
    """27,000 rows: masks show something in one of 2**39 runs of three parties, 2**33 of eight; cuts fail less."""
    three, eight = (RunShape(shares_plan((3,) * parties, epochs=0), 27_000) for parties in (3, 8))
    assert three.shown_bits < -39
    assert eight.shown_bits < -33
    for shape in (three, eight):
        assert shape.failure_bits < -40
        shape.prove()


def test_what_shows_too_much_is_refused() -> None:
    """So many numbers that some mask would give one away, and a ninth party, are refused, with what to change."""
    shape = RunShape(shares_plan((1,) * 8, epochs=28), 500_000)
    with pytest.raises(PlanError, match=r"leave masks that show something.*set epochs = 20, or train on at most"):
        shape.prove()
    RunShape(shares_plan((1,) * 8, epochs=20), 500_000).prove()
    with pytest.raises(PlanError, match="two to 8 parties, got 9"):
        shares_plan((1,) * 9)


def test_the_receipt_says_whom_it_holds_for() -> None:
    """The receipt names those that keep to the protocol, and how seldom a mask shows something."""
    record = closed(THREE).record
    words, plan = keys_in_words(record), record.parsed_plan
    shape = RunShape(plan, record.rows)
    exponents = [int(found) for found in re.findall(r"2\*\*(\d+) runs", words)]
    assert exponents == [math.floor(-shape.shown_bits), math.floor(-shape.failure_bits)]
    assert "masks reveal something in at most one of 2**" in words
    assert not any(word in words for word in ("bits are opened", "dishonest"))
    found = check(plan, record.rows)
    [why] = {one.why for one in found if one.attack == "masked-shares" and one.by == plan.label_party.name}
    assert f"sees {shape.masked_numbers:,} masked numbers" in why
    assert f"reads up to {shape.most_bits_behind_a_mask} bits of each number" in why
    assert {one.assumes for one in found if one.attack == "masked-shares"} == {"cheating"}
    headlines = judgement_of_run(with_predictions(record)).headlines
    assert any("masked-shares" in line.attacks for line in headlines.cheating.lines)
    assert not any("masked-shares" in line.attacks for line in headlines.honest.lines)
