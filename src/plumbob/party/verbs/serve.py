"""`party serve`: an organisation's answers to predictions, without anybody in front of it.

It answers one session after the other, about one list of rows. Whatever a person must decide, it does not: it never
signs, aligns or trains, and a mistake of its own ends it. What peers do wrong, or ask for beyond a limit, ends a
session and not the service.
"""

import math
import time

from plumbob.callbacks import Tell
from plumbob.counting import counted
from plumbob.errors import BudgetExceededError, CryptoError, DataError, ProtocolError, ScoresWaitError, TransportError
from plumbob.party.home import Home
from plumbob.party.log import facts_of, logged
from plumbob.party.rows import checked_list_name, names_kept
from plumbob.party.verbs import Serve
from plumbob.party.verbs.predict import answer_once, turn_away_until_replayed
from plumbob.plan import Plan
from plumbob.verb import Result
from plumbob.verb.flags import plan_of

SECONDS_BETWEEN = (
    10.0  # After a session that failed: a port in use, or a peer that is not ready, need not be asked often.
)
SECONDS_AFTER_A_MISTAKE = 1.0  # Of a peer, in a session of answers: the next one may be right.
WAITING = "waiting for "  # How the lines begin that a person in front of a terminal wants to see, and a log does not.


def serve(options: Serve, tell: Tell) -> Result:
    """Answer one session after the other; what a peer does wrong ends a session and never the service."""
    home, plan = Home.open(options.home), plan_of(options.plan)
    _refuse_nothing_to_answer(home, plan)
    events, name, own = _events(tell), checked_list_name(options.name), home.identity.name
    sessions = rows = refused = 0
    events(f"ready to answer the list {name}" if name else "ready to answer the list of training")
    if others := [other for other in names_kept(home, plan) if other not in ("", name)]:
        events(f"not answered here, though aligned: {', '.join(others)}; each needs a service of its own, with --name")
    while options.sessions is None or sessions + refused < options.sessions:
        _wait_for_replay(home, plan, name, events)
        try:
            with logged(home.folder, own, "answer", facts_of(plan, own), waits=True) as entry:
                answered = answer_once(
                    home, plan, name, options.data, options.most_rows, False, events, meeting=math.inf
                )
                entry.take(answered)
        except BudgetExceededError as error:
            refused += 1
            events(f"refused: {error}")
        except (TransportError, ProtocolError, CryptoError) as error:
            events(f"no answer given: {error}")
            time.sleep(SECONDS_BETWEEN if isinstance(error, TransportError) else SECONDS_AFTER_A_MISTAKE)
        else:
            sessions, rows = sessions + 1, rows + answered["rows"]
            events(answered["lines"][-1])
    line = f"answered {counted(rows, 'row')} in {counted(sessions, 'session')}"
    more = f", refused {counted(refused, 'request')}" if refused else ""
    return {"sessions": sessions, "rows": rows, "refused": refused, "lines": [line + more]}


def _wait_for_replay(home: Home, plan: Plan, name: str, events: Tell) -> None:
    """Return once scores are open; until then the label party is told why they are not, whenever it comes."""
    while True:
        try:
            return turn_away_until_replayed(home, plan, name, events, SECONDS_BETWEEN)
        except ScoresWaitError:
            # It was said already. Somebody may keep the statement meanwhile.
            time.sleep(SECONDS_AFTER_A_MISTAKE)
        except (TransportError, ProtocolError, CryptoError) as error:
            events(f"no answer given: {error}")
            time.sleep(SECONDS_BETWEEN)


def _refuse_nothing_to_answer(home: Home, plan: Plan) -> None:
    if home.identity.name == plan.label_party.name:
        raise DataError(
            f"{home.identity.name} answers no predictions: the label party asks for scores with plumbob party predict"
        )


def _events(tell: Tell) -> Tell:
    """Messages for a log: only what happened, without repetitions."""
    last = ""

    def tell_once(words: str) -> None:
        nonlocal last
        if not words.startswith(WAITING) and words != last:
            last = words
            tell(words)

    return tell_once
