"""`shares`: the oracle's weights, while nobody sees a score, a residual or a gradient before the end."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.errors import DataError, EncodingError, PlanError, RemoteProtocolError, TransportError
from plumbob.plan import Plan
from plumbob.protocol import openings, share_holder, shares, shares_prediction
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import RING, RING_BITS
from plumbob.protocol.primitive import Helper
from plumbob.protocol.share_holder import WEIGHT_BITS, ring_product
from plumbob.protocol.shares import SharesParty, StepSize, prove_truncations
from plumbob.protocol.shares_prediction import SharesPredictor
from plumbob.protocol.widths import widths_for
from plumbob.workshop.simulation import Run
from tests.protocol.support import (
    Wire,
    cut,
    distance_from_clear,
    in_clear,
    made_up,
    outcomes,
    plan_for,
    played,
    seated,
    tables_for,
    trained,
    uniformity,
)


def shares_plan(split: tuple[int, ...] = (2, 3), **keys: Any) -> Plan:
    """A small plan for this protocol."""
    return plan_for(split, protocol="shares", **keys)


@pytest.mark.parametrize("name", ["breast-cancer", "digits-01"])
def test_it_equals_clear_on_bundled_data(name: str) -> None:
    """On real rows the opened weights are within 1e-6 of those of `clear`."""
    assert distance_from_clear(shares_plan((3, 4), batch_size=32), cut(name, 80, 7)) < 1e-6


@pytest.mark.parametrize(
    "keys",
    [
        {"start": "xavier", "batches": "fixed"},
        {"start": "kaiming", "batches": "full"},
        {"start": "small", "batch_size": 15},
        {"start": "normal", "l2": 0.1, "batch_size": 15, "remainder": "drop"},
        {"start": "normal", "l2": 0.1, "intercept": False},
        {"row_norm": 1.0, "test_share": 0.2},
        {"replies": "single"},
        {"learning_rate": 1.7, "row_norm": 1.0},
    ],
    ids=str,
)
def test_every_setting_equals_clear(keys: dict[str, Any]) -> None:
    """Starts, batches, remainders, penalties and replies: the opened weights are within 1e-6 of `clear`."""
    assert distance_from_clear(shares_plan(**keys)) < 1e-6


def test_a_label_party_without_columns() -> None:
    """d_A = 0: the label party's own matrix is empty, and its peer's weights are still right."""
    assert distance_from_clear(shares_plan((0, 4), intercept=False, start="normal")) < 1e-6


def test_the_intercept_is_not_penalised() -> None:
    """A penalty that would hold every weight near zero leaves the intercept where it is."""
    X, y = made_up()
    y[:30] = 1
    heavy = trained(shares_plan(l2=9.0, epochs=12, batches="full", learning_rate=0.2), (X, y)).transcripts["label"]
    assert np.abs(heavy.weights[:-1]).max() < 0.05
    assert abs(heavy.weights[-1]) > 0.3


# Nothing before the end.


def test_a_transcript_has_no_sums() -> None:
    """There is no step in which a party could read anything of its gradient."""
    plan = shares_plan()
    for transcript in trained(plan).transcripts.values():
        assert transcript.sums.shape == (2 * plan.epochs, 0)


def test_only_ciphertexts_and_one_random_share_travel_before_the_end() -> None:
    """Nothing is handed back; the shares of the weights are the last messages, after the last step."""
    wire = Wire()
    played(shares_plan(), wire=wire)
    kinds = [message.kind for _, _, message in wire.log]
    assert Kind.OPENED_SUMS not in kinds
    assert Kind.SCORE_SHARE not in kinds
    for sender in ("label", "features"):
        own = [message.kind for source, _, message in wire.log if source == sender]
        assert own.count(Kind.WEIGHT_SHARE) == 1
        assert own[-1] is Kind.WEIGHT_SHARE
        assert set(own[own.index(Kind.START_SHARE) + 1 : -1]) == {Kind.RESIDUALS, Kind.MASKED_SUMS}


def final_shares(data: Any) -> list[list[int]]:
    """What each of the two parties holds at the end of a run in which nothing is opened."""
    run = played(shares_plan((4, 4), open="never", epochs=1, batches="full"), data)
    parties = [party for party in run.parties.values() if isinstance(party, SharesParty)]
    return [share for party in parties for share in (party.own, party.peers)]


def test_shares_look_uniform_whatever_the_labels() -> None:
    """Two runs on the same data share no number, and the bytes of shares pass for uniform with any labels."""
    X, y = made_up(columns=8)
    runs = [final_shares((X, y)), final_shares((X, y)), final_shares((X, 1 - y)), final_shares((X, y[::-1].copy()))]
    drawn = [value for run in runs for share in run for value in share]
    assert len(set(drawn)) == len(drawn)
    for run in runs:
        assert uniformity(b"".join(shares.to_bytes(share) for share in run)) > 1e-7


def test_what_a_helper_decrypts_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number that is ever decrypted passes for uniform: products stay in shares."""
    opened: list[int] = []

    class Recording(Helper):
        """Keeps what it decrypts."""

        def open(self, step: int) -> list[int]:
            values = super().open(step)
            opened.extend(values)
            return values

    monkeypatch.setattr(share_holder, "Helper", Recording)
    trained(shares_plan(epochs=1))
    assert len(set(opened)) == len(opened) > 40
    assert uniformity(b"".join((value % 2**512).to_bytes(64, "little") for value in opened)) > 1e-7


