"""`predict`: scores of new rows, to a CSV file; weights that were never opened stay so."""

import csv
from pathlib import Path

import numpy as np

from plumbob.commands.train import Inputs
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
    probabilities = np.exp(-np.logaddexp(0.0, -scores))
    predicted = [model.classes[int(score > 0)] for score in scores]
    ids = tables[model.plan.label_party.name].ids
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True))
    positives = sum(score > 0 for score in scores.tolist())
    line = f"{len(ids)} rows, {positives} predicted as {model.classes[1]}: {out}"
    return {"out": str(out), "rows": len(ids), "predicted_positive": positives, "lines": [line]}
