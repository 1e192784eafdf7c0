"""What this party did, for whoever operates it: `log.jsonl` in its folder, one JSON object per line, only appended to.

    time     UTC, to the second                      party   its name
    user     the account that the command ran under  verb    as it is typed
    plan     the plan's hash, 12 digits              peers   the other parties of the plan
    list     the name of the list of rows            rows    how many were aligned, trained on, scored or answered
    result   started | done | refused | failed | interrupted
    why      of what was refused or failed           seconds from start to end

It holds no id, cell, label, score, column or key. What is wrong with this party's own table or settings is named by its
kind alone, because the words may name columns.
"""

import getpass
import inspect
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from plumbob.caller import Outcome
from plumbob.errors import PlumbobError, PrivacyError, ProtocolError, TransportError
from plumbob.party.home import folder_of
from plumbob.party.joint_plan import GivenPlan, plan_of
from plumbob.party.settings import SETTINGS_FILE, read_settings
from plumbob.plan import Plan

LOG_FILE = "log.jsonl"
STARTED, DONE, REFUSED, FAILED, INTERRUPTED = "started", "done", "refused", "failed", "interrupted"
ROWS = ("rows", "training_rows", "size")  # Under which a verb's result counts them.

Facts = dict[str, Any]
Given = ParamSpec("Given")

log = logging.getLogger("plumbob.party")


@contextmanager
def logged(folder: Path, party: str, verb: str, facts: Facts, *, waits: bool = False) -> Iterator[Facts]:
    """Log what a party does: one line before it, and one after, whatever happens, with the facts that are added.

    What `waits` until somebody asks, for days perhaps, has only the second line, and no seconds.
    """
    file, began, added = folder / LOG_FILE, time.monotonic(), Facts()
    about = {"party": party, "user": _user(), "verb": verb, **facts}
    if not waits:
        _append(file, {**about, "result": STARTED})
    result, why = DONE, ""
    try:
        yield added
    except PlumbobError as error:
        result, why = REFUSED if isinstance(error, PrivacyError) else FAILED, _safely(error)
        raise
    except KeyboardInterrupt:
        result = INTERRUPTED
        raise
    except BaseException as error:
        result, why = FAILED, type(error).__name__
        raise
    finally:
        seconds = {} if waits else {"seconds": round(time.monotonic() - began, 3)}
        reason = {"why": why} if why else {}
        _append(file, {**about, **added, "result": result, **reason, **seconds})


def logged_verb(work: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """The same verb, which writes into the log of its folder whoever calls it."""
    signature = inspect.signature(work)

    @wraps(work)
    def called(*values: Given.args, **named: Given.kwargs) -> Outcome:
        given = signature.bind(*values, **named).arguments
        with _logged_verb(folder_of(given["home"]), work.__name__, given.get("plan")) as added:
            outcome = work(*values, **named)
            added.update(counts_in(outcome))
        return outcome

    return called


@contextmanager
def _logged_verb(folder: Path, verb: str, given: GivenPlan | None) -> Iterator[Facts]:
    """Log a verb; a plan that it cannot read it refuses itself. A folder that is not there yet has no log."""
    try:
        party = read_settings(folder / SETTINGS_FILE).name
        facts = {} if given is None else facts_of(plan_of(given), party)
    except (PlumbobError, OSError):
        yield Facts()
        return
    with logged(folder, party, verb, facts) as added:
        yield added


def counts_in(result: Mapping[str, Any]) -> Facts:
    """How many rows a verb's result was about, and the name of their list."""
    counts = [result[name] for name in ROWS if isinstance(result.get(name), int)]
    named = {"list": result["list"]} if result.get("list") else {}
    return {**({"rows": counts[0]} if counts else {}), **named}


def facts_of(plan: Plan, party: str) -> Facts:
    """The facts about a plan: its hash, and with whom."""
    return {"plan": plan.hash()[:12], "peers": [each.name for each in plan.parties if each.name != party]}


def _safely(error: PlumbobError) -> str:
    """An error's words for the log: in full if about peers, limits or the network, else only its kind."""
    return str(error) if isinstance(error, TransportError | ProtocolError | PrivacyError) else error.for_peers


def _append(file: Path, entry: Mapping[str, Any]) -> None:
    """Append in one write, so that two commands at once do not mix their lines."""
    line = json.dumps({"time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **entry}) + "\n"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as handle:
            handle.write(line.encode())
    except OSError as error:
        # The act itself is not undone for want of a line about it.
        log.warning("%s could not be written (%s)", file, type(error).__name__)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
