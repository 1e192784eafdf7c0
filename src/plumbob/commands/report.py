"""`report`: the page of a run, made again from its folder."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder


def run(folder: Path, out: Path | None) -> dict[str, object]:
    """Written to `out`, or beside the record."""
    place = RunFolder(folder)
    page = page_of(place.record()).encode("utf-8")
    target = out or place.report_file
    try:
        target.write_bytes(page)
    except OSError as error:
        raise DataError(f"{target}: the report cannot be written ({type(error).__name__})") from error
    return {"report": str(target), "bytes": len(page), "lines": [f"{target}"]}
