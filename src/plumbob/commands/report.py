"""`report`: makes the pages of a run again from its folder."""

from pathlib import Path

from plumbob.errors import DataError
from plumbob.report.decision import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder


def run(folder: Path, out: Path | None, prints: bool = False) -> dict[str, object]:
    """Write the report to `out`, or beside the record; the decision sheet lies beside it.

    With `prints`, both also as PDF files of the same names.
    """
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
    printed = _print_pdf(target, beside) if prints else {}
    return {
        "report": str(target),
        "summary": str(beside),
        **printed,
        "bytes": len(page),
        "lines": [str(target), f"{beside} (decision sheet, one page)", *printed.values()],
    }


def _print_pdf(report: Path, summary: Path) -> dict[str, str]:
    """Print both pages with the system's browser; imported late, because most reports are not printed."""
    from plumbob.commands.printing import write_pdf

    files = {"report_pdf": report.with_suffix(".pdf"), "summary_pdf": summary.with_suffix(".pdf")}
    for page, file in zip((report, summary), files.values(), strict=True):
        write_pdf(page, file)
    return {name: str(file) for name, file in files.items()}
