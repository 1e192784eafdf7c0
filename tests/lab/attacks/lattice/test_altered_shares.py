"""Prediction by lattices: a label party that supplies a chosen share of the peer's weights reads the peer's column."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from plumbob.arrays import Matrix, Vector
from plumbob.crypto.lattice import local, make_request
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import DataError, RemoteProtocolError
from plumbob.lab.simulate import Run
from plumbob.lab.simulate.training import score_all
from plumbob.protocol.openings import OPENED_SCORES, scored_bits
from plumbob.protocol.part import ModelPart
from plumbob.protocol.shares.bound import Bound, BoundEnd
from plumbob.protocol.shares.shape import WEIGHT_BITS, RunShape
from tests.protocol.support import outcomes, seated, shares_plan, tables_for, trained

ROWS, COLUMN = 12, 1
Parts = dict[str, ModelPart]


@pytest.fixture(scope="module")
def closed_run() -> Run:
    """A model whose weights were never opened."""
    return trained(shares_plan(open="never"))


def new_rows() -> Matrix:
    """New rows to predict, always the same."""
    return np.round(np.random.default_rng(4).normal(size=(ROWS, 5)), 3)


def scores(run: Run, parts: Parts) -> dict[str, object]:
    """How both parties end that predict with these parts; the label party with scores."""
    tables, participants = tables_for(run.model.plan, new_rows(), None), seated(run.model.plan)
    tasks = {name: partial(score_all, one, tables[name], parts[name]) for name, one in participants.items()}
    return outcomes(tasks, participants)


def altered(run: Run) -> bytes:
    """The label party's share of the peer's weights, encrypted once more, with one column's weight raised.

    By as much that the column, in its last place, is added to the score in its last opened place.
    """
    part, plan = run.model.parts["label"], run.model.plan
    bound = bound_of(part)
    shape = RunShape(plan, part.training_rows)
    share = list(part.shares["features"])
    last_place = WEIGHT_BITS + plan.feature_bits - OPENED_SCORES.fraction_bits
    share[COLUMN] = (share[COLUMN] + (1 << last_place)) % local.RING
    product = shape.prediction("label", "features")
    key = bound.owner_key(Engine(threads=1), product)
    return make_request(key, 0, product.layout, local.pairs_of(share))


def bound_of(part: ModelPart) -> BoundEnd:
    """What prediction is bound to."""
    assert part.bound is not None
    [end] = part.bound.ends.values()
    return end


def with_bound(parts: Parts, name: str, bound: BoundEnd) -> Parts:
    """One party holds something else than what training ended with."""
    [peer] = set(parts) - {name}
    return {**parts, name: replace(parts[name], bound=Bound({peer: bound}))}


def altered_at_label(run: Run) -> Parts:
    """Bound shares where only the label party holds the altered request."""
    parts = run.model.parts
    return with_bound(parts, "label", replace(bound_of(parts["label"]), supplied=altered(run)))


def column_read(usual: object, changed: object) -> Vector:
    """The peer's column in units of its last place: what the altered share added to each score."""
    assert isinstance(usual, np.ndarray)
    assert isinstance(changed, np.ndarray)
    half, whole = 2.0**OPENED_SCORES.integer_bits, 2.0 ** (OPENED_SCORES.integer_bits + 1)
    difference = (changed - usual + half) % whole - half
    return np.rint(np.ldexp(difference, OPENED_SCORES.fraction_bits))


def test_a_share_supplied_each_time_shows_a_column(closed_run: Run) -> None:
    """A feature party that took the share from the session would give a column away, to one unit."""
    parts, chosen = closed_run.model.parts, altered_at_label(closed_run)
    taken = replace(bound_of(parts["features"]), received=bound_of(chosen["label"]).supplied)
    weak = with_bound(chosen, "features", taken)
    read = column_read(scores(closed_run, parts)["label"], scores(closed_run, weak)["label"])
    tables = tables_for(closed_run.model.plan, new_rows(), None)
    column = parts["features"].encode(tables["features"])[:, COLUMN]
    assert np.abs(read - np.ldexp(column, closed_run.model.plan.feature_bits)).max() <= 2.5
    assert np.abs(read).max() > 1000


def test_a_share_that_was_altered_later_is_refused(closed_run: Run) -> None:
    """The feature party multiplies what it got when training ended, and the hashes of both ends are compared first."""
    assert isinstance(scores(closed_run, altered_at_label(closed_run))["features"], RemoteProtocolError)


def test_one_row_shows_no_more_than_one_opened_number(closed_run: Run) -> None:
    """A share that was altered before training ended adds to 22 bits per row, and `check` counts these."""
    assert scored_bits(closed_run.model.plan, ROWS) == 22 * ROWS == OPENED_SCORES.bits * ROWS
    assert scored_bits(closed_run.model.plan.replace(open="own"), ROWS) == 0


def test_parts_bound_to_different_runs_are_not_used_together(closed_run: Run) -> None:
    """The hash of the bound shares is confirmed before anything is calculated."""
    other = trained(closed_run.model.plan)
    mixed = with_bound(closed_run.model.parts, "label", bound_of(other.model.parts["label"]))
    assert isinstance(scores(closed_run, mixed)["features"], RemoteProtocolError)


def test_a_part_without_bound_shares_predicts_nothing(closed_run: Run) -> None:
    """Nothing is bound in a session: who has no shares from training stops at home."""
    parts = {name: replace(part, bound=None) for name, part in closed_run.model.parts.items()}
    ended = scores(closed_run, parts)["label"]
    assert isinstance(ended, DataError)
    assert "holds no shares" in str(ended)