def test_the_start_is_shared_by_a_random_vector() -> None:
    """What the peer gets of a zero start is uniform, and the two shares add up to it."""
    wire = Wire()
    run = played(shares_plan((8, 8), epochs=1, batches="full"), made_up(columns=16), wire)
    assert uniformity(b"".join(wire.bodies(Kind.START_SHARE))) > 1e-7
    assert not run.transcript("label").start.any()


# Open = never.


@pytest.fixture(scope="module")
def closed_run() -> Run:
    """A run whose weights were never opened."""
    return trained(shares_plan(open="never", row_norm=1.0, start="normal"))


def test_weights_that_are_never_opened_are_nowhere(closed_run: Run) -> None:
    """Neither transcript nor part nor record holds weights, and no share of them was sent."""
    for name, transcript in closed_run.transcripts.items():
        assert transcript.weights.size == 0
        part = closed_run.model.parts[name]
        assert part.weights is None
        assert {owner: len(share) for owner, share in part.shares.items()} == {"label": 3, "features": 3}
    assert all(party.coefficients is None for party in closed_run.record.parties)
    wire = Wire()
    played(shares_plan(open="never", epochs=1), wire=wire)
    assert not wire.bodies(Kind.WEIGHT_SHARE)


def test_scores_from_shares_are_those_of_clear(closed_run: Run) -> None:
    """On the same rounded features prediction is that of `clear` to its last place, and rows far out are predicted."""
    X, _ = made_up()
    new = np.vstack([X, 40 * X])
    tables = tables_for(closed_run.model.plan, new, None)
    clear = trained(in_clear(closed_run.model.plan))
    difference = closed_run.model.scores(tables) - clear.model.scores(tables)
    # Features to predict are rounded to 16 bits here and not in `clear`: up to 2**-17 times each weight.
    assert np.abs(difference).max() < 5e-5
    rounded = [np.rint(part.encode(tables[name]) * 2**16) / 2**16 for name, part in clear.model.parts.items()]
    weights = [clear.transcripts[name].weights for name in clear.model.parts]
    exact = sum(X @ w for X, w in zip(rounded, weights, strict=True))
    # Opened scores are cut to 16 fraction bits, which rounds them up or down; the rest is as exact as before.
    last_place = 2.0**-16
    assert np.abs(closed_run.model.scores(tables) - exact).max() < last_place + 1e-5
    assert np.abs((closed_run.model.scores(tables) - exact)[: len(X)]).max() < last_place + 1e-6


def predictions(run: Run, wire: Wire, tables: Any) -> dict[str, Any]:
    """What both parties end a prediction with."""
    participants = seated(run.model.plan, wire)
    parties = {name: SharesPredictor(participant, tables[name]) for name, participant in participants.items()}
    return outcomes(
        {name: partial(party.predict, run.model.parts[name]) for name, party in parties.items()}, participants
    )


