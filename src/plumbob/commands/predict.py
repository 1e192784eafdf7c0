"""`predict`: scores of new rows, to a CSV file; weights that were never opened stay so."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.commands.train import Inputs
from plumbob.data import store
from plumbob.protocol.transcript import Vector
from plumbob.simulation import JointModel
from plumbob.simulation.export import refuse_unfinished
from plumbob.simulation.files import load_new_rows

HEADER = ("id", "score", "probability", "predicted")


def run(folder: Path, inputs: Inputs, out: Path) -> dict[str, object]:
    """One line a row: its id, the score (log-odds), the probability of the second class, the class."""
    refuse_unfinished(folder)
    model = JointModel.load(folder)
    tables = load_new_rows(model, inputs.data, inputs.id_column, inputs.data_dir)
    scores = model.scores(tables)
    ids = tables[model.plan.label_party.name].ids
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for piece in store.pieces(len(ids)):
            writer.writerows(_lines(ids[piece], scores[piece], model.classes))
    positives = int((scores > 0).sum())
    line = f"{len(ids)} rows, {positives} predicted as {model.classes[1]}: {out}"
    return {"out": str(out), "rows": len(ids), "predicted_positive": positives, "lines": [line]}


def _lines(ids: Sequence[str], scores: Vector, classes: tuple[Any, Any]) -> Iterator[tuple[Any, ...]]:
    probabilities = np.exp(-np.logaddexp(0.0, -scores))
    predicted = (classes[int(score > 0)] for score in scores)
    return zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True)
