"""A label party that falsifies its shares of residuals, under `open = "never"`, reads a row that was never scored.

    python -m benchmarks.attacks.false_residual

In the last pass of `shares` by lattices it adds a number to its share of one person's residual. Nobody can see that.
The gradient then contains that person's row so many times, and so do the weights. Scores of known rows reveal them, as
in `chosen_labels`. It knows the factor, so it gets the row itself and not only its direction.

Row erasing (Jagielski, Rachuri, Escudero and Scholl, eprint 2025/906) makes it exact: with zeros for its sines, cosines
and labels of everybody else, nobody else's residual moves anything, in any pass. notes.md beside this file has the
argument. Noise for rows does not stop it: the noise is made for residuals of at most 1.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attacks.study import SCORE_UNIT, Array, cosine, labels_of, made_up, print_table, solved_modulo
from plumbob.crypto.lattice import Pairs, pairs
from plumbob.data import Table, split_array
from plumbob.lab.attacks import View
from plumbob.lab.attacks.off_the_circle import OffTheCircleParty
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.protocol.lattice_shares import LatticeParty

RESIDUAL_BITS = 40
"""Fraction bits of a shared residual."""
FACTOR_BITS = 20
SCORE_BITS, WEIGHT_BITS = 22, 51
"""All that one opened score carries, and all that any number of scores can depend on of one weight's share."""
TARGET = 0


@dataclass(frozen=True)
class Deviation:
    """What the label party does that it should not."""

    moved: float = 3.0
    """How many times the chosen row stands in the weights."""
    erases: bool = False
    """Whether everybody else's residuals are made zero, in all passes."""
    keeps_noise: bool = True
    """Whether it adds its own noise as the plan asks."""


class FalseResidualParty(LatticeParty):
    """Honest but for its shares of residuals; `armed` sets how."""

    deviation = Deviation()

    def _shared_residuals(self, number: int, scores: Any) -> Pairs:
        shared = super()._shared_residuals(number, scores)
        if number < self.plan.passes:
            return shared
        added = np.zeros(len(self.shard), dtype=np.int64)
        # The step divides by the rows and multiplies by the rate; a descent subtracts.
        times = self.deviation.moved * len(self.shard) / self.plan.rate
        added[TARGET] = round(math.ldexp(times, RESIDUAL_BITS))
        return pairs.subtract(shared, pairs.from_integers(added))

    @cached_property
    def _row_weights(self) -> NDArray[np.int64] | None:
        if not self.deviation.erases:
            return super()._row_weights
        return np.zeros(len(self.shard), dtype=np.int64)

    @cached_property
    def _shifts(self) -> Pairs | None:
        if not self.deviation.erases:
            return super()._shifts
        return pairs.from_integers(np.zeros(len(self.shard), dtype=np.int64))

    def _drawn_noise(self) -> NDArray[np.int64] | None:
        drawn = super()._drawn_noise()
        return drawn if drawn is None or self.deviation.keeps_noise else np.zeros_like(drawn)


def armed(deviation: Deviation) -> type[FalseResidualParty]:
    return type("ArmedParty", (FalseResidualParty,), {"deviation": deviation})


@dataclass(frozen=True)
class RowRead:
    """What came out about the chosen row, in whitened columns."""

    cosine: float
    bits: float
    """For each column: by how much the error is smaller than the values, as a power of two; no more than they have."""
    exact: float
    """Share of the values that are right in their last fraction bit."""


def read_row(rows: int, columns: int, deviation: Deviation | None, known: int, seed: int = 1, **keys: Any) -> RowRead:
    """One real run, and the scores of so many known rows; without a deviation the same of an honest run."""
    X = made_up(rows, 1 + columns, seed)
    y = labels_of(X, seed)
    plan = Plan.for_columns((1, columns), protocol="shares", open="never", seed=seed, **keys)
    tables = dict(zip(("label", "features"), split_array(X, y, (1, columns)), strict=True))
    cast = {} if deviation is None else {"label": armed(deviation)}
    # What a party draws, its noise among it, begins here: the same in every study.
    roots = {name: hashlib.sha256(f"{name} {seed}".encode()).digest() for name in tables}
    run = train(plan, tables, jobs=1, cast=cast, roots=roots)
    truth = np.asarray(run.transcripts["features"].X[TARGET])
    weights = _solved_weights(run, X, known)
    believed = weights / (deviation.moved if deviation is not None else 1.0)
    unit = 2.0**-plan.feature_bits
    most = math.log2(float(np.sqrt(np.mean(truth**2))) / unit) + 1
    error = max(float(np.sqrt(np.mean((believed - truth) ** 2))), unit / 2)
    bits = min(most, max(0.0, math.log2(float(np.sqrt(np.mean(truth**2))) / error)))
    exact = float(np.mean(np.rint(believed / unit) == np.rint(truth / unit)))
    return RowRead(cosine(weights, truth), bits, exact)


