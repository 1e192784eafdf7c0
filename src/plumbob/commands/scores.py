"""Scores as a CSV file, whoever calculated them."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.data import store

HEADER = ("id", "score", "probability", "predicted")


def refuse_unwritable(out: Path) -> None:
    """Before peers are asked: what they answered must not be lost for want of a place."""
    is_new = not out.exists()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8"):
        pass
    if is_new:
        out.unlink()


def write_scores(
    out: Path, ids: Sequence[str], scores: NDArray[np.float64], classes: tuple[Any, Any], remark: str = ""
) -> dict[str, object]:
    """One line a row: its id, the score (log-odds), the probability of the second class, the class."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        # In pieces, because there may be more rows than memory for their texts.
        for piece in store.pieces(len(ids)):
            writer.writerows(_lines(ids[piece], scores[piece], classes))
    positives = int((scores > 0).sum())
    lines = [*filter(None, [remark]), f"{len(ids)} rows, {positives} predicted as {classes[1]}: {out}"]
    return {"out": str(out), "rows": len(ids), "predicted_positive": positives, "lines": lines}


def _lines(ids: Sequence[str], scores: NDArray[np.float64], classes: tuple[Any, Any]) -> Iterator[tuple[Any, ...]]:
    probabilities = np.exp(-np.logaddexp(0.0, -scores))
    predicted = (classes[int(score > 0)] for score in scores)
    return zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True)
