"""`paper`: reproduces the paper's figures and claims into a folder; a second call continues where the first ended."""

import time
from dataclasses import asdict, replace
from pathlib import Path

from plumbob.caller import Result
from plumbob.errors import DataError
from plumbob.lab.paper import section7, theorems
from plumbob.lab.paper.page import Book, lines_of, write
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.lab.paper.study import CREDIT, MNIST, presets_of
from plumbob.report.results import make_folder

STUDIES = {study.name: study for study in (MNIST, CREDIT)}
PARTS = (*STUDIES, "attacks")


def run(part: str, out: Path, preset: str | None, effort: Effort) -> Result:
    """Run what is not in the folder yet, judge every claim, and write all of it."""
    started = time.perf_counter()
    book = _book(part, out, preset, effort)
    seconds = time.perf_counter() - started
    figures = write(book, out, seconds)
    report = str(out / "index.html")
    return {
        "out": str(out),
        "report": report,
        "part": book.name,
        "claims": [asdict(claim) for claim in book.claims],
        "figures": [str(path) for path in figures],
        "seconds": seconds,
        "lines": [*lines_of(book), report],
    }


def _book(part: str, out: Path, preset: str | None, effort: Effort) -> Book:
    results = ResultStore(out / "results")
    if part in STUDIES:
        presets = presets_of(preset or "both")
        make_folder(out)
        study = replace(STUDIES[part], data_dir=effort.data_dir)
        return section7.book_of(study, presets, results, effort, section7.EncryptedSample())
    if part != "attacks":
        raise DataError(f"no part {part!r} of the paper; there are {', '.join(PARTS)}")
    if preset is not None:
        raise DataError("--preset is for mnist and credit: the theorems have one reading")
    make_folder(out)
    return theorems.book_of(results, effort)
