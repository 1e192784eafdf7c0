"""`paper`: reproduces the paper's figures and claims into a folder; a second call continues where the first ended."""

import time
from dataclasses import asdict, replace

from plumbob.callbacks import Tell
from plumbob.errors import DataError
from plumbob.lab.commands import Paper
from plumbob.lab.paper import section7, theorems
from plumbob.lab.paper.page import Book, lines_of, write
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.lab.paper.study import CREDIT, MNIST, presets_of
from plumbob.report.results import make_folder
from plumbob.verb import Result

STUDIES = {study.name: study for study in (MNIST, CREDIT)}
PARTS = (*STUDIES, "attacks")


def run(options: Paper, tell: Tell) -> Result:
    """Run what is not in the folder yet, judge every claim, and write all of it."""
    started = time.perf_counter()
    book = _book(options, tell)
    seconds = time.perf_counter() - started
    figures = write(book, options.out, seconds)
    report = str(options.out / "index.html")
    return {
        "out": str(options.out),
        "report": report,
        "part": book.name,
        "claims": [asdict(claim) for claim in book.claims],
        "figures": [str(path) for path in figures],
        "seconds": seconds,
        "lines": [*lines_of(book), report],
    }


def _book(options: Paper, tell: Tell) -> Book:
    effort = Effort(options.seeds, options.quick, tell, str(options.data_dir) if options.data_dir else None)
    results = ResultStore(options.out / "results")
    if options.part in STUDIES:
        presets = presets_of(options.preset or "both")
        make_folder(options.out)
        study = replace(STUDIES[options.part], data_dir=effort.data_dir)
        return section7.book_of(study, presets, results, effort, section7.EncryptedSample())
    if options.part != "attacks":
        raise DataError(f"no part {options.part!r} of the paper; there are {', '.join(PARTS)}")
    if options.preset is not None:
        raise DataError("--preset is for mnist and credit: the theorems have one reading")
    make_folder(options.out)
    return theorems.book_of(results, effort)
