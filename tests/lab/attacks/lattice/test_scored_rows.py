"""A label party that makes one weight of the peer's model reads a column of every row that is scored for it.

It takes its sines for zero and knows then what the peer's shares of the residuals are, so that no weight moves. When
training ends it adds to its share of one weight. Each held-out score is then the peer's column times that number. No
protocol without authenticated shares stops this; what `check` and the receipt print has to count it.
"""

from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.crypto.lattice import local
from plumbob.lab.simulate.parties import party_at
from plumbob.plan import Plan
from plumbob.protocol.openings import SCORE_PART, opened_bits, scored_bits
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.shares.shape import WEIGHT_BITS, most_opened_bits
from plumbob.protocol.shares.training import SharesParty
from tests.protocol.support import made_up, outcomes, seated, shares_plan, tables_for

ROWS, COLUMN, FACTOR = 200, 1, 4


class Dishonest(SharesParty):
    """A dishonest label party."""

    @cached_property
    def _row_weights(self) -> NDArray[np.int64]:
        return np.zeros(len(self.shard), dtype=np.int64)

    @cached_property
    def _shifts(self) -> None:
        return None

    def finish(self) -> None:
        share = self.held["features"]
        share[COLUMN] = (share[COLUMN] + (FACTOR << WEIGHT_BITS)) % local.RING
        super().finish()


def plan_for(open: str) -> Plan:
    """A third of the rows is held out."""
    return shares_plan(open=open, test_share=0.3, epochs=1, start="zero")


def read_and_true(plan: Plan) -> tuple[Vector, Vector]:
    """What the label party takes for the peer's column of the held-out rows, and that column."""
    participants, tables = seated(plan), tables_for(plan, *made_up(rows=ROWS))
    parties: dict[str, Any] = {
        "label": party_at(participants["label"], tables["label"], None, Dishonest),
        "features": party_at(participants["features"], tables["features"]),
    }
    ends = outcomes({name: partial(run_to_its_quality, party) for name, party in parties.items()}, participants)
    return ends["label"] / FACTOR, parties["features"].shard.X_test[:, COLUMN]


@pytest.mark.parametrize("open", ["never", "own"])
def test_held_out_scores_show_a_column(open: str) -> None:
    """The column is read to a thousandth: more bits than keys must withstand, and no more than `check` says."""
    plan = plan_for(open)
    read, column = read_and_true(plan)
    assert len(column) == 60
    assert np.abs(read - column).max() < 1e-3
    bits = len(column) * np.log2(np.ptp(column) / 2e-3)
    assert bits > most_opened_bits(plan, ROWS - len(column))
    assert bits < said_bits(plan, len(column))


def said_bits(plan: Plan, rows: int) -> int:
    """What this many scored rows may carry, as `check` counts it."""
    each = scored_bits(plan, 1) or SCORE_PART.bits
    return opened_bits(plan, "label") + each * rows
