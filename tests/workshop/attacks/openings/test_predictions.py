"""Prediction on shares: a label party that chooses its share of the peer's weights reads the peer's columns."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from plumbob.protocol.bound_shares import BoundShares
from plumbob.protocol.share_holder import WEIGHT_BITS, ShareHolder
from plumbob.protocol.shares_prediction import PREDICTED_AT_ONCE, PREDICTED_BITS, SharesPredictor

from plumbob.arrays import Matrix
from plumbob.crypto import Encoding
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.protocol import openings, shares_prediction
from plumbob.protocol.handshake import Session, admit_key, make_key, offer_key
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import RING, SCORES, OpenedWidth, Share, scored_bits
from plumbob.protocol.part import ModelPart
from plumbob.protocol.primitive import Helper
from plumbob.protocol.widths import widths_for
from plumbob.workshop.simulation import Run
from tests.protocol.support import Wire, outcomes, plan_for, seated, tables_for, trained

ROWS, COLUMNS = 16, 3
APART = 40  # Bits between two columns in a chosen share.
UNCUT = OpenedWidth(integer_bits=openings.RING_BITS - 1 - 48, fraction_bits=48)
"""The switch: a share of a score is handed over as it is, 192 bits per row."""


class SuppliesEachTime(SharesPredictor):
    """The switch: keys of the session, and in each session a fresh share, whatever training ended with."""

    def prepare_prediction(self, part: ModelPart, session: Session) -> None:
        wider = Encoding(self.plan.feature_bits, PREDICTED_BITS)
        self.widths = replace(widths_for(self.plan, part.training_rows), features=wider)
        self.longest_sum = PREDICTED_AT_ONCE
        self.own, self.peers = self._shares_in(part)
        self._predicted = wider.encode(part.encode(self.table), "rows").values
        # Today's table has no such messages in a session.
        self._channel.follow(None)
        self.key = make_key(self.participant)
        offer_key(self.participant, session.identity, self.key)
        self.peer_key = admit_key(self.participant, session, self._peer, {self.key.public.n})

    lend = ShareHolder.lend
    ask = ShareHolder.ask


def chosen(peers: Share) -> Share:
    """What to add to a share, so that each column of the peer lands in bits of its own above the score."""
    return [(value + (1 << (WEIGHT_BITS + 32 + APART * column))) % RING for column, value in enumerate(peers)]


class ReadingParty(SuppliesEachTime):
    """The label party: alters its share, has it multiplied, and keeps the opened integers."""

    totals: list[int]
    opening = UNCUT

    def shared_scores(self, step: int, X: Any) -> Share:
        self.peers = chosen(self.peers)
        self._own_score = super().shared_scores(step, X)
        return self._own_score

    def _open_scores(self, step: int, X: Any) -> Any:
        opening = self.opening
        cut = opening.cut(self.shared_scores(step, X), 48, rounds_down=True)
        missing = opening.from_bytes(self._channel.receive(Kind.SCORE_SHARE, step, opening.size(len(X))), "features")
        half = 1 << (opening.bits - 1)
        self.totals = [(a + b + half) % (2 * half) - half for a, b in zip(cut, missing, strict=True)]
        return np.zeros(len(X))


class InsistingParty(SharesPredictor):
    """The label party of today, which sends an altered share all the same."""

    def lend(self, helper: Helper, step: int, lent: Share) -> None:
        helper.lend(step, self.key.encrypt(chosen(lent)))


@pytest.fixture(scope="module")
def closed_run() -> Run:
    """A model whose weights were never opened."""
    return trained(plan_for((2, COLUMNS), protocol="shares", open="never", replies="single", seed=3))


def new_rows() -> Matrix:
    """To predict, always the same."""
    return np.round(np.random.default_rng(4).normal(size=(ROWS, 2 + COLUMNS)), 3)


def predicted(run: Run, cast: dict[str, type[SharesPredictor]], parts: dict[str, ModelPart] | None = None) -> Any:
    """Both parties and how they ended."""
    tables = tables_for(run.model.plan, new_rows(), None)
    participants = seated(run.model.plan, Wire())
    parties = {
        name: cast.get(name, SharesPredictor)(participant, tables[name]) for name, participant in participants.items()
    }
    parts = parts or run.model.parts
    return parties, outcomes({name: partial(one.predict, parts[name]) for name, one in parties.items()}, participants)


def columns_in(total: int) -> list[int]:
    """The peer's features, each from its own bits; the score itself lies below them all."""
    rest, found = (total >> (WEIGHT_BITS + 31)) + 1 >> 1, []
    for _ in range(COLUMNS):
        value = (rest + (1 << (APART - 1))) % (1 << APART) - (1 << (APART - 1))
        found.append(value)
        rest = (rest - value) >> APART
    return found


