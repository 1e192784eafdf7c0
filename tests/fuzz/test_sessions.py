"""The short version of `make fuzz`: some sessions of two parties over a wire that does its worst."""

import threading
from collections import Counter

import pytest

from tests.fuzz.sessions import SESSIONS, Script, frames_in, hurried, play
from tests.world import Purpose

PLAYED = 30


def test_nothing_a_wire_does_is_taken_for_right() -> None:
    """Every session ends, in the right result or in an error that names the right party; no thread is left behind."""
    before = threading.active_count()
    finished: Counter[tuple[str, bool]] = Counter()
    with hurried():
        for number in range(PLAYED):
            outcome = play(Script.of(number))
            assert outcome.mistake is None, outcome.script
            finished[outcome.script.place, outcome.is_finished] += 1
    assert finished["network", True] == PLAYED // 2
    assert finished["peer", False] > 0
    assert threading.active_count() <= before + 2


@pytest.mark.parametrize("purpose", SESSIONS)
def test_a_changed_message_is_noticed(purpose: Purpose) -> None:
    """One bit of any one frame, changed by its sender, ends the session, or the last signatures show it."""
    with hurried():
        outcomes = [
            play(Script(place, "peer", deed=("change", "features", place), purpose=purpose))
            for place in range(frames_in(purpose))
        ]
    assert [outcome.mistake for outcome in outcomes] == [None] * len(outcomes)
    # The greeting and what is confirmed have one right form each.
    assert sum(outcome.is_finished for outcome in outcomes) <= len(outcomes) - 3
