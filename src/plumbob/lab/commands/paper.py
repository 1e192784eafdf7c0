"""`paper`: reproduces the paper's figures and claims into a folder; a second call continues where the first ended."""

import json
import time
from dataclasses import replace
from pathlib import Path

from plumbob.callbacks import Tell
from plumbob.errors import DataError
from plumbob.lab.commands import Paper
from plumbob.lab.paper import section7, theory
from plumbob.lab.paper.findings import Book, PaperClaim, agreement
from plumbob.lab.paper.readings import CREDIT, MNIST, Effort, ResultStore, Study, presets_of
from plumbob.lab.reports.paper import claims_csv, claims_table, curves_csv, figure_file, in_short, page_of
from plumbob.report.results import make_folder
from plumbob.report.tables import as_text
from plumbob.verb import Result

STUDIES = {study.name: study for study in (MNIST, CREDIT)}
PARTS = (*STUDIES, "attacks")


def run(options: Paper, tell: Tell) -> Result:
    """Run what is not in the folder yet, judge every claim, and write all of it."""
    started = time.perf_counter()
    part, out = options.part, options.out
    effort = Effort(options.seeds, options.quick, tell, str(options.data_dir) if options.data_dir else None)
    if part in STUDIES:
        book = book_of_study(replace(STUDIES[part], data_dir=effort.data_dir), options.preset, out, effort)
    elif part == "attacks":
        if options.preset is not None:
            raise DataError("--preset is for mnist and credit: the theorems have one reading")
        make_folder(out)
        book = theory.book_of(ResultStore(out / "results"), effort)
    else:
        raise DataError(f"no part {part!r} of the paper; there are {', '.join(PARTS)}")
    return written(book, out, time.perf_counter() - started)


def book_of_study(
    study: Study,
    preset: str | None,
    out: Path,
    effort: Effort,
    piece: section7.EncryptedSample = section7.EncryptedSample(),  # noqa: B008  # Frozen.
) -> Book:
    """The book of one data set of section 7."""
    presets = presets_of(preset or "both")
    make_folder(out)
    return section7.book_of(study, presets, ResultStore(out / "results"), effort, piece)


def written(book: Book, out: Path, seconds: float) -> Result:
    """Write every file; returns what the command prints."""
    index = out / "index.html"
    figures = {out / "figures" / f"{figure.name}.svg": figure_file(figure) for figure in book.figures}
    claims = [claim.to_dict() for claim in book.claims]
    files = {
        index: page_of(book, seconds),
        out / "claims.csv": claims_csv(book.claims),
        out / "claims.json": json.dumps(claims, indent=2, allow_nan=False) + "\n",
        out / "curves.csv": curves_csv(book.tables),
        **figures,
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return {
        "out": str(out),
        "report": str(index),
        "part": book.name,
        "claims": claims,
        "figures": [str(path) for path in figures],
        "seconds": seconds,
        "lines": [*as_text(claims_table(book.claims)), "", *in_short(book), _verdict_counts(book.claims), str(index)],
    }


def _verdict_counts(claims: tuple[PaperClaim, ...]) -> str:
    papers, ours = (agreement(claims, of_the_paper) for of_the_paper in (True, False))
    return f"agree with what was measured: {papers} of the paper's statements that were tried, {ours} of our own"
