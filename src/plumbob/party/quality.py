"""How good a run's model is on the held-out rows, as the label party sees it: beside what its own columns give alone.

What pooling everybody's columns would give nobody can calculate here; `plumbob train` on one machine does.
"""

import math
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.data import Table
from plumbob.errors import DataError
from plumbob.model import metrics
from plumbob.model.alone import fit_alone
from plumbob.protocol.part import Part
from plumbob.protocol.transcript import Vector
from plumbob.record import RunRecord

HELD_OUT = "held-out rows"


def judged(
    record: RunRecord,
    part: Part,
    table: Table,
    training_rows: NDArray[np.intp],
    rows: NDArray[np.intp],
    scores: Vector,
) -> RunRecord:
    """The record with the joint model's quality on these rows, and that of the label party's own columns."""
    if table.labels is None:
        raise DataError("the label party's table has no label column; name it")
    y = table.labels[rows]
    alone = fit_alone(part.encode(table, training_rows), table.labels[training_rows], part.has_intercept)
    models = {"joint": scores, "local-only": part.encode(table, rows) @ alone}
    found = {name: _measured(y, values) for name, values in models.items()}
    return replace(record, test_rows=len(rows), quality={HELD_OUT: found})


def _measured(y: ArrayLike, scores: Vector) -> dict[str, float | None]:
    values = asdict(metrics.quality(y, scores))
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
