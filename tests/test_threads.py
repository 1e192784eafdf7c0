"""Two threads that read the first greeting, record or part of a process at the same moment both read it."""

import subprocess
import sys

import pytest

# Each child is a process that has read nothing yet; switching often makes the threads meet.
PROGRAM = """
import os, sys, threading
from pathlib import Path

from plumbob.net import greeting
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.protocol.part import FORMAT, ModelPart
from plumbob.record import RunRecord

PLAN = Plan.for_columns((2, 3))
GREETING = greeting.encode(greeting.Greeting(purpose="train", plan=PLAN.hash()))
RECORD = unfinished_record(PLAN, 40, "running").to_dict()
PART = (
    b'{"format": %d, "bound_hashes": {}, "party": "label", "role": "label", "shares": {"label": [1]}, "weights": null,'
    b'"encoder": {"names": ["a"]}, "whitening": {"centre": [0.0], "matrix": [[1.0]]}, "bound": {"ends": {}}}' % FORMAT
)


def read(work):
    try:
        work()
    except Exception:  # A part that is refused was looked at, too.
        pass


WORK = {
    "greeting": lambda: greeting.decode(GREETING, "bank"),
    "record": lambda: RunRecord.from_dict(RECORD, "run.json"),
    "part": lambda: ModelPart.from_json(PART, Path("part.json")),
}[sys.argv[1]]
for _ in range(150):
    child = os.fork()
    if not child:
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=read, args=(WORK,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    _, end = os.waitpid(child, 0)
    assert end == 0, end
"""


@pytest.mark.parametrize("what", ["greeting", "record", "part"])
def test_several_threads_may_be_the_first_to_read(what: str) -> None:
    """A library that learns a class twice at once ends the process: it has learnt it before, or threads take turns."""
    found = subprocess.run([sys.executable, "-c", PROGRAM, what], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
