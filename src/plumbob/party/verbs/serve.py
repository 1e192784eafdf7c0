"""`party serve`: an organisation's side that nobody has to sit in front of.

It takes part in the run of one signed plan and then answers predictions, one session after the other. Whatever a person
must decide, it does not: it never signs, aligns or proposes, and a mistake of its own ends it.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from plumbob.callbacks import Tell
from plumbob.counting import counted
from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.party.home import Home
from plumbob.party.outcome import plan_of
from plumbob.party.plan_runs import PlanRuns
from plumbob.party.rows import is_arbiter
from plumbob.party.verbs import Predict, Serve, Train
from plumbob.party.verbs.predict import predict
from plumbob.party.verbs.train import train
from plumbob.verb import Caller, Result

SECONDS_BETWEEN = (
    10.0  # After a session that failed: a port in use, or a peer that is not ready, need not be asked often.
)
MOST_RESTARTS = 5  # After a peer's mistake or refusal: one that comes back each time needs a person.
WAITING = "waiting for "  # How the lines begin that a person in front of a terminal wants to see, and a log does not.

Done = TypeVar("Done")


def serve(options: Serve, tell: Tell) -> Result:
    """Train once with everybody, unless that is done; then, at a feature party, answer."""
    home, plan = Home.open(options.home), plan_of(options.plan)
    events = _events(tell)
    if not PlanRuns(home, plan).has_finished():
        events("ready to train")
        part = Train(options.plan, home=options.home)
        trained = _repeat_until_done(lambda: train(part, Caller(events)), events)
        events(f"trained: {trained['out']}")
    if home.identity.name == plan.label_party.name or is_arbiter(home, plan):
        return {
            "sessions": 0,
            "rows": 0,
            "lines": ["trained; this party answers no predictions, so there is no more to do"],
        }
    return _answer(options, events)


def _answer(options: Serve, events: Tell) -> Result:
    sessions = rows = 0
    asked = Predict(options.plan, home=options.home, name=options.name, data=options.data, most_rows=options.most_rows)
    events("ready to answer")
    while options.sessions is None or sessions < options.sessions:
        told = _repeat_until_done(lambda: predict(asked, events), events)
        sessions, rows = sessions + 1, rows + told["rows"]
        events(told["lines"][-1])
    return {
        "sessions": sessions,
        "rows": rows,
        "lines": [f"answered {counted(rows, 'row')} in {counted(sessions, 'session')}"],
    }


def _repeat_until_done(work: Callable[[], Done], events: Tell) -> Done:
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
