"""`party serve`: an organisation's side that nobody has to sit in front of.

It takes part in the run of one signed plan and then answers predictions, one session after the other. Whatever a person
must decide, it does not: it never signs, aligns or proposes, and a mistake of its own ends it. What peers do wrong, or
ask for beyond a limit, ends a session and not the service.
"""

import math
import time
from collections.abc import Callable
from typing import TypeVar

from plumbob.callbacks import Tell
from plumbob.counting import counted
from plumbob.errors import (
    BudgetExceededError,
    CryptoError,
    DataError,
    ProtocolError,
    RemoteProtocolError,
    TransportError,
)
from plumbob.party.home import Home
from plumbob.party.log import facts_of, logged
from plumbob.party.plan_runs import PlanRuns
from plumbob.party.rows import checked_list_name, is_arbiter, names_kept
from plumbob.party.verbs import Serve, Train
from plumbob.party.verbs.predict import answer_once
from plumbob.party.verbs.train import train
from plumbob.plan import PARTY_NAME, Plan
from plumbob.verb import Caller, Result
from plumbob.verb.flags import plan_of

SECONDS_BETWEEN = (
    10.0  # After a session that failed: a port in use, or a peer that is not ready, need not be asked often.
)
SECONDS_AFTER_A_MISTAKE = 1.0  # Of a peer, in a session of answers: the next one may be right.
MOST_RESTARTS = 5  # While training, after a peer's mistake or refusal: one that comes back each time needs a person.
WAITING = "waiting for "  # How the lines begin that a person in front of a terminal wants to see, and a log does not.

Done = TypeVar("Done")


def serve(options: Serve, tell: Tell) -> Result:
    """Train once with everybody, unless that is done; then, at a feature party, answer."""
    home, plan = Home.open(options.home), plan_of(options.plan)
    events = _events(tell)
    if not PlanRuns(home, plan).has_finished():
        events("ready to train")
        trained = _repeat_until_done(lambda: _trained(home, plan, options, events), events)
        events(f"trained: {trained['out']}")
    if home.identity.name == plan.label_party.name or is_arbiter(home, plan):
        return {
            "sessions": 0,
            "rows": 0,
            "lines": ["trained; this party answers no predictions, so there is no more to do"],
        }
    return _answer(home, plan, options, events)


def _trained(home: Home, plan: Plan, options: Serve, events: Tell) -> Result:
    with logged(home.folder, home.identity.name, "train", facts_of(plan, home.identity.name)) as entry:
        result = train(Train(options.plan, home=options.home), Caller(events))
        entry.take(result)
        return result


def _answer(home: Home, plan: Plan, options: Serve, events: Tell) -> Result:
    """Answer one session after the other; what a peer does wrong ends a session and never the service."""
    sessions = rows = refused = 0
    own = home.identity.name
    lists = _lists(options)
    events(f"ready to answer {', '.join(f'the list {name}' if name else 'the list of training' for name in lists)}")
    if others := [name for name in names_kept(home, plan) if name and name not in lists]:
        events(f"not answered without --name, though aligned: {', '.join(others)}")
    while options.sessions is None or sessions + refused < options.sessions:
        try:
            with logged(home.folder, own, "answer", facts_of(plan, own), waits=True) as entry:
                told = answer_once(home, plan, lists, options.most_rows, False, events, meeting=math.inf)
                entry.take(told)
        except BudgetExceededError as error:
            refused += 1
            events(f"refused: {error}")
        except (TransportError, ProtocolError, CryptoError) as error:
            events(f"no answer given: {error}")
            time.sleep(SECONDS_BETWEEN if isinstance(error, TransportError) else SECONDS_AFTER_A_MISTAKE)
        else:
            sessions, rows = sessions + 1, rows + told["rows"]
            events(told["lines"][-1])
    answered = f"answered {counted(rows, 'row')} in {counted(sessions, 'session')}"
    more = f", refused {counted(refused, 'request')}" if refused else ""
    return {"sessions": sessions, "rows": rows, "refused": refused, "lines": [answered + more]}


def _lists(options: Serve) -> dict[str, str | None]:
    """Every list that is answered, with its file; None where the settings name it."""
    names = [checked_list_name(name) for name in options.names] or [""]
    files: dict[str, str | None] = dict.fromkeys(names)
    for given in options.data:
        name, sign, file = str(given).partition("=")
        if sign and name in files:
            files[name] = file
        elif sign and PARTY_NAME.fullmatch(name):
            raise DataError(f"--data {given}: no list {name} is answered; add --name {name}")
        else:
            files = {name: file or str(given) for name, file in files.items()}
    return files


def _repeat_until_done(work: Callable[[], Done], events: Tell) -> Done:
    """Repeat until it succeeds: absent peers are waited for; those that make mistakes, only a few times."""
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
    """Messages for a log: only what happened, without repetitions."""
    last = ""

    def told(words: str) -> None:
        nonlocal last
        if not words.startswith(WAITING) and words != last:
            last = words
            tell(words)

    return told