def _solved_weights(run: Run, X: Array, known: int) -> Array:
    """The peer's weights, from the last rows of the table with the attacker's own columns at their mean."""
    asked = X[-known:].copy()
    asked[:, 0] = X[:, 0].mean()
    tables: dict[str, Table] = dict(
        zip(("label", "features"), split_array(asked, np.arange(known) % 2, (1, X.shape[1] - 1)), strict=True)
    )
    scores = run.model.scores(tables)
    return solved_modulo(np.asarray(run.model.parts["features"].encode(tables["features"])), scores)[0]


# With opened weights: a shift one pass earlier, and joint scores read from the last one.


class InnerProductsParty(OffTheCircleParty):
    """Shifts one person's residual in the last pass but one, and reads some people's joint scores in the last.

    The peer's weights then hold its row of that person, so the scores are inner products of two of the peer's rows.
    """

    person, shift = 0, 1.0

    def _shared_residuals(self, number: int, scores: Any) -> Pairs:
        shared = super()._shared_residuals(number, scores)
        if number != self.plan.passes - 1:
            return shared
        added = np.zeros(len(self.shard), dtype=np.int64)
        added[self.person] = round(math.ldexp(self.shift * len(self.shard) / self.plan.rate, RESIDUAL_BITS))
        return pairs.subtract(shared, pairs.from_integers(added))


def read_inner_products(
    rows: int, split: tuple[int, int], by: str, moved: float = 1.0, seed: int = 1, **keys: Any
) -> float:
    """The correlation of what was read with the peer's true inner products, `open = "own"`; one for each own column."""
    X = made_up(rows, sum(split), seed)
    y = labels_of(X, seed)
    plan = Plan.for_columns(split, protocol="shares", open="own", seed=seed, **keys)
    tables = dict(zip(("label", "features"), split_array(X, y, split), strict=True))
    attacker = type("ArmedParty", (InnerProductsParty,), {"person": rows - 1, "shift": moved})
    roots = {name: hashlib.sha256(f"{name} {seed}".encode()).digest() for name in tables}
    run = train(plan, tables, jobs=1, cast={by: attacker}, roots=roots)
    party, other = run.parties[by], run.transcripts["features" if by == "label" else "label"]
    if not isinstance(party, InnerProductsParty):
        raise TypeError("the attacker took no part")
    [reading] = party.readings
    claim = party.believed(View.of(run.transcripts[by]))
    truth = np.asarray(other.X)[reading.rows] @ np.asarray(other.X)[rows - 1]
    return float(np.corrcoef(claim.values[reading.rows, 0], truth)[0, 1])


CASES: tuple[tuple[str, Deviation | None, dict[str, Any]], ...] = (
    ("honest", None, {}),
    ("false residual, 1 row", Deviation(moved=1.0), {}),
    ("false residual, 3 rows", Deviation(), {}),
    ("erasing and false residual", Deviation(erases=True), {}),
    ("honest, noise rows 1", None, {"noise": "rows"}),
    ("false residual, 3 rows, noise rows 1", Deviation(), {"noise": "rows"}),
    ("false residual, 10 rows (3 of 12 columns), noise rows 1", Deviation(moved=10.0), {"noise": "rows"}),
    ("erasing, 10 rows (3 of 12 columns), noise rows 1", Deviation(moved=10.0, erases=True), {"noise": "rows"}),
    ("the same, own noise left out", Deviation(10.0, erases=True, keeps_noise=False), {"noise": "rows"}),
    (
        "erasing, 10 rows (3 of 12 columns), noise rows .1",
        Deviation(10.0, erases=True),
        {"noise": "rows", "epsilon": 0.1},
    ),
)


def main() -> None:
    lines = []
    for name, deviation, keys in CASES:
        for rows, columns in ((3000, 5), (20000, 5), (3000, 12)):
            known = 4 * (columns + 1)
            if deviation is not None and columns > 5:
                # Of more, too many scores would wrap around.
                deviation = replace(deviation, moved=min(deviation.moved, 3.0))
            read = read_row(rows, columns, deviation, known, **keys)
            told = read.bits * columns
            lines.append((name, rows, columns, known, read.cosine, read.bits, told, read.exact, SCORE_BITS * known))
    print_table(
        f"One chosen row that is never scored; scores to {SCORE_UNIT:g}. At most {WEIGHT_BITS} bits for each of the"
        " columns + 1 weights leave a run, however many rows are scored",
        ("label party", "rows", "columns", "known rows", "correlation", "bits/value", "bits", "exact", "22 x scored"),
        lines,
    )
    print_table(
        'open = "own": inner products of a chosen row of the peer with as many others as the attacker has columns',
        ("by", "noise", "rows", "own columns", "peer's columns", "shift", "correlation"),
        [
            (by, noise, 2000, 12, 5, moved, value)
            for by, split in (("label", (12, 5)), ("features", (5, 12)))
            for noise, moved in (("none", 0.0), ("none", 1.0), ("rows", 1.0))
            for value in [read_inner_products(2000, split, by, moved, noise=noise)]
        ],
    )


if __name__ == "__main__":
    main()
