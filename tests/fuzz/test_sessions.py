"""The short version of `make fuzz`: some sessions of two parties over a wire that does its worst."""

import threading
from collections import Counter

from tests.fuzz.sessions import FRAMES, Script, hurried, play

SESSIONS = 24


def test_nothing_a_wire_does_is_taken_for_right() -> None:
    """Every session ends, in the right shares or in an error that names the right party; no thread is left behind."""
    before = threading.active_count()
    finished: Counter[tuple[str, bool]] = Counter()
    with hurried():
        for number in range(SESSIONS):
            outcome = play(Script.of(number))
            assert outcome.mistake is None, outcome.script
            finished[outcome.script.place, outcome.is_finished] += 1
    assert finished["network", True] == SESSIONS // 2
    assert finished["peer", False] > 0
    assert threading.active_count() <= before + 2


def test_a_changed_message_is_noticed() -> None:
    """One bit of any one frame, changed by its sender, ends the run or shows in the hashes over the streams."""
    with hurried():
        outcomes = [play(Script(place, "peer", deed=("change", "features", place))) for place in range(FRAMES)]
    assert [outcome.mistake for outcome in outcomes] == [None] * FRAMES
    # Greeting, key and confirmation have one right form each.
    assert sum(outcome.is_finished for outcome in outcomes) <= FRAMES - 3
