"""A run's folder as a command leaves it: the page beside the record, and the lines on the terminal."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.record import RunRecord
from plumbob.report.decision_page import summary_of
from plumbob.report.page import as_text
from plumbob.report.run import page_of, quality_table, summary, warnings
from plumbob.run_folder import RunFolder


def write_report(record: RunRecord, out: Path) -> None:
    """The report beside the record, and the decision sheet."""
    RunFolder(out).keep_pages(page_of(record), summary_of(record))


def lines_of(record: RunRecord, out: Path) -> list[str]:
    """What ran, how good the model is, and where the page lies."""
    lines = [summary(record), *warnings(record)]
    for rows, models in record.quality.items():
        lines += [f"quality on the {rows}:", *as_text(quality_table(rows, models))]
    return [*lines, *record.remarks, f"{RunFolder(out).report_file}"]


def make_folder(out: Path) -> None:
    """The folder to write to, or a reason why it cannot be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: the folder cannot be made ({type(error).__name__})") from error
