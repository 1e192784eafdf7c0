"""`shares` by lattices: it is `clear` on shares, opens what it says and no more, and refuses what is not honest."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.crypto.lattice import Engine, local
from plumbob.errors import (
    CiphertextRefusedError,
    DataError,
    DivergenceError,
    EngineError,
    PlanError,
    RemoteProtocolError,
    TransportError,
)
from plumbob.plan import Level, Plan, settings
from plumbob.protocol.channel import said_by
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import OPENED_SCORES, WEIGHTS
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares import shape as shares_shape
from plumbob.protocol.shares.shape import PULLED, RunShape, most_opened_bits
from plumbob.protocol.shares.training import SharesParty
from tests.crypto.support import seeded
from tests.protocol.support import (
    Labels,
    Wire,
    changing,
    cut,
    made_up,
    played,
    tables_for,
    trained,
    uniformity,
    weights_of,
)

CURE: dict[str, Any] = {
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "momentum": 0.5,
    "learning_rate": 0.0,
    "feature_bits": 13,
    "epochs": 4,
    "seed": 7,
}


def lattice_plan(split: tuple[int, ...] = (2, 3), **keys: Any) -> Plan:
    """A short run whose weights are opened."""
    return Plan.for_columns(split, **({"protocol": "shares", "open": "own", **CURE} | keys))


def in_clear(plan: Plan) -> Plan:
    """The same training without cryptography; every other value is as it was."""
    return plan.replace(protocol="clear", open="own", **{key: getattr(plan, key) for key in CURE})


@pytest.mark.parametrize(
    ("split", "keys"),
    [
        ((2, 3), {}),
        ((0, 5), {}),
        ((2, 3), {"l2": 0.05}),
        ((2, 3), {"class_weight": "balanced", "l2": 0.01}),
        ((2, 3), {"row_weights": True}),
        ((2, 3), {"row_weights": True, "class_weight": "balanced"}),
    ],
    ids=str,
)
def test_weights_are_those_of_clear(split: tuple[int, ...], keys: dict[str, Any]) -> None:
    """They agree within what is cut off when weights are opened."""
    data = made_up(columns=sum(split))
    data[1][:30] = 0
    plan = lattice_plan(split, **keys)
    # The same shares each time: how far rounding goes depends on them, in some runs beyond this limit.
    roots = {party.name: seeded(f"{party.name} in shares").draw(32) for party in plan.parties}
    encrypted = weights_of(trained(plan, data, roots=roots))
    clear = weights_of(trained(in_clear(plan), data))
    assert np.abs(encrypted - clear).max() < 3e-6


@pytest.mark.parametrize(("split", "keys"), [((2, 2), {"l2": 0.01, "class_weight": "balanced"}), ((2, 1, 1), {})])
def test_samples_are_those_of_clear(
    split: tuple[int, ...], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First passes over a public sample, last ones over all rows: both protocols take the same rows."""
    # The rule's own levels would take five times as long.
    monkeypatch.setattr(settings, "levels_by_rule", lambda rows, *_: (Level(5000, 2), Level(rows, 1)))
    data = made_up(rows=10_500, columns=4)
    plan = lattice_plan(split, epochs=0, **keys)
    roots = {party.name: seeded(f"{party.name} in shares").draw(32) for party in plan.parties}
    clear, without = (weights_of(trained(in_clear(one), data)) for one in (plan, plan.replace(epochs=3)))
    # Scores of 10,500 rows are rounded at random: over twelve sessions weights were up to 1.3e-6 away.
    assert np.abs(weights_of(trained(plan, data, roots=roots)) - clear).max() < 3e-6
    assert np.abs(without - clear).max() > 1e-3


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)], ids=str)
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_rows_in_blocks_add_up_to_the_same(split: tuple[int, ...], l2: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients over blocks of rows, each with a key of its own and the last with the penalty, are those of one sum."""
    monkeypatch.setattr(shares_shape, "ROWS_SUMMED", 15)
    plan = lattice_plan(split, l2=l2, epochs=2)
    roots = {party.name: seeded(f"{party.name} in shares").draw(32) for party in plan.parties}
    run = trained(plan, roots=roots)
    assert [(block.start, block.stop) for block in RunShape(plan, 40).sum_blocks] == [(0, 15), (15, 30), (30, None)]
    assert np.abs(weights_of(run) - weights_of(trained(in_clear(plan)))).max() < 3e-6


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


@pytest.mark.parametrize("rows", [1, 455, 27_000, 20_000_000])
def test_the_step_is_a_whole_number_of_22_bits(rows: int) -> None:
    """`clear` has the same rate, which is right to one of 2**22."""
    plan = lattice_plan()
    factor, _ = plan.whole_step(rows)
    assert 2**21 <= factor <= 2**22
    assert in_clear(plan).rate_over(rows) == plan.rate_over(rows) == pytest.approx(plan.rate, rel=2.0**-22)


@pytest.mark.parametrize("name", ["breast-cancer", "digits-01"])
def test_it_equals_clear_on_bundled_data(name: str) -> None:
    """The weights equal those of `clear` on real rows, too."""
    plan, data = lattice_plan((3, 4)), cut(name, 80, 7)
    roots = {party.name: seeded(f"{party.name} in shares").draw(32) for party in plan.parties}
    difference = weights_of(trained(plan, data, roots=roots)) - weights_of(trained(in_clear(plan), data))
    assert np.abs(difference).max() < 3e-6


def test_the_intercept_is_not_penalised() -> None:
    """A penalty that would hold every weight near zero leaves the intercept where it is."""
    X, y = made_up()
    y[:30] = 1
    heavy = trained(lattice_plan(l2=9.0, epochs=12), (X, y)).transcripts["label"].weights
    assert np.abs(heavy[:-1]).max() < 0.05
    assert abs(heavy[-1]) > 0.3


def test_a_transcript_has_no_sums() -> None:
    """There is no pass in which a party could read anything of its gradient."""
    plan = lattice_plan()
    for transcript in trained(plan).transcripts.values():
        assert transcript.sums.shape == (plan.epochs, 0)


def test_weights_too_large_to_be_opened_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees a run diverge before its end; then the owner of the weights says it, at home."""
    # One long step: a weight of about 46 is opened, and is too large. What is larger still wraps, and may look small.
    monkeypatch.setattr(Plan, "rate", 160.0)
    with pytest.raises(DivergenceError, match="training diverged: expected opened weights below 32"):
        trained(lattice_plan(epochs=1))


def final_shares(data: tuple[Matrix, Labels]) -> list[int]:
    """What both parties hold at the end of a run in which nothing is opened."""
    run = trained(lattice_plan((4, 4), open="never", epochs=1), data)
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    return [value for party in parties for share in party.held.values() for value in share]


def test_shares_look_uniform_whatever_the_labels() -> None:
    """Two runs on the same data share no number, and the bytes of shares pass for uniform with any labels."""
    X, y = made_up(columns=8)
    runs = [final_shares((X, labels)) for labels in (y, y, 1 - y, y[::-1].copy())]
    drawn = [value for run in runs for value in run]
    assert len(set(drawn)) == len(drawn)
    for run in runs:
        assert uniformity(b"".join((value % local.RING).to_bytes(16, "little") for value in run)) > 1e-7


def test_weights_that_are_never_opened_are_nowhere() -> None:
    """Neither transcript nor part nor record holds weights, and no share of them was sent."""
    run = trained(lattice_plan(open="never", epochs=1))
    for name, transcript in run.transcripts.items():
        assert transcript.weights.size == 0
        part = run.model.parts[name]
        assert part.weights is None
        assert {owner: len(share) for owner, share in part.shares.items()} == {"label": 3, "features": 3}
    assert all(party.coefficients is None for party in run.record.parties)
    wire = Wire()
    played(lattice_plan(open="never", epochs=1), wire=wire)
    assert wire.bodies(Kind.START_SHARE)
    assert uniformity(b"".join(wire.bodies(Kind.START_SHARE))) > 1e-7
    assert not wire.bodies(Kind.WEIGHT_SHARE)


SENT_IN_TRAINING = [
    Kind.START_SHARE,
    Kind.LATTICE_KEYS,
    Kind.LATTICE_REQUEST,
    Kind.LATTICE_REPLY,
    Kind.WEIGHT_SHARE,
]


@pytest.mark.parametrize("kind", SENT_IN_TRAINING, ids=str)
def test_a_message_of_another_size_is_refused(kind: Kind) -> None:
    """One byte less anywhere ends the run at the party that receives it."""
    run = played(lattice_plan(epochs=1), wire=changing(kind, lambda body: body[:-1]))
    assert isinstance(run.ends["label"], RemoteProtocolError)
    # Who has sent and read everything already ends well, because nothing more is due to it.
    assert isinstance(run.ends["features"], TransportError) or kind is Kind.WEIGHT_SHARE


def test_a_part_of_other_columns_is_refused() -> None:
    """Shares of other columns than the plan's cannot be used."""
    run, other = (trained(lattice_plan(split, open="never", epochs=1)) for split in ((2, 3), (3, 2)))
    mixed = type(run.model)(run.model.plan, other.model.parts)
    with pytest.raises(DataError, match="no shares of this plan's weights"):
        mixed.scores(tables_for(run.model.plan, made_up()[0], None))


@pytest.mark.parametrize("split", [(2, 3), (2, 2, 1)], ids=str)
def test_rows_far_out_get_the_same_scores_whether_weights_are_opened_or_not(split: tuple[int, ...]) -> None:
    """Beyond five deviations a value counts as five, on shares, with opened weights and in `clear`."""
    X, y = made_up(rows=60)
    # Two columns that agree in training, and not in a new row: whitened, that row lies a hundred deviations out.
    X[:, 4] = X[:, 3] + 1e-3 * X[:, 4]
    centre, deviation = X.mean(axis=0), X.std(axis=0)
    away = np.array([[4.9], [5.1], [10.0], [1e6]]) * np.array([[1.0, -1.0, 1.0, 1.0, -1.0]])
    rows = centre + np.vstack([away, -away]) * deviation
    closed, opened = (lattice_plan(split, open=how) for how in ("never", "own"))
    runs = [trained(plan, (X, y)) for plan in (closed, opened, in_clear(opened))]
    scores = [run.model.scores(tables_for(run.model.plan, rows, None)) for run in runs]
    assert np.abs(scores[2][3] - scores[2][0]) > 1e-2
    for other in scores[:2]:
        assert other == pytest.approx(scores[2], abs=3e-3)
    # The last two of each half lie beyond the limit, so they are the same row.
    assert [one[2] for one in scores] == pytest.approx([one[3] for one in scores], abs=1e-3)


@pytest.mark.parametrize(
    ("split", "epochs", "keys", "passes"), [((2, 3), 4, 5, {4}), ((2, 3, 2), 2, 2 * (2 * 6 + 2), {1, 2})], ids=str
)
def test_every_product_has_a_key_of_its_own(split: tuple[int, ...], epochs: int, keys: int, passes: set[int]) -> None:
    """Between two a key serves one kind and direction in all passes, among more in one; none is left after the run.

    Three parties have in each pass two kinds for every ordered pair, and one for the second and the third one's sines.
    """
    run = trained(lattice_plan(split, l2=0.01, epochs=epochs))
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    assert len(parties) == len(split)
    for party in parties:
        products = list(party.shape.keyed_products)
        assert len(set(products)) == len(products) == keys == party.shape.keys_in_all
        assert {product.last for product in products} == passes
        assert not party.keys.own
        assert not party.keys.tested


class EndsWithoutKeys(SharesParty):
    """Says what it still has of keys when the last pass is over and nothing has been opened yet."""

    def finish(self) -> None:
        assert not self.keys.own
        assert not self.keys.tested
        super().finish()


@pytest.mark.parametrize(("split", "passes"), [((2, 3), [3]), ((1, 2, 2), [1, 2, 3])], ids=["two", "three"])
def test_keys_vanish_with_their_last_pass(
    split: tuple[int, ...], passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal lists a key under the last pass that needs it, and nothing is opened before all of them are gone."""
    listed, finish = [], Participant.finish_step

    def recorded(self: Participant, step: int, state: Any = None, needs: Mapping[int, bytes] | None = None) -> None:
        if needs:
            listed.append(sorted(needs))
        finish(self, step, state, needs)

    monkeypatch.setattr(Participant, "finish_step", recorded)
    plan = lattice_plan(split, epochs=3)
    trained(plan, instead=dict.fromkeys([party.name for party in plan.learners], EndsWithoutKeys))
    assert listed == [passes] * len(split)


@pytest.mark.parametrize(
    ("open", "bits"), [("own", 12 * WEIGHTS.bits), ("never", min(12 * 51, 500 * OPENED_SCORES.bits))], ids=str
)
def test_what_is_opened_bounds_what_can_be_carried_out(open: str, bits: int) -> None:
    """Opened weights count with their width, whoever's they are, scores with all that the weights' shares hold."""
    assert most_opened_bits(lattice_plan((5, 6), open=open), 500) == bits


def test_parameters_grow_with_what_is_opened() -> None:
    """Few scored rows take the smallest sets, many columns larger ones, and what no set withstands is refused."""
    few = RunShape(lattice_plan((5, 6), open="never", most_rows=10), 500)
    many = RunShape(lattice_plan((50, 60), open="never"), 500)
    wide = RunShape(lattice_plan((392, 392), open="never"), 12_665)
    assert (few.number, many.number, wide.number) == (1, 3, 4)
    with pytest.raises(PlanError, match=r"most_rows = 1909 scored rows, or 822 columns in all"):
        _ = RunShape(lattice_plan((500, 500), open="never"), 5000).number
    assert RunShape(lattice_plan((500, 500), open="never", most_rows=1909), 5000).number == 4
    with pytest.raises(PlanError, match=r'280 columns in all, or open = "never"'):
        _ = RunShape(lattice_plan((300, 300), open="own"), 500).number
    assert RunShape(lattice_plan((200, 200, 200), open="own"), 500).number == 3


def test_no_more_rows_are_held_out_than_may_be_scored() -> None:
    """Without `most_rows` all aligned rows may be scored, and keys withstand it; with it, held-out ones must fit."""
    plan = lattice_plan((4, 6), open="never", test_share=0.9)
    assert most_opened_bits(plan, 2) == 24 * OPENED_SCORES.bits
    RunShape(plan, 100).refuse_scores(plan.held_out(1000))
    shape = RunShape(plan.replace(most_rows=100), 100)
    with pytest.raises(PlanError, match="100 rows may be scored, and 900 are held out"):
        shape.refuse_scores(plan.held_out(1000))
    shape.refuse_scores(100)


def test_keys_that_no_opening_reaches_are_the_smallest() -> None:
    """Nothing is opened to the feature party under `never`, so the label party's keys need not withstand anything."""
    shape = RunShape(lattice_plan((50, 60), open="never"), 500)
    assert [each.number for each in shape.sets_for("features")] == [1, 3, 5]
    assert [each.number for each in shape.sets_for("label")] == [6, 4, 5]
    opened = RunShape(lattice_plan((50, 60), open="own"), 500)
    assert opened.sets_for("features") == opened.sets_for("label") == opened.profile


@pytest.mark.parametrize(
    ("split", "rows", "keys"),
    [
        ((20, 20), 20_000_000, {}),
        ((20, 20), 20_000_000, {"epochs": 14}),
        ((20, 20), 20_000_000, {"l2": 0.001}),
        ((14, 14, 13), 5_000_000, {}),
    ],
    ids=str,
)
def test_many_rows_are_accepted(split: tuple[int, ...], rows: int, keys: dict[str, Any]) -> None:
    """Every layout of a run holds up to the largest number of rows, and beyond it a refusal gives that number."""
    plan = Plan.for_columns(split, **({"protocol": "shares"} | keys))
    shape = RunShape(plan, rows)
    shape.prove()
    for party in plan.learners:
        assert all(layout.failure_chance < 2**-60 for layout in shape.gradients(party.name))
    most = shape.most_rows_proved
    RunShape(plan, most).prove()
    with pytest.raises(PlanError, match=f"train on at most {most:,} rows"):
        RunShape(plan, most + 1).prove()


def test_the_end_of_a_run_depends_on_51_bits_of_a_share() -> None:
    """Own products and requests of prediction are the same whatever a weight's share is beyond one period."""
    shape = RunShape(lattice_plan((2, 3), open="never"), 40)
    entries = np.random.default_rng(2).integers(-(2**15), 2**15, (7, 3)).astype(np.int32)
    share = SYSTEM_RANDOMNESS.many_below(local.RING, 3)
    beyond = [(value + (number + 1 << shape.input_bits)) % local.RING for number, value in enumerate(share)]
    assert shape.input_bits == 51
    within, outside = (local.scores(Engine(), entries, each, shape.input_bits) for each in (share, beyond))
    np.testing.assert_array_equal(within, outside)
    layout = shape.scored("features", 1)
    [[first], [second]] = (layout.place(local.pairs_of(each)) for each in (share, beyond))
    np.testing.assert_array_equal(first, second)


def test_held_out_rows_count_among_those_that_may_be_scored() -> None:
    """A plan that holds out more rows than may ever be scored is refused before the first key is made."""
    with pytest.raises(PlanError, match=r"2 rows may be scored, and .* are held out"):
        trained(lattice_plan(open="never", most_rows=2, test_share=0.2))


class Twisted(SharesParty):
    """Changes what it sends of one kind."""

    kind = Kind.LATTICE_REQUEST
    twist: Callable[[bytes], bytes]

    def prepare(self) -> None:
        [channel] = self.holders.channels.values()
        send, kind, twist = channel.send, type(self).kind, type(self).twist

        def changed(sent: Kind, step: int, body: bytes) -> None:
            send(sent, step, twist(body) if sent == kind else body)

        channel.send = changed  # type: ignore[method-assign, assignment]  # That is the attack.
        super().prepare()


@pytest.mark.parametrize(
    ("kind", "words"),
    [(Kind.LATTICE_KEYS, "residue"), (Kind.KEY_NONCES, "key"), (Kind.LATTICE_REQUEST, "residue")],
    ids=str,
)
def test_garbage_is_refused(kind: Kind, words: str) -> None:
    """A key that was not made as it should be fails its test; residues out of range are no ciphertext."""
    twist = staticmethod(lambda body: body[:32] + b"\xff" * (len(body) - 32))
    cheat = type("Cheat", (Twisted,), {"kind": kind, "twist": twist})
    with pytest.raises(Exception, match=words) as refused:
        trained(lattice_plan(), instead={"features": cheat})
    assert "features" in str(refused.value) or isinstance(refused.value, RemoteProtocolError)


def test_a_score_is_opened_with_the_bits_of_an_honest_one() -> None:
    """A sign, five integer bits and sixteen fraction bits: 22 bits are all that a row can carry out."""
    assert OPENED_SCORES.bits == 22
    values: Vector = np.array([31.5, -31.5, 0.25])
    halves = [int(v * 2**16) % (1 << 22) for v in values]
    assert OPENED_SCORES.opened(halves, {}) == pytest.approx(values)


def test_an_engine_that_fails_is_no_peers_fault() -> None:
    """A peer is named for its bytes, and not for what our own engine could not do."""
    with pytest.raises(RemoteProtocolError, match="bank: a request of 3 bytes"), said_by("bank"):
        raise CiphertextRefusedError("a request of 3 bytes")
    with pytest.raises(EngineError, match="no cluster answers"), said_by("bank"):
        raise EngineError("engine 'ray': no cluster answers")
