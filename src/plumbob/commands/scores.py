"""Scores as a CSV file, whoever calculated them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = ("id", "score", "probability", "predicted")


def write_scores(
    out: Path, ids: Sequence[str], scores: NDArray[np.float64], classes: tuple[Any, Any]
) -> dict[str, object]:
    """One line a row: its id, the score (log-odds), the probability of the second class, the class."""
    probabilities = np.exp(-np.logaddexp(0.0, -scores))
    predicted = [classes[int(score > 0)] for score in scores]
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True))
    positives = sum(score > 0 for score in scores.tolist())
    line = f"{len(ids)} rows, {positives} predicted as {classes[1]}: {out}"
    return {"out": str(out), "rows": len(ids), "predicted_positive": positives, "lines": [line]}
