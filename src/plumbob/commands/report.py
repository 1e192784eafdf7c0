"""`report`: makes the pages of a run again from its folder."""

from pathlib import Path

from plumbob.checking.filing import with_verdicts
from plumbob.errors import DataError
from plumbob.report.decision import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder


def run(folder: Path, out: Path | None) -> dict[str, object]:
    """Write the report to `out`, or beside the record; the decision sheet lies beside it."""
    place = RunFolder(folder)
    record = with_verdicts(place.with_columns(place.record()))
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
        "lines": [str(target), f"{beside} (decision sheet, one page)"],
    }
