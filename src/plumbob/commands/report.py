"""`report`: the pages of a run, made again from its folder."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.report.decision_page import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder


def run(folder: Path, out: Path | None) -> dict[str, object]:
    """Written to `out`, or beside the record; the page for whoever says yes or no lies beside the report."""
    place = RunFolder(folder)
    record = place.record()
    target = out or place.report_file
    # Elsewhere it takes the report's own name: no other file there may be written over.
    beside = place.summary_file if out is None else target.with_name(f"{target.stem}-summary.html")
    page, summary = (text.encode("utf-8") for text in (page_of(record), summary_of(record)))
    try:
        target.write_bytes(page)
        beside.write_bytes(summary)
    except OSError as error:
        raise DataError(f"{target}: the report cannot be written ({type(error).__name__})") from error
    return {
        "report": str(target),
        "summary": str(beside),
        "bytes": len(page),
        "lines": [str(target), f"{beside} (one page, for whoever says yes or no)"],
    }
