"""`report`: the page of a run, made again from its folder."""

from pathlib import Path

from plumbob.commands.results import report_in
from plumbob.errors import DataError
from plumbob.record import RunRecord
from plumbob.report.run import page_of


def run(folder: Path, out: Path | None) -> dict[str, object]:
    """Written to `out`, or beside the record."""
    page = page_of(RunRecord.load(folder)).encode("utf-8")
    target = out or report_in(folder)
    try:
        target.write_bytes(page)
    except OSError as error:
        raise DataError(f"{target}: the report cannot be written ({type(error).__name__})") from error
    return {"report": str(target), "bytes": len(page), "lines": [f"{target}"]}
