"""Writing scores as a CSV file, whoever calculated them."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.counting import counted
from plumbob.data import store
from plumbob.data.encoder import RareRows
from plumbob.party.held_out import SAID


def refuse_unwritable(out: Path) -> None:
    """Refuse a file that cannot be written before peers are asked: what they answer must not be lost."""
    is_new = not out.exists()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8"):
        pass
    if is_new:
        out.unlink()


def unusual_lines(party: str, unseen: Mapping[str, int], rare: Mapping[str, RareRows], rows: int) -> list[str]:
    """Sentences on levels that training never saw or grouped as rare, by column and count; none if there are none."""
    lines = []
    if unseen:
        listed = ", ".join(f"{name!r} ({count})" for name, count in unseen.items())
        lines.append(f"{party}: levels or gaps that training never saw in {rows} rows, taken as average ones: {listed}")
    if rare:
        listed = ", ".join(f"{name!r} ({count.rows} rows, {count.kept} levels kept)" for name, count in rare.items())
        lines.append(f"{party}: levels outside those that training kept, counted as rare as in training: {listed}")
    return lines


def write_scores(
    out: Path,
    ids: Sequence[str],
    scores: NDArray[np.float64],
    classes: tuple[Any, Any],
    remarks: Sequence[str] = (),
    log_odds: NDArray[np.float64] | None = None,
    held_out: Mapping[str, bool] | None = None,
    absent: Sequence[str] = (),
) -> dict[str, object]:
    """Write each row's id, score, probability of the class that the header names, and predicted class.

    Probabilities come from `log_odds`, where the scores are none themselves. `held_out` says of the
    rows of training whether they were held out; it becomes a column, empty for rows that were not there. The ids that
    are `absent` at some party follow without a score.
    """
    odds = scores if log_odds is None else log_odds
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        known = [] if held_out is None else ["held_out"]
        header = ("id", "score", f"probability of {classes[1]}", "predicted")
        writer.writerow((*header, *known))
        # In pieces, because there may be more rows than memory for their texts.
        for piece in store.pieces(len(ids)):
            for line in _lines(ids[piece], scores[piece], odds[piece], classes):
                writer.writerow((*line, *(SAID[(held_out or {}).get(line[0])] for _ in known)))
        writer.writerows((identity, *[""] * (len(header) - 1 + len(known))) for identity in absent)
    positives = int((odds > 0).sum())
    lines = [*filter(None, remarks), f"{counted(len(ids), 'row')}, {positives:,} predicted as {classes[1]}: {out}"]
    if absent:
        has = "id has no score: it is" if len(absent) == 1 else "ids have no score: they are"
        lines.append(f"{len(absent):,} {has} not among the aligned rows")
    counts = {"rows": len(ids), "predicted_positive": positives, "not_scored": len(absent)}
    return {"out": str(out), **counts, "lines": lines}


def _lines(
    ids: Sequence[str], scores: NDArray[np.float64], odds: NDArray[np.float64], classes: tuple[Any, Any]
) -> Iterator[tuple[Any, ...]]:
    probabilities = np.exp(-np.logaddexp(0.0, -odds))
    predicted = (classes[int(value > 0)] for value in odds)
    return zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True)
