"""`party serve`: an organisation's side that nobody has to sit in front of.

It takes part in the run of one signed plan and then answers predictions, one session after the other. Whatever a person
must decide, it does not: it never signs, aligns or proposes, and a mistake of its own ends it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from plumbob.callbacks import Tell
from plumbob.counting import counted
from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.party.home import Home
from plumbob.party.outcome import GivenPlan, plan_of
from plumbob.party.plan_runs import PlanRuns
from plumbob.party.rows import is_arbiter
from plumbob.party.verbs.predict import PredictionOptions, predict
from plumbob.party.verbs.train import train

SECONDS_BETWEEN = (
    10.0  # After a session that failed: a port in use, or a peer that is not ready, need not be asked often.
)
MOST_RESTARTS = 5  # After a peer's mistake or refusal: one that comes back each time needs a person.
WAITING = "waiting for "  # How the lines begin that a person in front of a terminal wants to see, and a log does not.

Result = TypeVar("Result")


@dataclass(frozen=True)
class ServiceOptions:
    """As the command line has them."""

    prediction: PredictionOptions
    sessions: int | None = None
    """Of answers, after which it ends; None for as long as nobody stops it."""


def serve(folder: Path, given: GivenPlan, options: ServiceOptions, tell: Tell) -> dict[str, object]:
    """Train once with everybody, unless that is done; then, at a feature party, answer."""
    home, plan = Home.open(folder), plan_of(given)
    events = _events(tell)
    if not PlanRuns(home, plan).has_finished():
        events("ready to train")
        trained = _repeat_until_done(lambda: train(folder, given, False, quiet=True, tell=events), events)
        events(f"trained: {trained['out']}")
    if home.identity.name == plan.label_party.name or is_arbiter(home, plan):
        return {
            "sessions": 0,
            "rows": 0,
            "lines": ["trained; this party answers no predictions, so there is no more to do"],
        }
    return _answer(folder, given, options, events)


def _answer(folder: Path, given: GivenPlan, options: ServiceOptions, events: Tell) -> dict[str, object]:
    sessions = rows = 0
    events("ready to answer")
    while options.sessions is None or sessions < options.sessions:
        told = _repeat_until_done(lambda: predict(folder, given, options.prediction, events), events)
        sessions, rows = sessions + 1, rows + int(str(told["rows"]))
        events(str(told["lines"][-1]) if isinstance(told["lines"], list) else "answered")
    return {
        "sessions": sessions,
        "rows": rows,
        "lines": [f"answered {counted(rows, 'row')} in {counted(sessions, 'session')}"],
    }


def _repeat_until_done(work: Callable[[], Result], events: Tell) -> Result:
    """Until it succeeds: a peer that is away or interrupted is waited for, one that makes mistakes only so often."""
    restarts = 0
    while True:
        try:
            return work()
        except TransportError as error:
            events(f"not yet: {error}")
        except RemoteProtocolError as error:
            if restarts == MOST_RESTARTS:
                raise RemoteProtocolError(
                    f"{error}; this was the end of it after {MOST_RESTARTS} restarts, and the service stops: ask that "
                    "party, then start it again"
                ) from error
            restarts += 1
            events(f"not yet: {error}; restart {restarts} of at most {MOST_RESTARTS}")
        time.sleep(SECONDS_BETWEEN)


def _events(tell: Tell) -> Tell:
    """For a log: what happened, without a line every few seconds that nothing did."""

    def told(words: str) -> None:
        if not words.startswith(WAITING):
            tell(words)

    return told