def test_prediction_reveals_nothing_to_the_feature_party(closed_run: Run) -> None:
    """It receives ciphertexts, no share of a score, and returns none."""
    wire = Wire()
    ends = predictions(closed_run, wire, tables_for(closed_run.model.plan, made_up()[0], None))
    assert ends["features"] is None
    assert len(ends["label"]) == 40
    assert not wire.bodies(Kind.SCORE_SHARE, receiver="features")
    # A share by itself is uniform, and so tells the label party nothing but the sum.
    cut_shares = b"".join(wire.bodies(Kind.SCORE_SHARE, receiver="label"))
    assert uniformity(b"".join(cut_shares[at : at + 3] for at in range(0, len(cut_shares), 4))) > 1e-7
    reached = {message.kind for _, target, message in wire.log if target == "features"}
    assert reached <= {Kind.HELLO, Kind.CONFIRMATION, Kind.PUBLIC_KEY, Kind.RESIDUALS, Kind.MASKED_SUMS}


def test_many_rows_are_predicted_in_pieces(closed_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than fit one message give the same scores, and no rows give none."""
    tables = tables_for(closed_run.model.plan, made_up()[0], None)
    whole = closed_run.model.scores(tables)
    monkeypatch.setattr(shares_prediction, "PREDICTED_AT_ONCE", 17)
    assert np.abs(closed_run.model.scores(tables) - whole).max() <= 2.0**-16
    assert closed_run.model.scores(tables_for(closed_run.model.plan, made_up()[0][:0], None)).shape == (0,)


def test_a_feature_beyond_all_reason_is_refused_at_prediction(closed_run: Run) -> None:
    """What is wider than the public width is refused by its own party, without showing it."""
    X, _ = made_up()
    X[0, 0] = 1e12
    with pytest.raises(EncodingError, match="rows to predict"):
        closed_run.model.scores(tables_for(closed_run.model.plan, X, None))


def test_a_part_of_another_run_is_refused(closed_run: Run) -> None:
    """Shares of other columns than the plan's cannot be used."""
    other = trained(shares_plan((3, 2), open="never", epochs=1, batches="full"))
    mixed = Run(
        closed_run.record, closed_run.transcripts, type(closed_run.model)(closed_run.model.plan, other.model.parts)
    )
    with pytest.raises(DataError, match="no shares of this plan's weights"):
        mixed.model.scores(tables_for(closed_run.model.plan, made_up()[0], None))


# Arithmetic.


@given(st.data())
@settings(deadline=None)
def test_products_are_exact(data: st.DataObject) -> None:
    """`ring_product` equals Python's unbounded integers, for every width, largest entries included."""
    bits = data.draw(st.sampled_from([2, 17, 22, 37, 48, 60]))
    rows, columns = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 5))
    largest = 2 ** (bits - 1) - 1
    entries = st.one_of(st.integers(-largest, largest), st.sampled_from([largest, -largest]))
    ring = st.one_of(st.integers(0, RING - 1), st.sampled_from([RING - 1, RING // 2]))
    X = data.draw(st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    values = data.draw(st.lists(ring, min_size=columns, max_size=columns))
    matrix = np.array(X, dtype=np.int64).reshape(rows, columns)
    expected = [sum(int(x) * v for x, v in zip(row, values, strict=True)) % RING for row in X]
    assert ring_product(matrix, values, bits) == expected


def test_long_products_are_exact() -> None:
    """Two thousand largest entries of one sign add up without a rounded bit."""
    bits, rows = 24, 2000
    matrix = np.full((3, rows), 2 ** (bits - 1) - 1)
    matrix[1] *= -1
    matrix[2, ::2] *= -1
    values = [RING - 1 - index for index in range(rows)]
    expected = [sum(int(x) * v for x, v in zip(row, values, strict=True)) % RING for row in matrix]
    assert ring_product(matrix, values, bits) == expected


@given(
    st.floats(1e-6, 1e3),
    st.integers(1, 10**6),
    st.integers(1, 30),
)
def test_the_step_size_is_exact_enough(rate: float, rows: int, feature_bits: int) -> None:
    """The public factor has 21 bits and stands for learning_rate / (4 s) to 2**-20; the shift undoes both scales."""
    plan = shares_plan(learning_rate=rate, feature_bits=feature_bits)
    size = StepSize.of(plan, rows)
    exact = Fraction(rate) / (4 * rows)
    exponent = size.shift - 2 * feature_bits
    assert 2**20 <= size.gradient_factor <= 2**21
    assert abs(Fraction(size.gradient_factor, 1) / Fraction(2) ** exponent / exact - 1) <= Fraction(1, 2**20)
    assert Fraction(size.penalty_unit) == Fraction(rate) * Fraction(2) ** size.shift


@pytest.mark.parametrize("bits", [3, 5, 6])
def test_truncation_fails_as_rarely_as_promised(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a ring of 2**10, over all shares of all numbers below 2**b: wrong by more than one in 2**(b+1-10) of cases."""
    ring_bits, shift = 10, 2
    ring = 1 << ring_bits
    monkeypatch.setattr(openings, "RING", ring)
    truncate = openings.truncated
    failures = 0
    for value in range(-(2**bits) + 1, 2**bits):
        for share in range(ring):
            down = truncate(share, shift, rounds_down=True)
            total = down + truncate((value - share) % ring, shift, rounds_down=False)
            error = (total - (value >> shift) + ring // 2) % ring - ring // 2
            failures += abs(error) > 1
    cases = (2 ** (bits + 1) - 1) * ring
    assert failures <= cases * 2.0 ** (bits + 1 - ring_bits)
    assert failures > 0  # The bound is about something that happens.


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        (27_000, {"batch_size": 256, "epochs": 30, "learning_rate": 0.1}),
        (12_665, {"batches": "full", "epochs": 1000, "learning_rate": 2.0}),
        (10**6, {"batch_size": 4096, "epochs": 100, "l2": 1.0}),
    ],
)
def test_usual_plans_are_proved(rows: int, keys: dict[str, Any]) -> None:
    """Plans of the size that people run leave 40 bits of safety."""
    plan = plan_for((100, 100), protocol="shares", **keys)
    prove_truncations(plan, widths_for(plan, rows), rows)


@pytest.mark.parametrize("keys", [{"feature_bits": 40}, {"l2": 1e30}, {"feature_bits": 32, "epochs": 10**7}])
def test_a_plan_that_could_fail_is_refused(keys: dict[str, Any]) -> None:
    """Features too precise, penalties too heavy or steps too many for the ring: refused before anything is sent."""
    plan = shares_plan(**keys)
    with pytest.raises(PlanError, match="bits of safety"):
        prove_truncations(plan, widths_for(plan, 40), 40)
    wire = Wire()
    assert isinstance(played(plan, wire=wire).ends["label"], PlanError)
    assert not wire.bodies(Kind.START_SHARE)


def test_the_proof_holds_what_it_says() -> None:
    """At the last accepted precision the largest possible number still fails less than once in 2**40 runs."""
    accepted = []
    for feature_bits in range(1, 41):
        plan = shares_plan(feature_bits=feature_bits, l2=0.01)
        widths = widths_for(plan, 40)
        try:
            prove_truncations(plan, widths, 40)
        except PlanError:
            break
        accepted.append((plan, widths))
    plan, widths = accepted[-1]
    rows, size = 24, StepSize.of(plan, 24)
    fraction = 2 ** (WEIGHT_BITS + plan.feature_bits)
    gradient = rows * 2 ** (widths.features.bits - 1) * (1024 + 2) * fraction
    largest = size.gradient_factor * gradient + round(plan.l2 * size.penalty_unit) * 2 ** (20 + WEIGHT_BITS)
    truncations = 2 * plan.epochs * (plan.columns + 1)
    assert math.log2(largest) + 1 - RING_BITS + math.log2(truncations) < -40


def test_shares_survive_their_bytes() -> None:
    """24 bytes an element, there and back."""
    share = [0, 1, RING - 1, RING // 3]
    assert shares.from_bytes(shares.to_bytes(share)) == share
    assert len(shares.to_bytes(share)) == shares.share_bytes(4) == 96


@pytest.mark.parametrize("kind", [Kind.START_SHARE, Kind.WEIGHT_SHARE, Kind.RESIDUALS, Kind.MASKED_SUMS])
def test_a_message_of_another_size_is_refused(kind: Kind) -> None:
    """One byte less anywhere ends the run at the party that receives it."""

    def tamper(source: str, _target: str, message: Message) -> bytes | None:
        if (source, message.kind) != ("features", kind):
            return None
        return Message(kind, message.step, message.sequence, message.body[:-1]).encode()

    run = played(shares_plan(epochs=1, batches="full"), wire=Wire(tamper))
    assert isinstance(run.ends["label"], RemoteProtocolError)
    # Who has sent and read everything already ends well, because nothing more is due to it.
    assert isinstance(run.ends["features"], TransportError) or kind is Kind.WEIGHT_SHARE
