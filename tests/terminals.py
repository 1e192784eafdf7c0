"""The command line on a terminal, and what a terminal must never be told."""

import os
import pty
import subprocess
import sys
from contextlib import suppress

PROGRAM = "from plumbob.cli import main; main()"
CLEAR, NAME, BELL, EIGHT_BIT = "\x1b[2J", "\x1b]0;owned", "\x07", "\x9b"
HOSTILE = f"{CLEAR}{NAME}{BELL}{EIGHT_BIT}3J"


def typed(*words: str) -> str:
    """All that a terminal gets when somebody types this."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, *words]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        told = b""
        # Linux ends a terminal whose last program is gone with an error.
        with suppress(OSError):
            while piece := os.read(ours, 4096):
                told += piece
    os.close(ours)
    return told.decode()


def steers(told: str) -> bool:
    """Whether something of `HOSTILE` would be obeyed."""
    return any(one in told for one in (CLEAR, NAME, BELL, EIGHT_BIT))
