"""A page as an object: a notebook shows it in the cell, and anybody can save it."""

from html import escape
from pathlib import Path

from plumbob.errors import DataError


class ReportPage:
    """A page, which loads nothing from anywhere."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | Path) -> Path:
        """Write the page; DataError where that cannot be done."""
        target = Path(path)
        try:
            target.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise DataError(f"{target}: the report cannot be written ({error.strerror})") from error
        return target

    def __repr__(self) -> str:
        return "ReportPage(a notebook shows it, .save(path) writes it)"

    def _repr_html_(self) -> str:
        """The page in its own frame, so that neither page's styles reach the other."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox title="Plumbob report" '
            'style="width:100%;height:720px;border:1px solid #9aa5b1"></iframe>'
        )
