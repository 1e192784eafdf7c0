"""Writing scores as a CSV file, whoever calculated them."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.counting import counted, decimal
from plumbob.data import store
from plumbob.data.encoder import RareRows
from plumbob.errors import DataError
from plumbob.net.identity import write_over
from plumbob.run_folder import RunFolder

SAID = {True: "yes", False: "no", None: ""}
ROWS_HEADER = ["id", "held_out"]


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


def quality_in_words(rows: str, models: Mapping[str, Mapping[str, float | None]]) -> str:
    """How good each model is on these rows, in one line, and whether the joint one is worth its effort."""
    line = f"AUC, {rows}: {'; '.join(_auc(model, found) for model, found in models.items())}"
    joint, alone = (models.get(model, {}).get("auc") for model in ("joint", "local-only"))
    if joint is None or alone is None or joint > alone:
        return line
    return f"{line}. The joint model is not better: these rows do not show that the peers' columns add anything"


def _auc(model: str, found: Mapping[str, float | None]) -> str:
    low, high = found.get("auc_low"), found.get("auc_high")
    interval = "" if low is None or high is None else f" ({decimal(low)} to {decimal(high)})"
    return f"{model} {decimal(found.get('auc'))}{interval}, log loss {decimal(found.get('log_loss'))}"


# Which rows a model was trained on stands beside the label party's part: parties may align other rows later.


def keep_trained_rows(run: RunFolder, party: str, held_out: Mapping[str, bool]) -> None:
    """Keep, for the label party alone, whether each row that was there in training was held out."""
    file = run.rows_file(party)
    file.touch(mode=0o600)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(ROWS_HEADER)
        writer.writerows((identity, SAID[is_held_out]) for identity, is_held_out in held_out.items())


def read_trained_rows(run: RunFolder, party: str) -> dict[str, bool] | None:
    """Whether each row that was there in training was held out; None where nobody kept that."""
    file = run.rows_file(party)
    if not file.exists():
        return None
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    if rows[:1] != [ROWS_HEADER] or any(len(row) != 2 or row[1] not in (SAID[True], SAID[False]) for row in rows[1:]):
        raise DataError(f"{file}: expected an id and yes or no in each line; it is damaged, delete it")
    return {identity: word == SAID[True] for identity, word in rows[1:]}


# Scores of held-out rows were opened to measure the model; asked for again, they would count again.


class _KnownScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of the file: ids, and their scores."""

    ids: list[str]
    scores: list[float]


def keep_scores(run: RunFolder, party: str, ids: Sequence[str], scores: Sequence[float]) -> None:
    """Keep the scores of a run's held-out rows in the label party's part of the run, for its owner alone."""
    write_over(_known_file(run, party), msgspec.json.encode(_KnownScores(list(ids), list(scores))))


def known_scores(run: RunFolder, party: str) -> dict[str, float]:
    """The scores that were kept, by id; none where none were. DataError where the file is damaged."""
    file = _known_file(run, party)
    try:
        known = msgspec.json.decode(file.read_bytes(), type=_KnownScores)
        return dict(zip(known.ids, known.scores, strict=True))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(
            f"{file}: expected the scores of held-out rows; the file is damaged; remove it, and they are asked for"
        ) from error


def _known_file(run: RunFolder, party: str) -> Path:
    return run.party_folder(party) / "held-out-scores.json"
