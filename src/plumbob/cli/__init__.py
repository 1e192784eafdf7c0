"""The command line: parse, call, print.

Exit codes: 0 done, 1 failed with a message, 2 wrong usage, 3 (`check`, `audit`) done and something leaks above the
plan's tolerance, 4 (`audit`, `check`) done and nothing leaks, but attacks were not run (`--only`) or, with `--strict`,
something degrades, 130 interrupted by Ctrl-C.
"""

from typing import Any

from plumbob.cli.commands import INTERRUPTED
from plumbob.cli.root import application, main

__all__ = ["INTERRUPTED", "app", "main"]


def __getattr__(name: str) -> Any:
    """Import late, because the application with all verbs needs the lab's too."""
    if name == "app":
        return application()
    raise AttributeError(f"module 'plumbob.cli' has no attribute {name!r}")
