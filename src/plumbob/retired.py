"""What 0.1.0 had and Plumbob no longer has, each with one sentence that says what to do instead.

Every verb, flag, key of a plan, setting of party.toml and public Python name of 0.1.0 is a line of
tests/frozen/surface.txt. Whoever deletes one copies its line into `RETIRED`, in the same commit, and writes a sentence
beside the line. The command line, the readers of plans and settings, and the Python modules then answer with that
sentence; tests/frozen/test_surface.py tries every row, and says which line has none. A module or class that loses its
first name also gets a `__getattr__`, as plumbob/errors.py and `plumbob.party.Home` have one.

A row also covers what was inside: the row of a verb covers the verb's flags, the row of a class its methods. One row
`--flag` covers this flag, and `--no-flag`, at every verb. A sentence starts with a small letter and has no full stop,
because the name and a colon or semicolon stand before it.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

CHOOSE = "scores.csv has each row's probability: choose your own threshold there"
NO_RANGES = 'no range is stated any more; with noise = "rows", scale = "whitened" estimates ranges under noise'
NO_DIRECTION = "bin the column before, for example with optbinning, and leave the bins as numbers"
NO_STEPS = "bins are told apart one by one; a difference of neighbouring weights is the step"
REPLAY = "`plumbob auditor replay RUN --auditor KEYS` opens the evidence, replays and signs, on the auditor's machine"

RETIRED: dict[str, str] = {
    "plumbob party align --new": "each `plumbob party align` begins anew",
    "--as": "name the columns that are text with --category; write numbers as 1234.5, dates as 2026-11-16",
    "--defences": "audit one plan for each defence, and read their reports side by side",
    "--delete-unstarted": "delete the folder of a run that never started",
    "--dictionary": NO_RANGES,
    "--encrypted": "`audit` always runs the protocol that the plan names",
    "--engine": "there is one engine, the kernel; `cluster` in party.toml names a Ray cluster for large products",
    "--monotone": NO_DIRECTION,
    "--pdf": "open the page in a browser and print it",
    "--range": NO_RANGES,
    "--steps": NO_STEPS,
    "party.toml [table] monotone": NO_DIRECTION,
    "party.toml [table] ranges": NO_RANGES,
    "party.toml [table] steps": NO_STEPS,
    "party.toml [table] types": "list the columns that are text in `category`; write 1234.5 and 2026-11-16",
    "party.toml engine": "there is one engine, the kernel; `cluster` names a Ray cluster for large products",
    "plumbob attack": "`plumbob audit RUN_DIR` attacks a run that is there",
    "plumbob auditor open": REPLAY,
    "plumbob auditor sign": REPLAY,
    "plumbob bench": "`python -m benchmarks` in the source folder prints the tables of docs/benchmarks.md",
    "plumbob completion": "`plumbob --install-completion` sets up your shell",
    "plumbob lab --data-dir": "`plumbob audit` trains on data sets",
    "plumbob lab --out": "`plumbob lab FOLDER` lists the runs in a folder",
    "plumbob party auditor-key": "`plumbob auditor init NAME` makes an auditor's keys, on the auditor's machine",
    "plumbob party passphrase": "`plumbob party renew --passphrase` encrypts the key with a new passphrase",
    "plumbob party predict --cost": CHOOSE,
    "plumbob party predict --local-if-away": "score with a model of your own columns, trained by a tool of your choice",
    "plumbob party predict --threshold": CHOOSE,
    "plumbob party replay": REPLAY,
    "plumbob plan hash": "`plumbob plan show PLAN` prints the plan with its hash",
    "plumbob predict --cost": CHOOSE,
    "plumbob predict --threshold": CHOOSE,
    "plumbob receipt": "`plumbob party receipt` shows and compares receipts",
    "plumbob runs": "`plumbob lab FOLDER` lists the runs in a folder, and `plumbob party status` those of a party",
    "plumbob.VerticalLogisticRegression(engine)": "there is one engine, the kernel; leave it out",
}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def advice(entry: str) -> str | None:
    """What to do instead of a line of the surface, or None where nothing is known about it."""
    return next((RETIRED[row] for row in _rows_about(entry) if row in RETIRED), None)


def gone(entry: str, what: str) -> str | None:
    """The words about a verb, flag, key or setting that is gone, or None; `what` names its kind."""
    found = advice(entry)
    return None if found is None else f"there is no such {what} any more; {found}"


def gone_from_plan(name: str) -> str | None:
    """The words about a key of the plan that is named without its section, as in Python, or None."""
    rows = (row for row in RETIRED if row.startswith("plan ") and row.endswith(f" {name}"))
    return next((gone(row, "key") for row in rows), None)


def no_attribute(owner: str, name: str) -> AttributeError:
    """The error about a name that a module or a class does not have, with the advice if it once had the name."""
    found = advice(f"{owner}.{name}")
    return AttributeError(f"{owner} has no attribute {name!r}" + (f" any more; {found}" if found else ""))


def refuse_retired(owner: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A function that answers a parameter which is gone with the advice instead of Python's own TypeError."""

    def around(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(function)
        def called(*values: Given.args, **named: Given.kwargs) -> Result:
            for name in named:
                if found := advice(f"{owner}({name})"):
                    raise TypeError(f"{owner} has no parameter {name!r} any more; {found}")
            return function(*values, **named)

        return called

    return around


def _rows_about(entry: str) -> Iterator[str]:
    """The rows that may cover a line: the line itself, the same flag of every verb, and what the line is inside of."""
    words, is_flag, flag = entry.rpartition(" --")
    if not is_flag:
        yield entry
        yield entry.replace("(", ".").rpartition(".")[0]
        return
    for name in (flag, flag.removeprefix("no-")):
        yield from (f"{words} --{name}", f"--{name}")
    yield words
