"""`party serve`: an organisation's answers to predictions, without anybody in front of it.

It answers one session after the other, about one list of rows. Whatever a person must decide, it does not: it never
signs, aligns or trains, and a mistake of its own ends it. What peers do wrong, or ask for beyond a limit, ends a
session and not the service.
"""

import math
import time
from pathlib import Path

from plumbob.caller import IN_PYTHON, Caller, Outcome, Tell
from plumbob.counting import counted
from plumbob.errors import BudgetExceededError, CryptoError, DataError, ProtocolError, ScoresWaitError, TransportError
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_of
from plumbob.party.log import counts_in, facts_of, logged, logged_verb
from plumbob.party.rows import check_list_name, common_rows, list_names
from plumbob.party.runs import finished_run
from plumbob.party.verbs.predict import answer_once, turn_away_until_replayed
from plumbob.plan import Plan

SECONDS_BETWEEN = (
    10.0  # After a session that failed: a port in use, or a peer that is not ready, need not be asked often.
)
SECONDS_AFTER_A_MISTAKE = 1.0  # Of a peer, in a session of answers: the next one may be right.
WAITING = "waiting for "  # How the lines begin that a person in front of a terminal wants to see, and a log does not.


@logged_verb
def serve(
    home: GivenHome,
    plan: GivenPlan,
    *,
    data: str | Path | None = None,
    name: str = "",
    most_rows: int | None = None,
    sessions: int | None = None,
    caller: Caller = IN_PYTHON,
) -> Outcome:
    """Answer one session after the other; what a peer does wrong ends a session and never the service."""
    opened, agreed = Home.open(home), plan_of(plan)
    _refuse_nothing_to_answer(opened, agreed)
    events, name, own = _events(caller.tell), check_list_name(name), opened.identity.name
    answered = rows = refused = 0
    # A service that has nothing to answer with must not call itself ready.
    finished_run(opened, agreed)
    common_rows(opened, agreed, name)
    events(f"ready to answer the list {name}" if name else "ready to answer the list of training")
    if others := [other for other in list_names(opened, agreed) if other not in ("", name)]:
        listed = ", ".join(others)
        events(f"not answered here, though aligned: {listed}; to answer one, end this service and start it with --name")
    while sessions is None or answered + refused < sessions:
        _wait_for_replay(opened, agreed, name, events)
        try:
            with logged(opened.folder, own, "answer", facts_of(agreed, own), waits=True) as added:
                result = answer_once(opened, agreed, name, data, most_rows, False, events, meeting=math.inf)
                added.update(counts_in(result))
        except BudgetExceededError as error:
            refused += 1
            events(f"refused: {error}")
        except (TransportError, ProtocolError, CryptoError) as error:
            events(f"no answer given: {error}")
            time.sleep(SECONDS_BETWEEN if isinstance(error, TransportError) else SECONDS_AFTER_A_MISTAKE)
        else:
            answered, rows = answered + 1, rows + result["rows"]
            events(result["lines"][-1])
    line = f"answered {counted(rows, 'row')} in {counted(answered, 'session')}"
    more = f", refused {counted(refused, 'request')}" if refused else ""
    return Outcome({"sessions": answered, "rows": rows, "refused": refused, "lines": [line + more]})


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
