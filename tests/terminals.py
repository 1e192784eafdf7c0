"""The command line on a terminal, and what a terminal must never be told."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

BETWEEN = "=== the next command ==="
PROGRAM = f"""
import contextlib, json, sys
from plumbob.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["plumbob", *words]
    with contextlib.suppress(SystemExit):
        main()
    sys.stderr.flush()
    print("{BETWEEN}", end="", flush=True)
"""
CLEAR, NAME, BELL, EIGHT_BIT = "\x1b[2J", "\x1b]0;owned", "\x07", "\x9b"
HOSTILE = f"{CLEAR}{NAME}{BELL}{EIGHT_BIT}3J"


def typed(*words: str) -> str:
    """All that a terminal gets when somebody types this."""
    [told] = typed_in_turn([words])
    return told


def typed_in_turn(commands: Sequence[Sequence[str]]) -> list[str]:
    """What a terminal gets of each command, all of them in one process: to start one takes longer than they do."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        told = b""
        # Linux ends a terminal whose last program is gone with an error.
        with suppress(OSError):
            while piece := os.read(ours, 4096):
                told += piece
    os.close(ours)
    return told.decode().split(BETWEEN)[:-1]


def steers(told: str) -> bool:
    """Whether something of `HOSTILE` would be obeyed."""
    return any(one in told for one in (CLEAR, NAME, BELL, EIGHT_BIT))
