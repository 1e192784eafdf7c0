"""Chooses the list of rows that a session of answers is about: whoever asks names it, whoever answers follows."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from plumbob.callbacks import Tell
from plumbob.errors import DeadlineError, RemoteProtocolError, TransportError
from plumbob.net import greeting
from plumbob.net.connector import Connection
from plumbob.net.greeting import GREETING_SECONDS, LONGEST_SENTENCE, Greeting

MOST_NAMED = 3  # Of the lists that are answered: a refusal is one short sentence.
LISTENING_SECONDS = 5.0  # How long a reader listens before it looks whether it is still wanted.


class AnsweredLists:
    """The lists that this side answers, of which a session takes one; any thread may call.

    `tell` hears whom we refused, once per reason.
    """

    def __init__(self, asker: str, names: Sequence[str], tell: Tell) -> None:
        self._asker, self._names, self._tell = asker, tuple(names), tell
        self._lock = threading.Lock()
        self._chosen = self._names[0] if len(self._names) == 1 else None
        self._waiting: list[Callable[[], None]] = []
        self._refused: set[str] = set()

    @property
    def chosen(self) -> str | None:
        """The session's list; None while several are possible and nobody has asked."""
        return self._chosen

    def greet(
        self, connection: Connection, ours: Callable[[str, str], Greeting], is_over: Callable[[], bool]
    ) -> Greeting:
        """Exchange greetings; `ours` is made from a list's name and a reason to refuse."""
        if connection.peer == self._asker:
            return self._hear_asker(connection, ours)
        return self._greet_when_chosen(connection, ours, is_over)

    def _hear_asker(self, connection: Connection, ours: Callable[[str, str], Greeting]) -> Greeting:
        """Let the asker name its list before we greet, and tell it at once where the list is none of ours."""
        theirs = greeting.decode(connection.receive(GREETING_SECONDS), connection.peer)
        refusal = "" if theirs.purpose != "predict" else self._refusal_of(theirs.name)
        # Under the name that was asked for: to the asker, a refusal is an answer and not another conversation.
        connection.send(greeting.encode(ours(theirs.name, refusal)))
        if refusal:
            self._tell_once(f"{connection.peer} was refused: {refusal}")
            raise TransportError(refusal)
        if theirs.purpose == "predict" and not self._choose(theirs.name):
            raise RemoteProtocolError(f"{connection.peer} left, and came back with another list; ask again")
        return theirs

    def _greet_when_chosen(
        self, connection: Connection, ours: Callable[[str, str], Greeting], is_over: Callable[[], bool]
    ) -> Greeting:
        """Greet another answering party once the asker has named its list, which may take days."""
        has_greeted = threading.Event()

        def greet() -> None:
            with suppress(TransportError):
                connection.send(greeting.encode(ours(self._chosen or "", "")))
            has_greeted.set()

        self._when_chosen(greet)
        theirs = _awaited(connection, is_over)
        if theirs.purpose != "predict" or theirs.refuses:
            connection.send(greeting.encode(ours(theirs.name, "")))
            return theirs
        while not has_greeted.wait(LISTENING_SECONDS):
            if is_over():
                raise TransportError("this end is closed")
        return theirs

    def _choose(self, name: str) -> bool:
        """Take the list that the asker names; False where the session has another one."""
        with self._lock:
            if self._chosen not in (None, name):
                return False
            self._chosen = name
            waiting, self._waiting = self._waiting, []
        for work in waiting:
            work()
        return True

    def _when_chosen(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._chosen is None:
                self._waiting.append(work)
                return
        work()

    def _refusal_of(self, name: str) -> str:
        """Why a list is not answered here, for both sides to read; empty for one that is."""
        if name in self._names:
            return ""
        shown = ", ".join(map(_in_words, self._names[:MOST_NAMED]))
        more = f" and {len(self._names) - MOST_NAMED} more" if len(self._names) > MOST_NAMED else ""
        return f"{_in_words(name)} is not answered here, only {shown}{more}"[:LONGEST_SENTENCE]

    def _tell_once(self, sentence: str) -> None:
        with self._lock:
            is_new = sentence not in self._refused
            self._refused.add(sentence)
        if is_new:
            self._tell(sentence)


def _awaited(connection: Connection, is_over: Callable[[], bool]) -> Greeting:
    while True:
        with suppress(DeadlineError):
            return greeting.decode(connection.receive(LISTENING_SECONDS), connection.peer)
        if is_over():
            raise TransportError("this end is closed")


def _in_words(name: str) -> str:
    return f"the list {name}" if name else "the list of training"
