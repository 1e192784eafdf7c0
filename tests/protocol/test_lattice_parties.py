"""`shares` by lattices among three to eight parties: it is `clear` on shares, and a coalition sees nothing else."""

import dataclasses
import math
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from plumbob.arrays import Matrix, Vector
from plumbob.checking.check import check
from plumbob.checking.filing import with_predictions
from plumbob.crypto.lattice import MaskedOpening, Pairs, local
from plumbob.errors import DataError, PlanError, PlumbobError
from plumbob.lab.simulate import Run
from plumbob.model import metrics
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import OPENED_SCORES, WEIGHTS
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.part import ModelPart
from plumbob.protocol.party import party_at
from plumbob.protocol.prediction import ROW, Answerer, Asker, Served
from plumbob.protocol.shares.products import Pass
from plumbob.protocol.shares.shape import SIGMOID, WEIGHT_BITS, RunShape
from plumbob.protocol.shares.training import SharesParty
from plumbob.report.receipt import keys_in_words
from plumbob.report.run import judged
from tests.crypto.lattice.support import to_floats
from tests.protocol.support import (
    Labels,
    Wire,
    has_deviation,
    made_up,
    outcomes,
    played,
    seated,
    tables_for,
    trained,
    uniformity,
    weights_of,
)
from tests.protocol.test_lattice_shares import in_clear, lattice_plan

THREE = (2, 3, 2)


