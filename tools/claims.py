"""Every figure of the pages, in one table: benchmarks/claims.toml says how each was measured, and at which commit.

    python tools/claims.py              fill the pages in from the table
    python tools/claims.py list         print the table: claim, page, command, value, tolerance, commit
    python tools/claims.py old          say which figures are older than the code that they describe
    python tools/claims.py run          measure again, the quickest first, for an hour; say what no longer holds
    python tools/claims.py run NAME...  measure only these; what holds gets today's commit in the table

In a page a figure stands between `<!--=NAME-->` and `<!--/-->`; a whole table has the marks on lines of their own. What
has a unit and no mark must be a limit that the code sets: the table lists these by page, and a test finds all others.
"""

import ast
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "claims.toml"
RESULTS = ROOT / "build" / "claims"
"""Where its commands write."""
MADE_FROM_CODE = {"cli.md", "api.md"}
MOST_MINUTES = 60.0
FOUND_A_LEAK = (3, 4)
"""Exit codes of commands that did what they should: some are about a leak."""
MARKED = re.compile(r"<!--=([\w-]+)-->(\n?)(.*?)<!--/-->", re.DOTALL)
MADE = re.compile(r"<!-- schedules: begin -->.*<!-- schedules: end -->", re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|^ {4}[^\n]*$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(
    r"(?<![\w.^-])\.?\d[\d,.]*\s"
    r"(?:%|[µum]?s|seconds?|minutes?|hours?|[kKMG]i?B|[MG]bit/s|times (?:faster|slower|less|as))(?!\w)"
    r"|\b(?:AUC|R²)(?: of)? 0?\.\d+|\b\d+ of \d+\b"
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
    minutes: float
    """How long it takes on two idle cores."""
    commit: str
    """The code's commit when it was measured; empty where nobody knows it any more."""
    describes: tuple[str, ...]
    figures: dict[str, str]
    expected: tuple[Expected, ...] = ()
    by_hand: str = ""
    """Why `run` leaves it out, if it does."""

    @property
    def names(self) -> str:
        """Of its figures."""
        return ", ".join(self.figures)

    def age(self) -> str:
        """What changed since in the code that it describes; nothing if only words did."""
        if not self.commit:
            return "at which commit it was measured is not known"
        command = ["git", "diff", "--name-only", f"{self.commit}..HEAD", "--", *self.describes]
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if finished.returncode:
            return "this copy's history does not reach back that far"
        changed = [file for file in finished.stdout.split() if code_of(self.commit, file) != code_of("HEAD", file)]
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"{changed[0]}{others} changed since" if changed else ""

    def run(self, seconds: float) -> str | None:
        """What the command prints, with this environment's programs first; None if it takes longer than it may."""
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        # In a group of its own, so that nothing that it started outlives it.
        process = subprocess.Popen(
            shlex.split(self.command),
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,
        )
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
            return None
        return printed if process.returncode in (0, *FOUND_A_LEAK) else f"ended with {process.returncode}"


@cache
def code_of(commit: str, file: str) -> str:
    """A file as it was; of Python only what is executed."""
    finished = subprocess.run(["git", "show", f"{commit}:{file}"], cwd=ROOT, capture_output=True, text=True)
    return executed(finished.stdout) if file.endswith(".py") else finished.stdout


def executed(source: str) -> str:
    """A module without comments and docstrings, which change no figure."""
    parsed = ast.parse(source)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return ast.dump(parsed)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


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
    """Print the whole table, one line for each claim; of a table of figures, how many rows it has."""
    where = {mark[1]: page.name for page in pages() for mark in MARKED.finditer(page.read_text(encoding="utf-8"))}
    print("| claim | page | command | value | tolerance | commit |\n|---|---|---|---|---|---|")
    for one in read().measurements:
        widest = max((each.tolerance for each in one.expected), default=0.0)
        for name, text in one.figures.items():
            rows = [row for row in text.strip().splitlines() if not row.startswith("|---")]
            value = rows[0] if len(rows) == 1 else f"{len(rows) - 1} rows"
            tolerance = one.by_hand or f"{widest:.0%}"
            print(f"| {name} | {where[name]} | `{one.command}` | {value} | {tolerance} | {one.commit} |")


def old() -> None:
    """Print which figures are older than the code that they describe, and since when."""
    for one in read().measurements:
        if change := one.age():
            at = f"measured at {one.commit}; " if one.commit else ""
            print(f"old        {one.names}: {at}{change}")


def run(names: Sequence[str]) -> int:
    """Measure everything that `make claims` can, or these alone; how many numbers no longer hold."""
    measurements = sorted(read().measurements, key=lambda one: one.minutes)
    chosen = [one for one in measurements if (set(names) & set(one.figures) if names else not one.by_hand)]
    # Some commands continue what they find; here everything is measured again.
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    ends, broken = time.monotonic() + 60 * MOST_MINUTES, 0
    for one in chosen:
        left = ends - time.monotonic()
        printed = one.run(left) if one.minutes * 60 <= left else None
        if printed is None:
            print(f"not run    {one.names}: {one.minutes:g} minutes; {max(left, 0) / 60:.0f} were left", flush=True)
            continue
        complaints = [found for each in one.expected if (found := each.complaint(printed))]
        broken += len(complaints)
        told = [f"NO LONGER  {one.names}: {found}" for found in complaints] or [f"holds      {one.names}"]
        print(*told, sep="\n", flush=True)
        if names and not complaints:
            note_commit(one)
    if not names:
        for one in (one for one in measurements if one.by_hand):
            print(f"by hand    {one.names}: {one.by_hand}: {one.command}")
        old()
    return broken


def note_commit(one: Measurement) -> None:
    """Write into the table that these figures hold as the code is now."""
    head = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    before, after = TABLE.read_text(encoding="utf-8").split(f"\n{next(iter(one.figures))} = ", 1)
    start, _, rest = before.rpartition("\ncommit = ")
    kept = rest.split("\n", 1)[1]
    text = f"{start}\ncommit = '{head.stdout.strip()}'\n{kept}\n{next(iter(one.figures))} = {after}"
    TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            fill()
        case ["list"]:
            listed()
        case ["old"]:
            old()
        case ["run", *names]:
            sys.exit(1 if run(names) else 0)
        case _:
            sys.exit(__doc__)