def test_a_share_supplied_each_time_shows_every_value(monkeypatch: pytest.MonkeyPatch, closed_run: Run) -> None:
    """With a fresh share in each session and whole shares opened, 48 of 48 values of the peer are read exactly."""
    monkeypatch.setattr(shares_prediction, "SCORES", UNCUT)
    parties, _ = predicted(closed_run, {"label": ReadingParty, "features": SuppliesEachTime})
    truth = parties["features"]._predicted
    claims = np.array([columns_in(total) for total in parties["label"].totals])
    assert np.array_equal(claims, truth)
    assert truth.size == 48


def test_a_share_supplied_later_is_refused(closed_run: Run) -> None:
    """Our feature party expects no share in a session, and ends it when one comes."""
    _, ends = predicted(closed_run, {"label": InsistingParty})
    assert isinstance(ends["features"], RemoteProtocolError)


def test_parts_bound_to_different_shares_are_not_used_together(closed_run: Run) -> None:
    """The hash of the bound shares is confirmed before anything is calculated."""
    other = trained(closed_run.model.plan)
    label, features = (run.model.parts[name] for run, name in ((other, "label"), (closed_run, "features")))
    mixed = {"label": replace(closed_run.model.parts["label"], bound=label.bound), "features": features}
    _, ends = predicted(closed_run, {}, mixed)
    assert isinstance(ends["features"], RemoteProtocolError)


def test_both_ends_keep_the_same_hash(closed_run: Run) -> None:
    """What one supplied is what the other one got, by hash, and it survives the file."""
    label, features = (closed_run.model.parts[name].bound for name in ("label", "features"))
    assert isinstance(label, BoundShares)
    assert isinstance(features, BoundShares)
    assert label.hash() == features.hash()
    assert label.supplied == features.received


def test_a_cut_score_has_room_for_one_value_at_most() -> None:
    """27 bits per row, however the share was altered when training ended."""
    plan = plan_for((2, COLUMNS), protocol="shares", open="never")
    assert SCORES.bits == 27
    assert scored_bits(plan, ROWS) == 27 * ROWS < ROWS * COLUMNS * (plan.feature_bits + 1)
    assert scored_bits(plan.replace(open="own"), ROWS) == 0


def test_a_model_without_bound_shares_is_not_used_with_a_peer(closed_run: Run) -> None:
    """A part of an earlier version predicts where all parts are, and nowhere else."""
    parts = {name: replace(part, bound=None) for name, part in closed_run.model.parts.items()}
    _, ends = predicted(closed_run, {}, parts)
    X = new_rows()
    expected = closed_run.model.scores(tables_for(closed_run.model.plan, X, None))
    assert np.abs(ends["label"] - expected).max() <= 2.0**-16
    participants = seated(closed_run.model.plan)
    party = SharesPredictor(participants["label"], tables_for(closed_run.model.plan, X, None)["label"])
    with pytest.raises(DataError, match="train it again"):
        party.prepare_prediction(parts["label"], Session(b"", b""))
