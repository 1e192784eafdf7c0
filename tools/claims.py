"""Every figure of the pages, in one table: benchmarks/claims.toml says how each was measured, and at which commit.

    python tools/claims.py          fill the pages in from the table
    python tools/claims.py list     print the table: claim, page, command, value, tolerance, commit
    python tools/claims.py run      measure again what fits into an hour; say what no longer holds, and what is old

In a page a figure stands between `<!--=NAME-->` and `<!--/-->`; a whole table has the marks on lines of their own. What
has a unit and no mark must be a limit that the code sets: the table lists these by page, and a test finds all others.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "claims.toml"
RESULTS = ROOT / "build" / "claims"
"""Where its commands write."""
MADE_FROM_CODE = {"cli.md", "api.md"}
MOST_MINUTES = 60
MARKED = re.compile(r"<!--=([\w-]+)-->(\n?)(.*?)<!--/-->", re.DOTALL)
MADE = re.compile(r"<!-- schedules: begin -->.*<!-- schedules: end -->", re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|^ {4}[^\n]*$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(
    r"(?<![\w.^-])\.?\d[\d,.]*\s"
    r"(?:%|[µum]?s|seconds?|minutes?|hours?|[kKMG]i?B|[MG]bit/s|times (?:faster|slower|less|as))(?!\w)"
    r"|\b(?:AUC|R²)(?: of)? \.\d+|\b\d+ of \d+\b"
)
"""A number with its unit, a quality, or a count of a count."""


@dataclass(frozen=True)
class Expected:
    """A number that a command prints: where, which, and how far off it may be, as a fraction of it."""

    find: str
    value: float
    tolerance: float

    def complaint(self, printed: str) -> str | None:
        """What no longer holds."""
        found = re.search(self.find, printed)
        if found is None:
            return f"printed nothing like {self.find}"
        now = float(found[1].replace(",", ""))
        is_near = abs(now - self.value) <= self.tolerance * abs(self.value)
        return None if is_near else f"{now:g} instead of {self.value:g} (within {self.tolerance:.0%})"


@dataclass(frozen=True)
class Measurement:
    """One command, the figures that come from it, and what they are about."""

    command: str
    commit: str
    describes: tuple[str, ...]
    figures: dict[str, str]
    minutes: float | None = None
    """How long it takes here; None where it is too long for an hour, or needs what is not here."""
    expected: tuple[Expected, ...] = field(default=())

    def newer_change(self) -> str:
        """The last change since to the files that it describes, or nothing."""
        command = ["git", "log", "-1", "--format=%h %s", f"{self.commit}..HEAD", "--", *self.describes]
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return (
            finished.stdout.strip() if finished.returncode == 0 else "(this copy's history does not reach back so far)"
        )

    def run(self) -> str:
        """What the command prints, with this environment's programs first."""
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        words = shlex.split(self.command)
        finished = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        # Something that leaks is what some commands are about (3 and 4).
        return finished.stdout if finished.returncode in (0, 3, 4) else ""


@dataclass(frozen=True)
class Claims:
    """The table."""

    measurements: tuple[Measurement, ...]
    limits: dict[str, list[str]]

    @property
    def figures(self) -> dict[str, str]:
        """Every figure's text by its name."""
        return {name: text for one in self.measurements for name, text in one.figures.items()}


def read() -> Claims:
    """The table as it is in the repository."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return Claims(tuple(_measurement(one) for one in table["measurement"]), table["limits"])


def _measurement(one: dict[str, Any]) -> Measurement:
    expected = tuple(Expected(*each) for each in one.get("expected", ()))
    return Measurement(**{**one, "describes": tuple(one["describes"]), "expected": expected})


def pages() -> list[Path]:
    """Every page with figures in it that people wrote."""
    written = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE_FROM_CODE]
    guests = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*guests, *written, *sorted((ROOT / "examples").glob("*/README.md"))]


def filled(text: str, figures: dict[str, str]) -> str:
    """The page with the table's figures; a name that the table lacks is an error."""
    return MARKED.sub(lambda mark: f"<!--={mark[1]}-->{mark[2]}{figures[mark[1]]}<!--/-->", text)


def unmarked(text: str, limits: list[str]) -> Iterator[str]:
    """Figures that stand outside marks, code and what is made from code, and are no limit."""
    for made in (MADE, MARKED, CODE):
        text = made.sub("", text)
    for found in FIGURE.finditer(" ".join(text.split())):
        if found[0] not in limits:
            yield found[0]


def fill() -> None:
    """Write the pages."""
    figures = read().figures
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = filled(before, figures)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))


def listed() -> None:
    """The whole table, one line for each claim; of a table of figures, its first row."""
    where = {mark[1]: page.name for page in pages() for mark in MARKED.finditer(page.read_text(encoding="utf-8"))}
    print("| claim | page | command | value | tolerance | commit |\n|---|---|---|---|---|---|")
    for one in read().measurements:
        widest = max((each.tolerance for each in one.expected), default=None)
        tolerance = "measured by hand" if widest is None else f"{widest:.0%}"
        for name, text in one.figures.items():
            rows = [row for row in text.strip().splitlines() if not row.startswith("|---")]
            value = rows[0] if len(rows) == 1 else f"{len(rows) - 1} rows"
            print(f"| {name} | {where[name]} | `{one.command}` | {value} | {tolerance} | {one.commit} |")


def run() -> int:
    """Measure what fits into an hour, the shortest first; how many no longer hold."""
    broken, spent = 0, 0.0
    # Some commands continue what they find; here everything is measured again.
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    for one in sorted(read().measurements, key=lambda one: one.minutes or MOST_MINUTES):
        names = ", ".join(one.figures)
        if change := one.newer_change():
            print(f"older     {names}: measured at {one.commit}, since then {change}")
        if one.minutes is None or not one.expected or spent + one.minutes > MOST_MINUTES:
            print(f"not run   {names}: {one.command}")
            continue
        started = time.monotonic()
        printed = one.run()
        spent += (time.monotonic() - started) / 60
        complaints = [found for each in one.expected if (found := each.complaint(printed))]
        broken += len(complaints)
        print(
            "".join(f"NO LONGER {names}: {found}\n" for found in complaints) or f"holds     {names}\n",
            end="",
            flush=True,
        )
    return broken


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            fill()
        case ["list"]:
            listed()
        case ["run"]:
            sys.exit(1 if run() else 0)
        case _:
            sys.exit(__doc__)
