"""The rows that training holds out: booked before a run, their scores kept after it, and what these say in words.

Scores of held-out rows are opened to measure the model. Asked for again, they would count again.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbob.counting import decimal
from plumbob.errors import BudgetExceededError, DataError
from plumbob.net.identity import write_over
from plumbob.party.home import Home
from plumbob.party.row_count import AnsweredRows
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import most_scored_rows, shows_quality
from plumbob.run_folder import RunFolder

SAID = {True: "yes", False: "no", None: ""}
ROWS_HEADER = ["id", "held_out"]
BOOKED = "held out"  # The fact in a run's journal that its held-out rows were counted.


def book_held_out(home: Home, plan: Plan, journal: SqliteJournal, rows: int) -> None:
    """Book the rows whose scores are opened when training ends, once per run, before it begins.

    BudgetExceededError, with nothing booked, beyond what the plan allows: every new run would show other rows.
    """
    if not shows_quality(plan, rows) or journal.fact(BOOKED) is not None:
        return
    ledger, held_out = AnsweredRows.of(home, plan), plan.held_out(rows)
    try:
        ledger.add(held_out, most_scored_rows(plan, rows - held_out))
    except BudgetExceededError as error:
        raise BudgetExceededError(
            f"{error}, the plan's limit, and this run would score its held-out rows when it ends. Agree on a new plan "
            "that allows more, or that holds out fewer: plumbob party propose --most-rows N, or --test-share"
        ) from None
    journal.note(BOOKED, b"")


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