def shared_weights(run: Run) -> Vector:
    """What all parties' shares add up to, before anything is cut for an opening."""
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    names = [party.name for party in run.model.plan.learners]
    totals = [sum(column) for name in names for column in zip(*(party.held[name] for party in parties), strict=True)]
    return np.array([math.ldexp(total, -WEIGHT_BITS) for total in totals])


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        (THREE, {"epochs": 2}),
        ((0, 3, 2), {"epochs": 1}),
        (THREE, {"l2": 0.05, "epochs": 2}),
        ((2, 2, 1), {"l2": 0.1, "epochs": 2}),
        ((1, 2, 1, 2), {"class_weight": "balanced", "l2": 0.01, "epochs": 1}),
        ((2, 1, 1, 2, 1), {"epochs": 1}),
    ],
    ids=str,
)
def test_weights_are_those_of_clear(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """Within 1e-6 in whitened units, and whole shares add up without any modulus."""
    data = made_up(columns=sum(split))
    data[1][:30] = 0
    plan = lattice_plan(split, **keys)
    run, clear = trained(plan, data), weights_of(trained(in_clear(plan), data))
    assert np.abs(shared_weights(run) - clear).max() < 1e-6
    assert np.abs(weights_of(run) - clear).max() < 1e-6 + len(split) * 2.0**-20


def test_eight_parties_train() -> None:
    """The most that a plan may have; one more is refused."""
    split = (1,) * 8
    plan = lattice_plan(split, epochs=1)
    data = made_up(columns=8)
    assert np.abs(shared_weights(trained(plan, data)) - weights_of(trained(in_clear(plan), data))).max() < 1e-6
    with pytest.raises(PlanError, match="two to 8 parties, got 9"):
        lattice_plan((1,) * 9)


@pytest.fixture(scope="module")
def closed_run() -> Run:
    """Three parties whose weights nobody ever has."""
    return trained(lattice_plan(THREE, open="never", epochs=2), made_up(rows=60, columns=7))


@pytest.fixture(scope="module", params=["two", "three"])
def any_closed_run(request: pytest.FixtureRequest, closed_run: Run) -> Run:
    """The same, or a run of two."""
    if request.param == "three":
        return closed_run
    return trained(lattice_plan((3, 4), open="never", epochs=2), made_up(rows=60, columns=7))


def test_weights_that_stay_shared_score_new_rows(any_closed_run: Run) -> None:
    """Nobody has weights, and scores are those of `clear` to their last bits."""
    X, y = made_up(rows=60, columns=7)
    plan = any_closed_run.model.plan
    assert all(part.weights is None for part in any_closed_run.model.parts.values())
    clear = trained(in_clear(plan), (X, y))
    middle, spread = X.mean(axis=0), X.std(axis=0)
    tables = tables_for(plan, np.clip(X[:25], middle - 3 * spread, middle + 3 * spread), None)
    assert any_closed_run.model.scores(tables) == pytest.approx(
        clear.model.scores(tables), abs=1e-4 * len(plan.learners)
    )


def test_parts_come_back_from_their_files(any_closed_run: Run, tmp_path: Path) -> None:
    """What prediction works on is stored for its owner alone; all parts have one hash; a changed file is refused."""
    parts = any_closed_run.model.parts
    for name, part in parts.items():
        part.save(tmp_path / f"{name}.json")
        any_closed_run.transcripts[name].save(tmp_path / f"{name}.npz")
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


def test_parts_of_two_runs_do_not_score_together(closed_run: Run) -> None:
    """A part whose bound shares are another run's is refused before a row is scored."""
    other = trained(lattice_plan(THREE, open="never", epochs=2), made_up(rows=60, columns=7))
    parts = dict(closed_run.model.parts) | {"features-2": other.model.parts["features-2"]}
    mixed = dataclasses.replace(closed_run.model, parts=parts)
    with pytest.raises(PlumbobError, match="differ from ours"):
        mixed.scores(tables_for(closed_run.model.plan, made_up(rows=5, columns=7)[0], None))


def test_three_parties_keep_their_promise_and_their_quality() -> None:
    """Each adds its own noise, of the full deviation, for the plan's epsilon, and the model still ranks people."""
    X, y = made_up(rows=1_500, columns=7)
    plan = lattice_plan(THREE, noise="rows", epsilon=6.0, epochs=8, seed=0)
    run = trained(plan, (X, y))
    cost = RunShape(plan, len(X)).row_cost
    assert cost is not None
    assert cost.epsilon(plan.delta) <= 6.0
    drawn = [party.row_noise for party in run.parties.values() if isinstance(party, SharesParty)]
    noise = np.array([values for values in drawn if values is not None])
    assert len({values.tobytes() for values in noise}) == 3
    assert has_deviation(noise, cost.std)
    assert metrics.auc(y, run.model.scores(tables_for(plan, X, None))) > 0.85


def test_a_session_scores_the_rows_that_are_asked_for(closed_run: Run) -> None:
    """The label party asks two feature parties; if they hear of different rows, it gets nothing that is a score."""
    plan = closed_run.model.plan
    tables = tables_for(plan, made_up(rows=30, columns=7)[0], None)
    whole = closed_run.model.scores(tables)

    def session(wire: Wire) -> dict[str, Any]:
        participants, parts = seated(plan, wire), closed_run.model.parts
        asker = Asker(participants["label"], tables["label"], parts["label"])
        tasks: dict[str, Any] = {"label": lambda: asker.run([[3, 1, 7], list(range(10, 20))])}
        for name in ("features", "features-2"):
            tasks[name] = Answerer(participants[name], tables[name], parts[name]).run
        return outcomes(tasks, participants)

    ends = session(Wire())
    assert np.concatenate(ends["label"]) == pytest.approx(whole[[3, 1, 7, *range(10, 20)]], abs=1e-4)
    assert ends["features"] == ends["features-2"] == Served(2, 13)

    def other_rows(sender: str, receiver: str, message: Message) -> bytes | None:
        is_second = message.kind is Kind.QUERY_ROWS and receiver == "features-2" and message.step == 1
        return dataclasses.replace(message, body=b"".join(map(ROW.pack, (4, 2, 8)))).encode() if is_second else None

    first = session(Wire(other_rows))["label"][0]
    assert np.abs(first - whole[[3, 1, 7]]).max() > 0.5


# What travels.


def test_who_sends_what() -> None:
    """Masked numbers go to the label party alone: one message per pass from each for residuals and for gradients."""
    plan = lattice_plan((1, 2, 1, 2), epochs=1)
    wire = Wire()
    played(plan, made_up(columns=6), wire)
    masked = Counter((source, target) for source, target, message in wire.log if message.kind is Kind.MASKED_SHARE)
    assert masked == dict.fromkeys([("features", "label"), ("features-2", "label"), ("features-3", "label")], 2)
    names = [party.name for party in plan.learners]
    pairs = {(one, other) for one in names for other in names if one != other}
    for kind in (Kind.LATTICE_KEYS, Kind.WEIGHT_SHARE, Kind.START_SHARE, Kind.PAIR_KEY):
        assert {(source, target) for source, target, message in wire.log if message.kind is kind} == pairs


def test_masked_numbers_look_uniform_whatever_the_data() -> None:
    """What everybody sends behind masks is uniform, whatever the honest party's columns hold."""
    plan, (X, y) = lattice_plan(THREE, epochs=2), made_up(rows=400, columns=7)
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


# What all but one see together.


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


def seen_together(plan: Plan, data: tuple[Matrix, Labels], monkeypatch: pytest.MonkeyPatch) -> Vector:
    """What label and features-2 know together of the residuals of the last pass: those plus the third party's mask."""
    held = lifted_by(plan, data, monkeypatch)
    together: Vector = held["label"][-1] + held["features-2"][-1]
    return together


def test_all_but_one_together_see_a_uniform_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residuals behind the honest party's mask are spread evenly, whatever its columns hold, and follow no score."""
    plan = lattice_plan(THREE, open="never", epochs=2)
    X, _ = made_up(rows=2000, columns=7)
    # Labels that one of the honest party's columns decides: residuals follow it as closely as any can.
    y = (X[:, 2] > 0).astype(np.int64)
    other = X.copy()
    other[:, 2:5] = np.sign(X[:, 2:5]) * 4
    for columns in (X, other):
        seen = seen_together(plan, (columns, y), monkeypatch)
        assert kstest(seen, "uniform").pvalue > 1e-4
        follows = [abs(np.corrcoef(seen, columns[:, place])[0, 1]) for place in (2, 3, 4)]
        assert max(follows) < 4.5 / math.sqrt(len(y))


def test_masks_that_are_too_short_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same look finds the honest party's columns at once where its mask is no wider than the residual."""
    monkeypatch.setattr(MaskedOpening, "mask_bits", property(lambda self: self.value_bits))
    # Such a plan would be refused.
    monkeypatch.setattr(RunShape, "prove", lambda self: None)
    plan = lattice_plan(THREE, open="never", epochs=2)
    X, _ = made_up(rows=2000, columns=7)
    # Labels that one of the honest party's columns decides: residuals follow it as closely as any can.
    y = (X[:, 2] > 0).astype(np.int64)
    seen = seen_together(plan, (X, y), monkeypatch)
    follows = [abs(np.corrcoef(seen, X[:, place])[0, 1]) for place in (2, 3, 4)]
    assert max(follows) > 4.5 / math.sqrt(len(X))


def test_two_runs_never_share_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass and run draws fresh masks, so the difference of two masked numbers tells nothing."""
    plan, data = lattice_plan(THREE, open="never", epochs=2), made_up(rows=50, columns=7)
    held = [lifted_by(plan, data, monkeypatch)["features"] for _ in range(2)]
    assert len({values.tobytes() for run in held for values in run}) == 4


# What is opened.


@pytest.mark.parametrize(("open", "kind"), [("own", Kind.WEIGHT_SHARE), ("never", Kind.SCORE_SHARE)])
def test_one_sender_s_share_of_an_opened_number_is_uniform(open: str, kind: Kind) -> None:
    """Only the sum over the senders tells anything; each of them alone fills its K bits evenly."""
    plan = lattice_plan((1, 60, 60), epochs=1, test_share=0.5, open=open, most_rows=600)
    opening, receiver = (WEIGHTS, "features") if open == "own" else (OPENED_SCORES, "label")
    wire = Wire()
    play_to_the_quality(plan, wire)
    [body] = wire.bodies(kind, "features-2", receiver)[:1]
    values = opening.from_bytes(body, "features-2")
    assert len(values) == (60 if open == "own" else 300)
    counts = np.bincount([value >> (opening.bits - 3) for value in values], minlength=8)
    assert chisquare(counts).pvalue > 1e-4


def play_to_the_quality(plan: Plan, wire: Wire) -> None:
    """A run with its held-out rows scored, every message seen."""
    participants = seated(plan, wire)
    tables = tables_for(plan, *made_up(rows=600, columns=plan.columns))
    tasks = {
        name: partial(run_to_its_quality, party_at(participant, tables[name]))
        for name, participant in participants.items()
    }
    ends = outcomes(tasks, participants)
    assert not [end for end in ends.values() if isinstance(end, Exception)], ends


# What is proved beforehand.


def test_the_bounds_of_the_page() -> None:
    """27,000 rows: masks show something in one of 2**39 runs of three parties, 2**33 of eight; cuts fail less."""
    three, eight = (RunShape(lattice_plan((3,) * parties, epochs=0), 27_000) for parties in (3, 8))
    assert three.shown_bits < -39
    assert eight.shown_bits < -33
    for shape in (three, eight):
        assert shape.failure_bits < -40
        shape.prove()


def test_masks_that_show_too_much_are_refused() -> None:
    """A run with so many numbers that some mask would give one away is refused, with what to change."""
    shape = RunShape(lattice_plan((1,) * 8, epochs=28), 500_000)
    with pytest.raises(PlanError, match=r"leave masks that show something.*set epochs = 20, or train on at most"):
        shape.prove()
    RunShape(lattice_plan((1,) * 8, epochs=20), 500_000).prove()


def test_whole_shares_never_reach_the_ring() -> None:
    """Weights' shares stay far below 2**127, where they would wrap on their way to the journal."""
    run = trained(lattice_plan((1, 1, 1), epochs=2), made_up(rows=10, columns=3))
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    assert max(abs(value) for party in parties for share in party.held.values() for value in share) < local.RING >> 16


def test_the_receipt_says_whom_it_holds_for(closed_run: Run) -> None:
    """The receipt names those that keep to the protocol, and how seldom a mask shows something."""
    words, plan = keys_in_words(closed_run.record), closed_run.model.plan
    shape = RunShape(plan, closed_run.record.rows)
    exponents = [int(found) for found in re.findall(r"2\*\*(\d+) runs", words)]
    assert exponents == [math.floor(-shape.shown_bits), math.floor(-shape.failure_bits)]
    assert "bits are opened" not in words
    found = check(plan, closed_run.record.rows)
    [why] = {one.why for one in found if one.attack == "masked-shares" and one.by == plan.label_party.name}
    assert f"sees {shape.masked_numbers:,} masked numbers" in why
    assert f"reads up to {shape.most_bits_behind_a_mask} bits of each number" in why
    assert {one.assumes for one in found if one.attack == "masked-shares"} == {"cheating"}
    told = judged(with_predictions(closed_run.record)).headlines
    assert any("masked-shares" in line.attacks for line in told.cheating.lines)
    assert not any("masked-shares" in line.attacks for line in told.honest.lines)
    assert "masks reveal something in at most one of 2**" in words
    assert "dishonest" not in words


@pytest.mark.parametrize(
    ("parties", "rows"), [(2, 60_000_000), (4, 6_000_000), (5, 5_000_000), (6, 2_900_000), (7, 1_400_000), (8, 900_000)]
)
def test_the_default_plan_is_not_refused_for_its_rows(parties: int, rows: int) -> None:
    """The default plan takes as many rows as the page of limits says, with the public rule's passes."""
    plan = Plan.for_columns((10,) * parties, protocol="shares", rows=rows)
    RunShape(plan, rows).prove()
