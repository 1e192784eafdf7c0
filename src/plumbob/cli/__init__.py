"""The command line: parse, call, print.

Exit codes: 0 done, 1 failed with a message, 2 wrong usage, 3 (`check`, `audit`) done and something leaks above the
plan's tolerance, 4 (`audit`, `check`) done and nothing leaks, but attacks were not run (`--only`) or, with `--strict`,
something degrades, 130 interrupted by Ctrl-C. The work is done elsewhere, and imported late, so that every verb starts
in under a second.
"""

from plumbob.cli import auditing, party_runs, party_setup, plans, results, studies, training
from plumbob.cli.output import INTERRUPTED
from plumbob.cli.root import app, main

# Importing a module of verbs is what makes them part of the command line.
__all__ = [
    "INTERRUPTED",
    "app",
    "auditing",
    "main",
    "party_runs",
    "party_setup",
    "plans",
    "results",
    "studies",
    "training",
]
