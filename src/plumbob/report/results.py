"""A run's folder as a command leaves it: the page beside the record, and the lines on the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from plumbob.checking.filing import judgement_of_run
from plumbob.counting import decimal
from plumbob.errors import DataError
from plumbob.record import RunRecord
from plumbob.report.decision import summary_of
from plumbob.report.quality import quality_table, with_interval
from plumbob.report.run import page_of, summary, warnings
from plumbob.report.tables import as_text
from plumbob.run_folder import RunFolder

SHOWN_METRICS = ("auc", "log_loss")
"""The metrics on a terminal; the page has all of them."""


def write_report(record: RunRecord, out: Path) -> None:
    """Write the report and the decision sheet beside the record."""
    judgement = judgement_of_run(record)
    RunFolder(out).keep_pages(page_of(record, judgement), summary_of(record, judgement))


def lines_of(record: RunRecord, out: Path) -> list[str]:
    """Lines on what ran, how good the model is, what it gives away, and where the page is."""
    lines = [summary(record), *warnings(record)]
    for rows, models in record.quality.items():
        lines += as_text(quality_table(rows, models, SHOWN_METRICS))
    word = "Verdict" if record.findings else "Predicted verdict"
    verdict = [f"{word} {judgement_of_run(record).headlines.in_short}."] if record.findings or record.predicted else []
    return [*lines, *record.remarks, *verdict, f"Report: {RunFolder(out).report_file}"]


def short_lines(record: RunRecord, out: Path) -> list[str]:
    """Lines on how good the model is, and where the page is."""
    aucs = [f"AUC, {rows}: {', '.join(_aucs(models))}" for rows, models in record.quality.items()]
    return [*warnings(record), *aucs, f"Report: {RunFolder(out).report_file}"]


def _aucs(models: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """The first model's with its interval; the page has the others'."""
    for place, (model, found) in enumerate(models.items()):
        yield f"{model} {decimal(found.get('auc')) if place else with_interval(found, 'auc')}"


def make_folder(out: Path) -> None:
    """Make the folder to write to; DataError if it cannot be made."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: the folder cannot be made ({error.strerror}); choose another --out") from error
