"""Writing scores as a CSV file, whoever calculated them."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.counting import counted, decimal
from plumbob.data import store
from plumbob.data.encoder import RareRows
from plumbob.errors import DataError
from plumbob.model.links import log_odds
from plumbob.model.metrics import stability_index
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart

HEADER = ("id", "score", "probability", "predicted")
SAID = {True: "yes", False: "no", None: ""}
JOINT, ALONE, NOT_SCORED = "joint", "own", "none"
"""The model that scored a row: that of all parties, the label party's alone, or none."""


def refuse_unwritable(out: Path) -> None:
    """Refuse a file that cannot be written before peers are asked: what they answer must not be lost."""
    is_new = not out.exists()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8"):
        pass
    if is_new:
        out.unlink()


def threshold_of(threshold: str | float | None, cost: str | None, part: ModelPart) -> float:
    """The probability above which the positive class is predicted: given, from costs, or where both classes balance.

    With calibrated probabilities, costs are least at FALSE / (FALSE + MISSED). Balanced accuracy is largest where it
    was on the scores that the label party saw when training ended; where it saw none, at the training rows' share of
    positives.
    """
    if threshold is not None and cost is not None:
        raise DataError("--threshold and --cost both choose the threshold; give one of them")
    if cost is not None:
        false_alarm, missed = _costs(cost)
        return false_alarm / (false_alarm + missed)
    if threshold == "balanced":
        found = part.positive_share if part.balanced_threshold is None else part.balanced_threshold
        if found is None:
            raise DataError("this model does not say how many training rows were positive; give --threshold a number")
        return found
    try:
        probability = 0.5 if threshold is None else float(threshold)
    except ValueError:
        probability = math.nan
    if not 0 < probability < 1:
        raise DataError("--threshold: expected a probability between 0 and 1, or balanced")
    return probability


def _costs(text: str) -> tuple[float, float]:
    try:
        false_alarm, missed = (float(number) for number in text.split(":"))
    except ValueError:
        false_alarm = missed = 0.0
    if not (0 < false_alarm < math.inf and 0 < missed < math.inf):
        raise DataError("--cost: expected two numbers above 0, FALSE_ALARM:MISSED, such as 1:5")
    return false_alarm, missed


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


DECILES = 10
STABLE, MOVED = 0.1, 0.25
"""Limits of the stability index, as credit scoring uses them."""


def write_scores(
    out: Path,
    ids: Sequence[str],
    scores: NDArray[np.float64],
    classes: tuple[Any, Any],
    remarks: Sequence[str] = (),
    threshold: float = 0.5,
    plan: Plan | None = None,
    held_out: Mapping[str, bool] | None = None,
    judged: Sequence[Sequence[float]] = (),
    model: str = "",
    absent: Sequence[str] = (),
) -> dict[str, object]:
    """Write each row's id, score, probability of the positive class, and predicted class.

    Probabilities come from scores by the plan's own link; without a plan a score is a log-odds. `held_out` says of the
    rows of training whether they were held out; it becomes a column, empty for rows that were not there. `judged` is
    the calibration curve of the rows that the model was judged on: it says how far these scores have moved. `model`
    becomes a column too; the ids that are `absent` at some party follow without a score.
    """
    odds = scores if plan is None else log_odds(plan, scores)
    cut = math.log(threshold / (1 - threshold))
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        known = [] if held_out is None else ["held_out"]
        writer.writerow((*HEADER, *known, *(["model"] if model else [])))

        def said_of(identity: str) -> list[str]:
            return [*(SAID[(held_out or {}).get(identity)] for _ in known), *([model] if model else [])]

        # In pieces, because there may be more rows than memory for their texts.
        for piece in store.pieces(len(ids)):
            lines = _lines(ids[piece], scores[piece], odds[piece], classes, cut)
            writer.writerows((*line, *said_of(line[0])) for line in lines)
        writer.writerows((one, *[""] * (len(HEADER) - 1 + len(known)), NOT_SCORED) for one in absent)
    positives = int((odds > cut).sum())
    above = "" if threshold == 0.5 else f" (probability above {threshold:.4g})"
    said = [
        *filter(None, remarks),
        f"{counted(len(ids), 'row')}, {positives:,} predicted as {classes[1]}{above}: {out}",
    ]
    if absent:
        has = "id has" if len(absent) == 1 else "ids have"
        said.append(f"{len(absent):,} {has} no score, because some party does not have the row: model = {NOT_SCORED}")
    counts = {"rows": len(ids), "predicted_positive": positives, "threshold": threshold, "not_scored": len(absent)}
    moved = stability_index(judged, odds)
    if moved is not None:
        said.append(stability_in_words(moved))
    deciles = deciles_of(odds)
    if len(deciles) == DECILES:
        said.append("mean probability by decile: " + ", ".join(decimal(one["mean"]) for one in deciles))
    return {"out": str(out), **counts, "stability_index": moved, "deciles": deciles, "lines": said}


def stability_in_words(index: float) -> str:
    """The stability index in words, with the usual limits, .1 and .25."""
    word = "stable" if index < STABLE else "moved a little" if index < MOVED else "MOVED"
    return f"stability index (PSI) of these scores against the rows that the model was judged on: {index:.3f}, {word}"


def deciles_of(odds: NDArray[np.float64]) -> list[dict[str, float]]:
    """The deciles of these scores, the lowest first: rows, and the lowest, mean and highest probability."""
    likely = np.sort(np.exp(-np.logaddexp(0.0, -odds)))
    groups = [group for group in np.array_split(likely, DECILES) if len(group)]
    return [
        {"rows": len(one), "lowest": float(one[0]), "mean": float(one.mean()), "highest": float(one[-1])}
        for one in groups
    ]


def _lines(
    ids: Sequence[str],
    scores: NDArray[np.float64],
    odds: NDArray[np.float64],
    classes: tuple[Any, Any],
    cut: float,
) -> Iterator[tuple[Any, ...]]:
    probabilities = np.exp(-np.logaddexp(0.0, -odds))
    predicted = (classes[int(one > cut)] for one in odds)
    return zip(ids, scores.tolist(), probabilities.tolist(), predicted, strict=True)
